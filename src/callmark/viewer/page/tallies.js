// The numbers behind the charts, counted over all cases of a run. In: Cases; out: plain lists to draw, the largest first.

import { BANDS, TIME_NAMES } from "./cases.js";

const MOST_PLACES = 12;
const FAR = 2 ** 20; // more than there are names of tools, so that two indexes fit into one number

// One pass over the rows. Errors are counted as such and are part of nothing else.
function tally(cases) {
  const faults = new Map();
  const tools = new Map();
  const types = new Map();
  const endings = new Map();
  const confusion = new Map();
  const bands = BANDS.map(() => 0);
  const times = TIME_NAMES.map(() => 0);
  let longest = -1;
  for (let at = 0; at < cases.count; at += 1) {
    bands[cases.band(at)] += 1;
    if (Number.isNaN(cases.score[at])) continue;
    for (const kind of cases.faults[at]) faults.set(kind, (faults.get(kind) ?? 0) + 1);
    add(tools, cases.tool[at], cases.score[at]);
    if (cases.type[at] >= 0) add(types, cases.type[at], cases.score[at]);
    if (cases.ending[at]) endings.set(cases.ending[at], (endings.get(cases.ending[at]) ?? 0) + 1);
    const cell = (cases.tool[at] + 2) * FAR + cases.made_tool[at] + 2;
    confusion.set(cell, (confusion.get(cell) ?? 0) + 1);
    const time = cases.timeBand(at);
    if (time >= 0) times[time] += 1;
    if (cases.message[at] > longest) longest = cases.message[at];
  }
  const { names } = cases.run;
  return {
    bands,
    times,
    faults: [...faults].map(([kind, n]) => ({ name: names.faults[kind], n })).sort((a, b) => b.n - a.n),
    tools: means(tools, (index) => cases.toolName(index)),
    types: means(types, (index) => names.types[index]),
    endings: [...endings].map(([name, n]) => ({ name, n })).sort((a, b) => b.n - a.n),
    confusion: [...confusion].map(([cell, n]) => {
      const [expected, made] = [Math.floor(cell / FAR) - 2, (cell % FAR) - 2];
      return { expected: cases.toolName(expected), made: cases.toolName(made), n };
    }),
    places: longest < 0 ? [] : byPlace(cases, longest),
  };
}

function add(sums, key, score) {
  const sum = sums.get(key) ?? { n: 0, sum: 0 };
  sum.n += 1;
  sum.sum += score;
  sums.set(key, sum);
}

function means(sums, named) {
  return [...sums].map(([key, { n, sum }]) => ({ name: named(key), n, mean: sum / n })).sort((a, b) => b.n - a.n);
}

// The mean score by how far into the conversation a decision came, in at most a dozen steps of equal width.
function byPlace(cases, longest) {
  const width = Math.max(1, Math.ceil((longest + 1) / MOST_PLACES));
  const sums = new Map();
  for (let at = 0; at < cases.count; at += 1) {
    if (cases.message[at] >= 0 && !Number.isNaN(cases.score[at])) add(sums, Math.floor(cases.message[at] / width), cases.score[at]);
  }
  return [...sums]
    .sort(([a], [b]) => a - b)
    .map(([step, { n, sum }]) => ({ name: width === 1 ? String(step) : `${step * width}-${(step + 1) * width - 1}`, n, mean: sum / n }));
}

// The most frequent, and what is left of the rest.
export function largest(entries, most) {
  return { shown: entries.slice(0, most), rest: entries.slice(most) };
}

// How a metric's values are spread, in ten columns from the least to the most a rate can be, or from its own least to most.
function spread(values, count) {
  let [low, high] = [0, 1];
  for (let at = 0; at < count; at += 1) {
    if (values[at] < low) low = values[at];
    if (values[at] > high) high = values[at];
  }
  const columns = new Array(10).fill(0);
  for (let at = 0; at < count; at += 1) {
    if (!Number.isNaN(values[at])) columns[Math.min(9, Math.floor(((values[at] - low) / (high - low)) * 10))] += 1;
  }
  return { columns, low, high };
}

// The values below which these shares of them lie; NaN where there are none.
function quantiles(values, count, shares) {
  const known = values
    .slice(0, count)
    .filter((value) => !Number.isNaN(value))
    .sort();
  return shares.map((share) => known[Math.min(known.length - 1, Math.floor(share * known.length))] ?? NaN);
}

const done = new WeakMap();

// Everything the charts need of the rows, worked out once for as many rows as there are.
export function numbersOf(cases) {
  const last = done.get(cases);
  if (last?.count === cases.count) return last;
  const spreads = new Map(
    Object.entries({ ...cases.metrics, "": cases.score }).map(([name, values]) => [name, spread(values, cases.count)]),
  );
  const found = { count: cases.count, known: tally(cases), spreads, times: quantiles(cases.seconds, cases.count, [0.5, 0.95]) };
  done.set(cases, found);
  return found;
}
