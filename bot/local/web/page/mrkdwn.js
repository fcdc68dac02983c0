// Slack's mrkdwn and rich_text, drawn as nodes.
import { el, link as outside } from "./dom.js";
import { withEmoji, withSigns } from "./emoji.js";
import { dateText } from "./dates.js";
import { channelName, groupMention, mention } from "./mentions.js";
import { inWorkspace } from "./permalinks.js";

const link = (url, ...words) => inWorkspace(url, ...words) ?? outside(url, ...words);

const INLINE =
  /`([^`\n]+)`|<([^<>\n]+)>|:([a-z0-9_+-]+):|(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])|(?<![\w~])~(\S(?:[^~\n]*\S)?)~(?![\w~])/;

const plain = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

export function mrkdwn(text) {
  return text.split(/```\n?([\s\S]+?)\n?```/).flatMap((part, index) => (index % 2 ? el("pre", {}, plain(part)) : lines(part)));
}

function lines(text) {
  const nodes = [];
  let quote = null;
  text.split("\n").forEach((line, index, all) => {
    const quoted = line.match(/^(?:>|&gt;)\s?(.*)$/);
    if (quoted) {
      if (quote) quote.append(el("br"));
      else nodes.push((quote = el("blockquote")));
      quote.append(...inline(quoted[1]));
      return;
    }
    quote = null;
    nodes.push(...inline(line));
    if (index < all.length - 1) nodes.push(el("br"));
  });
  return nodes;
}

function inline(text) {
  const nodes = [];
  let rest = text;
  for (let found = rest.match(INLINE); found; found = rest.match(INLINE)) {
    if (found.index) nodes.push(...withEmoji(plain(rest.slice(0, found.index))));
    nodes.push(...[piece(found)].flat());
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) nodes.push(...withEmoji(plain(rest)));
  return nodes;
}

function piece([, code, angle, name, bold, italic, strike]) {
  if (code !== undefined) return el("code", {}, plain(code));
  if (angle !== undefined) return bracket(angle);
  if (name !== undefined) return withEmoji(`:${name}:`);
  if (bold !== undefined) return el("strong", {}, ...inline(bold));
  if (italic !== undefined) return el("em", {}, ...inline(italic));
  return el("s", {}, ...inline(strike));
}

function bracket(text) {
  const [target, label] = text.split(/\|(.*)/s);
  if (target.startsWith("@")) return mention(target.slice(1));
  if (target.startsWith("#")) return channelName(target.slice(1));
  if (target.startsWith("!subteam^")) return groupMention(target.split("^")[1]);
  if (target.startsWith("!date^")) {
    const [, seconds, format, url] = target.split("^");
    return date(Number(seconds), format, plain(label ?? ""), url);
  }
  if (target.startsWith("!")) return el("span", { class: "mention broadcast" }, `@${target.slice(1).split("^")[0]}`);
  return link(plain(target), plain(label ?? target.replace(/^mailto:/, "")));
}

function date(seconds, format, fallback, url) {
  const text = dateText(seconds, format) || fallback;
  const node = el("time", { datetime: new Date(seconds * 1000).toISOString(), title: fallback || text }, text);
  return url ? link(url, node) : node;
}

export function textObject(text) {
  return text.type === "mrkdwn" ? mrkdwn(text.text) : withEmoji(text.text);
}

export function richText(block) {
  return el("div", { class: "rich" }, ...block.elements.map(richPart));
}

function richPart(part) {
  if (part.type === "rich_text_list") {
    const tag = part.style === "ordered" ? "ol" : "ul";
    const start = part.style === "ordered" && part.offset ? part.offset + 1 : undefined;
    return el(tag, { class: `indent-${part.indent ?? 0}`, start }, ...part.elements.map((item) => el("li", {}, ...item.elements.map(richInline))));
  }
  const tag = { rich_text_preformatted: "pre", rich_text_quote: "blockquote" }[part.type] ?? "div";
  return el(tag, {}, ...part.elements.map(richInline));
}

function richInline(element) {
  const drawn = RICH[element.type](element);
  const style = element.style ?? {};
  const tags = { code: "code", bold: "strong", italic: "em", strike: "s", underline: "u" };
  return Object.keys(tags).reduce((node, name) => (style[name] ? el(tags[name], {}, node) : node), drawn);
}

const RICH = {
  text: (element) => el("span", { class: "pre-wrap" }, withSigns(element.text)),
  link: (element) => link(element.url, element.text ?? element.url),
  user: (element) => mention(element.user_id),
  usergroup: (element) => groupMention(element.usergroup_id),
  channel: (element) => channelName(element.channel_id),
  emoji: (element) => el("span", {}, withEmoji(`:${element.name}:`)),
  broadcast: (element) => el("span", { class: "mention broadcast" }, `@${element.range}`),
  date: (element) => date(element.timestamp, element.format, element.fallback ?? "", element.url),
};
