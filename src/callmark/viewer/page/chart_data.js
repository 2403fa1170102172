// The numbers behind the charts, counted over all cases of a run. In: Cases; out: plain lists, largest first.

import { SCORE_BANDS, TIME_BANDS } from "./cases.js";

const MAX_POSITIONS = 12;
const PAIR_FACTOR = 2 ** 20; // larger than any number of tools, so that two indexes fit into one number

// One pass over the rows. Errors are excluded from every other count.
function countRows(cases) {
  const faults = new Map();
  const tools = new Map();
  const scenarioTypes = new Map();
  const files = new Map();
  const endings = new Map();
  const confusion = new Map();
  const bands = SCORE_BANDS.map(() => 0);
  const times = TIME_BANDS.map(() => 0);
  let longest = -1;
  for (let at = 0; at < cases.count; at += 1) {
    bands[cases.scoreBand(at)] += 1;
    if (Number.isNaN(cases.score[at])) continue;
    for (const kind of cases.faults[at]) faults.set(kind, (faults.get(kind) ?? 0) + 1);
    addScore(tools, cases.expected_tool[at], cases.score[at]);
    if (cases.scenario_type[at] >= 0) addScore(scenarioTypes, cases.scenario_type[at], cases.score[at]);
    if (cases.file[at] >= 0) addScore(files, cases.file[at], cases.score[at]);
    if (cases.ending[at]) endings.set(cases.ending[at], (endings.get(cases.ending[at]) ?? 0) + 1);
    const cell = (cases.expected_tool[at] + 2) * PAIR_FACTOR + cases.actual_tool[at] + 2;
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
    scenarioTypes: means(scenarioTypes, (index) => names.scenario_types[index]),
    files: means(files, (index) => names.files[index]),
    endings: [...endings].map(([name, n]) => ({ name, n })).sort((a, b) => b.n - a.n),
    confusion: [...confusion].map(([cell, n]) => {
      const [expected, actual] = [Math.floor(cell / PAIR_FACTOR) - 2, (cell % PAIR_FACTOR) - 2];
      return { expected: cases.toolName(expected), actual: cases.toolName(actual), n };
    }),
    positions: longest < 0 ? [] : byPosition(cases, longest),
  };
}

function addScore(sums, key, score) {
  const sum = sums.get(key) ?? { n: 0, sum: 0 };
  sum.n += 1;
  sum.sum += score;
  sums.set(key, sum);
}

function means(sums, nameOf) {
  return [...sums].map(([key, { n, sum }]) => ({ name: nameOf(key), n, mean: sum / n })).sort((a, b) => b.n - a.n);
}

// The mean score by the position of the decision point in its conversation, in at most a dozen steps of equal width.
function byPosition(cases, longest) {
  const width = Math.max(1, Math.ceil((longest + 1) / MAX_POSITIONS));
  const sums = new Map();
  for (let at = 0; at < cases.count; at += 1) {
    if (cases.message[at] >= 0 && !Number.isNaN(cases.score[at])) addScore(sums, Math.floor(cases.message[at] / width), cases.score[at]);
  }
  return [...sums]
    .sort(([a], [b]) => a - b)
    .map(([step, { n, sum }]) => ({ name: width === 1 ? String(step) : `${step * width}-${(step + 1) * width - 1}`, n, mean: sum / n }));
}

// The first entries, and the rest.
export function splitAfter(entries, length) {
  return { shown: entries.slice(0, length), rest: entries.slice(length) };
}

// The quantiles of the values at these shares; NaN without values.
function quantiles(values, count, shares) {
  const sorted = values
    .slice(0, count)
    .filter((value) => !Number.isNaN(value))
    .sort();
  return shares.map((share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN);
}

const computed = new WeakMap();

// All chart data of the rows, computed once for each number of rows.
export function chartData(cases) {
  const last = computed.get(cases);
  if (last?.count === cases.count) return last;
  const data = { count: cases.count, counts: countRows(cases), latencies: quantiles(cases.seconds, cases.count, [0.5, 0.95]) };
  computed.set(cases, data);
  return data;
}
