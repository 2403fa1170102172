// All cases of a run, by column. In: a run and its rows in chunks; out: the indexes of the rows that match a state. 100,000 rows take a few
// milliseconds: numbers are in typed arrays, search texts are lowercased in advance, each sort order is computed once.

import { words } from "./text.js";

const INTEGERS = {
  trial: Uint32Array,
  scenario_type: Int32Array,
  file: Int32Array,
  expected_tool: Int32Array,
  actual_tool: Int32Array,
  group: Int32Array,
};
const MEASURES = { score: Float64Array, pass: Float64Array, seconds: Float64Array, message: Float64Array };
const LISTS = ["id", "conversation", "faults", "origin", "expected", "actual", "ending", "error"];

// How a case changed from the baseline.
export const CHANGES = ["", "both correct", "fixed", "broken", "both wrong"];
// The three scores that a decision point can have, and the ranges between them for scenarios.
export const SCORE_BANDS = ["0", "0 to .5", ".5", ".5 to 1", "1", "error"];
const TIME_EDGES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];
export const TIME_BANDS = ["under .1 s", ".1–.2 s", ".2–.5 s", ".5–1 s", "1–2 s", "2–5 s", "5–10 s", "10–30 s", "30–60 s", "over 60 s"];

export const UNLABELED = "no label";

// The text of a group in an address: its parts, the kind of the fault first.
export const groupKey = (parts) => parts.join(" / ").replace(/( \/ )+$/, "");

const NO_LABELS = [];
const CHANGE_RANKS = [null, 4, 3, 0, 1]; // by change: both correct, fixed, broken, both wrong

export class Cases {
  constructor(run) {
    this.run = run;
    this.count = 0;
    this.total = 0;
    this.capacity = 0;
    for (const key of LISTS) this[key] = [];
    this.searchTexts = [];
    this.metrics = Object.create(null); // a metric may have any name, even `__proto__`
    this.change = new Uint8Array(0);
    this.orders = new Map();
    this.labels = new Map(); // by case id: [{label, note, author}]
  }

  labelsOf(at) {
    return this.labels.get(this.id[at]) ?? NO_LABELS;
  }

  // Adds the next rows. A null number becomes NaN, so that every comparison with it is false.
  append(rows) {
    const [start, length] = [this.count, rows.id.length];
    if (rows.names) this.run = { ...this.run, names: rows.names };
    this.total = Math.max(rows.total ?? 0, start + length);
    this.reserve(Math.max(this.total, start + length));
    for (const key of Object.keys(INTEGERS)) this[key].set(rows[key], start);
    for (const key of Object.keys(MEASURES)) copyNumbers(this[key], rows[key], start);
    for (const [name, values] of Object.entries(rows.metrics ?? {})) {
      this.metrics[name] ??= new Float64Array(this.capacity).fill(NaN);
      copyNumbers(this.metrics[name], values, start);
    }
    for (const key of LISTS) for (let at = 0; at < length; at += 1) this[key].push(rows[key][at]);
    for (let at = start; at < start + length; at += 1) this.searchTexts.push(this.searchText(at));
    this.count += length;
    this.orders.clear();
  }

  reserve(capacity) {
    if (capacity <= this.capacity) return;
    for (const [key, Kind] of Object.entries({ ...INTEGERS, ...MEASURES })) this[key] = enlarge(this[key], Kind, capacity);
    for (const name of Object.keys(this.metrics)) this.metrics[name] = enlarge(this.metrics[name], Float64Array, capacity);
    this.change = enlarge(this.change, Uint8Array, capacity);
    this.capacity = capacity;
  }

  searchText(at) {
    const faults = this.faults[at].length ? this.faults[at].map((kind) => words(this.run.names.faults[kind] ?? "")).join(" ") : "";
    return `${this.id[at]} ${this.title(at)} ${this.expected[at]} ${this.actual[at]} ${faults} ${this.error[at]}`.toLowerCase();
  }

