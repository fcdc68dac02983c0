// What the page knows, kept true by the server's feed; whoever draws listens for changes.
import { noteTime } from "./dates.js";
import { toast } from "./toast.js";

export const store = {
  ready: false,
  online: false,
  me: null,
  channel: null,
  tab: "home",
  thread: null,
  title: "",
  guide: "",
  suggestions: [],
  shortcuts: [],
  channels: [],
  groups: [],
  bot: null,
  links: 0,
  members: new Map(),
  messages: new Map(),
  ephemerals: new Map(),
  views: new Map(),
  homes: new Map(),
  notices: new Map(),
  faults: new Map(),
  controls: new Map(),
  caption: {},
};

const listeners = [];
let scheduled = false;

export const onChange = (listener) => listeners.push(listener);

export function changed() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    if (store.ready) listeners.forEach((listener) => listener());
  });
}

export const people = () => [...store.members.values()].filter((member) => !member.is_bot);

export function actAs(id) {
  if (id === store.me || !store.members.has(id)) return;
  store.me = id;
  remember("me", id);
  toast(`You are now ${store.members.get(id).real_name}`);
  changed();
}

// The app's own page stands among the channels; behind it are the direct messages of whoever looks.
export const APP = "app";
export const dmOf = (id) => `D${id.slice(1)}`;
export const roomId = () => (store.channel === APP ? dmOf(store.me) : store.channel);
export const room = () => store.channels.find((one) => one.id === store.channel) ?? { id: roomId(), name: store.members.get(store.bot).real_name, app: true };
export const roomName = () => (room().app ? room().name : `#${room().name}`);

export function openTab(tab) {
  store.tab = tab;
  store.thread = null;
  changed();
}

export function openThread(ts) {
  store.thread = ts;
  changed();
}

export function openChannel(id) {
  store.channel = id;
  store.thread = null;
  remember("channel", id);
  changed();
}

export const remember = (name, value) => localStorage.setItem(`signoff-${name}`, value);
export const remembered = (name) => localStorage.getItem(`signoff-${name}`);

const TABLES = { message: "messages", ephemeral: "ephemerals", view: "views", home: "homes", notice: "notices", fault: "faults", control: "controls", member: "members" };
const keyOf = { message: (body) => `${body.channel}:${body.ts}`, ephemeral: (body) => body.ts, home: (body) => body.user, notice: (body) => `${body.user}:${body.channel}:${body.ts}` };
const LISTS = { channel: "channels", group: "groups" };

function take(snapshot) {
  for (const [kind, table] of Object.entries(TABLES)) {
    const key = keyOf[kind] ?? ((body) => body.id);
    store[table] = new Map(snapshot[table].map((body) => [key(body), body]));
  }
  snapshot.messages.forEach((body) => noteTime(body.ts));
  for (const name of ["title", "guide", "suggestions", "shortcuts", "channels", "groups", "bot", "links", "caption"]) store[name] = snapshot[name];
  const known = people().map((member) => member.id);
  store.me = [store.me, remembered("me"), known[0]].find((id) => known.includes(id));
  const rooms = [...store.channels.map((channel) => channel.id), APP];
  store.channel = [store.channel, remembered("channel"), rooms[0]].find((id) => rooms.includes(id));
  store.ready = true;
}

const arrivals = [];
export const onArrival = (listener) => arrivals.push(listener);

function apply({ kind, id, body }) {
  if (kind === "snapshot") return take(body);
  if (kind === "caption") return void (store.caption = body);
  if (kind === "link") return void (store.links = body.links);
  if (LISTS[kind]) return void (store[LISTS[kind]] = store[LISTS[kind]].map((one) => (one.id === id ? body : one)));
  const table = store[TABLES[kind]];
  const fresh = !table.has(id);
  if (body) table.set(id, body);
  else table.delete(id);
  // A new map, so that everything that shows names is drawn again.
  if (kind === "member") store.members = new Map(table);
  if (kind === "message" && body) noteTime(body.ts);
  if (fresh && body) arrivals.forEach((listener) => listener(kind, body));
}

export function watch() {
  const socket = new WebSocket(`ws://${location.host}/control/live`);
  socket.onmessage = ({ data }) => {
    store.online = true;
    apply(JSON.parse(data));
    changed();
  };
  socket.onclose = () => {
    store.online = false;
    changed();
    setTimeout(watch, 1000);
  };
}
