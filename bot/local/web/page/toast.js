// A sentence that comes and goes.
import { el } from "./dom.js";

export function toast(text, kind = "") {
  if (!text) return;
  const node = el("div", { class: `toast ${kind}`, testid: "toast" }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.classList.add("leaving"), 4200);
  setTimeout(() => node.remove(), 4600);
}
