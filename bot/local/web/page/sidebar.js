// The left side: the workspace, its channels, who one acts as, and the demo's panel.
import { button, el, icon, replace } from "./dom.js";
import { avatar, standing } from "./mentions.js";
import { control, faults, running } from "./panel.js";
import { APP, actAs, dmOf, openChannel, people, store } from "./store.js";
import { unread } from "./unread.js";

const seen = new Map();

export function drawSidebar() {
  const { title, online, links, channel, channels, me } = store;
  const news = [...channels.map((one) => unread(me, one.id)), unread(me, dmOf(me))];
  const everyone = people().map((member) => [member, waiting(member), notices(member)]);
  const panel = [[...store.controls.values()], [...store.faults.values()], [...running]];
  replace(document.getElementById("sidebar"), JSON.stringify([title, online, links, channel, channels, news, me, everyone, panel]), () => [
    heading(),
    section("Channels", ...store.channels.filter(joined).map(room)),
    section("Apps", app()),
    section("Act as", ...people().map(person)),
    store.controls.size ? section("Demo", ...[...store.controls.values()].map(control)) : null,
    faults(),
  ]);
}

// A private channel is there for those who are in it.
const joined = (one) => !one.is_private || !one.members || one.members.includes(store.me);

function heading() {
  const there = store.online && store.links > 0;
  const text = there ? "Signoff is connected" : "Signoff is not connected";
  const dot = el("span", { class: there ? "dot on" : "dot off", role: "img", title: text, "aria-label": text });
  const mark = el("img", { src: "/page/icon.svg", alt: "", width: 26, height: 26 });
  return el("div", { class: "side-title" }, mark, el("span", {}, store.title), dot);
}

const section = (name, ...rows) => el("section", { class: "side-section" }, el("h2", {}, name), ...rows);
const rowClass = (current) => (current ? "side-row current" : "side-row");

function room(one) {
  const sign = one.is_archived ? icon("archive") : one.is_private ? icon("lock") : "#";
  const note = one.is_ext_shared ? el("span", { class: "role", title: "Shared with another organization" }, "shared") : null;
  return place(one.id, one.id, el("span", { class: "hash" }, sign), el("span", { class: "side-name" }, one.name), note);
}

const app = () => place(APP, dmOf(store.me), avatar(store.bot, "small"), el("span", { class: "side-name" }, store.members.get(store.bot).real_name));

function place(id, roomId, ...words) {
  const current = id === store.channel;
  const count = unread(store.me, roomId);
  const props = { class: count ? `${rowClass(current)} unread` : rowClass(current), "aria-current": current ? "page" : undefined, testid: "room", "data-room": id };
  const badge = count ? el("span", { class: "count", "aria-label": `${count} unread` }, String(count)) : null;
  return button({ ...props, onclick: () => openChannel(id) }, ...words, badge);
}

function person(member, index) {
  const current = member.id === store.me;
  const props = {
    class: rowClass(current),
    title: `Act as ${member.real_name} (key ${index + 1})`,
    testid: "member",
    "data-user": member.id,
    "aria-pressed": String(current),
    onclick: () => actAs(member.id),
  };
  const note = current ? "you" : role(member);
  return button(
    props,
    avatar(member.id, "small"),
    el("span", { class: "side-name" }, member.real_name),
    note ? el("span", { class: "role" }, note) : null,
    bell(member),
    waiting(member) ? el("span", { class: "waiting-dot", role: "img", "aria-label": "Something only they can see" }) : null,
  );
}

// How often Slack would have rung for this person.
function bell(member) {
  const count = notices(member);
  const words = `${count} ${count === 1 ? "notification" : "notifications"}`;
  return count ? el("span", { class: "bell", title: words, "aria-label": words, testid: "notices" }, icon("bell"), String(count)) : null;
}

const notices = (member) => [...store.notices.values()].filter((one) => one.user === member.id).length;
const role = (member) => standing(member.id) || (member.is_admin ? "admin" : "");

// Something this person has not seen yet: a message only for them, a direct one, or an open form.
function waiting(member) {
  const newest = [...store.ephemerals.values()].filter((body) => body.to === member.id).at(-1)?.ts ?? "";
  if (member.id === store.me) seen.set(member.id, newest);
  const view = [...store.views.values()].some((one) => one.user === member.id);
  return member.id !== store.me && (view || unread(member.id, dmOf(member.id)) > 0 || newest > (seen.get(member.id) ?? ""));
}
