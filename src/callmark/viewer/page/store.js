// Runs and cases as they come in. In: the source and `changed()`, called whenever there is more to show; out: what is known so far.
// A run in progress is asked for again every two seconds, from where it was.

import { Cases } from "./cases.js";

const AGAIN = 2000; // milliseconds

export class Store {
  constructor(source, changed) {
    this.source = source;
    this.changed = changed;
    this.known = new Map(); // name → {run, cases, whole, error}
    this.comparisons = new Map();
    this.list = null;
    this.listError = "";
  }

  // What is known of a run; the first time it is asked for, loading begins.
  run(name) {
    if (!this.known.has(name)) {
      const one = { name, run: null, cases: null, whole: false, error: "" };
      this.known.set(name, one);
      this.load(one);
    }
    return this.known.get(name);
  }

  async load(one) {
    try {
      one.run = await this.source.run(one.name);
      this.changed();
      one.cases = new Cases(one.run);
      await this.readRows(one, one.cases);
      one.whole = true;
      this.changed();
      if (one.run.status === "running" && this.source.live) setTimeout(() => this.follow(one), AGAIN);
    } catch (problem) {
      one.error = problem.message;
      this.changed();
    }
  }

  async readRows(one, cases) {
    for (let next = cases.count; next !== null && next !== undefined; ) {
      const rows = await this.source.rows(one.name, next);
      cases.append(rows);
      next = rows.next;
      if (next !== null && cases === one.cases) this.changed();
    }
  }

  // The order of the file is only known in the end, so then everything is read once more.
  async follow(one) {
    try {
      const run = await this.source.run(one.name);
      const running = run.status === "running";
      const cases = running ? one.cases : new Cases(run);
      cases.run = run;
      await this.readRows(one, cases);
      one.run = run;
      one.cases = cases;
      if (!running) this.comparisons.clear();
      one.error = "";
    } catch (problem) {
      one.error = problem.message;
    }
    this.changed();
    if (one.run.status === "running") setTimeout(() => this.follow(one), AGAIN);
  }

  // The comparison of these runs, null until it is there.
  compare(names) {
    const key = JSON.stringify(names);
    if (!this.comparisons.has(key)) {
      this.comparisons.set(key, null);
      this.source.compare(names).then((found) => {
        this.comparisons.set(key, found);
        this.changed();
      }, () => {});
    }
    return this.comparisons.get(key);
  }

  async readList() {
    try {
      this.list = await this.source.runs();
      this.listError = "";
    } catch (problem) {
      this.listError = problem.message;
    }
    this.changed();
    if (this.source.live) setTimeout(() => this.readList(), AGAIN);
  }
}
