// The answer first: tiles of numbers, what changed, and the charts. In: the run, its cases once all are there (null before) and the comparison;
// out: sections to show. `toggle({tool: name})` filters the table, a second time takes the filter off.

import { forest, parts, sparkline } from "./charts.js";
import { el } from "./dom.js";
import { MOST_BARS, chartPanels, empty, panel } from "./panels.js";
import { numbersOf } from "./tallies.js";
import { chance, counted, interval, number, prose, signed, visible, words } from "./text.js";

const MOST_TILES = 8;
const madeParts = new Map(); // the larger parts, by name: what they were made of, and what was made

export function overview({ run, cases, comparison, labels, toggle }) {
  const numbers = cases && cases.count > 0 ? numbersOf(cases) : null;
  const known = numbers?.known;
  const scored = known ? cases.count - known.bands[5] : 0;
  return [
    el("section", { class: "tiles", "aria-label": "Metrics" }, tiles(run, numbers, comparison)),
    comparison ? kept("comparison", [comparison, JSON.stringify([...labels])], () => compare(comparison, labels, toggle)) : null,
    known && scored === 0
      ? panel(
          "nothing could be scored",
          "wide",
          empty("Every answer was an error.", "What the errors say stands below; a run that is resumed asks again for what is missing."),
        )
      : null,
    ...(known && scored > 0
      ? kept("charts", [numbers, comparison, run.name, run.headline, run.trials], () => chartPanels(run, numbers, comparison, toggle))
      : []),
    el("div", { class: "panels" }, passes(run), readings(run), errors(run), noted(run)),
  ].filter(Boolean);
}

// A part as it was made, as long as it would be made of the same.
function kept(name, of, make) {
  const last = madeParts.get(name);
  if (last?.of.every((value, at) => value === of[at])) return last.made;
  const made = make();
  madeParts.set(name, { of, made });
  return made;
}

function tiles(run, numbers, comparison) {
  const headlineFirst = [...run.metrics].sort((a, b) => (b.name === run.headline) - (a.name === run.headline));
  const made = headlineFirst.map((metric) => {
    const change = comparison?.metrics.find(({ name }) => name === metric.name)?.of.find((one) => one.run === run.name);
    const shape = numbers?.spreads.get(metric.name) ?? (metric.name === run.headline ? numbers?.spreads.get("") : null);
    return el(
      "div",
      { class: metric.name === run.headline ? "tile first" : "tile", title: metric.name },
      el("span", { class: "tile-name" }, visible(metric.label)),
      el("span", { class: "tile-number" }, number(metric.mean, 3)),
      el(
        "span",
        { class: "tile-beside" },
        el("span", { class: "tile-interval" }, interval(metric.low, metric.high)),
        change
          ? el(
              "span",
              {
                class: change.within_noise ? "tile-change noise" : "tile-change",
                title: change.within_noise ? "within noise" : chance(change.p),
              },
              signed(change.difference),
              change.within_noise ? el("small", {}, " within noise") : null,
            )
          : null,
      ),
      shape ? sparkline(shape) : null,
    );
  });
  if (!made.length)
    return empty(
      "No number yet.",
      run.status === "running"
        ? "The first answers are on their way."
        : run.ready === false
          ? "They are being worked out."
          : "Nothing of this run was scored.",
    );
  if (made.length <= MOST_TILES + 1) return made;
  return [
    made.slice(0, MOST_TILES),
    el(
      "details",
      { class: "more-tiles" },
      el("summary", {}, `${made.length - MOST_TILES} more`),
      el("div", { class: "tiles" }, made.slice(MOST_TILES)),
    ),
  ];
}

function compare(comparison, labels, toggle) {
  const [base, ...others] = comparison.runs;
  const metrics = comparison.metrics.map((metric) => ({
    label: metric.label,
    of: metric.of.map((one) => ({ ...one, label: labels.get(one.run) ?? one.run, chance: chance(one.p) })),
  }));
  const outcomes = others.map((name) => {
    const entries = [
      { patch: { run: name, change: "both right" }, label: "both right", n: comparison.both_right[name] ?? 0, tone: "calm", sign: "✓✓" },
      { patch: { run: name, change: "fixed" }, label: "fixed", n: comparison.fixed[name] ?? 0, tone: "right", sign: "✗→✓" },
      { patch: { run: name, change: "broken" }, label: "broken", n: comparison.broken[name] ?? 0, tone: "wrong", sign: "✓→✗" },
      { patch: { run: name, change: "both wrong" }, label: "both wrong", n: comparison.both_wrong[name] ?? 0, tone: "calm", sign: "✗✗" },
    ];
    const against = `${visible(labels.get(name) ?? name)} against ${visible(labels.get(base) ?? base)}`;
    return el("div", { class: "outcome" }, el("h3", {}, against), parts(entries, { toggle, label: against }));
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
      (comparison.warnings ?? []).map((one) => prose(one, "p", { class: "notice" })),
      forest(metrics, others.length > 1),
      outcomes,
      comparison.needed ? el("p", { class: "hint" }, visible(comparison.needed)) : null,
    ),
  );
}

function readings(run) {
  if (!run.readings?.length) return null;
  return panel(
    "how to read it",
    "",
    run.readings.map(({ subject, text, checks }) =>
      el(
        "div",
        { class: "reading" },
        el("p", {}, el("b", {}, visible(subject)), " ", prose(text)),
        checks?.length
          ? el(
              "ul",
              {},
              checks.map((one) => prose(one, "li")),
            )
          : null,
      ),
    ),
  );
}

function errors(run) {
  const texts = Object.entries(run.error_texts ?? {}).sort((a, b) => b[1] - a[1]);
  if (!texts.length) return null;
  return panel(
    "errors, left out of every mean",
    "",
    el(
      "ul",
      { class: "plain" },
      texts.slice(0, MOST_BARS).map(([text, n]) => el("li", {}, el("b", {}, `${n.toLocaleString("en")}×`), " ", prose(text.slice(0, 400)))),
    ),
  );
}

function passes(run) {
  if (!run.passes?.length || run.trials < 2) return null;
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
        run.passes.map(({ k, any, every }) =>
          el("tr", {}, el("th", { scope: "row" }, String(k)), el("td", {}, number(any, 3)), el("td", {}, number(every, 3))),
        ),
      ),
    ),
  );
}

const USED = { input_tokens: "tokens in", output_tokens: "tokens out", cost: "cost", retries: "asked again" };

function noted(run) {
  const kinds = Object.entries(run.notes ?? {})
    .sort((a, b) => b[1] - a[1])
    .map(([kind, n]) => [words(kind), n]);
  const used = Object.entries(USED)
    .filter(([key]) => run.usage?.[key])
    .map(([key, name]) => [name, run.usage[key]]);
  const turns = run.turns ? [["turns of the user, on average", run.turns]] : [];
  const facts = [...kinds, ...turns, ...used];
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
