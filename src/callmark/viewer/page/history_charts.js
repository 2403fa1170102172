// The two charts of the history, drawn for a width in pixels: scores over time or by a tag, and cost against score. In: runs with their metrics;
// out: SVG. Each model has a color and a shape of its own; hollow points are not comparable.

import { el, svg } from "./dom.js";
import { formatTime } from "./runs.js";
import { interval, number, shortenAll, shortenMiddle, visible } from "./text.js";

export const NO_MODEL = "no model"; // the series of runs without a model
export const MAX_SERIES = 6; // models with a color of their own
const [PLOT_HEIGHT, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM] = [312, 46, 18, 12, 46];
const [MAX_TICKS, TICK_LETTER, TICK_GAP] = [10, 7, 14]; // pixels of a letter of a label, and between two labels
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const TIME_STEPS = [...[1, 5, 15, 30].map((n) => n * MINUTE), ...[1, 2, 3, 6, 12].map((n) => n * HOUR), ...[1, 2, 3, 5, 7, 14].map((n) => n * DAY)];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120];
const SHAPES = [
  "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0",
  "M-4.5,-4.5h9v9h-9z",
  "M0,-6L6,0L0,6L-6,0z",
  "M0,-6L5.5,4.5H-5.5z",
  "M0,6L5.5,-4.5H-5.5z",
  "M-2,-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
];

export function timeChart(data) {
  const { runs, metric, by } = data;
  const shown = runs.filter((run) => run.metrics[metric] && (!by || Object.hasOwn(run.tags, by)));
  if (!shown.length) return el("p", { class: "hint" }, "No run with this tag has a score.");
  const given = shown.map((run) => (by ? run.tags[by] : run.created));
  const numbers = by ? given.map(Number) : given.map(toMillis);
  const isNumeric = given.every((text) => text !== "") && numbers.every(Number.isFinite);
  const names = isNumeric ? [] : [...new Set(given)].sort((a, b) => (a < b ? -1 : 1));
  const across = isNumeric ? numbers : given.map((text) => names.indexOf(text));
  const axis = !isNumeric ? nameAxis(names) : by ? numberAxis(tagNumber) : TIME_AXIS;
  return chart({ ...data, runs: shown, across, axis, name: `${metric} ${by ? `by ${by}` : "over time"}`, joined: true });
}

export function costChart(data) {
  const shown = data.runs.filter((run) => run.cost !== null && run.metrics[data.metric]);
  return el(
    "div",
    {},
    el("p", { class: "hint" }, `Cost per 1,000 predictions, and ${visible(data.metric)}: best at the top left.`),
    chart({ ...data, runs: shown, across: shown.map(({ cost }) => cost), axis: numberAxis((value) => `$${number(value)}`), name: `Cost and ${data.metric}`, joined: false }),
  );
}

// An axis: `flat`, the room on either side of a single value; `valueName(value)`; `lists(low, high)`, ticks from dense to sparse; `linesOf(ticks)`,
// the one or two lines of each label.
const numberAxis = (valueName) => ({
  flat: (value) => Math.abs(value) * 0.02 || 1,
  valueName,
  lists: roundSteps,
  linesOf: (ticks) => ticks.map((tick) => [valueName(tick)]),
});

// `1,000`, `0.00002`, `1e+12`.
function tagNumber(value) {
  return Math.abs(value) < 1e9 ? value.toLocaleString("en", { maximumSignificantDigits: 6 }) : String(Number(value.toPrecision(6)));
}

function nameAxis(names) {
  const short = shortenAll(names.map(visible), 16);
  const nameOf = (value) => names[Math.round(value)] ?? "";
  return {
    flat: () => 1,
    valueName: nameOf,
    lists: () => Array.from({ length: MAX_TICKS }, (_, fewer) => multiples(0, names.length - 1, Math.ceil(names.length / (MAX_TICKS - fewer)))),
    linesOf: (ticks) => ticks.map((tick) => [short[tick]]),
  };
}

const TIME_AXIS = {
  flat: () => 12 * HOUR,
  valueName: (value) => formatTime(new Date(value).toISOString()),
  lists: (low, high) => [...TIME_STEPS.map((step) => multiples(low, high, step)), ...MONTH_STEPS.map((step) => monthStarts(low, high, step))],
  // `10:30` above `11-17`, or `11-17` above `2026`; the second line only where it changes.
  linesOf(ticks) {
    const texts = ticks.map((tick) => new Date(tick).toISOString());
    const fine = texts.some((text) => text.slice(11, 16) !== "00:00");
    const parts = texts.map((text) => (fine ? [text.slice(11, 16), text.slice(5, 10)] : [text.slice(5, 10), text.slice(0, 4)]));
    return parts.map(([line, further], at) => (at && parts[at - 1][1] === further ? [line] : [line, further]));
  },
};

