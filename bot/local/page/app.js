// Puts the parts together: draws on every change, and listens to the keyboard.
import { Composer } from "./composer.js";
import { button, el, icon, replace } from "./dom.js";
import { nameOf } from "./mentions.js";
import { drawChannel, drawThread } from "./messages.js";
import { drawModal } from "./modal.js";
import { drawSidebar } from "./sidebar.js";
import { actAs, changed, onArrival, onChange, openThread, people, store, watch } from "./store.js";

const at = (id) => document.getElementById(id);
const channelName = () => `#${store.channels.find((one) => one.id === store.channel).name}`;
const composer = new Composer(at("channel-composer"), { suggest: true, testid: "composer" });
const threadComposer = new Composer(at("thread-composer"), { thread: () => store.thread, testid: "thread-composer" });

function header() {
  const channel = store.channels.find((one) => one.id === store.channel);
  replace(at("header"), JSON.stringify([channel, store.online, store.links]), () => [
    button(
      { class: "only-narrow tool", "aria-label": "Open the workspace menu", testid: "menu", onclick: () => menu(true) },
      icon("menu"),
    ),
    el("h1", {}, `# ${channel.name}`),
    el("span", { class: "topic" }, channel.topic),
    notice(),
    button(
      { class: "tool", title: "Back to the guide", onclick: () => at("channel-log").scrollTo({ top: 0, behavior: "smooth" }) },
      icon("book"),
      el("span", { class: "only-wide" }, "Guide"),
    ),
  ]);
}

function notice() {
  if (!store.online) return el("span", { class: "notice", role: "status", testid: "reconnecting" }, "reconnecting…");
  if (!store.links) return el("span", { class: "notice", role: "status", testid: "no-bot" }, "Signoff is not connected");
  return null;
}

function threadHeader() {
  replace(at("thread-header"), store.channel, () => [
    el("h1", {}, "Thread"),
    el("span", { class: "topic" }, channelName()),
    button(
      { class: "tool", "aria-label": "Close the thread", testid: "thread-close", onclick: () => openThread(null) },
      icon("cross"),
    ),
  ]);
}

function menu(open) {
  at("app").classList.toggle("with-menu", open);
  at("shade").hidden = !open;
}

let lastThread = null;

// A thread that opens takes the focus, except where that would raise a phone's keyboard.
function focusThread() {
  if (store.thread === lastThread) return;
  lastThread = store.thread;
  if (matchMedia("(min-width: 821px)").matches) (store.thread ? threadComposer : composer).box.focus();
}

function draw() {
  document.title = `${store.title} ${channelName()}`;
  header();
  drawSidebar();
  drawChannel();
  drawThread();
  if (store.thread) threadHeader();
  composer.draw(channelName());
  threadComposer.draw("the thread");
  focusThread();
  drawModal();
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
  if (kind === "message" && body.user !== store.me) at("announce").textContent = `${nameOf(body.user)}: ${body.text}`;
});
document.addEventListener("keydown", keys);
at("shade").addEventListener("click", () => menu(false));
at("sidebar").addEventListener("click", (event) => event.target.closest("button.side-row") && menu(false));
setInterval(changed, 30000);
watch();
