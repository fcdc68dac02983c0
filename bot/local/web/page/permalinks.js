// Links to messages of this workspace: they lead there instead of out of the page.
import { el } from "./dom.js";
import { APP, dmOf, openChannel, openTab, openThread, store } from "./store.js";

const PLACE = /^https:\/\/local\.slack\.com\/archives\/(\w+)\/p(\d+)(\d{6})(?:\?thread_ts=([\d.]+))?/;

export function inWorkspace(url, ...words) {
  const found = url.match(PLACE);
  if (!found) return null;
  const [, channel, seconds, micros, root] = found;
  const follow = (event) => {
    event.preventDefault();
    go(channel, `${seconds}.${micros}`, root);
  };
  return el("a", { href: url, testid: "permalink", onclick: follow }, ...words);
}

function go(channel, ts, root) {
  openChannel(channel === dmOf(store.me) ? APP : channel);
  if (store.channel === APP) openTab("messages");
  if (root || store.messages.get(`${channel}:${ts}`)?.reply_count) openThread(root ?? ts);
  // The next frame draws the place, the one after it can be looked at.
  requestAnimationFrame(() => requestAnimationFrame(() => flash(ts)));
}

function flash(ts) {
  const message = [...document.querySelectorAll(`[data-ts="${ts}"]`)].at(-1);
  message?.scrollIntoView({ block: "center" });
  message?.classList.add("flash");
  setTimeout(() => message?.classList.remove("flash"), 1600);
}
