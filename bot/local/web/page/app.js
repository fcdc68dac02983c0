// Puts the parts together: draws on every change, and listens to the keyboard.
import { drawCaption, follow } from "./caption.js";
import { Composer } from "./composer.js";
import { button, el, icon, replace } from "./dom.js";
import { drawHome } from "./home.js";
import { nameOf } from "./mentions.js";
import { drawChannel, drawThread } from "./messages.js";
import { drawModal } from "./modal.js";
import { lead, running } from "./panel.js";
import { drawSidebar } from "./sidebar.js";
import { actAs, changed, dmOf, onArrival, onChange, openThread, people, room, roomName, store, watch } from "./store.js";
import { markRead } from "./unread.js";

const at = (id) => document.getElementById(id);
const composer = new Composer(at("channel-composer"), { suggest: true, testid: "composer" });
const threadComposer = new Composer(at("thread-composer"), { thread: () => store.thread, testid: "thread-composer" });

function header() {
  const channel = room();
  replace(at("header"), JSON.stringify([channel, store.online, store.links, [...store.controls.values()].filter((one) => one.lead), [...running]]), () => [
    button(
      { class: "only-narrow tool", "aria-label": "Open the workspace menu", testid: "menu", onclick: () => menu(true) },
      icon("menu"),
    ),
    el("h1", {}, channel.app ? channel.name : `# ${channel.name}`),
    channel.app ? el("span", { class: "app-badge" }, "APP") : null,
    ...badges(channel),
    el("span", { class: "topic" }, channel.topic),
    notice(),
    ...(channel === store.channels[0] ? leads() : []),
    channel === store.channels[0] && store.guide ? guideButton() : null,
  ]);
}

// What is offered first stands where nobody can miss it.
const leads = () => [...store.controls.values()].filter((one) => one.lead).map(lead);

const badges = (channel) =>
  [
    channel.is_ext_shared ? el("span", { class: "badge", title: "People of another organization can read and click here" }, icon("globe"), el("span", { class: "only-wide" }, "Shared")) : null,
    channel.is_archived ? el("span", { class: "badge", title: "Archived" }, icon("archive"), el("span", { class: "only-wide" }, "Archived")) : null,
    channel.has_bot === false ? el("span", { class: "badge", title: "Signoff is not in this channel" }, icon("stop"), el("span", { class: "only-wide" }, "Signoff is not in this channel")) : null,
  ].filter(Boolean);

const guideButton = () =>
  button(
    { class: "tool", title: "Back to the guide", onclick: () => at("channel-log").scrollTo({ top: 0, behavior: "smooth" }) },
    icon("book"),
    el("span", { class: "only-wide" }, "Guide"),
  );

function notice() {
  if (!store.online) return el("span", { class: "notice", role: "status", testid: "reconnecting" }, "reconnecting…");
  if (!store.links) return el("span", { class: "notice", role: "status", testid: "no-bot" }, "Signoff is not connected");
  return null;
}

function threadHeader() {
  replace(at("thread-header"), roomName(), () => [
    el("h1", {}, "Thread"),
    el("span", { class: "topic" }, roomName()),
    button(
      { class: "tool", "aria-label": "Close the thread", testid: "thread-close", onclick: () => openThread(null) },
      icon("cross"),
    ),
  ]);
}

// What shows something in the channel; a switch is followed by another, mostly.
const LEADS_AWAY = "button.side-row, button.control:not([role=switch])";

function menu(open) {
  if (open === at("app").classList.contains("with-menu")) return;
  at("app").classList.toggle("with-menu", open);
  at("shade").hidden = !open;
  document.querySelector("main").inert = open;
  (open ? at("sidebar") : at("header")).querySelector("button")?.focus();
}

let lastThread = null;

// A thread that opens takes the focus, except where that would raise a phone's keyboard.
function focusThread() {
  if (store.thread === lastThread) return;
  lastThread = store.thread;
  if (matchMedia("(min-width: 821px)").matches) (store.thread ? threadComposer : composer).box.focus();
}

function draw() {
  document.title = `${store.title} ${roomName()}`;
  markRead();
  header();
  drawSidebar();
  drawHome();
  drawChannel();
  drawThread();
  if (store.thread) threadHeader();
  composer.draw(roomName(), room().is_archived);
  threadComposer.draw("the thread", room().is_archived);
  focusThread();
  drawModal();
  drawCaption();
  follow();
}

function keys(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape" && !event.target.closest?.("dialog")) {
    menu(false);
    if (store.thread) openThread(null);
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const chosen = people()[Number(event.key) - 1];
  if (chosen) actAs(chosen.id);
}

onChange(draw);
onArrival((kind, body) => {
  const mine = body.channel?.[0] !== "D" || body.channel === dmOf(store.me);
  if (kind === "message" && mine && body.user !== store.me) at("announce").textContent = `${nameOf(body.user)}: ${body.text}`;
});
document.addEventListener("keydown", keys);
at("shade").addEventListener("click", () => menu(false));
at("sidebar").addEventListener("click", (event) => event.target.closest(LEADS_AWAY) && menu(false));
setInterval(changed, 30000);
watch();
