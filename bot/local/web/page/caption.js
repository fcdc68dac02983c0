// What somebody who shows the workspace says about it: one sentence at a time, over everything.
import { el } from "./dom.js";
import { actAs, openChannel, openThread, store } from "./store.js";

let followed = "";

// The page looks where the story is: as that person, at that thread.
export function follow() {
  const now = JSON.stringify(store.caption);
  if (now === followed) return;
  followed = now;
  const { me, thread, text } = store.caption;
  if (text && store.channel !== store.channels[0].id) openChannel(store.channels[0].id);
  if (me && me !== store.me) actAs(me);
  if (text) openThread(thread || null);
}

// Shown anew with every change: what was shown last lies above a dialog that has opened meanwhile.
export function drawCaption() {
  const { text, number, of } = store.caption;
  const place = document.getElementById("caption");
  const key = JSON.stringify([store.caption, store.views.size]);
  if (key === place.dataset.key) return;
  place.dataset.key = key;
  place.replaceChildren(...(of ? [el("span", { class: "caption-count" }, `${number} / ${of}`)] : []), ...(text ? [el("p", { testid: "caption" }, text)] : []));
  if (place.matches(":popover-open")) place.hidePopover();
  if (text) place.showPopover();
}
