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

  const open = () => {
    if (source) return;
    source = new EventSource("/stream");
    source.addEventListener("hello", () => { shine(true); soon(); });
    source.addEventListener("moved", (event) => { if (concerns(JSON.parse(event.data))) soon(); });
    source.addEventListener("tick", soon);
    source.addEventListener("bye", () => { close(); setTimeout(() => document.hidden || open(), 500 + Math.random() * 1500); });
    source.onerror = () => shine(false);
  };

  const close = () => { source?.close(); source = null; };

  // A browser keeps six connections to one place: a page that nobody looks at gives its own back.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => document.hidden || open());
  if (!document.hidden) open();
})();
