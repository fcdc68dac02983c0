// Names of people and channels; a person's name is also the way to act as them.
import { button, el } from "./dom.js";
import { actAs, store } from "./store.js";

const COLOURS = ["#2f7d6b", "#b4552d", "#5b5fc7", "#a63d68", "#2b6cb0", "#7a5c1e", "#4c7a2f", "#8a3ab9"];

export const nameOf = (id) => store.members.get(id)?.real_name ?? (id === "USLACKBOT" ? "Slackbot" : id);

// Who is not quite one of us: the app must treat them so.
export function standing(id) {
  const member = store.members.get(id);
  if (!member || member.is_bot) return "";
  if (member.deleted) return "deactivated";
  if (member.team_id !== store.members.get(store.bot).team_id) return "external";
  return member.is_restricted || member.is_ultra_restricted ? "guest" : "";
}

export function avatar(id, size = "") {
  const member = store.members.get(id);
  if (member?.is_bot) return el("img", { class: `avatar ${size}`, src: "/page/icon.svg", alt: "" });
  const people = [...store.members.keys()];
  const colour = member ? COLOURS[people.indexOf(id) % COLOURS.length] : "#6b6b6b";
  const letters = nameOf(id).split(/\s+/).map((word) => word[0]).slice(0, 2).join("").toUpperCase();
  return el("span", { class: `avatar ${size}`, colour, "aria-hidden": "true" }, letters);
}

export function mention(id) {
  const member = store.members.get(id);
  if (!member || member.is_bot) return el("span", { class: "mention" }, `@${nameOf(id)}`);
  const mine = id === store.me;
  const hint = mine ? "This is you" : `Act as ${member.real_name}`;
  const props = { class: mine ? "mention me" : "mention", title: hint, testid: "mention", "data-user": id };
  return button({ ...props, onclick: () => actAs(id) }, `@${member.real_name}`);
}

export function groupMention(id) {
  const group = store.groups.find((one) => one.id === id);
  const mine = group?.users.includes(store.me);
  const who = group ? `${group.name}: ${group.users.map(nameOf).join(", ")}` : undefined;
  return el("span", { class: mine ? "mention me" : "mention", title: who, testid: "group" }, `@${group?.handle ?? id}`);
}

export function channelName(id) {
  const channel = store.channels.find((one) => one.id === id);
  return el("span", { class: "mention" }, `#${channel?.name ?? id}`);
}
