// Elements from names, attributes and children. Strings become text nodes, so data is never parsed as markup.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fillElement(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fillElement(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

// `onclick: f` adds a listener, `true` is an empty attribute; attributes and children that are false, null or undefined are skipped.
function fillElement(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

// Replaces the children of a box, except those that stay in place. The focus stays on the element with the same data-key, so that a run in
// progress can be redrawn while someone reads it.
export function redraw(box, ...children) {
  const focusedKey = box.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
  const [added, old] = [children.flat(Infinity).filter(Boolean), [...box.childNodes]];
  if (added.length === old.length && added.every((child, at) => child === old[at] || !old.includes(child)))
    added.forEach((child, at) => child === old[at] || old[at].replaceWith(child));
  else box.replaceChildren(...added);
  if (focusedKey && document.activeElement?.getAttribute("data-key") !== focusedKey) findByKey(box, focusedKey)?.focus({ preventScroll: true });
}

function findByKey(box, key) {
  return box.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

// Makes the marks of a box one Tab stop: arrow keys move to the nearest mark in that direction on the screen.
export function rovingFocus(box, marks) {
  if (!marks.length) return;
  const current = marks.find((mark) => mark.getAttribute("aria-pressed") === "true") ?? marks[0];
  for (const mark of marks) mark.setAttribute("tabindex", mark === current ? "0" : "-1");
  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = document.activeElement;
    if (!step || !marks.includes(from)) return;
    event.preventDefault();
    const next = nearest(from, marks, step);
    if (!next) return;
    from.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}

function nearest(from, marks, [across, down]) {
  const at = middle(from);
  let best = null;
  let least = Infinity;
  for (const mark of marks) {
    const to = middle(mark);
    const ahead = (to.x - at.x) * across + (to.y - at.y) * down;
    const aside = Math.abs((to.x - at.x) * down) + Math.abs((to.y - at.y) * across);
    const distance = ahead + 4 * aside;
    if (mark !== from && ahead > 1 && distance < least) [best, least] = [mark, distance];
  }
  return best;
}

function middle(mark) {
  const { left, top, width, height } = mark.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}
