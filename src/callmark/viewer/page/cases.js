// All cases of a run in columns. In: RUN and ROWS in chunks; out: the rows that fit a state, as indexes, within a few milliseconds
// for 100,000 of them: numbers lie in typed arrays, the text that is searched is lower case already, an order is worked out once.

import { words } from "./text.js";

const NUMBERS = { trial: Uint32Array, type: Int32Array, tool: Int32Array, made_tool: Int32Array };
const MEASURES = { score: Float64Array, pass: Float64Array, seconds: Float64Array, message: Float64Array };
const TEXTS = ["id", "conversation", "faults", "origins", "expected", "made", "ending", "error"];

// What became of a case against the baseline.
export const CHANGES = ["", "both right", "fixed", "broken", "both wrong"];
// Score bands: the three scores a decision point can have, and what lies between them for scenarios.
export const BANDS = ["0", "0 to .5", ".5", ".5 to 1", "1", "error"];
const TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];
export const TIME_NAMES = ["under .1 s", ".1–.2 s", ".2–.5 s", ".5–1 s", "1–2 s", "2–5 s", "5–10 s", "10–30 s", "30–60 s", "over 60 s"];

export class Cases {
  constructor(run) {
    this.run = run;
    this.count = 0;
    this.total = 0;
    this.room = 0;
    for (const key of TEXTS) this[key] = [];
    this.haystack = [];
    this.metrics = Object.create(null); // a metric may have any name, `__proto__` too
    this.change = new Uint8Array(0);
    this.orders = new Map();
  }

  // Takes the next rows in. A row whose number is null is NaN here, so that every comparison with it is false.
  append(rows) {
    const [from, many] = [this.count, rows.id.length];
    if (rows.names) this.run = { ...this.run, names: rows.names };
    this.total = Math.max(rows.total ?? 0, from + many);
    this.makeRoom(Math.max(this.total, from + many));
    for (const key of Object.keys(NUMBERS)) this[key].set(rows[key], from);
    for (const key of Object.keys(MEASURES)) fill(this[key], rows[key], from);
    for (const [name, values] of Object.entries(rows.metrics ?? {})) {
      this.metrics[name] ??= new Float64Array(this.room).fill(NaN);
      fill(this.metrics[name], values, from);
    }
    for (const key of TEXTS) for (let at = 0; at < many; at += 1) this[key].push(rows[key][at]);
    for (let at = from; at < from + many; at += 1) this.haystack.push(this.searched(at));
    this.count += many;
    this.orders.clear();
  }

  makeRoom(room) {
    if (room <= this.room) return;
    for (const [key, Kind] of Object.entries({ ...NUMBERS, ...MEASURES })) this[key] = grown(this[key], Kind, room);
    for (const name of Object.keys(this.metrics)) this.metrics[name] = grown(this.metrics[name], Float64Array, room);
    this.change = grown(this.change, Uint8Array, room);
    this.room = room;
  }

  searched(at) {
    const faults = this.faults[at].length ? this.faults[at].map((kind) => words(this.run.names.faults[kind] ?? "")).join(" ") : "";
    return `${this.id[at]} ${this.place(at)} ${this.expected[at]} ${this.made[at]} ${faults} ${this.error[at]}`.toLowerCase();
  }

  // `#12:8`: the source conversation and the message, or the case's own id.
  place(at) {
    if (!this.conversation[at]) return this.id[at];
    return Number.isNaN(this.message[at]) ? this.conversation[at] : `${this.conversation[at]}:${this.message[at]}`;
  }

  toolName(index) {
    return index >= 0 ? this.run.names.tools[index] : index === -1 ? "no call" : "unknown tool";
  }

  band(at) {
    const score = this.score[at];
    if (Number.isNaN(score)) return 5;
    return score <= 0 ? 0 : score < 0.5 ? 1 : score === 0.5 ? 2 : score < 1 ? 3 : 4;
  }

  timeBand(at) {
    const taken = this.seconds[at];
    if (Number.isNaN(taken)) return -1;
    const band = TIMES.findIndex((edge) => taken < edge);
    return band === -1 ? TIMES.length : band;
  }

  // Where a case stands in the list of another run: the same id and trial, -1 where there is none.
  partners(other) {
    const found = new Int32Array(this.count).fill(-1);
    let known = null;
    for (let at = 0; at < this.count; at += 1) {
      if (other.id[at] === this.id[at] && other.trial[at] === this.trial[at]) found[at] = at;
      else {
        known ??= new Map(Array.from({ length: other.count }, (_, i) => [`${other.id[i]}#${other.trial[i]}`, i]));
        found[at] = known.get(`${this.id[at]}#${this.trial[at]}`) ?? -1;
      }
    }
    return found;
  }

  // Works out what is fixed and broken against a baseline; without one nothing is.
  against(base) {
    this.change.fill(0);
    this.orders.clear();
    if (!base) return;
    this.partners(base).forEach((partner, at) => {
      const [was, is] = [partner < 0 ? NaN : base.pass[partner], this.pass[at]];
      if (!Number.isNaN(was) && !Number.isNaN(is)) this.change[at] = was ? (is ? 1 : 3) : is ? 2 : 4;
    });
  }

