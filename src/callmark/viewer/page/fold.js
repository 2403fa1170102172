// Long texts folded. In: a text and how much of it to show; out: an element with a button that shows the rest.

import { el } from "./dom.js";
import { visible } from "./text.js";

const MOST_SHOWN = 200_000; // characters that are ever put on the page of one text
const STEP = 20_000; // characters a button brings

// A text up to `most` characters is shown whole. More of a very long one comes in steps, so that no click has to lay out a megabyte at once.
export function folded(text, most, { tag = "div", attributes = {} } = {}) {
  const body = el(tag, { dir: "auto", ...attributes });
  if (text.length <= most * 1.25) {
    body.append(visible(text));
    return body;
  }
  let shown = most;
  const more = el("button", { type: "button", class: "quiet-button more", "aria-expanded": "false" });
  const draw = () => {
    body.replaceChildren(visible(text.slice(0, shown)), shown < text.length ? "…" : "");
    const left = text.length - shown;
    const full = shown >= Math.min(text.length, MOST_SHOWN);
    more.textContent =
      shown === most
        ? `show ${left > STEP ? "more of" : "all"} ${text.length.toLocaleString("en")} characters`
        : full
          ? "fold"
          : `show more, ${left.toLocaleString("en")} characters are left`;
    more.setAttribute("aria-expanded", String(shown > most));
  };
  const unfold = (to) => {
    shown = Math.min(to, text.length, MOST_SHOWN);
    draw();
  };
  more.addEventListener("click", () => unfold(shown >= Math.min(text.length, MOST_SHOWN) ? most : shown + STEP));
  draw();
  const box = el("div", { class: "folded" }, body, more);
  // A place in the text that a link points at has to be on the page first.
  box.addEventListener("reveal", (event) => event.detail + 200 > shown && unfold(event.detail + 2000));
  return box;
}

// Marks the first place where a text stands inside an element, unfolding what hides it. Comes back with the mark, or null.
export function highlight(box, whole, sought) {
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
    const mark = el("mark", { class: "pointed" });
    found.replaceWith(mark);
    mark.append(found);
    return mark;
  }
  return null;
}

export function unmark(box) {
  for (const mark of box.querySelectorAll("mark.pointed")) {
    const parent = mark.parentNode;
    mark.replaceWith(...mark.childNodes);
    parent.normalize();
  }
}
