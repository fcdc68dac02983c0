// The app's own page: its home tab, and the tab with its direct messages.
import { openedHome } from "./api.js";
import { drawBlocks } from "./blocks.js";
import { clickCount } from "./clicks.js";
import { button, el, icon, replace } from "./dom.js";
import { APP, openTab, store } from "./store.js";

const TABS = { home: "Home", messages: "Messages" };
let told = "";

export function drawHome() {
  const here = store.channel === APP;
  const shown = here && store.tab === "home";
  const at = (id) => document.getElementById(id);
  at("tabs").hidden = !here;
  at("home").hidden = !shown;
  at("channel-log").hidden = at("channel-composer").hidden = shown;
  tellOnce(here ? `${store.me}/${store.tab}` : "");
  if (here) replace(at("tabs"), store.tab, () => Object.keys(TABS).map(tab));
  if (shown) content(at("home"), store.homes.get(store.me));
}

// The app hears of it when a person comes to a tab, not when the page is drawn again.
function tellOnce(place) {
  if (told === place) return;
  told = place;
  if (place) openedHome(store.tab);
}

function tab(name) {
  const current = name === store.tab;
  const props = { role: "tab", "aria-selected": String(current), testid: `tab-${name}`, class: current ? "tab current" : "tab" };
  return button({ ...props, tabindex: current ? 0 : -1, onkeydown: arrows, onclick: () => openTab(name) }, TABS[name]);
}

function arrows(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  openTab(store.tab === "home" ? "messages" : "home");
  requestAnimationFrame(() => document.querySelector(".tab.current")?.focus());
}

function content(place, view) {
  const mark = JSON.stringify([view?.id, view?.hash, view ? clickCount(view) : 0, store.me, store.groups]);
  replace(place, mark, () => el("div", { class: "home-body" }, ...(view ? drawBlocks(view.blocks, view) : [nothing()])));
}

const nothing = () => el("div", { class: "nothing" }, icon("home"), el("p", {}, "Signoff has published nothing here yet."));