  // `12:8`: the source conversation and the message, or the case's own id.
  title(at) {
    if (!this.conversation[at]) return this.id[at];
    return Number.isNaN(this.message[at]) ? this.conversation[at] : `${this.conversation[at]}:${this.message[at]}`;
  }

  toolName(index) {
    return index >= 0 ? this.run.names.tools[index] : index === -1 ? "no call" : "unknown tool";
  }

  scoreBand(at) {
    const score = this.score[at];
    if (Number.isNaN(score)) return 5;
    return score <= 0 ? 0 : score < 0.5 ? 1 : score === 0.5 ? 2 : score < 1 ? 3 : 4;
  }

  timeBand(at) {
    const seconds = this.seconds[at];
    if (Number.isNaN(seconds)) return -1;
    const band = TIME_EDGES.findIndex((edge) => seconds < edge);
    return band === -1 ? TIME_EDGES.length : band;
  }

  // For each row, the index of the same case and trial in another run; -1 if there is none.
  rowsIn(other) {
    const found = new Int32Array(this.count).fill(-1);
    let index = null;
    for (let at = 0; at < this.count; at += 1) {
      if (other.id[at] === this.id[at] && other.trial[at] === this.trial[at]) found[at] = at;
      else {
        index ??= new Map(Array.from({ length: other.count }, (_, i) => [`${other.id[i]}#${other.trial[i]}`, i]));
        found[at] = index.get(`${this.id[at]}#${this.trial[at]}`) ?? -1;
      }
    }
    return found;
  }

  // Computes which rows are fixed and broken compared with a baseline; without one, none.
  compareWith(baseline) {
    this.change.fill(0);
    this.orders.clear();
    if (!baseline) return;
    this.rowsIn(baseline).forEach((row, at) => {
      const [before, after] = [row < 0 ? NaN : baseline.pass[row], this.pass[at]];
      if (!Number.isNaN(before) && !Number.isNaN(after)) this.change[at] = before ? (after ? 1 : 3) : after ? 2 : 4;
    });
  }

  // The indexes of the rows that match the filters and the search of a state, in its order.
  select(state) {
    const tests = this.tests(state);
    const order = this.order(state.sort || "failures");
    if (!tests.length) return order;
    const selected = new Uint32Array(this.count);
    let length = 0;
    rows: for (let step = 0; step < this.count; step += 1) {
      const at = order[step];
      for (let test = 0; test < tests.length; test += 1) if (!tests[test](at)) continue rows;
      selected[length++] = at;
    }
    return selected.subarray(0, length);
  }

  tests(state) {
    const { tools, scenario_types: scenarioTypes, files, faults } = this.run.names;
    const tests = [];
    const addToolTest = (name, column) => {
      const known = tools.indexOf(name);
      const index = known < 0 && name === "unknown tool" ? -2 : known;
      tests.push((at) => column[at] === index);
    };
    if (state.tool) addToolTest(state.tool, this.expected_tool);
    if (state.actual) addToolTest(state.actual, this.actual_tool);
    if (state.type) {
      const index = scenarioTypes.indexOf(state.type);
      tests.push((at) => this.scenario_type[at] === index);
    }
    if (state.file) {
      const index = files.indexOf(state.file);
      tests.push((at) => this.file[at] === index);
    }
    if (state.fault) {
      const kind = faults.indexOf(state.fault);
      tests.push((at) => this.faults[at].includes(kind));
    }
    if (state.change) {
      const change = CHANGES.indexOf(state.change);
      tests.push((at) => this.change[at] === change);
    }
    if (state.score === "correct") tests.push((at) => this.pass[at] === 1);
    else if (state.score === "wrong") tests.push((at) => this.pass[at] === 0);
    else if (state.score) {
      const band = SCORE_BANDS.indexOf(state.score);
      tests.push((at) => this.scoreBand(at) === band);
    }
    if (state.position) {
      const [low, high] = state.position.split("-").map(Number);
      tests.push((at) => this.message[at] >= low && this.message[at] <= (high ?? low));
    }
    if (state.time) {
      const band = TIME_BANDS.indexOf(state.time);
      tests.push((at) => this.timeBand(at) === band);
    }
    if (state.ending) tests.push((at) => this.ending[at] === state.ending);
    if (state.label === UNLABELED) tests.push((at) => this.labelsOf(at) === NO_LABELS);
    else if (state.label) tests.push((at) => this.labelsOf(at).some(({ label }) => label === state.label));
    if (state.group) {
      const wanted = this.run.names.groups.map((parts) => groupKey(parts) === state.group);
      tests.push((at) => wanted[this.group[at]] === true);
    }
    if (state.origin) tests.push((at) => this.origin[at] === state.origin);
    for (const term of state.q.toLowerCase().split(/\s+/).filter(Boolean)) tests.push((at) => this.searchTexts[at].includes(term));
    return tests;
  }

