// What came while somebody looked elsewhere: by person and room, up to where they have read.
import { dmOf, roomId, store } from "./store.js";

const read = new Map();
const newest = (room) => [...store.messages.values()].reduce((last, body) => (body.channel === room && body.ts > last ? body.ts : last), "0");
const inRoom = (body) => !body.thread_ts || body.thread_ts === body.ts || body.subtype === "thread_broadcast";

// Whoever is acted as for the first time has read everything that was there before.
export function markRead() {
  for (const id of store.members.keys()) {
    for (const room of [...store.channels.map((one) => one.id), dmOf(id)]) {
      const key = `${id}/${room}`;
      if (!read.has(key)) read.set(key, newest(room));
    }
  }
  if (document.visibilityState === "visible") read.set(`${store.me}/${roomId()}`, newest(roomId()));
}

export function unread(user, room) {
  const since = read.get(`${user}/${room}`) ?? "0";
  return [...store.messages.values()].filter((body) => body.channel === room && body.ts > since && body.user !== user && inRoom(body)).length;
}
