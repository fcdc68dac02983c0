// Slack's plan block: a title and its tasks, each with a sign of how far it is. Slack draws both folded.
import { el, icon, link, spinner } from "./dom.js";
import { withEmoji } from "./emoji.js";
import { richText } from "./mrkdwn.js";

const WORDS = { pending: "Pending", in_progress: "In progress", complete: "Complete", error: "Failed" };
const opened = new Set();

function sign(status) {
  const mark = { in_progress: spinner, complete: () => icon("check"), error: () => icon("cross") }[status];
  return el("span", { class: `sign ${status}`, role: "img", "aria-label": WORDS[status] }, mark ? mark() : null);
}

function fold(key, props, summary, ...children) {
  const details = el("details", { ...props, open: opened.has(key) }, el("summary", {}, ...summary), ...children);
  details.addEventListener("toggle", () => (details.open ? opened.add(key) : opened.delete(key)));
  return details;
}

export function plan(block, message) {
  const done = block.tasks.filter((task) => task.status === "complete").length;
  const key = `${message.ts ?? message.id}/${block.block_id}`;
  const title = el("span", { class: "plan-title" }, withEmoji(block.title));
  const count = el("span", { class: "plan-count" }, `${done}/${block.tasks.length}`);
  const tasks = block.tasks.map((one) => task(one, `${key}/${one.task_id}`));
  return fold(key, { class: "plan", testid: "plan" }, [icon("chevron"), title, count], el("ol", { class: "tasks" }, ...tasks));
}

function task(one, key) {
  const title = el("span", { class: "task-title" }, withEmoji(one.title));
  const props = { class: `task ${one.status}`, testid: "task", "data-task-id": one.task_id, "data-status": one.status };
  if (!one.details && !one.output && !one.sources) return el("li", props, el("div", { class: "task-line" }, sign(one.status), title));
  return el("li", props, fold(key, {}, [sign(one.status), title, icon("chevron")], more(one)));
}

function more(one) {
  return el(
    "div",
    { class: "task-more" },
    one.details ? el("div", { class: "task-details" }, richText(one.details)) : null,
    one.output ? el("div", { class: "task-output" }, richText(one.output)) : null,
    one.sources ? el("div", { class: "task-sources" }, ...one.sources.map((source) => link(source.url, icon("link"), source.text))) : null,
  );
}
