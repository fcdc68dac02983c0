// A click and its fate: the element waits for the ack, then is itself again or carries a warning.
import { click, suggest } from "./api.js";
import { askFirst } from "./confirm.js";
import { wayBackTo } from "./dom.js";
import { changed, store } from "./store.js";

// Where a person was when they last used something outside of a form: a form that opens then leads back there.
export let cameFrom = () => null;
const fates = new Map();
const held = new Map();
const counts = new Map();

const surfaceId = (surface) => surface.hash ? surface.id : surface.ts;
const keyOf = (surface, block, element) => `${surfaceId(surface)}/${block.block_id}/${element.action_id}/${store.me}`;

export const fate = (surface, block, element) => fates.get(keyOf(surface, block, element));
export const valueHeld = (surface, block, element) => held.get(keyOf(surface, block, element));
export const clickCount = (surface) => counts.get(surfaceId(surface)) ?? 0;

function settle(surface, key, state) {
  if (state) fates.set(key, state);
  else fates.delete(key);
  counts.set(surfaceId(surface), clickCount(surface) + 1);
  changed();
}

function valuesOf(surface) {
  const values = {};
  for (const [key, value] of held) {
    const [id, block, action, user] = key.split("/");
    if (id === surfaceId(surface) && user === store.me) (values[block] ??= {})[action] = value;
  }
  return values;
}

const placeOf = (surface) => (surface.hash ? { view_id: surface.id } : { message_ts: surface.ts, channel: surface.channel });

// What the app offers for what was typed so far.
export async function ask(surface, block, element, typed) {
  if (typed.length < (element.min_query_length ?? 3)) return [];
  const delivery = await suggest({ ...placeOf(surface), block_id: block.block_id, action_id: element.action_id, typed });
  return delivery.payload?.options ?? [];
}

export async function use(surface, block, element, value) {
  if (!document.activeElement?.closest("dialog")) cameFrom = wayBackTo(document.activeElement);
  if (element.confirm && !(await askFirst(element.confirm))) return;
  const key = keyOf(surface, block, element);
  if (fates.get(key) === "waiting") return;
  if (element.type !== "button" && element.type !== "overflow") held.set(key, value);
  const waiting = setTimeout(() => settle(surface, key, "waiting"), 60);
  fates.set(key, "waiting");
  const delivery = await click({
    ...placeOf(surface),
    block_id: block.block_id,
    element,
    value,
    values: surface.typed ?? valuesOf(surface),
    confirm: true,
  });
  clearTimeout(waiting);
  settle(surface, key, delivery.acked ? null : "failed");
}
