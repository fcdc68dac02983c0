// The channel's messages and the open thread.
import { drawBlocks } from "./blocks.js";
import { clickCount } from "./clicks.js";
import { ago, clockTime, dayName, fullTime, sameDay } from "./dates.js";
import { button, el, icon, reconcile } from "./dom.js";
import { withEmoji } from "./emoji.js";
import { drawFiles } from "./files.js";
import { avatar, nameOf, standing } from "./mentions.js";
import { mrkdwn } from "./mrkdwn.js";
import { messageMenu } from "./menu.js";
import { changed, openThread, roomId, store } from "./store.js";
import { intro } from "./intro.js";

const byTime = (one, other) => Number(one.ts) - Number(other.ts);
const here = (body) => body.channel === roomId();
const dismissed = new Set();
const whispers = (inThread) =>
  [...store.ephemerals.values()].filter((body) => here(body) && body.to === store.me && !dismissed.has(body.ts) && inThread(body.thread_ts));

function inChannel() {
  const shown = [...store.messages.values()].filter(
    (body) => here(body) && (!body.thread_ts || body.thread_ts === body.ts || body.subtype === "thread_broadcast"),
  );
  return [...shown, ...whispers((thread) => !thread)].sort(byTime);
}

function inThread(root) {
  const shown = [...store.messages.values()].filter((body) => here(body) && (body.ts === root || body.thread_ts === root));
  return [...shown, ...whispers((thread) => thread === root)].sort(byTime);
}

export function drawChannel() {
  const items = [{ key: "intro", mark: [store.guide, store.channel, store.me, store.channels], draw: intro }];
  let last = 0;
  for (const body of inChannel()) {
    const seconds = Number(body.ts);
    if (!last || !sameDay(last, seconds)) items.push(day(seconds));
    last = seconds;
    items.push(item(body, false));
  }
  fill(document.getElementById("channel-log"), items, roomId());
}

export function drawThread() {
  const pane = document.getElementById("thread");
  const root = store.messages.get(`${roomId()}:${store.thread}`);
  pane.hidden = !root;
  document.getElementById("app").classList.toggle("with-thread", Boolean(root));
  if (!root) return;
  const [first, ...replies] = inThread(root.ts);
  const count = replies.filter((body) => !body.is_ephemeral).length;
  const rule = { key: "rule", mark: [count], draw: () => el("div", { class: "rule" }, count ? plural(count) : "No replies yet") };
  const doing = root.app_status ? [{ key: "status", mark: [root.app_status], draw: () => el("div", { class: "app-status", testid: "app-status", role: "status" }, `${nameOf(store.bot)}: ${root.app_status}`) }] : [];
  fill(document.getElementById("thread-log"), [item(first, true), rule, ...replies.map((body) => item(body, true)), ...doing], root.ts);
}

const plural = (count) => `${count} ${count === 1 ? "reply" : "replies"}`;

// Stay at the end while things come in or the window changes, unless the reader has scrolled away.
function fill(log, items, place) {
  if (log.place === undefined) stick(log);
  if (log.place !== place) log.away = false;
  log.place = place;
  reconcile(log, items);
  if (!log.away) log.scrollTop = log.scrollHeight;
}

function stick(log) {
  log.addEventListener("scroll", () => (log.away = log.scrollHeight - log.scrollTop - log.clientHeight > 80));
  new ResizeObserver(() => {
    if (!log.away) log.scrollTop = log.scrollHeight;
  }).observe(log);
}

function day(seconds) {
  const name = dayName(seconds);
  return { key: `day-${name}`, mark: [name], draw: () => el("div", { class: "day" }, el("span", {}, name)) };
}

function item(body, threaded) {
  const minute = body.reply_count && !threaded ? Math.floor(Date.now() / 60000) : 0;
  const mark = [body, store.me, store.members, store.groups, clickCount(body), minute];
  return { key: body.ts, mark, draw: () => message(body, threaded) };
}

function message(body, threaded) {
  const whisper = body.is_ephemeral;
  const words = body.text ? [el("div", { class: "text" }, ...mrkdwn(body.text))] : [];
  const text = [...(body.blocks?.length ? drawBlocks(body.blocks, body) : words), ...drawFiles(body.files ?? []), ...reactions(body)];
  return el(
    "article",
    { class: whisper ? "message whisper" : "message", testid: whisper ? "ephemeral" : "message", "data-ts": body.ts },
    whisper ? el("div", { class: "only-you" }, icon("eye"), "Only visible to you") : null,
    body.subtype === "thread_broadcast" && !threaded ? broadcast(body) : null,
    avatar(body.user),
    el("div", { class: "message-body" }, heading(body), ...text, whisper ? dismiss(body) : null, threaded ? null : replies(body)),
    whisper ? null : tools(body, threaded),
  );
}

function heading(body) {
  const seconds = Number(body.ts);
  const app = store.members.get(body.user)?.is_bot || body.user === "USLACKBOT";
  return el(
    "div",
    { class: "heading" },
    el("strong", {}, nameOf(body.user)),
    app ? el("span", { class: "app-badge" }, "APP") : null,
    standing(body.user) ? el("span", { class: "standing" }, standing(body.user)) : null,
    el("time", { datetime: new Date(seconds * 1000).toISOString(), title: fullTime(seconds) }, clockTime(seconds)),
    body.edited ? el("span", { class: "edited" }, "(edited)") : null,
    offers(body) ? more(body, "only-narrow") : null,
  );
}

const offers = (body) => store.shortcuts.length > 0 && !body.is_ephemeral;
const more = (body, kind) =>
  button(
    { class: `more ${kind}`, title: "More actions", "aria-label": "More actions", "aria-haspopup": "menu", testid: "more", onclick: (event) => messageMenu(event.currentTarget, body) },
    icon("more"),
  );

function reactions(body) {
  if (!body.reactions?.length) return [];
  const chip = ({ name, users, count }) =>
    el("span", { class: "reaction", testid: "reaction", title: `${users.map(nameOf).join(", ")} reacted with :${name}:` }, withEmoji(`:${name}:`), el("span", {}, String(count)));
  return [el("div", { class: "reactions" }, ...body.reactions.map(chip))];
}

function replies(body) {
  if (!body.reply_count && body.is_ephemeral) return null;
  const open = () => openThread(body.thread_ts ?? body.ts);
  if (!body.reply_count) return button({ class: "linkish only-narrow", onclick: open }, "Reply in thread");
  return el(
    "button",
    { type: "button", class: "replies", testid: "replies", onclick: () => openThread(body.ts) },
    ...body.reply_users.slice(0, 4).map((id) => avatar(id, "tiny")),
    el("span", { class: "reply-count" }, plural(body.reply_count)),
    el("span", { class: "reply-time" }, `Last reply ${ago(Number(body.latest_reply))}`),
  );
}

function dismiss(body) {
  const away = () => {
    dismissed.add(body.ts);
    changed();
  };
  return button({ class: "linkish", onclick: away }, "Dismiss message");
}

function broadcast(body) {
  return button({ class: "only-you linkish", onclick: () => openThread(body.thread_ts) }, icon("reply"), "replied to a thread");
}

function tools(body, threaded) {
  const words = "Reply in thread";
  const open = () => openThread(body.thread_ts ?? body.ts);
  const reply = button({ title: words, "aria-label": words, testid: "reply", onclick: open }, icon("reply"));
  if (threaded && !offers(body)) return null;
  return el("div", { class: "tools" }, threaded ? null : reply, offers(body) ? more(body, "") : null);
}
