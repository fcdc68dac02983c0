// Elements that hold a value, in messages and in modals.
import { el } from "./dom.js";
import { avatar } from "./mentions.js";
import { textObject } from "./mrkdwn.js";
import { people } from "./store.js";

export function initial(element) {
  if (element.type === "checkboxes") return (element.initial_options ?? []).map((option) => option.value);
  if (element.type === "multi_users_select") return element.initial_users ?? [];
  if (element.type === "datetimepicker") return element.initial_date_time ?? "";
  return element.initial_option?.value ?? element.initial_value ?? element.initial_time ?? element.initial_date ?? "";
}

// `change(value)` is called with the plain value that the server expands.
export function input(element, { id, value, change, describedby, invalid, label, required }) {
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
  return DRAWN[element.type](element, props, value ?? initial(element), change);
}

// Where an app gives no words for an element, its kind is its name.
const KINDS = { static_select: "Choose an option", timepicker: "Time", datepicker: "Date", datetimepicker: "Date and time", radio_buttons: "Options", checkboxes: "Options" };
const GROUPS = ["radio_buttons", "checkboxes", "multi_users_select"];

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
