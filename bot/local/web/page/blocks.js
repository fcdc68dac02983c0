// One function per block type.
import { el, icon, spinner } from "./dom.js";
import { withEmoji } from "./emoji.js";
import { ask, fate, use, valueHeld } from "./clicks.js";
import { picture } from "./files.js";
import { input } from "./inputs.js";
import { richText, textObject } from "./mrkdwn.js";
import { plan } from "./plan.js";

export const drawBlocks = (blocks, surface) => blocks.map((block) => drawBlock(block, surface));

function drawBlock(block, surface) {
  const node = BLOCKS[block.type]?.(block, surface) ?? el("div", { class: "unknown" }, `(${block.type})`);
  node.classList.add("block");
  node.dataset.blockId = block.block_id;
  return node;
}

const BLOCKS = {
  header: (block) => el("h3", { class: "block-header" }, withEmoji(block.text.text)),
  divider: () => el("hr"),
  context: (block) => el("div", { class: "context" }, ...block.elements.map((text) => el("span", {}, ...textObject(text)))),
  section: (block, surface) =>
    el(
      "div",
      { class: "section" },
      el(
        "div",
        { class: "section-text" },
        block.text ? el("div", {}, ...textObject(block.text)) : null,
        block.fields ? el("div", { class: "fields" }, ...block.fields.map((text) => el("div", {}, ...textObject(text)))) : null,
      ),
      block.accessory ? el("div", { class: "accessory" }, element(block.accessory, block, surface)) : null,
    ),
  actions: (block, surface) => el("div", { class: "actions" }, ...block.elements.map((one) => element(one, block, surface))),
  rich_text: (block) => richText(block),
  plan: (block, surface) => plan(block, surface),
  alert: (block) => el("div", { class: `alert ${block.level ?? "default"}`, role: "alert" }, icon("warn"), el("div", {}, ...textObject(block.text))),
  image: (block) => picture(block.slack_file.id, block.alt_text, block.title ? withEmoji(block.title.text) : null),
  table,
  container,
};

function element(one, block, surface) {
  if (one.type === "button") return drawButton(one, block, surface);
  const id = `${surface.ts ?? surface.id}-${block.block_id}-${one.action_id}`;
  const offer = (typed) => ask(surface, block, one, typed);
  return input(one, { id, value: valueHeld(surface, block, one), change: (value) => use(surface, block, one, value), offer });
}

function drawButton(one, block, surface) {
  const state = fate(surface, block, one);
  const failed = state === "failed";
  const node = el(
    "button",
    {
      type: "button",
      class: `button ${one.style ?? ""} ${state ?? ""}`,
      // Not `disabled`: that would take the focus away from whoever came here by keyboard.
      "aria-disabled": state === "waiting" ? "true" : undefined,
      "aria-busy": state === "waiting" ? "true" : undefined,
      "aria-label": one.accessibility_label,
      title: failed ? "Signoff didn't respond" : undefined,
      "data-action-id": one.action_id,
      testid: "button",
      onclick: () => {
        if (one.url) window.open(one.url, "_blank", "noopener,noreferrer");
        use(surface, block, one);
      },
    },
    state === "waiting" ? spinner() : null,
    failed ? icon("warn") : null,
    withEmoji(one.text.text),
    one.url ? icon("link") : null,
  );
  if (!failed) return node;
  const words = el("span", { class: "failure", role: "alert", testid: "failure" }, "Signoff didn’t respond. Try again.");
  return el("span", { class: "failed-click" }, node, words);
}

function table(block) {
  const align = (index) => block.column_settings?.[index]?.align ?? "left";
  const cell = (one, index, tag) => el(tag, { class: `align-${align(index)}` }, one.type === "rich_text" ? richText(one) : one.text);
  const [head, ...rows] = block.rows;
  const row = (cells, tag) => el("tr", {}, ...cells.map((one, index) => cell(one, index, tag)));
  return el("div", { class: "table" }, el("table", {}, el("thead", {}, row(head, "th")), el("tbody", {}, ...rows.map((cells) => row(cells, "td")))));
}

const opened = new Map();

function container(block, surface) {
  const title = block.title ? withEmoji(block.title.text) : richText(block.rich_text_title);
  const body = el("div", { class: "container-body" }, ...drawBlocks(block.child_blocks, surface));
  if (!block.is_collapsible) return el("section", { class: "container" }, el("div", { class: "container-title" }, title), body);
  const key = `${surface.ts ?? surface.id}/${block.block_id}`;
  const open = opened.get(key) ?? !block.default_collapsed;
  const node = el("details", { class: "container", open }, el("summary", { class: "container-title" }, icon("chevron"), title), body);
  node.addEventListener("toggle", () => opened.set(key, node.open));
  return node;
}

