// The left side: the workspace, its channels, who one acts as, and the demo's panel.
import { button, el, replace } from "./dom.js";
import { avatar } from "./mentions.js";
import { control, faults, running } from "./panel.js";
import { actAs, openChannel, people, store } from "./store.js";

const seen = new Map();

export function drawSidebar() {
  const { title, online, links, channel, me } = store;
  const everyone = people().map((member) => [member, waiting(member)]);
  const panel = [[...store.controls.values()], [...store.faults.values()], [...running]];
  replace(document.getElementById("sidebar"), JSON.stringify([title, online, links, channel, me, everyone, panel]), () => [
    heading(),
    section("Channels", ...store.channels.map(room)),
    section("Act as", ...people().map(person)),
    store.controls.size ? section("Demo", ...[...store.controls.values()].map(control)) : null,
    faults(),
  ]);
}

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
  const current = one.id === store.channel;
  const props = { class: rowClass(current), "aria-current": current ? "page" : undefined };
  return button({ ...props, onclick: () => openChannel(one.id) }, el("span", { class: "hash" }, "#"), one.name);
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
    waiting(member) ? el("span", { class: "waiting-dot", role: "img", "aria-label": "Something only they can see" }) : null,
  );
}

function role(member) {
  if (member.deleted) return "deactivated";
  if (member.is_restricted || member.is_ultra_restricted) return "guest";
  return member.is_admin ? "admin" : "";
}

// Something this person has not seen yet: a message only for them, or an open form.
function waiting(member) {
  const newest = [...store.ephemerals.values()].filter((body) => body.to === member.id).at(-1)?.ts ?? "";
  if (member.id === store.me) seen.set(member.id, newest);
  const view = [...store.views.values()].some((one) => one.user === member.id);
  return member.id !== store.me && (view || newest > (seen.get(member.id) ?? ""));
}
