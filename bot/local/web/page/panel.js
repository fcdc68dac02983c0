// The demo's controls and the faults one can inject.
import { disconnect, run, setFault } from "./api.js";
import { button, el, icon, spinner } from "./dom.js";
import { changed, store } from "./store.js";

export const running = new Set();
let faultsOpen = false;

async function runControl(one, on) {
  running.add(one.id);
  changed();
  await run(one.id, on);
  running.delete(one.id);
  changed();
}

export function control(one) {
  const props = { class: "control", testid: "control", "data-control": one.id };
  const help = one.help ? el("span", { class: "control-help" }, one.help) : null;
  const words = el("span", { class: "control-words" }, el("span", { class: "control-label" }, one.label), help);
  return { link: outside, opens, switch: toggle, button: act }[one.kind](one, props, words);
}

function outside(one, props, words) {
  const off = one.disabled || !one.url;
  const where = off ? {} : { href: one.url, target: "_blank", rel: "noopener noreferrer" };
  return el("a", { ...props, ...where, "aria-disabled": String(off) }, words, icon("link"));
}

// Where it leads is asked for when it is followed, for whoever acts then.
function opens(one, props, words) {
  const url = `/control/open?${new URLSearchParams({ id: one.id, user: store.me })}`;
  return outside({ ...one, url }, props, words);
}

function toggle(one, props, words) {
  const knob = el("span", { class: "switch", "aria-hidden": "true" });
  const role = { role: "switch", "aria-checked": String(one.on) };
  return runnable(one, { ...props, ...role }, words, knob, !one.on);
}

const act = (one, props, words) => runnable(one, props, words, icon("chevron"), true);

function runnable(one, props, words, sign, on) {
  const busy = running.has(one.id);
  const disabled = one.disabled || busy;
  return button({ ...props, disabled, onclick: () => runControl(one, on) }, words, busy ? spinner() : sign);
}

export const lead = (one) =>
  button(
    { class: "lead", testid: "lead", title: one.help, disabled: one.disabled || running.has(one.id), onclick: () => runControl(one, true) },
    icon("play"),
    el("span", {}, one.label),
  );

export function faults() {
  const rows = [...store.faults.values()].map(fault);
  const node = el(
    "details",
    { class: "side-section", open: faultsOpen },
    el("summary", {}, icon("chevron"), "Faults"),
    ...rows,
    cut("refresh the connection", "Ask the app to open a new connection", true),
    cut("drop the connection", "Close the app's connections without a word", false),
  );
  node.addEventListener("toggle", () => (faultsOpen = node.open));
  return node;
}

function fault(one) {
  const armed = one.left > 0 || one.seconds > 0;
  const props = {
    class: armed ? "fault armed" : "fault",
    title: one.help,
    testid: "fault",
    "data-fault": one.id,
    "aria-pressed": String(armed),
    onclick: () => setFault(one.id, armed ? 0 : 1),
  };
  const left = el("span", { class: "fault-left" }, !armed ? "off" : one.left ? `next ${one.left}` : "for a while");
  return button(props, el("span", {}, one.id.replaceAll("_", " ")), left);
}

const cut = (words, title, politely) =>
  button({ class: "fault", title, onclick: () => disconnect(politely) }, el("span", {}, words), icon("chevron"));
