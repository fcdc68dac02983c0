// Where one types: into the channel, or into the open thread.
import { say } from "./api.js";
import { button, el, icon, replace } from "./dom.js";
import { avatar, nameOf } from "./mentions.js";
import { actAs, people, store } from "./store.js";

export class Composer {
  constructor(place, { thread = () => "", suggest = false, testid }) {
    this.thread = thread;
    this.box = el("textarea", {
      rows: 1,
      class: "composer-text",
      disabled: true, // until it is drawn: before that nobody is acting, and nowhere
      testid,
      oninput: () => this.grow(),
      onkeydown: (event) => this.key(event),
    });
    this.who = el("span", { class: "composer-who" });
    this.chips = suggest ? el("div", { class: "chips", role: "group", "aria-label": "Things to try" }) : null;
    this.sendButton = button(
      { class: "send", "aria-label": "Send", testid: "send", onclick: () => this.send() },
      icon("send"),
    );
    const row = el("div", { class: "composer-row" }, this.who, this.sendButton);
    place.append(...(this.chips ? [this.chips] : []), el("div", { class: "composer" }, this.box, row));
  }

  draw(where, archived) {
    const label = archived ? `${where} is archived` : `Message ${where}`;
    this.box.disabled = Boolean(archived);
    if (this.chips) this.chips.hidden = Boolean(archived);
    this.box.placeholder = label;
    this.box.setAttribute("aria-label", `${label} as ${nameOf(store.me)}`);
    replace(this.who, JSON.stringify([store.me, people()]), () => [avatar(store.me, "tiny"), this.picker()]);
    if (this.chips) replace(this.chips, JSON.stringify(store.suggestions), () => this.suggestions());
    this.sendButton.disabled = !this.box.value.trim();
  }

  suggestions() {
    if (!store.suggestions.length) return [];
    const chip = (text) =>
      button({ class: "chip", title: text, testid: "suggestion", onclick: () => this.fill(text) }, text);
    return [el("span", { class: "chips-label" }, "Try"), ...store.suggestions.map(chip)];
  }

  picker() {
    const options = people().map((one) => el("option", { value: one.id }, one.real_name));
    const select = el(
      "select",
      { class: "who", "aria-label": "Act as", testid: "act-as", onchange: (event) => actAs(event.target.value) },
      ...options,
    );
    select.value = store.me;
    return el("label", {}, "Acting as ", select);
  }

  fill(text) {
    this.box.value = text;
    this.grow();
    this.box.focus();
  }

  grow() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, 180)}px`;
    this.sendButton.disabled = !this.box.value.trim();
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.send();
  }

  send() {
    const text = this.box.value.trim();
    if (!text) return;
    this.fill("");
    const log = this.box.closest("main, aside").querySelector(".log");
    log.scrollTop = log.scrollHeight;
    say(text, this.thread());
  }
}
