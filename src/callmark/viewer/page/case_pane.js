// The pane of the open case. In: the state and the cases; out: nothing; the pane shows the case when it is loaded. Only the last requested
// case is shown. A redrawn case keeps its scroll position.

import { el, redraw } from "./dom.js";
import { caseColumns, caseView, findRow } from "./case_view.js";
import { empty } from "./panels.js";
import { TriagePanel } from "./triage.js";

export class CasePane {
  // `read(run, id, trial)` loads a case; `move(step)`, `close()`, `change(patch, replace)`, `onOpen()` and `report(problem)` belong to the page.
  constructor(box, { read, move, close, change, onOpen, report, label, correct }) {
    Object.assign(this, { box, read, move, close, change, onOpen, report, label, correct });
    this.key = "";
    this.shown = "";
    this.focusNext = false; // whether to focus the case when it is drawn
    this.highlightNext = null; // the message and value to highlight when it is drawn
    this.unsaved = new Map(); // panels of cases that were left before everything in them was saved
  }

  show({ state, cases, runs, labels, triage, complete }) {
    this.triageData = triage;
    this.box.hidden = !state.case;
    if (this.triage && this.triage.key !== panelKey(cases.run.name, state.case)) this.leave();
    if (!state.case) {
      this.key = this.shown = "";
      this.box.replaceChildren();
      return;
    }
    const row = findRow(cases, state.case, state.trial || 0);
    const key = JSON.stringify([
      state.run,
      state.case,
      state.trial,
      state.transcript,
      row >= 0,
      runs.map(({ name, cases: runCases }) => [name, runCases?.count]),
      Boolean(triage),
      (triage?.labels[state.case] ?? []).filter(({ author }) => author !== triage.author),
    ]);
    if (key === this.key || (row < 0 && !complete)) return;
    this.key = key;
    if (row < 0) this.showMissing(state.case);
    else this.load(key, state, cases, row, caseColumns(cases, row, runs, labels));
  }

  showMissing(id) {
    const close = el("button", { type: "button", class: "main-button", onclick: this.close }, "Close");
    redraw(
      this.box,
      el("div", { class: "case-body" }, el("div", { class: "left-out no-case" }, empty("This run has no case with this ID.", id), close)),
    );
  }

  async load(key, state, cases, row, columns) {
    try {
      const results = await Promise.all(columns.map(({ run, trial, at }) => (at < 0 ? null : this.read(run, cases.id[row], trial))));
      if (key === this.key) this.draw(state, cases, row, columns, results);
    } catch (problem) {
      this.report(problem);
    }
  }

  draw(state, cases, row, columns, results) {
    const name = cases.title(row);
    this.triage = this.triagePanel(cases, row, columns, results);
    const [scroll, shown] = [this.conversation?.scrollTop ?? 0, `${state.run} ${state.case} ${state.trial}`];
    const transcript = state.transcript || `${state.run}#${state.trial || 0}`;
    redraw(
      this.box,
      caseView({
        name,
        trial: cases.run.trials > 1 && columns.some(({ run }) => run !== cases.run.name) ? cases.trial[row] + 1 : 0,
        columns,
        results,
        transcript,
        choose: (...to) => this.choose(...to),
        previous: () => this.move(-1),
        next: () => this.move(1),
        close: this.close,
        copy,
        triage: this.triage?.box,
      }),
    );
    if (this.focusNext) this.box.querySelector("#case-title").focus();
    if (shown === this.shown && transcript === this.transcript) this.conversation?.scrollTo(0, scroll);
    else scrollToFault(this.conversation);
    if (this.highlightNext) this.box.querySelector(".conversation-box")?.highlight(...this.highlightNext);
    if (shown !== this.shown) this.onOpen();
    this.focusNext = false;
    this.highlightNext = null;
    Object.assign(this, { shown, transcript });
  }

  // Saves what was typed in the case that is left. If that fails, it is still there when the case is opened again.
  async leave() {
    const panel = this.triage;
    this.triage = null;
    this.unsaved.set(panel.key, panel);
    await panel.save();
    if (panel.isUnsaved) this.report(new Error(`The note of ${panel.id} is not saved. ${panel.status.textContent}`));
    else if (this.unsaved.get(panel.key) === panel) this.unsaved.delete(panel.key);
  }

  save() {
    this.triage?.save();
  }

  sendLast() {
    for (const panel of new Set([this.triage, ...this.unsaved.values()])) panel?.sendLast();
  }

  triagePanel(cases, row, columns, results) {
    const labels = this.triageData;
    if (!labels) return null;
    const [id, trial] = [cases.id[row], cases.trial[row]];
    const key = panelKey(cases.run.name, id);
    const previous = this.triage?.key === key ? this.triage : (this.unsaved.get(key) ?? null);
    this.unsaved.delete(key);
    const at = columns.findIndex(({ run }) => run === cases.run.name);
    const actual = results[at]?.actual?.filter((call) => call.arguments).map((call) => ({ name: call.name, arguments: call.arguments }));
    return new TriagePanel({
      id,
      key,
      labels,
      previous,
      known: [...new Set(Object.values(labels.labels).flatMap((given) => given.map(({ label }) => label)))].slice(0, 200),
      send: (label, note) => this.label(cases.run.name, id, trial, label, note),
      correct: labels.writable ? (calls, also) => this.correct({ run: cases.run.name, case: id, trial, calls, also }) : null,
      suggested: JSON.stringify(actual ?? [], null, 2),
      correction: labels.pending.includes(id) ? "corrected; counts once the run is graded with it" : labels.corrected.includes(id) ? "corrected; the run is graded with it" : "",
    });
  }

  get conversation() {
    return this.box.querySelector(".case-conversation");
  }

  // Shows the conversation of another column and, if given, a message in it.
  choose(transcript, message, value) {
    this.highlightNext = message === undefined ? null : [message, value];
    this.change({ transcript }, true);
  }
}

// The case of another trial is the same case.
const panelKey = (run, id) => `${run} ${id}`;

// To the decision point, or to the first message at fault, if the conversation has its own scroll bar: on a narrow screen, the verdict comes first.
function scrollToFault(pane) {
  if (!pane || pane.scrollHeight <= pane.clientHeight) return;
  const [decision, message] = [pane.querySelector(".decision"), pane.querySelector(".at-fault")];
  if (decision) pane.scrollTop = decision.offsetTop + decision.offsetHeight - pane.clientHeight + 24;
  else if (message) pane.scrollTop = message.offsetTop - pane.clientHeight / 4;
}

async function copy(event) {
  const button = event.currentTarget;
  const done = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
  button.textContent = done ? "Copied ✓" : "Copy it from the address bar";
}
