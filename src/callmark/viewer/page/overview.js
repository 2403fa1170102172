// The overview of a run: tiles of metrics, the comparison, and the charts. In: the run, its cases once all are loaded (null before) and the
// comparison; out: sections. `toggle({tool: name})` filters the table, a second time removes the filter.

import { forestPlot, sparkline, stackedParts } from "./charts.js";
import { el } from "./dom.js";
import { MAX_BARS, chartPanels, empty, panel } from "./panels.js";
import { chartData } from "./chart_data.js";
import { counted, interval, number, pValue, prose, signed, visible, words } from "./text.js";

const MAX_TILES = 8;
const drawnSections = new Map(); // the larger sections, by name: what they were drawn from, and the elements

export function overview({ run, cases, comparison, labels, toggle }) {
  const data = cases && cases.count > 0 ? chartData(cases) : null;
  const counts = data?.counts;
  const scored = counts ? cases.count - counts.bands[5] : 0;
  return [
    el("section", { class: "tiles", "aria-label": "Metrics" }, tiles(run, data, comparison)),
    comparison ? memoized("comparison", [comparison, JSON.stringify([...labels])], () => comparisonPanel(comparison, labels, toggle)) : null,
    counts && scored === 0
      ? panel(
          "nothing could be scored",
          "wide",
          empty("Every answer was an error.", "What the errors say stands below; a run that is resumed asks again for what is missing."),
        )
      : null,
    ...(counts && scored > 0
      ? memoized("charts", [data, comparison, run.name, run.headline, run.trials], () => chartPanels(run, data, comparison, toggle))
      : []),
    el("div", { class: "panels" }, trialPanel(run), interpretationPanel(run), errorPanel(run), evaluatorErrorPanel(run), factPanel(run)),
  ].filter(Boolean);
}

// A section as it was drawn last, as long as its inputs are the same.
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
      "No number yet.",
      run.status === "running"
        ? "The first answers are on their way."
        : run.ready === false
          ? "They are being worked out."
          : "Nothing of this run was scored.",
    );
  if (all.length <= MAX_TILES + 1) return all;
  return [
    all.slice(0, MAX_TILES),
    el(
      "details",
      { class: "more-tiles" },
      el("summary", {}, `${all.length - MAX_TILES} more`),
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
      { patch: { run: name, change: "both right" }, label: "both right", n: comparison.both_correct[name] ?? 0, tone: "calm", sign: "✓✓" },
      { patch: { run: name, change: "fixed" }, label: "fixed", n: comparison.fixed[name] ?? 0, tone: "right", sign: "✗→✓" },
      { patch: { run: name, change: "broken" }, label: "broken", n: comparison.broken[name] ?? 0, tone: "wrong", sign: "✓→✗" },
      { patch: { run: name, change: "both wrong" }, label: "both wrong", n: comparison.both_wrong[name] ?? 0, tone: "calm", sign: "✗✗" },
    ];
    const against = `${visible(labels.get(name) ?? name)} against ${visible(labels.get(base) ?? base)}`;
    return el("div", { class: "outcome" }, el("h3", {}, against), stackedParts(entries, { toggle, label: against }));
  });
  return el(
    "div",
    { class: "panels" },
    panel(
      "what changed",
      "wide",
      el(
        "p",
        { class: "hint" },
        `${counted(comparison.cases, "common case")} from ${counted(comparison.conversations, "conversation")}. The line is the 95 % interval of the difference, the tick the difference itself.`,
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
    "how to read it",
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

function errorPanel(run) {
  const texts = Object.entries(run.error_texts ?? {}).sort((a, b) => b[1] - a[1]);
  if (!texts.length) return null;
  return panel(
    "errors, left out of every mean",
    "",
    el(
      "ul",
      { class: "plain" },
      texts.slice(0, MAX_BARS).map(([text, n]) => el("li", {}, el("b", {}, `${n.toLocaleString("en")}×`), " ", prose(text.slice(0, 400)))),
    ),
  );
}

// Evaluators that failed on some cases: how often, and the first example.
function evaluatorErrorPanel(run) {
  const failed = Object.entries(run.evaluator_errors ?? {});
  if (!failed.length) return null;
  return panel(
    "evaluator errors, left out of their means",
    "",
    el(
      "ul",
      { class: "plain" },
      failed
        .slice(0, MAX_BARS)
        .map(([evaluator, { count, case: id, error }]) =>
          el("li", {}, el("b", {}, `${count.toLocaleString("en")}×`), " ", prose(`${evaluator}, first at ${id}: ${error}`.slice(0, 400))),
        ),
    ),
  );
}

function trialPanel(run) {
  if (!run.pass_at_k?.length || run.trials < 2) return null;
  return panel(
    `over ${run.trials} trials`,
    "small",
    el(
      "table",
      { class: "plain-table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["trials", "right at least once", "right every time"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        run.pass_at_k.map(({ k, any, every }) =>
          el("tr", {}, el("th", { scope: "row" }, String(k)), el("td", {}, number(any, 3)), el("td", {}, number(every, 3))),
        ),
      ),
    ),
  );
}

const USAGE_LABELS = { input_tokens: "tokens in", output_tokens: "tokens out", cost: "cost", retries: "asked again" };

// Notes, turns and usage: numbers that are not scores.
function factPanel(run) {
  const kinds = Object.entries(run.notes ?? {})
    .sort((a, b) => b[1] - a[1])
    .map(([kind, n]) => [words(kind), n]);
  const usage = Object.entries(USAGE_LABELS)
    .filter(([key]) => run.usage?.[key])
    .map(([key, name]) => [name, run.usage[key]]);
  const turns = run.turns ? [["turns of the user, on average", run.turns]] : [];
  const facts = [...kinds, ...turns, ...usage];
  if (!facts.length) return null;
  return panel(
    "also noted",
    "small",
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, number(value))]),
    ),
  );
}
