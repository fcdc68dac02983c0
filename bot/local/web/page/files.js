// Files: pictures are shown, texts begin to be read, everything can be downloaded.
import { button, el, icon } from "./dom.js";

const address = (file) => `/files/${file.id}/${encodeURIComponent(file.name)}`;
const isPicture = (file) => file.mimetype.startsWith("image/");

export const drawFiles = (files) => files.map((file) => (isPicture(file) ? drawPicture(file) : drawText(file)));

function size(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function download(file) {
  const words = `Download ${file.name}`;
  return el("a", { class: "tool", href: address(file), download: file.name, title: words, "aria-label": words, testid: "download" }, icon("down_to"));
}

function drawPicture(file) {
  const shape = { width: file.original_w, height: file.original_h };
  const image = el("img", { src: address(file), alt: file.title, loading: "lazy", ...shape });
  return el(
    "figure",
    { class: "file picture", testid: "file", "data-file": file.name },
    el("figcaption", {}, el("span", { class: "file-name" }, file.title), el("span", { class: "file-kind" }, size(file.size)), download(file)),
    el("a", { href: address(file), target: "_blank", rel: "noopener", "aria-label": `Open ${file.title}` }, image),
  );
}

export function picture(id, alt, title) {
  return el("figure", { class: "picture", testid: "image" }, title ? el("figcaption", {}, title) : null, el("img", { src: `/files/${id}/image`, alt }));
}

function drawText(file) {
  const text = el("pre", { class: "file-text", tabindex: 0, "aria-label": `Beginning of ${file.name}` }, file.preview ?? "");
  const left = file.lines_more ? button({ class: "linkish", onclick: () => readOn(file, text, left) }, `Show all ${file.lines} lines`) : null;
  return el(
    "div",
    { class: "file", testid: "file", "data-file": file.name },
    el(
      "div",
      { class: "file-head" },
      icon("file"),
      el("span", { class: "file-words" }, el("span", { class: "file-name" }, file.title), el("span", { class: "file-kind" }, `${file.pretty_type} · ${size(file.size)}`)),
      download(file),
    ),
    file.preview ? text : null,
    left,
  );
}

async function readOn(file, text, left) {
  const answer = await fetch(address(file));
  text.textContent = await answer.text();
  text.classList.add("whole");
  left.remove();
}
