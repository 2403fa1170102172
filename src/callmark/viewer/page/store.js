// Loads runs and cases. In: the source and `onChange()`, which is called whenever there is more to show; out: what is loaded so far.
// A run in progress is polled for new rows every two seconds.

import { Cases } from "./cases.js";

const POLL_INTERVAL = 2000; // milliseconds, for the list and a run in progress
const NOT_READY_INTERVAL = 500; // milliseconds, for a run whose metrics are being computed

export class Store {
  constructor(source, onChange) {
    this.source = source;
    this.onChange = onChange;
    this.runs = new Map(); // name → {name, run, cases, complete, error}
    this.comparisons = new Map();
    this.list = null;
    this.listShown = true;
    this.historyShown = false;
    this.shownRun = ""; // whose labels are read again
    this.problem = "";
  }

  // What is loaded of a run so far. The first call starts loading.
  run(name) {
    if (!this.runs.has(name)) {
      const entry = { name, run: null, cases: null, complete: false, error: "", labels: null };
      this.runs.set(name, entry);
      this.load(entry);
    }
    return this.runs.get(name);
  }

  async load(entry) {
    try {
      entry.run = await this.source.run(entry.name);
      this.onChange();
      entry.cases = new Cases(entry.run);
      await this.readRows(entry, entry.cases);
      entry.complete = true;
      this.onChange();
      this.followLabels(entry);
      this.poll(entry);
    } catch (problem) {
      entry.error = problem.message;
      this.onChange();
    }
  }

  // Labels are read again every few seconds: someone else may be labeling the same cases.
  async followLabels(entry) {
    try {
      if (!entry.labels || this.shownRun === entry.name) this.setLabels(entry, await this.source.labels(entry.name));
    } catch (problem) {
      if (!entry.labels) this.report(problem);
    }
    if (this.source.live) setTimeout(() => this.followLabels(entry), POLL_INTERVAL);
  }

  setLabels(entry, labels) {
    if (JSON.stringify(labels) === JSON.stringify(entry.labels)) return;
    entry.labels = labels;
    this.onChange();
  }

  // Writes a label and resolves when it is on disk.
  async label(name, id, trial, label, note) {
    this.setLabels(this.runs.get(name), await this.source.label({ run: name, case: id, trial, label, note }));
  }

  // Returns false if there are fewer rows than were loaded: then the rows have changed and have to be loaded again.
  async readRows(entry, cases) {
    for (let next = cases.count; next !== null && next !== undefined;) {
      const rows = await this.source.rows(entry.name, next);
      if (rows.total < cases.count) return false;
      cases.append(rows);
      next = rows.next;
      // Draw only the first rows: redrawing a growing table would delay the rest.
      if (next !== null && cases.count === rows.id.length && cases === entry.cases) this.onChange();
    }
    return true;
  }

  poll(entry) {
    if (!this.source.live || (entry.run.status !== "running" && entry.run.ready !== false)) return;
    setTimeout(() => this.follow(entry), entry.run.ready === false ? NOT_READY_INTERVAL : POLL_INTERVAL);
  }

  // A run in progress only adds rows. When it ends, their order changes, so all of them are loaded again.
  async follow(entry) {
    try {
      const run = await this.source.run(entry.name);
      const ended = entry.run.status === "running" && run.status !== "running";
      let cases = ended ? new Cases(run) : entry.cases;
      cases.run = { ...run, names: cases.run.names };
      if ((ended || run.status === "running") && !(await this.readRows(entry, cases))) {
        cases = new Cases(run);
        await this.readRows(entry, cases);
      }
      if (ended) this.comparisons.clear();
      const current = JSON.stringify(run) === JSON.stringify(entry.run) ? entry.run : run; // the same object is not drawn again
      Object.assign(entry, { run: current, cases, error: "" });
    } catch (problem) {
      entry.error = problem.message;
    }
    this.onChange();
    this.poll(entry);
  }

  // The history of all runs, null until it is loaded. It is read again while its page is shown.
  history() {
    if (!this.historyAsked) {
      this.historyAsked = true;
      this.readHistory();
    }
    return this.historyData ?? null;
  }

  async readHistory() {
    try {
      const found = await this.source.history();
      const isNew = JSON.stringify(found) !== JSON.stringify(this.historyData);
      this.historyData = found;
      if (isNew) this.onChange();
    } catch (problem) {
      this.report(problem);
    }
    if (this.source.live) setTimeout(() => this.followHistory(), this.historyData?.ready === false ? NOT_READY_INTERVAL : POLL_INTERVAL);
  }

  followHistory() {
    this.historyAsked = false;
    if (this.historyShown) this.history();
  }

  // The comparison of these runs, null until it is loaded; its `problem` says why they cannot be compared.
  compare(names) {
    const key = JSON.stringify(names);
    if (!this.comparisons.has(key)) {
      this.comparisons.set(key, null);
      const publish = (found) => {
        this.comparisons.set(key, found);
        this.onChange();
      };
      this.source.compare(names).then(publish, (problem) => publish({ problem: problem.message }));
    }
    return this.comparisons.get(key);
  }

  // Redraws only if something is new, so that no row moves away under a click.
  async readList() {
    try {
      const list = this.listShown || !this.list ? (await this.source.runs()).runs : this.list;
      const same = JSON.stringify(list) === JSON.stringify(this.list) && !this.problem;
      this.list = list;
      this.problem = "";
      if (!same) this.onChange();
    } catch (problem) {
      this.report(problem);
    }
    if (this.source.live) setTimeout(() => this.readList(), POLL_INTERVAL);
  }

  report(problem) {
    this.problem = problem.message;
    this.onChange();
  }
}
