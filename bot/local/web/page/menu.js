// The menu of a message: its shortcuts. Arrow keys move, Escape and a click elsewhere leave.
import { shortcut } from "./api.js";
import { button, el, icon } from "./dom.js";
import { openThread, store } from "./store.js";

export function messageMenu(anchor, body) {
  const thread = { name: "Reply in thread", sign: "reply", run: () => openThread(body.thread_ts ?? body.ts) };
  const offered = store.shortcuts.map((one) => ({ name: one.name, sign: "bolt", run: () => shortcut(one.callback_id, body) }));
  openMenu(anchor, "More actions", [thread, ...offered]);
}

function openMenu(anchor, label, items) {
  const leave = (back) => {
    menu.remove();
    anchor.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
    if (back) anchor.focus();
  };
  const outside = (event) => menu.contains(event.target) || leave(false);
  const choose = (item) => () => {
    leave(true);
    item.run();
  };
  const row = (item) => button({ role: "menuitem", testid: "menu-item", onclick: choose(item) }, icon(item.sign), item.name);
  const menu = el("div", { class: "menu", role: "menu", "aria-label": label, testid: "menu-of-message", onkeydown: (event) => move(event, menu, leave) }, ...items.map(row));
  document.body.append(menu);
  place(menu, anchor.getBoundingClientRect());
  anchor.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", outside, true);
  menu.firstElementChild.focus();
}

function place(menu, at) {
  const left = Math.max(8, Math.min(at.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8));
  const below = at.bottom + menu.offsetHeight + 8 < innerHeight;
  menu.style.left = `${left}px`;
  menu.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - menu.offsetHeight - 4)}px`;
}

function move(event, menu, leave) {
  const rows = [...menu.children];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) rows.at((rows.indexOf(document.activeElement) + step) % rows.length).focus();
  if (event.key === "Escape" || event.key === "Tab") leave(true);
  if (step || event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
  }
}
