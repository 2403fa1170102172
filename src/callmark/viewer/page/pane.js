// The case beside the table. In: what is to be open; out: nothing, the pane shows it once it has come. Only the last one asked for is shown,
// and a case that is drawn again stays where it was scrolled to.

import { el, redraw } from "./dom.js";
import { columnsOf, find, openedCase } from "./opened.js";
import { empty } from "./panels.js";

export class CasePane {
  // `read(run, id, trial)` brings a case; `moved(step)`, `close()`, `change(patch, replace)`, `opened()` and `tell(problem)` are the page's.
  constructor(box, { read, moved, close, change, opened, tell }) {
    Object.assign(this, { box, read, moved, close, change, opened, tell });
    this.key = "";
    this.shown = "";
    this.focusNext = false; // whether the focus goes to the case once it is drawn
    this.pointNext = null; // a message and a value to point at then
  }

  show({ state, cases, others, labels, whole }) {
    this.box.hidden = !state.case;
    if (!state.case) {
      this.key = this.shown = "";
      this.box.replaceChildren();
      return;
    }
    const row = find(cases, state.case, state.trial || 0);
    const key = JSON.stringify([
      state.run,
      state.case,
      state.trial,
      state.whose,
      row >= 0,
      others.map(({ name, cases: of }) => [name, of?.count]),
    ]);
    if (key === this.key || (row < 0 && !whole)) return;
    this.key = key;
    if (row < 0) this.missing(state.case);
    else this.load(key, state, cases, row, columnsOf(cases, row, others, labels));
  }

  missing(id) {
    const close = el("button", { type: "button", class: "main-button", onclick: this.close }, "Close");
    redraw(
      this.box,
      el("div", { class: "case-body" }, el("div", { class: "left-out no-case" }, empty("This run has no such case.", id), close)),
    );
  }

  async load(key, state, cases, row, columns) {
    try {
      const loaded = await Promise.all(columns.map(({ run, trial, at }) => (at < 0 ? null : this.read(run, cases.id[row], trial))));
      if (key === this.key) this.draw(state, cases.place(row), columns, loaded);
    } catch (problem) {
      this.tell(problem);
    }
  }

  draw(state, name, columns, loaded) {
    const [scroll, shown] = [this.talk?.scrollTop ?? 0, `${state.run} ${state.case} ${state.trial}`];
    const whose = state.whose || `${state.run}#${state.trial || 0}`;
    redraw(
      this.box,
      openedCase({
        name,
        columns,
        loaded,
        whose,
        choose: (...to) => this.choose(...to),
        previous: () => this.moved(-1),
        next: () => this.moved(1),
        close: this.close,
        copy,
      }),
    );
    if (this.focusNext) this.box.querySelector("#case-title").focus();
    if (shown === this.shown) this.talk?.scrollTo(0, scroll);
    else toDecision(this.talk);
    if (this.pointNext) this.box.querySelector(".talk-box")?.point(...this.pointNext);
    if (shown !== this.shown) this.opened();
    this.focusNext = false;
    this.pointNext = null;
    this.shown = shown;
  }

  get talk() {
    return this.box.querySelector(".case-talk");
  }

  // Another column's conversation, and perhaps a place in it.
  choose(whose, message, value) {
    this.pointNext = message === undefined ? null : [message, value];
    this.change({ whose }, true);
  }
}

// Only where the conversation scrolls by itself; on a narrow screen the verdict comes first.
function toDecision(pane) {
  const decision = pane?.querySelector(".decision");
  if (decision && pane.scrollHeight > pane.clientHeight)
    pane.scrollTop = decision.offsetTop + decision.offsetHeight - pane.clientHeight + 24;
}

async function copy(event) {
  const button = event.currentTarget;
  const done = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
  button.textContent = done ? "copied ✓" : "copy it from the address bar";
}
