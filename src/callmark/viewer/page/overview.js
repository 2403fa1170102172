// The overview of a run: the verdict, the metrics by evaluator, similar failures, and the charts. In: the run, its cases once all are loaded
// (null before) and the comparison; out: sections above and below the cases. `toggle({tool: name})` filters the table, and a second call removes the filter;
// `jump({change: "broken"})` filters it and shows it.

import { forestPlot } from "./charts.js";
import { decisionPanel } from "./decision_panel.js";
import { el } from "./dom.js";
import { groupPanel } from "./group_panel.js";
import { metricGroups } from "./metric_groups.js";
import { MAX_BARS, chartPanels, empty, panel } from "./panels.js";
import { chartData, splitAfter } from "./chart_data.js";
import { provenance, verdictSection } from "./run_verdict.js";
import { brief, counted, labelWords, number, pValue, prose, visible } from "./text.js";

const drawnSections = new Map(); // the larger sections by name: their inputs and their elements

export function overview({ run, cases, comparison, changed, jump }) {
  const data = shownData(cases);
  return [
    verdictSection({ run, cases, comparison, jump }),
    el("p", { class: "provenance" }, provenance(run)),
    el("section", { class: comparison ? "tiles compared" : "tiles", "aria-label": "Metrics" }, metricGroups(run, comparison)),
    data?.scored === 0
      ? panel(
          "No case was scored",
          "wide",
          empty("Every prediction is an error.", "The error messages are listed below. Fix their cause, then resume the run with `--resume` to retry."),
        )
      : null,
    data?.scored
      ? memoized("groups", [data.counts, comparison, changed, run.name], () =>
          el("div", { class: "panels" }, comparison?.broken[run.name] && changed ? [groupPanel(cases, "broken", jump), groupPanel(cases, "both wrong", jump)] : groupPanel(cases, "", jump)),
        )
      : null,
  ].filter(Boolean);
}

// The charts, below the cases: what changed, and what the numbers are made of.
export function charts({ run, cases, comparison, labels, toggle }) {
  const data = shownData(cases);
  return [
    comparison ? memoized("comparison", [comparison, JSON.stringify([...labels])], () => comparisonPanel(comparison, labels)) : null,
    ...(data?.scored
      ? memoized("charts", [data.counts, comparison, run.name, run.headline, run.trials], () => chartPanels(run, data, comparison, toggle))
      : []),
    el("div", { class: "panels" }, trialPanel(run), decisionPanel(run), interpretationPanel(run), disagreementPanel(run), errorPanel(run), evaluatorErrorPanel(run), factPanel(run)),
  ].filter(Boolean);
}

function shownData(cases) {
  if (!cases?.count) return null;
  const data = chartData(cases);
  return { ...data, scored: cases.count - data.counts.bands[5] };
}

// A section as it was last drawn, if its inputs have not changed.
function memoized(name, inputs, draw) {
  const last = drawnSections.get(name);
  if (last?.inputs.every((value, at) => value === inputs[at])) return last.elements;
  const elements = draw();
  drawnSections.set(name, { inputs, elements });
  return elements;
}

function comparisonPanel(comparison, labels) {
  const [, ...others] = comparison.runs;
  const metrics = comparison.metrics.map((metric) => ({
    label: metric.label,
    changes: metric.changes.map((change) => ({ ...change, label: labels.get(change.run) ?? change.run, pValue: pValue(change.p) })),
  }));
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
      forestPlot(metrics, others.length > 1),
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
    "small trials",
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
