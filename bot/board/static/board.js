// Keeps the page true: a stream of numbers says what moved, and then the page fetches itself again. Without
// this script every page is the same, and is fetched anew every 15 seconds.
"use strict";
(() => {
  const main = document.querySelector("main");
  const light = document.querySelector(".live");
  const mine = main.dataset.plan ? Number(main.dataset.plan) : 0;
  let source = null, tag = "", timer = 0, asked = 0, busy = false;

  const shine = (on) => {
    light.hidden = false;
    light.classList.toggle("off", !on);
    light.textContent = on ? "live" : "away";
  };

  const refresh = async () => {
    timer = 0;
    if (busy) return soon();
    busy = true;
    asked = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { "X-Part": "main", "If-None-Match": tag } });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag") || "";
        Idiomorph.morph(main, await answer.text(), { ignoreActiveValue: true, callbacks: { beforeAttributeUpdated: keepOpen } });
        document.title = main.querySelector("h1")?.dataset.title || document.title;
      } else if (answer.status === 401 || answer.status === 403 || answer.status === 404) {
        location.reload();
      }
    } catch {
      shine(false);
    }
    busy = false;
  };

  // What somebody has folded out stays so.
  const keepOpen = (name, node) => !(name === "open" && node.nodeName === "DETAILS");

  const soon = () => {
    if (timer) return;
    timer = setTimeout(refresh, Math.max(0, 300 - (Date.now() - asked)) + Math.random() * 150);
  };

  const concerns = (moved) => !mine || moved.plans.includes(mine);

  // One stream for all pages of a browser, which keeps six connections to one place: whoever holds the lock has
  // it and tells the others. A page that nobody looks at gives its turn away.
  const others = navigator.locks && "BroadcastChannel" in window ? new BroadcastChannel("board") : null;
  let wanted = false, turn = null, release = null;

  const hear = ({ name, data }) => {
    if (name === "anybody") return source?.readyState === 1 && others.postMessage({ name: "here" });
    shine(name !== "away");
    if (name === "hello" || name === "tick" || (name === "moved" && concerns(data))) soon();
  };

  const tell = (name, data) => {
    hear({ name, data });
    others?.postMessage({ name, data });
  };

  const again = (pause) => {
    source?.close();
    source = null;
    setTimeout(() => wanted && (release || !others) && !source && listen(), pause * (0.5 + Math.random()));
  };

  const listen = () => {
    source = new EventSource("/stream");
    for (const name of ["hello", "tick"]) source.addEventListener(name, () => tell(name));
    source.addEventListener("moved", (event) => tell("moved", JSON.parse(event.data)));
    source.addEventListener("bye", () => again(1000));
    source.onerror = () => {
      tell("away");
      soon(); // who is not let in any more is told so
      if (source?.readyState === 2) again(10000);
    };
  };

  const open = () => {
    if (wanted) return;
    wanted = true;
    if (!others) return listen();
    turn = new AbortController();
    const hold = () => new Promise((done) => { release = done; listen(); });
    navigator.locks.request("board", { signal: turn.signal }, hold).catch(() => {});
    others.postMessage({ name: "anybody" });
    soon();
  };

  const close = () => {
    wanted = false;
    turn?.abort();
    source?.close();
    release?.();
    source = release = turn = null;
  };

  others?.addEventListener("message", (event) => wanted && hear(event.data));
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => document.hidden || open());
  if (!document.hidden) open();
})();