  // What is wrong comes first: what broke, other failures, errors; then what was fixed, and what is correct.
  failureRank(at) {
    if (Number.isNaN(this.score[at])) return 2;
    return CHANGE_RANKS[this.change[at]] ?? (this.pass[at] === 1 ? 4 : 1);
  }

  // All rows in the order of a column (`-score`: descending), cached. Rows without a value come last, equal rows stay in dataset order.
  order(sort) {
    if (!this.orders.has(sort)) {
      const sign = sort.startsWith("-") ? -1 : 1;
      this.orders.set(sort, sortedIndexes(this.sortKeys(sort.replace(/^-/, "")).map((value) => (Number.isNaN(value) ? Infinity : sign * value))));
    }
    return this.orders.get(sort);
  }

  sortKeys(column) {
    const { tools, faults } = this.run.names;
    if (column === "score" || column === "seconds") return this[column].subarray(0, this.count);
    if (column === "change") return Float64Array.from(this.change.subarray(0, this.count));
    if (column === "failures") return new Float64Array(this.count).map((_, at) => this.failureRank(at));
    if (column === "file") return new Float64Array(this.count).map((_, at) => at);
    if (column === "expected") return nameRanks(this.expected_tool, tools, this.count);
    if (column === "actual") return nameRanks(this.actual_tool, tools, this.count);
    return nameRanks(
      this.faults.map((kinds) => kinds[0] ?? -1),
      faults,
      this.count,
    );
  }
}

function copyNumbers(column, values, start) {
  for (let at = 0; at < values.length; at += 1) column[start + at] = values[at] ?? NaN;
}

function enlarge(column, Kind, capacity) {
  const larger = new Kind(capacity).fill(Kind === Float64Array ? NaN : 0);
  if (column) larger.set(column);
  return larger;
}

// The alphabetical rank of the name at each index; NaN without a name.
function nameRanks(indexes, names, count) {
  const order = [...names.keys()].sort((a, b) => (names[a] < names[b] ? -1 : 1));
  const rank = new Int32Array(names.length);
  order.forEach((name, position) => (rank[name] = position));
  return new Float64Array(count).map((_, at) => (indexes[at] >= 0 ? rank[indexes[at]] : NaN));
}

// A stable sort of the indexes by their keys. Only the keys are sorted, which is fast, and every index is then put at its key's position:
// a sort that compares indexes takes several times as long.
function sortedIndexes(keys) {
  const values = keys.slice().sort();
  let distinct = 0;
  for (let at = 0; at < values.length; at += 1) if (!distinct || values[at] !== values[distinct - 1]) values[distinct++] = values[at];
  const rank = new Uint32Array(keys.length);
  const start = new Uint32Array(distinct + 1);
  for (let at = 0; at < keys.length; at += 1) {
    let [low, high] = [0, distinct - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < keys[at]) low = middle + 1;
      else high = middle;
    }
    rank[at] = low;
    start[low + 1] += 1;
  }
  for (let value = 1; value <= distinct; value += 1) start[value] += start[value - 1];
  const order = new Uint32Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) order[start[rank[at]]++] = at;
  return order;
}