  // The indexes of the rows that fit the state's filters and search, in its order.
  select(state) {
    const tests = this.tests(state);
    const order = this.order(state.sort || "file");
    if (!tests.length) return order;
    const out = new Uint32Array(this.count);
    let kept = 0;
    walk: for (let step = 0; step < this.count; step += 1) {
      const at = order[step];
      for (let test = 0; test < tests.length; test += 1) if (!tests[test](at)) continue walk;
      out[kept++] = at;
    }
    return out.subarray(0, kept);
  }

  tests(state) {
    const { tools, types, faults } = this.run.names;
    const tests = [];
    const tool = (name, column) => {
      const known = tools.indexOf(name);
      const wanted = known < 0 && name === "unknown tool" ? -2 : known;
      tests.push((at) => column[at] === wanted);
    };
    if (state.tool) tool(state.tool, this.tool);
    if (state.made) tool(state.made, this.made_tool);
    if (state.type) {
      const wanted = types.indexOf(state.type);
      tests.push((at) => this.type[at] === wanted);
    }
    if (state.fault) {
      const wanted = faults.indexOf(state.fault);
      tests.push((at) => this.faults[at].includes(wanted));
    }
    if (state.change) {
      const wanted = CHANGES.indexOf(state.change);
      tests.push((at) => this.change[at] === wanted);
    }
    if (state.score === "right") tests.push((at) => this.pass[at] === 1);
    else if (state.score === "wrong") tests.push((at) => this.pass[at] === 0);
    else if (state.score) {
      const wanted = BANDS.indexOf(state.score);
      tests.push((at) => this.band(at) === wanted);
    }
    if (state.place) {
      const [low, high] = state.place.split("-").map(Number);
      tests.push((at) => this.message[at] >= low && this.message[at] <= (high ?? low));
    }
    if (state.time) {
      const wanted = TIME_NAMES.indexOf(state.time);
      tests.push((at) => this.timeBand(at) === wanted);
    }
    if (state.ending) tests.push((at) => this.ending[at] === state.ending);
    if (state.origin) tests.push((at) => this.origins[at] === state.origin);
    for (const term of state.q.toLowerCase().split(/\s+/).filter(Boolean)) tests.push((at) => this.haystack[at].includes(term));
    return tests;
  }

  // All rows in the order of a column (`-score`: falling), kept for the next time. Rows without a value come last, equal ones stay in
  // the file's order.
  order(sort) {
    if (!this.orders.has(sort)) {
      const sign = sort.startsWith("-") ? -1 : 1;
      this.orders.set(sort, ordered(this.sortKey(sort.replace(/^-/, "")).map((value) => (Number.isNaN(value) ? Infinity : sign * value))));
    }
    return this.orders.get(sort);
  }

  sortKey(column) {
    const { tools, faults } = this.run.names;
    if (column === "score" || column === "seconds") return this[column].subarray(0, this.count);
    if (column === "change") return Float64Array.from(this.change.subarray(0, this.count));
    if (column === "file") return new Float64Array(this.count).map((_, at) => at);
    if (column === "expected") return ranked(this.tool, tools, this.count);
    if (column === "made") return ranked(this.made_tool, tools, this.count);
    return ranked(
      this.faults.map((kinds) => kinds[0] ?? -1),
      faults,
      this.count,
    );
  }
}

function fill(column, values, from) {
  for (let at = 0; at < values.length; at += 1) column[from + at] = values[at] ?? NaN;
}

function grown(column, Kind, room) {
  const larger = new Kind(room).fill(Kind === Float64Array ? NaN : 0);
  if (column) larger.set(column);
  return larger;
}

// For indexes into names: the place of the name in the alphabet, NaN for what has no name.
function ranked(indexes, names, count) {
  const order = [...names.keys()].sort((a, b) => (names[a] < names[b] ? -1 : 1));
  const rank = new Int32Array(names.length);
  order.forEach((name, place) => (rank[name] = place));
  return new Float64Array(count).map((_, at) => (indexes[at] >= 0 ? rank[indexes[at]] : NaN));
}

// The indexes of the keys from the least to the largest, equal ones in their order. The keys alone are sorted, which is fast, and every
// index is then put into its key's place: a sort that compares indexes takes several times as long.
function ordered(keys) {
  const values = keys.slice().sort();
  let many = 0;
  for (let at = 0; at < values.length; at += 1) if (!many || values[at] !== values[many - 1]) values[many++] = values[at];
  const rank = new Uint32Array(keys.length);
  const start = new Uint32Array(many + 1);
  for (let at = 0; at < keys.length; at += 1) {
    let [low, high] = [0, many - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < keys[at]) low = middle + 1;
      else high = middle;
    }
    rank[at] = low;
    start[low + 1] += 1;
  }
  for (let value = 1; value <= many; value += 1) start[value] += start[value - 1];
  const order = new Uint32Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) order[start[rank[at]]++] = at;
  return order;
}
