// The virtual table of all cases: only visible rows are elements. In: Cases, the indexes to show and the open row; out: a grid that calls
// `open(row, byKey)` and `sort(column)`.

import { callPieces, plainCall, shortTools } from "./call_pieces.js";
import { CHANGES } from "./cases.js";
import { el } from "./dom.js";
import { labelWord } from "./triage.js";
import { number, originWords, prose, seconds, shortenAll, shortenMiddle, visible, words } from "./text.js";

const ROW_HEIGHT = 42;
const CARD_HEIGHT = 96; // of a row on three lines
const [ROW_ROOM, CARD_ROOM] = [40, 30]; // characters of a call that are visible on a row and after "expected" on a card
const MAX_ID = 20; // characters of the id of a case
const MAX_ARGUMENT = 28; // characters of the argument at fault
const MAX_CARD_WIDTH = 760; // of a table that shows cards
const EXTRA_ROWS = 8; // drawn above and below the visible ones
const MAX_HEIGHT = 8_000_000; // pixels: browsers cannot show more, so longer lists scroll in larger steps
const MAX_PRINTED = 100; // rows on paper
const NOT_EXPECTED = { extra_call: "no such call", repeated_call: "no second call" }; // where other calls are expected

// Column, sort key and label.
const HEADS = [
  ["score", "score", "Score"],
  ["case", "file", "Case"],
  ["actual", "actual", "Actual"],
  ["expected", "expected", "Expected"],
  ["faults", "fault", "Faults"],
  ["change", "change", "Change"],
  ["latency", "seconds", "Latency"],
];

