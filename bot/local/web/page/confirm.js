// The question before a click that asks for one.
import { button, el } from "./dom.js";
import { textObject } from "./mrkdwn.js";

export function askFirst(confirm) {
  return new Promise((resolve) => {
    let answer = false;
    const say = (yes) => () => {
      answer = yes;
      dialog.close();
    };
    const dialog = el(
      "dialog",
      { class: "dialog small", testid: "confirm", "aria-label": confirm.title.text },
      el("header", { class: "dialog-head" }, el("h2", {}, confirm.title.text)),
      el("div", { class: "dialog-body" }, ...textObject(confirm.text)),
      el(
        "footer",
        { class: "dialog-foot" },
        button({ class: "button", onclick: say(false) }, confirm.deny.text),
        button({ class: `button ${confirm.style ?? "primary"}`, autofocus: true, onclick: say(true) }, confirm.confirm.text),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
