// The top of the channel: what this place is and what to do first.
import { el } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { store } from "./store.js";

export function intro() {
  const channel = store.channels.find((one) => one.id === store.channel);
  return el(
    "section",
    { class: "intro", testid: "guide" },
    el("h2", {}, `# ${channel.name}`),
    store.guide ? el("div", { class: "text" }, ...mrkdwn(store.guide)) : el("p", {}, channel.topic || "This is the very beginning of the channel."),
  );
}