export class CaseTable {
  constructor({ open, sort }) {
    this.onOpen = open;
    this.cases = null;
    this.rows = new Uint32Array(0);
    this.current = 0;
    this.opened = -1;
    this.height = ROW_HEIGHT;
    this.visibleHeight = 760; // until it is measured
    this.body = el("div", { class: "rows", role: "rowgroup" });
    this.heads = HEADS.map(([name, key, label]) =>
      el(
        "span",
        { class: `cell-${name}`, role: "columnheader" },
        el("button", { type: "button", "data-key": `sort ${key}`, onclick: () => sort(key) }, label),
      ),
    );
    this.head = el(
      "div",
      { class: "row-head", role: "row" },
      el("span", { class: "cell-mark", role: "columnheader" }, el("span", { class: "visually-hidden" }, "Outcome")),
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

  // `fresh` rows replace the previous ones, so they are shown from the top. With an open case (`narrow`) the width changes: it is measured
  // without the old rows, so that they are not laid out once more.
  show(cases, rows, { opened, sort, compared, trials, timed, fresh, narrow }) {
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
    HEADS.forEach(([, key], index) => {
      const direction = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
      if (direction) this.heads[index].setAttribute("aria-sort", direction);
      else this.heads[index].removeAttribute("aria-sort");
    });
    if (narrow !== this.narrow) {
      this.narrow = narrow;
      this.body.hidden = true;
      this.drawn = null;
      this.measure();
    }
    this.resize();
    if (fresh) this.scrollToCurrent();
    this.draw();
  }

  measure() {
    const { clientWidth, clientHeight } = this.scroller;
    if (!clientWidth) return;
    this.visibleHeight = clientHeight;
    this.height = clientWidth < MAX_CARD_WIDTH ? CARD_HEIGHT : ROW_HEIGHT;
    this.box.classList.toggle("cards", clientWidth < MAX_CARD_WIDTH);
    this.resize();
  }

  resize() {
    this.fullHeight = this.rows.length * this.height;
    this.scrollHeight = Math.min(this.fullHeight, MAX_HEIGHT);
    this.space.style.setProperty("height", `${this.scrollHeight}px`);
    this.scroller.style.setProperty("--rows-height", `${this.scrollHeight}px`);
  }

  // Draws once for all the scrolling before the next frame, and not at all if the visible rows are already drawn.
  scrolled() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.top !== this.drawnAt) this.draw();
    });
  }

  // The first visible pixel of the rows. In a list taller than a browser can show, one pixel of scrolling is more than one pixel of rows.
  get top() {
    if (this.fullHeight <= MAX_HEIGHT) return this.scroller.scrollTop;
    const range = Math.max(1, this.scrollHeight - this.visibleHeight);
    return (this.scroller.scrollTop / range) * (this.fullHeight - this.visibleHeight);
  }

  set top(pixels) {
    const range = Math.max(1, this.fullHeight - this.visibleHeight);
    const scrolled = (pixels / range) * (this.scrollHeight - this.visibleHeight);
    this.scroller.scrollTop = this.fullHeight <= MAX_HEIGHT ? pixels : scrolled;
  }

  print(printing) {
    this.printing = printing;
    this.draw();
  }

  draw() {
    if (!this.cases) return;
    const top = this.top;
    this.drawnAt = top;
    const first = this.printing ? 0 : Math.max(0, Math.floor(top / this.height) - EXTRA_ROWS);
    const last = this.printing
      ? Math.min(MAX_PRINTED, this.rows.length)
      : Math.min(this.rows.length, Math.ceil((top + this.visibleHeight) / this.height) + EXTRA_ROWS);
    this.body.style.setProperty("transform", `translateY(${Math.round(first * this.height - (top - this.scroller.scrollTop))}px)`);
    const drawn = [this.cases, this.rows, this.cases.labels, first, last, this.current, this.opened, this.trials];
    if (this.drawn?.every((value, index) => value === drawn[index])) return; // nothing has changed
    this.drawn = drawn;
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.row : null;
    const positions = Array.from({ length: Math.max(0, last - first) }, (_, step) => first + step);
    const titles = shortenAll(positions.map((position) => visible(this.cases.title(this.rows[position]))), MAX_ID);
    const short = shortTools(positions.flatMap((position) => [this.cases.expected[this.rows[position]], this.cases.actual[this.rows[position]]]));
    this.body.replaceChildren(...positions.map((position, step) => this.row(position, titles[step], short)));
    this.body.hidden = false;
    if (focused) this.body.querySelector(`[data-row="${focused}"]`)?.focus({ preventScroll: true });
  }

  row(position, title, short) {
    const at = this.rows[position];
    const { cases } = this;
    const passed = cases.pass[at];
    const isError = Number.isNaN(cases.score[at]);
    const [tone, sign, outcome] = isError ? ["error", "!", "Error"] : passed === 1 ? ["right", "✓", "Correct"] : ["wrong", "✗", "Wrong"];
    const fault = firstFault(cases, at);
    const reason = isError ? cases.error[at] : [faultWords(cases, at, fault), originWords(cases.origin[at])].filter(Boolean).join(" · ");
    const same = passed === 1 && (cases.expected[at] === cases.actual[at] || cases.run.case_kind === "scenarios");
    const change = CHANGES[cases.change[at]];
    const [expected, actual] =
      passed === 1
        ? [plainCall(cases.expected[at], short), plainCall(cases.actual[at], short)]
        : callPieces(cases.expected[at], cases.actual[at], fault, short, this.height === CARD_HEIGHT ? CARD_ROOM : ROW_ROOM);
    return el(
      "div",
      {
        class: `row ${tone}`,
        role: "row",
        tabindex: position === this.current ? 0 : -1,
        "aria-rowindex": position + 2,
        "aria-selected": String(at === this.opened),
        "data-row": position,
      },
      el(
        "span",
        { class: "cell-mark", role: "gridcell" },
        el("span", { class: "sign", title: outcome, role: "img", "aria-label": outcome }, sign),
      ),
      el("span", { class: "cell-score", role: "gridcell" }, isError ? "" : number(cases.score[at])),
      el(
        "span",
        { class: "cell-case", role: "gridcell" },
        el("span", { dir: "auto", title: visible(cases.id[at]) }, title),
        this.trials ? el("small", {}, ` Trial ${cases.trial[at] + 1}`) : null,
        [...new Set(cases.labelsOf(at).map(({ label }) => label))].slice(0, 2).map((label) => el("span", { class: "label" }, labelWord(label))),
      ),
      el(
        "span",
        { class: "cell-actual", role: "gridcell" },
        cases.actual[at] ? markedCode(actual, "wrong", cases.actual[at]) : el("span", { class: "none" }, isError ? "—" : fault.kind === "missing_call" ? "— not called" : "— no call"),
      ),
      el(
        "span",
        { class: same || isError ? "cell-expected" : "cell-expected named", role: "gridcell" },
        same
          ? el("span", { class: "none" }, "as expected")
          : cases.expected[at]
            ? markedCode(expected, "right", cases.expected[at])
            : el("span", { class: "none" }, NOT_EXPECTED[fault.kind] ?? "no call"),
      ),
      el("span", { class: "cell-faults", role: "gridcell", title: visible(reason) }, prose(reason)),
      el(
        "span",
        { class: `cell-change ${change === "fixed" ? "right" : change === "broken" ? "wrong" : ""}`, role: "gridcell" },
        { fixed: "✗→✓ fixed", broken: "✓→✗ broken" }[change] ?? change,
      ),
      el("span", { class: "cell-latency", role: "gridcell" }, seconds(cases.seconds[at])),
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

  // Makes the next or previous row the current one and focuses it; while a case is open, opens it too. From elsewhere on the page, the first
  // step goes to the current row itself.
  move(step) {
    if (!this.rows.length) return;
    const isInside = this.opened >= 0 || this.body.contains(document.activeElement);
    this.current = Math.max(0, Math.min(this.rows.length - 1, this.current + (isInside ? step : 0)));
    this.scrollToCurrent();
    if (this.opened >= 0) this.open(this.current);
    else this.draw();
    this.focus();
  }

  open(position, byKey = false) {
    this.current = position;
    if (this.rows.length) this.onOpen(this.rows[position], byKey);
  }

  reveal() {
    this.scrollToCurrent();
    this.draw();
  }

  // Scrolls only as far as needed to show the current row.
  scrollToCurrent() {
    const [start, top] = [this.current * this.height, this.top];
    if (start < top) this.top = start;
    else if (start + this.height > top + this.visibleHeight) this.top = start + this.height - this.visibleHeight;
  }

  focus() {
    this.body.querySelector(`[data-row="${this.current}"]`)?.focus({ preventScroll: true });
  }
}

// The first fault of a row, as far as its group names it.
function firstFault(cases, at) {
  if (cases.group[at] < 0 || !cases.faults[at].length) return {};
  const [kind, , , argument] = cases.run.names.groups[cases.group[at]];
  return { kind, argument };
}

// `missing argument reason, wrong value +1`: the argument is that of the first fault.
function faultWords(cases, at, { argument }) {
  const kinds = [...new Set(cases.faults[at])].map((kind) => words(cases.run.names.faults[kind]));
  if (argument) kinds[0] += ` ${shortenMiddle(visible(argument), MAX_ARGUMENT)}`;
  return kinds.slice(0, 2).join(", ") + (kinds.length > 2 ? ` +${kinds.length - 2}` : "");
}

// The whole call is its title.
function markedCode(pieces, tone, whole) {
  return el(
    "code",
    { dir: "ltr", title: visible(whole) },
    pieces.map(([text, differs]) => (differs && text ? el("mark", { class: tone }, visible(text)) : visible(text))),
  );
}
