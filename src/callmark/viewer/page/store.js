// Runs and cases as they come in. In: the source and `changed()`, called whenever there is more to show; out: what is known so far.
// A run in progress is asked for again every two seconds, from where it was.

import { Cases } from "./cases.js";

const AGAIN = 2000; // milliseconds until a run in progress is asked for again
const NOT_YET = 500; // and until one whose numbers are still being worked out is

export class Store {
  constructor(source, changed) {
    this.source = source;
    this.changed = changed;
    this.known = new Map(); // name → {run, cases, whole, error}
    this.comparisons = new Map();
    this.list = null;
    this.watched = true; // whether the list is what is looked at
    this.problem = "";
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
      this.again(one);
    } catch (problem) {
      one.error = problem.message;
      this.changed();
    }
  }

  // Comes back with false where there are fewer rows than are known: then they are others, and have to be read anew.
  async readRows(one, cases) {
    for (let next = cases.count; next !== null && next !== undefined;) {
      const rows = await this.source.rows(one.name, next);
      if (rows.total < cases.count) return false;
      cases.append(rows);
      next = rows.next;
      // One look at the first rows; drawing a table that still grows would only hold the rest up.
      if (next !== null && cases.count === rows.id.length && cases === one.cases) this.changed();
    }
    return true;
  }

  again(one) {
    if (!this.source.live || (one.run.status !== "running" && one.run.ready !== false)) return;
    setTimeout(() => this.follow(one), one.run.ready === false ? NOT_YET : AGAIN);
  }

  // Rows of a run in progress are only added to. The order of the file is known in the end, so then all are read once more.
  async follow(one) {
    try {
      const run = await this.source.run(one.name);
      const ended = one.run.status === "running" && run.status !== "running";
      let cases = ended ? new Cases(run) : one.cases;
      cases.run = { ...run, names: cases.run.names };
      if ((ended || run.status === "running") && !(await this.readRows(one, cases))) {
        cases = new Cases(run);
        await this.readRows(one, cases);
      }
      if (ended) this.comparisons.clear();
      const known = JSON.stringify(run) === JSON.stringify(one.run) ? one.run : run; // what is the same is not drawn again
      Object.assign(one, { run: known, cases, error: "" });
    } catch (problem) {
      one.error = problem.message;
    }
    this.changed();
    this.again(one);
  }

  // The comparison of these runs, null until it is there; where they cannot be compared, `problem` says why.
  compare(names) {
    const key = JSON.stringify(names);
    if (!this.comparisons.has(key)) {
      this.comparisons.set(key, null);
      const tell = (found) => {
        this.comparisons.set(key, found);
        this.changed();
      };
      this.source.compare(names).then(tell, (problem) => tell({ problem: problem.message }));
    }
    return this.comparisons.get(key);
  }

  // Redrawn only where something is new: whoever is about to click a row should not have it pulled away.
  async readList() {
    try {
      const list = this.watched || !this.list ? (await this.source.runs()).runs : this.list;
      const same = JSON.stringify(list) === JSON.stringify(this.list) && !this.problem;
      this.list = list;
      this.problem = "";
      if (!same) this.changed();
    } catch (problem) {
      this.tell(problem);
    }
    if (this.source.live) setTimeout(() => this.readList(), AGAIN);
  }

  tell(problem) {
    this.problem = problem.message;
    this.changed();
  }
}
