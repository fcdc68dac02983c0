// What the person does, told to the server. Every answer is a delivery: acked, how fast, what was said.
import { roomId, store } from "./store.js";
import { toast } from "./toast.js";

async function post(path, body) {
  try {
    const answer = await fetch(`/control/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) toast(said.messages?.[0] ?? said.error, "bad");
    return answer.ok ? said : { acked: false, error: said.error, errors: {} };
  } catch {
    toast("The local workspace does not answer.", "bad");
    return { acked: false, error: "offline", errors: {} };
  }
}

const asMe = (act, body) => post(act, { user: store.me, ...body });

export const say = (text, thread_ts) => asMe("say", { channel: roomId(), text, ...(thread_ts ? { thread_ts } : {}) });
export const click = (body) => asMe("click", body);
export const suggest = (body) => asMe("suggest", body);
export const submit = (view_id, values) => asMe("submit", { view_id, values });
export const close = (view_id, everything) => asMe("close", { view_id, everything });
export const openedHome = (tab) => asMe("home", { tab });
export const shortcut = (callback_id, message) => asMe("shortcut", { callback_id, message_ts: message.ts, channel: message.channel });
export const setFault = (name, times) => post("fault", { [name]: times });
export const disconnect = (politely) => post("disconnect", { politely });

export async function run(id, on) {
  const said = await post("run", { id, on });
  toast(said.text);
  return said;
}
