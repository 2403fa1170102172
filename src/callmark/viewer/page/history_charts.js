// The two charts of the history, drawn for a width in pixels: scores over time or by a tag, and cost against score. In: runs with their metrics;
// out: SVG. Each model has a color and a shape of its own; hollow points are not comparable.

import { el, svg } from "./dom.js";
import { formatTime } from "./runs.js";
import { interval, number, shortenMiddle, visible } from "./text.js";

export const MAX_SERIES = 6; // models with a color of their own
const [PLOT_HEIGHT, PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM] = [300, 46, 18, 12, 34];
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
  const tickName = (value) => (isNumeric ? (by ? number(value) : formatTime(new Date(value).toISOString()).slice(0, 10)) : (names[Math.round(value)] ?? ""));
  return chart({ ...data, runs: shown, across, tickName, ticksAt: isNumeric ? null : names.map((_, at) => at), name: `${metric} ${by ? `by ${by}` : "over time"}`, joined: true });
}

export function costChart(data) {
  const shown = data.runs.filter((run) => run.cost !== null && run.metrics[data.metric]);
  return el(
    "div",
    {},
    el("p", { class: "hint" }, `Cost per 1,000 predictions, and ${visible(data.metric)}: best at the top left.`),
    chart({ ...data, runs: shown, across: shown.map(({ cost }) => cost), tickName: (value) => `$${number(value)}`, name: `Cost and ${data.metric}`, joined: false, width: Math.min(data.width, 620) }),
  );
}

function chart({ runs, metric, labels, differing, seriesOf, across, tickName, ticksAt = null, name, joined, width, open }) {
  const values = runs.flatMap((run) => run.metrics[metric]).filter(Number.isFinite);
  const [least, most] = padded(Math.min(...values), Math.max(...values), 0.01);
  const [first, last] = padded(Math.min(...across), Math.max(...across), 0);
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
    const title = [`${visible(run.label)}: ${number(mean, 3)} ${interval(low, high)}`, tickName(at), visible(run.name), why && `not comparable: ${visible(why)}`].filter(Boolean).join(", ");
    return svg(
      "a",
      { class: `series-${tone} ${why ? "hollow" : ""}`, href: open ? `#${new URLSearchParams({ run: run.name })}` : null, "aria-label": title, role: open ? null : "img" },
      svg("title", {}, title),
      low === null || low === undefined ? null : svg("line", { class: "series-range", x1: x(at), x2: x(at), y1: y(low), y2: y(high) }),
      svg("path", { class: "series-point", d: SHAPES[tone] ?? SHAPES[0], transform: `translate(${x(at).toFixed(1)} ${y(mean).toFixed(1)})` }),
    );
  });
  const rows = steps(least, most, 5).map((value) => [
    svg("line", { class: "grid", x1: PLOT_LEFT, x2: width - PLOT_RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "axis", x: PLOT_LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, number(value, 2)),
  ]);
  const places = thinned(ticksAt ?? steps(first, last, Math.max(2, Math.floor(width / 150))), Math.max(2, Math.floor(width / 110)));
  const ticks = places.map((value) => svg("text", { class: "axis", x: x(value), y: PLOT_HEIGHT - 10, "text-anchor": value === first ? "start" : "middle" }, shortenMiddle(visible(tickName(value)), 16)));
  return el(
    "div",
    {},
    svg("svg", { class: "history", width, height: PLOT_HEIGHT, viewBox: `0 0 ${width} ${PLOT_HEIGHT}`, role: "group", "aria-label": name }, rows, ticks, lines, marks),
    labels.length > 1
      ? el(
          "ul",
          { class: "legend" },
          labels.slice(0, MAX_SERIES).map((label, tone) =>
            el("li", {}, svg("svg", { class: `series-${tone}`, width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, svg("path", { class: "series-point", d: SHAPES[tone] })), el("bdi", {}, shortenMiddle(visible(label), 40))),
          ),
        )
      : null,
  );
}

// A range that is a little larger than that of the values, and never empty.
function padded(low, high, least) {
  const room = Math.max((high - low) * 0.06, least || Math.abs(high) * 0.02 || 1);
  return [low - room, high + room];
}

// Round numbers within a range.
function steps(low, high, count) {
  const raw = (high - low) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => each >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high && found.length < 50; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}

function thinned(values, most) {
  const every = Math.ceil(values.length / most);
  return values.filter((_, at) => at % every === 0);
}

function toMillis(text) {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d)[:-](\d\d)/.exec(text);
  return found ? Date.parse(`${found[1]}T${found[2]}:${found[3]}:00Z`) : NaN;
}
