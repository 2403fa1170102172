// The metrics of a run by evaluator, and what it cost. In: the run and its comparison with a baseline (or null); out: sections. Each metric says
// in which direction it changed: better is green with ▲, worse red with ▼, within noise gray with ≈.

import { el } from "./dom.js";
import { empty } from "./panels.js";
import { counted, interval, labelWords, number, pValue, seconds, signed, visible } from "./text.js";

const MAX_EVALUATORS = 40; // evaluators; the rest is folded
export const DIRECTIONS = { better: ["right", "▲"], worse: ["wrong", "▼"], "within noise": ["noise", "≈"] };

export function metricGroups(run, comparison) {
  const groups = new Map();
  const headlineFirst = [...run.metrics].sort((a, b) => (b.name === run.headline) - (a.name === run.headline));
  for (const metric of headlineFirst) {
    const evaluator = metric.name.slice(0, Math.max(0, metric.name.lastIndexOf(".")));
    groups.set(evaluator, [...(groups.get(evaluator) ?? []), metric]);
  }
  if (!groups.size)
    return empty(
      "No scores yet.",
      run.status === "running"
        ? "Waiting for the first predictions."
        : run.ready === false
          ? "The metrics are being computed."
          : "No case of this run was scored.",
    );
  const boxes = [...groups].map(([evaluator, metrics]) => group(labelWords(evaluator || "metrics"), metrics.map((metric) => tile(metric, run, comparison))));
  return [
    boxes.slice(0, MAX_EVALUATORS),
    usageGroup(run),
    boxes.length > MAX_EVALUATORS
      ? el("details", { class: "more-tiles" }, el("summary", {}, counted(boxes.length - MAX_EVALUATORS, "more evaluator")), boxes.slice(MAX_EVALUATORS))
      : null,
  ];
}

function group(title, content) {
  return el("section", { class: "tile-group" }, el("h2", {}, title), el("div", { class: "tile-list" }, content));
}

function tile(metric, run, comparison) {
  const change = comparison?.metrics.find(({ name }) => name === metric.name)?.changes.find((each) => each.run === run.name);
  return el(
    "div",
    { class: metric.name === run.headline ? "tile first" : "tile", title: metric.name },
    el("span", { class: "tile-name" }, visible(metric.label)),
    el("span", { class: "tile-number" }, number(metric.mean, 3)),
    el("span", { class: "tile-interval" }, interval(metric.low, metric.high)),
    change ? changeMark(change) : null,
  );
}

// `▲ +.116`; the direction is a word for screen readers.
export function changeMark(change) {
  const [tone, sign] = DIRECTIONS[change.direction];
  return el(
    "span",
    { class: `tile-change ${tone}`, title: `${change.direction}, ${pValue(change.p)}` },
    el("span", { "aria-hidden": "true" }, `${sign} `),
    signed(change.difference),
    el("span", { class: "visually-hidden" }, ` ${change.direction}`),
  );
}

function usageGroup(run) {
  const { usage } = run;
  const facts = [
    ["cost", usage?.cost ? `$${number(usage.cost)}` : ""],
    ["median latency", usage?.median_seconds >= 0.001 ? seconds(usage.median_seconds) : ""],
    ["tokens", usage && usage.input_tokens + usage.output_tokens ? (usage.input_tokens + usage.output_tokens).toLocaleString("en") : ""],
  ].filter(([, value]) => value);
  if (!facts.length) return null;
  return group(
    "Usage",
    facts.map(([name, value]) => el("div", { class: "tile" }, el("span", { class: "tile-name" }, name), el("span", { class: "tile-number" }, value))),
  );
}
