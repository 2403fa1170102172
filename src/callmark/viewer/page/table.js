// The table of all cases, of which only the rows that are seen are elements. In: Cases, the indexes to show and the row that is open;
// out: a grid that says which row was opened or made current, and by which column to sort.

import { CHANGES } from "./cases.js";
import { differences } from "./diff.js";
import { el } from "./dom.js";
import { number, prose, seconds, visible, words } from "./text.js";

const ROW = 42;
const CARD = 76; // height of a row that stands in two lines
const CARD_WIDTH = 760; // below which it does
const SPARE = 8; // rows drawn beyond what is seen, either way
const TALLEST = 8_000_000; // pixels; browsers lose what lies far below, so longer lists are scrolled in larger steps
const PRINTED = 100; // rows on paper

const HEADS = [
  ["score", "score"],
  ["case", "file"],
  ["called", "made"],
  ["expected", "expected"],
  ["why", "fault"],
  ["change", "change"],
  ["time", "seconds"],
];

export class CaseTable {
  constructor({ open, sort }) {
    this.onOpen = open;
    this.cases = null;
    this.rows = new Uint32Array(0);
    this.current = 0;
    this.opened = -1;
    this.height = ROW;
    this.seen = 760; // until it is measured
    this.body = el("div", { class: "rows", role: "rowgroup" });
    this.heads = HEADS.map(([name, key]) =>
      el(
        "span",
        { class: `cell-${name}`, role: "columnheader" },
        el("button", { type: "button", "data-key": `sort ${key}`, onclick: () => sort(key) }, name),
      ),
    );
    this.head = el(
      "div",
      { class: "row-head", role: "row" },
      el("span", { class: "cell-mark", role: "columnheader" }, el("span", { class: "unseen" }, "right or wrong")),
      this.heads,
    );
    this.space = el("div", { class: "row-space", role: "presentation" }, this.body);
    this.scroller = el("div", { class: "row-scroll", role: "presentation", onscroll: () => this.scrolled() }, this.space);
    this.box = el(
      "div",
      {
        class: "grid",
        role: "grid",
        "aria-label": "Cases",
        onclick: (event) => this.clicked(event),
        onkeydown: (event) => this.pressed(event),
      },
      el("div", { role: "rowgroup" }, this.head),
      this.scroller,
    );
    new ResizeObserver(() => {
      this.measure();
      this.reveal();
    }).observe(this.scroller);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  // `fresh` rows are others than before, so they are shown from the top. `beside` a case there is another width: it is measured without the
  // old rows, which would be laid out for nothing.
  show(cases, rows, { opened, sort, compared, trials, timed, fresh, beside }) {
    this.cases = cases;
    this.rows = rows;
    this.opened = opened;
    const at = opened < 0 ? -1 : rows.indexOf(opened);
    if (at >= 0) this.current = at;
    else if (fresh) this.current = 0;
    this.current = Math.max(0, Math.min(this.current, rows.length - 1));
    this.box.classList.toggle("compared", compared);
    this.box.classList.toggle("timed", timed);
    this.trials = trials;
    this.box.setAttribute("aria-rowcount", rows.length + 1);
    HEADS.forEach(([, key], place) => {
      const direction = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
      if (direction) this.heads[place].setAttribute("aria-sort", direction);
      else this.heads[place].removeAttribute("aria-sort");
    });
    if (beside !== this.beside) {
      this.beside = beside;
      this.body.hidden = true;
      this.drawn = null;
      this.measure();
    }
    this.lengthen();
    if (fresh) this.bring();
    this.draw();
  }

  measure() {
    const { clientWidth, clientHeight } = this.scroller;
    if (!clientWidth) return;
    this.seen = clientHeight;
    this.height = clientWidth < CARD_WIDTH ? CARD : ROW;
    this.box.classList.toggle("cards", clientWidth < CARD_WIDTH);
    this.lengthen();
  }

  lengthen() {
    this.full = this.rows.length * this.height;
    this.tall = Math.min(this.full, TALLEST);
    this.space.style.setProperty("height", `${this.tall}px`);
  }

  // Drawn once for all the scrolling before the next frame, and not at all where the rows that are seen are drawn already.
  scrolled() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.top !== this.drawnAt) this.draw();
    });
  }

  // Rows and pixels: for a list that is taller than a browser can be, one pixel of scrolling is more than one pixel of rows.
  get top() {
    const most = Math.max(1, this.tall - this.seen);
    return this.full <= TALLEST ? this.scroller.scrollTop : (this.scroller.scrollTop / most) * (this.full - this.seen);
  }

  set top(pixels) {
    this.scroller.scrollTop = this.full <= TALLEST ? pixels : (pixels / Math.max(1, this.full - this.seen)) * (this.tall - this.seen);
  }

  print(printing) {
    this.printing = printing;
    this.draw();
  }

  draw() {
    if (!this.cases) return;
    const top = this.top;
    this.drawnAt = top;
    const first = this.printing ? 0 : Math.max(0, Math.floor(top / this.height) - SPARE);
    const last = this.printing
      ? Math.min(PRINTED, this.rows.length)
      : Math.min(this.rows.length, Math.ceil((top + this.seen) / this.height) + SPARE);
    this.body.style.setProperty("transform", `translateY(${Math.round(first * this.height - (top - this.scroller.scrollTop))}px)`);
    const drawn = [this.cases, this.rows, first, last, this.current, this.opened, this.trials];
    if (this.drawn?.every((value, place) => value === drawn[place])) return; // what is asked for several times over is drawn once
    this.drawn = drawn;
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    this.body.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, step) => this.row(first + step)));
    this.body.hidden = false;
    if (focused) this.body.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
  }

  row(place) {
    const at = this.rows[place];
    const { cases } = this;
    const passed = cases.pass[at];
    const failed = Number.isNaN(cases.score[at]);
    const [tone, sign, word] = failed ? ["error", "!", "error"] : passed === 1 ? ["right", "✓", "right"] : ["wrong", "✗", "wrong"];
    const faults = [...new Set(cases.faults[at])].map((kind) => words(cases.run.names.faults[kind]));
    const why = failed
      ? cases.error[at]
      : [
          faults.slice(0, 2).join(", ") + (faults.length > 2 ? ` +${faults.length - 2}` : ""),
          cases.origins[at] === "elsewhere" ? "taken from elsewhere" : cases.origins[at],
        ]
          .filter(Boolean)
          .join(" · ");
    const same = passed === 1 && (cases.expected[at] === cases.made[at] || cases.run.what === "scenarios");
    const change = CHANGES[cases.change[at]];
    const [expected, made] =
      passed === 1 ? [[[cases.expected[at], false]], [[cases.made[at], false]]] : inside(cases.expected[at], cases.made[at]);
    return el(
      "div",
      {
        class: `row ${tone}`,
        role: "row",
        tabindex: place === this.current ? 0 : -1,
        "aria-rowindex": place + 2,
        "aria-selected": String(at === this.opened),
        "data-row": place,
      },
      el(
        "span",
        { class: "cell-mark", role: "gridcell" },
        el("span", { class: "sign", title: word, role: "img", "aria-label": word }, sign),
      ),
      el("span", { class: "cell-score", role: "gridcell" }, failed ? "" : number(cases.score[at])),
      el(
        "span",
        { class: "cell-case", role: "gridcell" },
        prose(cases.place(at), "span", { title: visible(cases.id[at]) }),
        this.trials ? el("small", {}, ` trial ${cases.trial[at] + 1}`) : null,
      ),
      el(
        "span",
        { class: "cell-called", role: "gridcell" },
        cases.made[at] ? marked(made, "wrong") : el("span", { class: "none" }, failed ? "—" : "— no call"),
      ),
      el(
        "span",
        { class: "cell-expected", role: "gridcell" },
        same
          ? el("span", { class: "none" }, "as expected")
          : cases.expected[at]
            ? marked(expected, "right")
            : el("span", { class: "none" }, "no call"),
      ),
      el("span", { class: "cell-why", role: "gridcell", title: visible(why) }, prose(why)),
      el(
        "span",
        { class: `cell-change ${change === "fixed" ? "right" : change === "broken" ? "wrong" : ""}`, role: "gridcell" },
        { fixed: "✗→✓ fixed", broken: "✓→✗ broken" }[change] ?? change,
      ),
      el("span", { class: "cell-time", role: "gridcell" }, seconds(cases.seconds[at])),
    );
  }

  clicked(event) {
    const row = event.target.closest("[data-row]");
    if (row) this.open(Number(row.dataset.row));
  }

  pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (!event.target.dataset?.row) return;
    if (step) this.move(step);
    else if (event.key === "Enter" || event.key === " ") this.open(this.current, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The next or previous row becomes the current one and has the focus; while a case is open it opens too. Coming from elsewhere on the
  // page, the first step is to the current row itself.
  move(step) {
    if (!this.rows.length) return;
    const inside = this.opened >= 0 || this.body.contains(document.activeElement);
    this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + (inside ? step : 0)));
    this.bring();
    if (this.opened >= 0) this.open(this.current);
    else this.draw();
    this.focus();
  }

  open(place, byKey = false) {
    this.current = place;
    if (this.rows.length) this.onOpen(this.rows[place], byKey);
  }

  reveal() {
    this.bring();
    this.draw();
  }

  // Scrolls just as far as it takes to see the current row.
  bring() {
    const [at, top] = [this.current * this.height, this.top];
    if (at < top) this.top = at;
    else if (at + this.height > top + this.seen) this.top = at + this.height - this.seen;
  }

  focus() {
    this.body.querySelector(`[data-row="${this.current}"]`)?.focus({ preventScroll: true });
  }
}

// Both calls as pieces; another tool's call differs as a whole, which its name says already.
function inside(expected, made) {
  const name = (text) => text.slice(0, text.indexOf("("));
  if (!expected || !made || name(expected) !== name(made)) return [[[expected, false]], [[made, false]]];
  return differences(expected, made);
}

function marked(pieces, tone) {
  return el(
    "code",
    { dir: "ltr" },
    pieces.map(([text, differs]) => (differs && text ? el("mark", { class: tone }, visible(text)) : visible(text))),
  );
}
