// The view in front of the person one acts as.
import { close, submit } from "./api.js";
import { drawBlocks } from "./blocks.js";
import { ask, cameFrom, clickCount, use } from "./clicks.js";
import { button, el, icon, spinner, wayBackTo } from "./dom.js";
import { initial, input } from "./inputs.js";
import { store } from "./store.js";
import { avatar } from "./mentions.js";

const typed = new Map();
const errors = new Map();
const busy = new Set();
const trouble = new Set();
let shown = "";

const mine = () => [...store.views.values()].filter((view) => view.user === store.me).at(-1);

export function drawModal() {
  const view = mine();
  const mark = view ? [view.hash, busy.has(view.id), JSON.stringify(errors.get(view.id)), clickCount(view), trouble.has(view.id)].join() : "";
  if (mark === shown) return;
  const before = document.querySelector("dialog.view");
  const kept = before?.dataset.viewId === view?.id ? whereabouts(before) : null;
  shown = mark;
  const dialog = view ? open(view) : null;
  before?.remove();
  if (dialog) kept ? comeBack(dialog, kept) : focusFirst(dialog);
  else requestAnimationFrame(() => cameFrom(document)?.focus());
}

// A view that is drawn again must not lose the reader's place.
function whereabouts(dialog) {
  const focused = dialog.contains(document.activeElement) ? document.activeElement : null;
  return { top: dialog.querySelector(".dialog-body").scrollTop, find: wayBackTo(focused) };
}

function comeBack(dialog, { top, find }) {
  dialog.querySelector(".dialog-body").scrollTop = top;
  (dialog.querySelector("[aria-invalid]") ?? find(dialog))?.focus();
}

function open(view) {
  const dialog = el(
    "dialog",
    { class: "dialog view", testid: "modal", "data-view-id": view.id, "aria-label": view.title.text },
    el(
      "form",
      { method: "dialog", novalidate: true, onsubmit: (event) => send(event, view) },
      el("header", { class: "dialog-head" }, view.previous_view_id ? back(view) : avatar(store.bot, "small"), el("h2", {}, view.title.text), shut(view)),
      el("div", { class: "dialog-body" }, trouble.has(view.id) ? problem() : null, ...view.blocks.map((block) => part(block, view))),
      el("footer", { class: "dialog-foot" }, leave(view), view.submit ? submitButton(view) : null),
    ),
  );
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    away(view);
  });
  document.getElementById("modal").append(dialog);
  dialog.showModal();
  return dialog;
}

function focusFirst(dialog) {
  const wrong = dialog.querySelector("[aria-invalid]");
  const first = wrong ?? dialog.querySelector("[autofocus], .field, .choices input");
  (first?.matches(".choices") ? first.querySelector("input") : first)?.focus();
}

const problem = () => el("div", { class: "alert error", role: "alert" }, icon("warn"), el("div", {}, "We had some trouble connecting. Try again?"));
const shut = (view) => button({ class: "close", "aria-label": "Close", testid: "modal-shut", onclick: () => away(view, true) }, icon("cross"));
const back = (view) => button({ class: "close", "aria-label": "Back", testid: "modal-back", onclick: () => away(view) }, icon("back"));
const leave = (view) =>
  button({ class: "button", testid: "modal-close", onclick: () => away(view) }, view.close?.text ?? "Cancel");

function submitButton(view) {
  const waiting = busy.has(view.id);
  const props = { type: "submit", class: "button primary", disabled: waiting, testid: "modal-submit" };
  return el("button", props, waiting ? spinner() : null, view.submit.text);
}

function part(block, view) {
  if (block.type !== "input") return drawBlocks([block], withTyped(view))[0];
  const id = `${view.root_view_id}-${block.block_id}-${block.element.action_id}`;
  const error = errors.get(view.id)?.[block.block_id];
  const hold = (value) => {
    valuesOf(view)[block.block_id] = { [block.element.action_id]: value };
    if (block.dispatch_action && !isTyped(block.element)) use(withTyped(view), block, block.element, value);
  };
  const offer = (text) => ask(view, block, block.element, text);
  const held = valuesOf(view)[block.block_id]?.[block.element.action_id] ?? initial(block.element);
  return el(
    "div",
    { class: error ? "input wrong" : "input", "data-block-id": block.block_id },
    el("label", { for: id }, block.label.text, block.optional ? el("span", { class: "optional" }, " (optional)") : null),
    onEnter(block, view, input(block.element, { id, value: held, change: hold, offer, describedby: `${id}-note`, invalid: error, label: block.label.text, required: !block.optional })),
    el(
      "div",
      { id: `${id}-note`, class: "notes" },
      error ? el("div", { class: "error-text", role: "alert", testid: "field-error" }, icon("warn"), error) : null,
      block.hint ? el("div", { class: "hint" }, block.hint.text) : null,
    ),
  );
}

const isTyped = (element) => ["plain_text_input", "number_input"].includes(element.type);

// Slack tells of typed text when Enter is pressed, not at every letter.
function onEnter(block, view, node) {
  if (block.dispatch_action && isTyped(block.element)) {
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      use(withTyped(view), block, block.element, node.value);
    });
  }
  return node;
}

// What was typed outlives a redraw as long as block and element keep their ids.
function valuesOf(view) {
  if (!typed.has(view.id)) typed.set(view.id, {});
  return typed.get(view.id);
}

const withTyped = (view) => ({ ...view, typed: current(view) });

function current(view) {
  const there = new Set(view.blocks.map((block) => block.block_id));
  return Object.fromEntries(Object.entries(valuesOf(view)).filter(([id]) => there.has(id)));
}

async function send(event, view) {
  event.preventDefault();
  busy.add(view.id);
  errors.delete(view.id);
  trouble.delete(view.id);
  drawModal();
  const delivery = await submit(view.id, current(view));
  busy.delete(view.id);
  const wrong = Object.keys(delivery.errors ?? {}).length > 0;
  if (wrong) errors.set(view.id, delivery.errors);
  else if (delivery.error) trouble.add(view.id);
  drawModal();
}

function away(view, everything = false) {
  typed.delete(view.id);
  errors.delete(view.id);
  close(view.id, everything);
}
