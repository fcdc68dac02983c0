// Elements without markup: foreign text only ever becomes a text node.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "testid") node.dataset.testid = value;
  else if (name === "class") node.className = value;
  else if (name === "value") node.value = value;
  else if (name === "colour") node.style.setProperty("--colour", value);
  else node.setAttribute(name, value === true ? "" : value);
}

export const button = (props, ...children) => el("button", { type: "button", ...props }, ...children);

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  chevron: "M9 6l6 6-6 6",
  play: "M6 4l14 8-14 8z",
  down: "M6 9l6 6 6-6",
  menu: "M4 7h16M4 12h16M4 17h16",
  warn: "M12 4L2.8 19.5h18.4zM12 10v4.5M12 17.2v.1",
  send: "M4 12l16-8-5 16-3.5-6.5z",
  link: "M14 5h5v5M19 5l-8.5 8.5M18 14v4a1.5 1.5 0 01-1.5 1.5h-10A1.5 1.5 0 015 18V8a1.5 1.5 0 011.5-1.5h4",
  bell: "M6 10a6 6 0 0112 0c0 5 2 6 2 6H4s2-1 2-6zM10 19.5a2 2 0 004 0",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 14.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5z",
  reply: "M4.5 6.5A2 2 0 016.5 4.5h11a2 2 0 012 2v7a2 2 0 01-2 2H11l-4.5 4v-4a2 2 0 01-2-2z",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  back: "M15 5l-7 7 7 7",
  file: "M7 3.5h7l4.5 4.5v12.5H7zM14 3.5V8h4.5",
  down_to: "M12 4v11M7.5 11L12 15.5 16.5 11M5 19.5h14",
  home: "M4 11.5L12 4.5l8 7M6.5 10v9.5h11V10",
  globe: "M12 21a9 9 0 100-18 9 9 0 000 18zM3 12h18M12 3c3 2.7 3 15.3 0 18M12 3c-3 2.7-3 15.3 0 18",
  archive: "M4 6h16v4H4zM6 10v9.5h12V10M10 13.5h4",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  clock: "M12 7v5.2l3.2 1.8M12 21a9 9 0 100-18 9 9 0 000 18z",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 017 0v3",
  pause: "M9 6v12M15 6v12",
  stop: "M8.5 3.5h7l5 5v7l-5 5h-7l-5-5v-7zM8 12h8",
  hand: "M8 12V6.5a1.5 1.5 0 013 0V11M11 11V5a1.5 1.5 0 013 0v6M14 11V6.5a1.5 1.5 0 013 0V14a6 6 0 01-6 6c-3 0-4.500-1.500-6.500-5l-1-2a1.400 1.400 0 012.400-1.400L8 13.500",
  dash: "M6 12h12",
  turn: "M19 8a8 8 0 10.8 6M19.5 4v4.5H15",
  mark: "M7 4h10v16l-5-4-5 4z",
  flake: "M12 3v18M4.2 7.5l15.6 9M19.800 7.500l-15.600 9",
  book: "M5 5.5A2 2 0 017 4h12v14H7a2 2 0 00-2 2zM5 5.5V20",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export const spinner = () => el("span", { class: "spinner", role: "img", "aria-label": "Waiting" });

// Only the web: a message must not be able to offer javascript: or file: addresses.
export function link(url, ...children) {
  const safe = /^(https?:|mailto:)/i.test(url);
  if (!safe) return el("span", {}, ...children);
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

// A way back to an element that may be drawn again meanwhile: by its id, or by its block and action.
export function wayBackTo(node) {
  const block = node?.closest("[data-block-id]")?.dataset.blockId;
  const action = node?.dataset.actionId;
  return (within) => {
    const same = node?.isConnected ? node : node?.id ? document.getElementById(node.id) : null;
    if (same && within.contains(same)) return same;
    return action ? within.querySelector(`[data-block-id="${CSS.escape(block ?? "")}"] [data-action-id="${CSS.escape(action)}"]`) : null;
  };
}

// New children only when the mark changed; whoever had the focus keeps it.
export function replace(parent, mark, draw) {
  if (parent.mark === mark) return;
  parent.mark = mark;
  const reachable = () => [...parent.querySelectorAll("button, a, select, summary")];
  const focused = reachable().indexOf(document.activeElement);
  const top = parent.scrollTop;
  parent.replaceChildren(...[draw()].flat().filter(Boolean));
  parent.scrollTop = top;
  if (focused >= 0) reachable()[focused]?.focus();
}

// Keyed children: a child is drawn again only when its mark changed.
export function reconcile(parent, items) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = items.map(({ key, mark, draw }) => {
    const have = old.get(key);
    if (have && same(have.mark, mark)) return have;
    const node = draw();
    node.dataset.key = key;
    node.mark = mark;
    if (have) keepFocus(have, node);
    return node;
  });
  wanted.forEach((node, index) => {
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
  while (parent.children.length > wanted.length) parent.lastElementChild.remove();
}

const same = (one, other) => one.length === other.length && one.every((part, index) => part === other[index]);

function keepFocus(before, after) {
  const focused = before.contains(document.activeElement) ? document.activeElement.dataset : null;
  if (!focused?.actionId) return;
  const selector = `[data-action-id="${CSS.escape(focused.actionId)}"]`;
  // As soon as it stands in the page: a key pressed before that would be lost.
  queueMicrotask(() => after.querySelector(selector)?.focus());
}
