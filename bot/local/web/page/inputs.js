// Elements that hold a value, in messages and in modals.
import { button, el, icon } from "./dom.js";
import { avatar } from "./mentions.js";
import { textObject } from "./mrkdwn.js";
import { people } from "./store.js";

export function initial(element) {
  if (element.type === "checkboxes") return (element.initial_options ?? []).map((option) => option.value);
  if (element.type === "multi_users_select") return element.initial_users ?? [];
  if (element.type === "datetimepicker") return element.initial_date_time ?? "";
  if (element.type === "external_select") return element.initial_option ?? null;
  return element.initial_option?.value ?? element.initial_value ?? element.initial_time ?? element.initial_date ?? "";
}

// `change(value)` is called with the plain value that the server expands; `offer(typed)` asks the app for options.
export function input(element, { id, value, change, offer, describedby, invalid, label, required }) {
  const props = {
    id,
    "aria-label": label ?? element.placeholder?.text ?? KINDS[element.type],
    "aria-required": required && !GROUPS.includes(element.type) ? "true" : undefined,
    "data-action-id": element.action_id,
    testid: "input",
    "aria-describedby": describedby,
    "aria-invalid": invalid ? "true" : undefined,
    autofocus: element.focus_on_load,
  };
  return DRAWN[element.type](element, props, value ?? initial(element), change, offer);
}

// Where an app gives no words for an element, its kind is its name.
const KINDS = { static_select: "Choose an option", external_select: "Choose an option", overflow: "More actions", timepicker: "Time", datepicker: "Date", datetimepicker: "Date and time", radio_buttons: "Options", checkboxes: "Options" };
const GROUPS = ["radio_buttons", "checkboxes", "multi_users_select"];

// What somebody is choosing outlives a redraw: menus that stand open, and what was typed to search, with what the app offered for it.
const unfolded = new Set();
const searches = new Map();

// The answer goes to whatever stands for the field by then: it may have been drawn again meanwhile.
async function lookFor(id, typed, offer) {
  searches.set(id, { typed, options: searches.get(id)?.options ?? [] });
  const options = await offer(typed);
  if (searches.get(id)?.typed !== typed) return;
  searches.set(id, { typed, options });
  document.querySelectorAll(`[data-offers="${CSS.escape(id)}"]`).forEach((list) => list.show(options));
}

const DRAWN = {
  plain_text_input(element, props, value, change) {
    const tag = element.multiline ? "textarea" : "input";
    const type = element.multiline ? undefined : "text";
    const rows = element.multiline ? 4 : undefined;
    const extra = { type, rows, class: "field", placeholder: element.placeholder?.text, maxlength: element.max_length };
    return el(tag, { ...props, ...extra, value, oninput: (event) => change(event.target.value) });
  },
  number_input: (element, props, value, change) =>
    el("input", {
      ...props,
      type: "text",
      inputmode: element.is_decimal_allowed ? "decimal" : "numeric",
      class: "field narrow",
      placeholder: element.placeholder?.text,
      value,
      oninput: (event) => change(event.target.value),
    }),
  datetimepicker: (element, props, value, change) =>
    el("input", { ...props, type: "datetime-local", class: "field narrow", value: localTime(value), onchange: (event) => change(epoch(event.target.value)) }),
  multi_users_select(element, props, value, change) {
    const chosen = new Set(value);
    const face = (member) => [avatar(member.id, "tiny"), member.real_name];
    const options = people().map((member) => ({ value: member.id, face: face(member) }));
    return choices({ options }, { ...props, class: "choices people" }, "checkbox", (option) => chosen.has(option.value), (option, on) => {
      if (on) chosen.add(option.value);
      else chosen.delete(option.value);
      change([...chosen]);
    });
  },
  static_select(element, props, value, change) {
    const blank = el("option", { value: "" }, element.placeholder?.text ?? "Choose an option");
    const options = element.options.map((option) => el("option", { value: option.value }, option.text.text));
    const all = element.initial_option ? options : [blank, ...options];
    const select = el("select", { ...props, class: "field", onchange: (event) => change(event.target.value) }, ...all);
    select.value = value;
    return select;
  },
  overflow(element, props, value, change) {
    const choose = (option) => () => {
      menu.open = false;
      if (option.url) window.open(option.url, "_blank", "noopener,noreferrer");
      change(option.value);
    };
    const rows = element.options.map((option) => button({ role: "menuitem", testid: "overflow-option", onclick: choose(option) }, option.text.text));
    const menu = el("details", { class: "overflow", open: unfolded.has(props.id) }, el("summary", { ...props, class: "button" }, icon("more")), el("menu", { role: "menu" }, ...rows));
    menu.addEventListener("toggle", () => (menu.open ? unfolded.add(props.id) : unfolded.delete(props.id)));
    return menu;
  },
  external_select(element, props, value, change, offer) {
    const list = el("ul", { "data-offers": props.id });
    const take = (option) => () => {
      searches.delete(props.id);
      field.value = option.text.text;
      list.replaceChildren();
      change(option);
    };
    const row = (option) => el("li", {}, button({ testid: "suggestion-option", onclick: take(option) }, option.text.text));
    const search = searches.get(props.id);
    const words = { class: "field", type: "text", autocomplete: "off", placeholder: element.placeholder?.text, value: search?.typed ?? value?.text?.text ?? "" };
    const look = () => lookFor(props.id, field.value, offer);
    const field = el("input", { ...props, ...words, oninput: look, onfocus: look });
    list.show = (options) => list.replaceChildren(...options.map(row));
    list.show(search?.options ?? []);
    return el("div", { class: "suggestions" }, field, list);
  },
  timepicker: (element, props, value, change) =>
    el("input", { ...props, type: "time", class: "field narrow", value, onchange: (event) => change(event.target.value) }),
  datepicker: (element, props, value, change) =>
    el("input", { ...props, type: "date", class: "field narrow", value, onchange: (event) => change(event.target.value) }),
  radio_buttons: (element, props, value, change) =>
    choices(element, props, "radio", (option) => option.value === value, (option) => change(option.value)),
  checkboxes(element, props, value, change) {
    const chosen = new Set(value);
    return choices(element, props, "checkbox", (option) => chosen.has(option.value), (option, on) => {
      if (on) chosen.add(option.value);
      else chosen.delete(option.value);
      change(element.options.map((one) => one.value).filter((one) => chosen.has(one)));
    });
  },
};

// What the browser's own field shows is the reader's time; Slack counts seconds.
const epoch = (text) => (text ? Math.floor(new Date(text).getTime() / 1000) : null);

function localTime(seconds) {
  if (!seconds) return "";
  const at = new Date(seconds * 1000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function choices(element, props, type, isOn, change) {
  const name = `${props.id}-choice`;
  const rows = element.options.map((option) => {
    const box = el("input", { type, name, checked: isOn(option), value: option.value, onchange: (event) => change(option, event.target.checked) });
    const words = option.face ? el("span", { class: "face" }, ...option.face) : el("span", {}, ...textObject(option.text), option.description ? el("small", {}, ...textObject(option.description)) : null);
    return el("label", { class: "choice" }, box, words);
  });
  return el("div", { class: "choices", ...props, role: type === "radio" ? "radiogroup" : "group" }, ...rows);
}
