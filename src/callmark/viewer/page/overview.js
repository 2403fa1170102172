// The overview of a run: tiles of metrics, the comparison, and the charts. In: the run, its cases once all are loaded (null before) and the
// comparison; out: sections. `toggle({tool: name})` filters the table; a second call removes the filter.

import { forestPlot, sparkline, stackedParts } from "./charts.js";
import { decisionPanel } from "./decision_panel.js";
import { el } from "./dom.js";
import { MAX_BARS, chartPanels, empty, panel } from "./panels.js";
import { chartData, splitAfter } from "./chart_data.js";
import { brief, counted, interval, labelWords, number, pValue, prose, signed, visible } from "./text.js";

const MAX_TILES = 8;
const drawnSections = new Map(); // the larger sections by name: their inputs and their elements

export function overview({ run, cases, comparison, labels, toggle }) {
  const data = cases && cases.count > 0 ? chartData(cases) : null;
  const counts = data?.counts;
  const scored = counts ? cases.count - counts.bands[5] : 0;
  return [
    el("section", { class: "tiles", "aria-label": "Metrics" }, tiles(run, data, comparison)),
    comparison ? memoized("comparison", [comparison, JSON.stringify([...labels])], () => comparisonPanel(comparison, labels, toggle)) : null,
    counts && scored === 0
      ? panel(
          "No case was scored",
          "wide",
          empty("Every prediction is an error.", "The error messages are listed below. Fix their cause, then resume the run with `--resume` to retry."),
        )
      : null,
    ...(counts && scored > 0
      ? memoized("charts", [data, comparison, run.name, run.headline, run.trials], () => chartPanels(run, data, comparison, toggle))
      : []),
    el("div", { class: "panels" }, trialPanel(run), decisionPanel(run), interpretationPanel(run), disagreementPanel(run), errorPanel(run), evaluatorErrorPanel(run), factPanel(run)),
  ].filter(Boolean);
}

// A section as it was last drawn, if its inputs have not changed.
function memoized(name, inputs, draw) {
  const last = drawnSections.get(name);
  if (last?.inputs.every((value, at) => value === inputs[at])) return last.elements;
  const elements = draw();
  drawnSections.set(name, { inputs, elements });
  return elements;
}

function tiles(run, data, comparison) {
  const headlineFirst = [...run.metrics].sort((a, b) => (b.name === run.headline) - (a.name === run.headline));
  const all = headlineFirst.map((metric) => {
    const change = comparison?.metrics.find(({ name }) => name === metric.name)?.changes.find((each) => each.run === run.name);
    const shape = data?.histograms.get(metric.name) ?? (metric.name === run.headline ? data?.histograms.get("") : null);
    return el(
      "div",
      { class: metric.name === run.headline ? "tile first" : "tile", title: metric.name },
      el("span", { class: "tile-name" }, visible(metric.label)),
      el("span", { class: "tile-number" }, number(metric.mean, 3)),
      el(
        "span",
        { class: "tile-caption" },
        el("span", { class: "tile-interval" }, interval(metric.low, metric.high)),
        change
          ? el(
              "span",
              {
                class: change.within_noise ? "tile-change noise" : "tile-change",
                title: change.within_noise ? "within noise" : pValue(change.p),
              },
              signed(change.difference),
              change.within_noise ? el("small", {}, " within noise") : null,
            )
          : null,
      ),
      shape ? sparkline(shape) : null,
    );
  });
  if (!all.length)
    return empty(
      "No scores yet.",
      run.status === "running"
        ? "Waiting for the first predictions."
        : run.ready === false
          ? "The metrics are being computed."
          : "No case of this run was scored.",
    );
  if (all.length <= MAX_TILES + 1) return all;
  return [
    all.slice(0, MAX_TILES),
    el(
      "details",
      { class: "more-tiles" },
      el("summary", {}, `${counted(all.length - MAX_TILES, "more metric")}`),
      el("div", { class: "tiles" }, all.slice(MAX_TILES)),
    ),
  ];
}

function comparisonPanel(comparison, labels, toggle) {
  const [base, ...others] = comparison.runs;
  const metrics = comparison.metrics.map((metric) => ({
    label: metric.label,
    changes: metric.changes.map((change) => ({ ...change, label: labels.get(change.run) ?? change.run, pValue: pValue(change.p) })),
  }));
  const outcomes = others.map((name) => {
    const entries = [
      { patch: { run: name, change: "both correct" }, label: "Both correct", n: comparison.both_correct[name] ?? 0, tone: "calm", sign: "✓✓" },
      { patch: { run: name, change: "fixed" }, label: "Fixed", n: comparison.fixed[name] ?? 0, tone: "right", sign: "✗→✓" },
      { patch: { run: name, change: "broken" }, label: "Broken", n: comparison.broken[name] ?? 0, tone: "wrong", sign: "✓→✗" },
      { patch: { run: name, change: "both wrong" }, label: "Both wrong", n: comparison.both_wrong[name] ?? 0, tone: "calm", sign: "✗✗" },
    ];
    const pair = `${visible(labels.get(name) ?? name)} vs ${visible(labels.get(base) ?? base)}`;
    return el("div", { class: "outcome" }, el("h3", {}, pair), stackedParts(entries, { toggle, label: pair }));
  });
  return el(
    "div",
    { class: "panels" },
    panel(
      "What changed",
      "wide",
      el(
        "p",
        { class: "hint" },
        `${counted(comparison.cases, "common case")} from ${counted(comparison.conversations, "conversation")}. A tick is a difference from the baseline, a line its 95% interval.`,
      ),
      (comparison.warnings ?? []).map((warning) => prose(warning, "p", { class: "notice" })),
      forestPlot(metrics, others.length > 1),
      outcomes,
      comparison.cases_needed ? el("p", { class: "hint" }, visible(comparison.cases_needed)) : null,
    ),
  );
}

