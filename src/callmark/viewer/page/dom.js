// Elements from names, attributes and children. In: what an element should be; out: the element.
// Children that are strings become text nodes, so nothing that came from data is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// `onclick: f` listens, `true` is an empty attribute; false, null and undefined leave an attribute or a child out.
function filled(element, attributes, children) {
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

// Puts `children` in the place of what a box held; those that it holds already, in the same place, stay untouched. Whoever had the focus in
// it keeps it, found again by its data-key, so that a run in progress can be drawn again under a reader's hands.
export function redraw(box, ...children) {
  const held = box.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
  const [made, old] = [children.flat(Infinity).filter(Boolean), [...box.childNodes]];
  if (made.length === old.length && made.every((child, at) => child === old[at] || !old.includes(child)))
    made.forEach((child, at) => child === old[at] || old[at].replaceWith(child));
  else box.replaceChildren(...made);
  if (held && document.activeElement?.getAttribute("data-key") !== held) byKey(box, held)?.focus({ preventScroll: true });
}

function byKey(box, key) {
  return box.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

// A box whose marks are one stop of the Tab key: arrows go to the nearest mark in their direction, as the marks stand on the screen.
export function oneStop(box, marks) {
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
