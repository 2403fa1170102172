// Long texts folded. In: a text and the length to show; out: an element with a button that shows more.

import { el } from "./dom.js";
import { visible } from "./text.js";

const MAX_SHOWN = 200_000; // characters of one text that can be shown
const UNFOLD_STEP = 20_000; // characters that one click adds

// A text up to `length` characters is shown whole. A very long one unfolds in steps, so that no click lays out a megabyte at once.
export function folded(text, length, { tag = "div", attributes = {} } = {}) {
  const body = el(tag, { dir: "auto", ...attributes });
  if (text.length <= length * 1.25) {
    body.append(visible(text));
    return body;
  }
  let shown = length;
  const more = el("button", { type: "button", class: "quiet-button more", "aria-expanded": "false" });
  const draw = () => {
    body.replaceChildren(visible(text.slice(0, shown)), shown < text.length ? "…" : "");
    const left = text.length - shown;
    const full = shown >= Math.min(text.length, MAX_SHOWN);
    more.textContent =
      shown === length
        ? `Show ${left > UNFOLD_STEP ? "more of" : "all"} ${text.length.toLocaleString("en")} characters`
        : full
          ? "Show less"
          : `Show more (${left.toLocaleString("en")} characters left)`;
    more.setAttribute("aria-expanded", String(shown > length));
  };
  const unfold = (to) => {
    shown = Math.min(to, text.length, MAX_SHOWN);
    draw();
  };
  more.addEventListener("click", () => unfold(shown >= Math.min(text.length, MAX_SHOWN) ? length : shown + UNFOLD_STEP));
  draw();
  const box = el("div", { class: "folded" }, body, more);
  // Text that a link points to has to be on the page first.
  box.addEventListener("reveal", (event) => event.detail + 200 > shown && unfold(event.detail + 2000));
  return box;
}

// Marks the first occurrence of a text inside an element, unfolding it if necessary. Returns the mark, or null.
export function markText(box, whole, sought) {
  const written = visible(sought);
  const at = sought ? whole.indexOf(sought) : -1;
  if (at >= 0)
    for (const part of box.querySelectorAll(".folded")) part.dispatchEvent(new CustomEvent("reveal", { detail: at + sought.length }));
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && written; node = walker.nextNode()) {
    const place = node.data.indexOf(written);
    if (place < 0) continue;
    const found = node.splitText(place);
    found.splitText(written.length);
    const mark = el("mark", { class: "highlight" });
    found.replaceWith(mark);
    mark.append(found);
    return mark;
  }
  return null;
}

export function clearMarks(box) {
  for (const mark of box.querySelectorAll("mark.highlight")) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }
}