function chart({ runs, metric, labels, differing, seriesOf, across, axis, name, joined, width, open }) {
  const values = runs.flatMap((run) => run.metrics[metric]).filter(Number.isFinite);
  const [least, most] = padded(Math.min(...values), Math.max(...values), () => 0.01, 0.01);
  const [first, last] = padded(Math.min(...across), Math.max(...across), axis.flat);
  const x = (value) => PLOT_LEFT + ((value - first) / (last - first)) * (width - PLOT_LEFT - PLOT_RIGHT);
  const y = (value) => PLOT_TOP + ((most - value) / (most - least)) * (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM);
  const series = (run) => Math.min(labels.indexOf(seriesOf(run)), MAX_SERIES);
  const points = runs.map((run, at) => ({ run, at: across[at], tone: series(run), why: differing(run) })).sort((a, b) => a.at - b.at);
  const lines = joined
    ? labels.slice(0, MAX_SERIES).map((label, tone) => {
        const path = points.filter(({ run, why }) => seriesOf(run) === label && !why).map(({ run, at }) => `${x(at).toFixed(1)},${y(run.metrics[metric][0]).toFixed(1)}`);
        return path.length > 1 ? svg("polyline", { class: `series-line series-${tone}`, points: path.join(" ") }) : null;
      })
    : [];
  const marks = points.map(({ run, at, tone, why }) => {
    const [mean, low, high] = run.metrics[metric];
    const title = [`${visible(run.label)}: ${number(mean, 3)} ${interval(low, high)}`, visible(axis.valueName(at)), visible(run.name), why && `not comparable: ${visible(why)}`].filter(Boolean).join(", ");
    return svg(
      "a",
      { class: `series-${tone} ${why ? "hollow" : ""}`, href: open ? `#${new URLSearchParams({ run: run.name })}` : null, "aria-label": title, role: open ? null : "img" },
      svg("title", {}, title),
      low === null || low === undefined ? null : svg("line", { class: "series-range", x1: x(at), x2: x(at), y1: y(low), y2: y(high) }),
      svg("path", { class: "series-point", d: SHAPES[tone] ?? SHAPES[0], transform: `translate(${x(at).toFixed(1)} ${y(mean).toFixed(1)})` }),
    );
  });
  const rows = (roundSteps(least, most).find((found) => found.length <= 6) ?? []).map((value) => [
    svg("line", { class: "grid", x1: PLOT_LEFT, x2: width - PLOT_RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "axis", x: PLOT_LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, number(value, 2)),
  ]);
  const ticks = fittingLabels(axis, first, last, x).map(({ at, lines, half }) => [
    svg("line", { class: "grid", x1: at, x2: at, y1: PLOT_HEIGHT - PLOT_BOTTOM, y2: PLOT_HEIGHT - PLOT_BOTTOM + 5 }),
    lines.map((line, row) =>
      svg("text", { class: "axis", x: at, y: PLOT_HEIGHT - PLOT_BOTTOM + 20 + 16 * row, "text-anchor": at - half < 0 ? "start" : at + half > width ? "end" : "middle" }, line),
    ),
  ]);
  return el(
    "div",
    {},
    svg("svg", { class: "history", width, height: PLOT_HEIGHT, viewBox: `0 0 ${width} ${PLOT_HEIGHT}`, role: "group", "aria-label": name }, rows, ticks, lines, marks),
    legend(labels, points),
  );
}

// The models that the chart shows, if there are several.
function legend(labels, points) {
  if (labels.length < 2) return null;
  const names = shortenAll(labels.map((label) => visible(label || NO_MODEL)), 40);
  const shown = [...new Set(points.map(({ tone }) => tone))].filter((tone) => tone < MAX_SERIES).sort((a, b) => a - b);
  return el(
    "ul",
    { class: "legend" },
    shown.map((tone) =>
      el("li", {}, svg("svg", { class: `series-${tone}`, width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { class: "series-point", d: SHAPES[tone] })), el("bdi", {}, names[tone])),
    ),
  );
}

// A range that is a little larger than that of the values, and never empty: `flat(value)` is the room around a single value.
function padded(low, high, flat, least = 0) {
  const room = Math.max(high > low ? (high - low) * 0.06 : flat(high), least);
  return [low - room, high + room];
}

// The ticks of the densest list whose labels do not touch, with their places and labels.
function fittingLabels(axis, first, last, x) {
  let placed = [];
  for (const ticks of axis.lists(first, last)) {
    if (ticks.length > MAX_TICKS * 4) continue; // hours of a year are not worth the labels
    const lines = axis.linesOf(ticks);
    placed = ticks.map((tick, at) => ({ at: x(tick), lines: lines[at], half: (TICK_LETTER * Math.max(...lines[at].map(({ length }) => length))) / 2 }));
    const fits = placed.every(({ at, half }, place) => !place || at - half - placed[place - 1].at - placed[place - 1].half >= TICK_GAP);
    if (fits && ticks.length <= MAX_TICKS) break;
  }
  return placed;
}

// The multiples of a step within a range.
function multiples(low, high, step) {
  const start = Math.ceil(low / step);
  const count = Math.max(0, Math.min(Math.floor(high / step) - start + 1, MAX_TICKS * 4 + 1));
  return Array.from({ length: count }, (_, at) => Number(((start + at) * step).toPrecision(15)));
}

// Round numbers within a range: many, then fewer.
function roundSteps(low, high) {
  const size = 10 ** Math.floor(Math.log10((high - low) / MAX_TICKS));
  return [1, 2, 5, 10, 20, 50, 100].map((factor) => multiples(low, high, factor * size));
}

function monthStarts(low, high, step) {
  const years = Math.ceil(step / 12);
  const first = Math.floor(new Date(low).getUTCFullYear() / years) * years;
  return Array.from({ length: 400 }, (_, at) => Date.UTC(first, at * step)).filter((time) => time >= low && time <= high);
}

function toMillis(text) {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d)[:-](\d\d)/.exec(text);
  return found ? Date.parse(`${found[1]}T${found[2]}:${found[3]}:00Z`) : NaN;
}
