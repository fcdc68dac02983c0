// The top of the channel: what this place is and what to do first.
import { el } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { room, store } from "./store.js";

export function intro() {
  const here = room();
  if (here.app) return beginning(here.name, `This is the very beginning of your direct messages with ${here.name}. Only the two of you see them.`);
  if (here !== store.channels[0] || !store.guide) return beginning(`# ${here.name}`, here.topic || "This is the very beginning of the channel.");
  return el(
    "section",
    { class: "intro", testid: "guide" },
    el("h2", {}, `# ${here.name}`),
    el("div", { class: "text" }, ...mrkdwn(store.guide)),
  );
}

const beginning = (name, words) => el("section", { class: "intro", testid: "guide" }, el("h2", {}, name), el("p", {}, words));