function interpretationPanel(run) {
  if (!run.interpretations?.length) return null;
  return panel(
    "Interpretation",
    "",
    run.interpretations.map(({ subject, text, checks }) =>
      el(
        "div",
        { class: "interpretation" },
        el("p", {}, el("b", {}, visible(subject)), " ", prose(text)),
        checks?.length
          ? el(
              "ul",
              {},
              checks.map((check) => prose(check, "li")),
            )
          : null,
      ),
    ),
  );
}

// Where evaluators disagree, grouped by reason. A click on an example opens its case.
function disagreementPanel(run) {
  if (!run.disagreements?.length) return null;
  const { shown, rest } = splitAfter(run.disagreements, MAX_BARS);
  return panel(
    "Where evaluators disagree",
    "disagreements",
    el(
      "ul",
      { class: "plain" },
      shown.map(({ count, sentence, cases }) =>
        el(
          "li",
          {},
          el("b", {}, `${count.toLocaleString("en")}×`),
          " ",
          prose(sentence.slice(0, 400)),
          el(
            "p",
            { class: "hint" },
            cases.map((id, at) => [at ? ", " : "", el("a", { href: `#${new URLSearchParams({ run: run.name, case: id })}` }, brief(id))]),
          ),
        ),
      ),
    ),
    rest.length ? el("p", { class: "hint" }, `and ${counted(rest.length, "more group")}`) : null,
  );
}

function errorPanel(run) {
  const texts = Object.entries(run.error_texts ?? {}).sort((a, b) => b[1] - a[1]);
  if (!texts.length) return null;
  return panel(
    "Errors, excluded from every metric",
    "",
    el(
      "ul",
      { class: "plain" },
      texts.slice(0, MAX_BARS).map(([text, n]) => el("li", {}, el("b", {}, `${n.toLocaleString("en")}×`), " ", prose(text.slice(0, 400)))),
    ),
  );
}

// Evaluators that failed on some cases: the number of cases, and the first example.
function evaluatorErrorPanel(run) {
  const failed = Object.entries(run.evaluator_errors ?? {});
  if (!failed.length) return null;
  return panel(
    "Evaluator errors, excluded from their metrics",
    "",
    el(
      "ul",
      { class: "plain" },
      failed
        .slice(0, MAX_BARS)
        .map(([evaluator, { count, case: id, error }]) =>
          el("li", {}, el("b", {}, `${count.toLocaleString("en")}×`), " ", prose(`${evaluator}, first in case ${id}: ${error}`.slice(0, 400))),
        ),
    ),
  );
}

const estimate = (value, interval) => number(value, 3) + (interval ? ` [${number(interval[0], 3)}, ${number(interval[1], 3)}]` : "");

function trialPanel(run) {
  if (!run.pass_at_k?.length || run.trials < 2) return null;
  return panel(
    `Results over ${run.trials} trials`,
    "small",
    el("p", { class: "hint" }, "pass@k: correct in at least one of k trials. pass^k: correct in all k trials."),
    el(
      "table",
      { class: "plain-table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["k", "pass@k", "pass^k"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        run.pass_at_k.map(({ k, any, every, any_interval, every_interval }) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, String(k)),
            el("td", {}, estimate(any, any_interval)),
            el("td", {}, estimate(every, every_interval)),
          ),
        ),
      ),
    ),
  );
}

const USAGE_LABELS = { input_tokens: "Input tokens", output_tokens: "Output tokens", cost: "Cost", retries: "Retries" };

// Notes, turns and usage: numbers that are not scores.
function factPanel(run) {
  const kinds = Object.entries(run.notes ?? {})
    .sort((a, b) => b[1] - a[1])
    .map(([kind, n]) => [labelWords(kind), n]);
  const usage = Object.entries(USAGE_LABELS)
    .filter(([key]) => run.usage?.[key])
    .map(([key, name]) => [name, run.usage[key]]);
  const turns = run.turns ? [["User turns (mean)", run.turns]] : [];
  const facts = [...kinds, ...turns, ...usage];
  if (!facts.length) return null;
  return panel(
    "Notes and usage",
    "small",
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, number(value))]),
    ),
  );
}
