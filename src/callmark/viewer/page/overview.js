// The answer first: tiles of numbers and the charts of one run, or of a run against others. In: the run, its cases once all
// are there (null before), the comparison; out: sections to show. `toggle({tool: name})` filters the table, a second time takes the filter off.

import { bars, columns, forest, heatMap, parts, sparkline } from "./charts.js";
import { BANDS, TIME_NAMES } from "./cases.js";
import { el } from "./dom.js";
import { largest, numbersOf } from "./tallies.js";
import { chance, counted, interval, number, prose, seconds, signed, visible, words } from "./text.js";

const MOST_BARS = 12;
const MOST_TILES = 8;
const MOST_TOOLS = 16; // tools of the heat map, on either side

export function overview({ run, cases, comparison, labels, toggle }) {
  const numbers = cases && cases.count > 0 ? numbersOf(cases) : null;
  const known = numbers?.known;
  const scored = known ? cases.count - known.bands[5] : 0;
  return [
    el("section", { class: "tiles", "aria-label": "Metrics" }, tiles(run, numbers, comparison)),
    comparison ? compare(comparison, labels, toggle) : null,
    known && scored === 0 ? panel("nothing could be scored", "wide", empty("Every answer was an error.", "What the errors say stands below; a run that is resumed asks again for what is missing.")) : null,
    ...(known && scored > 0 ? charts(run, numbers, comparison, toggle) : []),
    el("div", { class: "panels" }, passes(run), readings(run), errors(run), noted(run)),
  ].filter(Boolean);
}

export function panel(title, kind, ...content) {
  return el("section", { class: `panel ${kind}` }, el("h2", {}, title), content);
}

export function empty(what, next) {
  return el("div", { class: "empty" }, el("p", { class: "empty-what" }, what), el("p", {}, next));
}

function tiles(run, numbers, comparison) {
  const headlineFirst = [...run.metrics].sort((a, b) => (b.name === run.headline) - (a.name === run.headline));
  const made = headlineFirst.map((metric) => {
    const change = comparison?.metrics.find(({ name }) => name === metric.name)?.of.find((one) => one.run === run.name);
    const shape = numbers?.spreads.get(metric.name) ?? (metric.name === run.headline ? numbers?.spreads.get("") : null);
    return el("div", { class: metric.name === run.headline ? "tile first" : "tile", title: metric.name },
      el("span", { class: "tile-name" }, visible(metric.label)),
      el("span", { class: "tile-number" }, number(metric.mean, 3)),
      el("span", { class: "tile-beside" },
        el("span", { class: "tile-interval" }, interval(metric.low, metric.high)),
        change ? el("span", { class: change.within_noise ? "tile-change noise" : "tile-change", title: change.within_noise ? "within noise" : chance(change.p) }, signed(change.difference), change.within_noise ? el("small", {}, " within noise") : null) : null),
      shape ? sparkline(shape) : null);
  });
  if (!made.length) return empty("No number yet.", run.status === "running" ? "The first answers are on their way." : "Nothing of this run was scored.");
  if (made.length <= MOST_TILES + 1) return made;
  return [made.slice(0, MOST_TILES), el("details", { class: "more-tiles" }, el("summary", {}, `${made.length - MOST_TILES} more`), el("div", { class: "tiles" }, made.slice(MOST_TILES)))];
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
  return el("div", { class: "panels" },
    panel("what changed", "wide", el("p", { class: "hint" }, `${counted(comparison.cases, "common case")} from ${counted(comparison.conversations, "conversation")}. The line is the 95 % interval of the difference, the tick the difference itself.`),
      (comparison.warnings ?? []).map((one) => prose(one, "p", { class: "notice" })), forest(metrics, others.length > 1), outcomes, comparison.needed ? el("p", { class: "hint" }, visible(comparison.needed)) : null));
}

function charts(run, { known, times }, comparison, toggle) {
  const before = comparison ? new Map(comparison.faults.filter((one) => one.run === run.name).map((one) => [one.kind, one])) : null;
  const toolsBefore = comparison ? new Map(comparison.tools.filter((one) => one.run === run.name).map((one) => [one.tool, one])) : null;
  const wrong = faults(known, before, run.trials, toggle);
  const spreadOut = distribution(run, known, toggle);
  // The first call of a whole conversation may be any that leads to what is expected, so only decision points can mistake a tool for another.
  const scenarios = run.what === "scenarios";
  return [
    el("div", { class: "panels" }, scenarios ? [wrong, spreadOut] : [confusion(known, toggle), el("div", { class: "stack" }, wrong, spreadOut)]),
    el("div", { class: "panels" },
      scores(scenarios ? "by the first tool expected" : "weakest tools", known.tools, toolsBefore, { patch: (tool) => ({ tool }), toggle, mono: true }),
      known.types.length > 1 ? scores("by scenario type", known.types, null, { patch: (type) => ({ type }), toggle }) : null,
      known.places.length > 1 ? places(known.places, toggle) : null,
      known.endings.length > 1 ? endings(known.endings, toggle) : null,
      latency(known, times, toggle)),
  ];
}

function confusion(known, toggle) {
  const { shown } = largest(known.tools.filter(({ name }) => name !== "no call"), MOST_TOOLS);
  const kept = new Set(shown.map(({ name }) => name));
  const called = new Map();
  for (const { made, n } of known.confusion) called.set(made, (called.get(made) ?? 0) + n);
  const alsoCalled = [...called].filter(([name]) => !kept.has(name) && name !== "no call" && name !== "unknown tool").sort((a, b) => b[1] - a[1]);
  for (const [name] of alsoCalled.slice(0, Math.max(0, MOST_TOOLS - kept.size))) kept.add(name);
  const lumped = (name) => (kept.has(name) || name === "no call" || name === "unknown tool" ? name : "other tools");
  const cells = new Map();
  for (const { expected, made, n } of known.confusion) {
    const [row, column] = [lumped(expected), lumped(made)];
    const patch = row === "other tools" || column === "other tools" ? null : { tool: row, made: column };
    const cell = cells.get(`${row} → ${column}`) ?? { row, column, n: 0, patch };
    cell.n += n;
    cells.set(`${row} → ${column}`, cell);
  }
  const used = (side) => [...kept, "other tools", "no call", "unknown tool"].filter((name) => [...cells.values()].some((cell) => cell[side] === name));
  const wrong = [...cells.values()].some(({ row, column }) => row !== column);
  return panel("which tool was called instead", "",
    el("p", { class: "hint" }, wrong ? "Expected down, called across. A cell filters the table." : "Every call went to the right tool."),
    el("div", { class: "scroll-x" }, heatMap(used("row"), used("column"), [...cells.values()], toggle)));
}

function faults(known, before, trials, toggle) {
  if (!known.faults.length && !before?.size) return panel("what went wrong", "", empty("Nothing went wrong.", "Every scored case is right. Harder cases would tell more."));
  const gone = [...(before?.values() ?? [])].filter(({ kind, before: was }) => was && !known.faults.some(({ name }) => name === kind)).map(({ kind }) => ({ name: kind, n: 0 }));
  const { shown, rest } = largest([...known.faults, ...gone], MOST_BARS);
  const most = Math.max(1, ...shown.map(({ n }) => n), ...[...(before?.values() ?? [])].map((one) => one.before * trials));
  const entries = shown.map(({ name, n }) => {
    const one = before?.get(name);
    const was = one && Math.round(one.before * trials);
    return { patch: n ? { fault: name } : null, label: words(name), title: `${words(name)}: ${counted(n, "time")}`, value: n / most, before: was === undefined ? null : was / most, beside: [el("b", {}, n.toLocaleString("en")), was === undefined ? "" : el("small", {}, ` was ${was.toLocaleString("en")}`)] };
  });
  if (rest.length) entries.push(summed(rest, "kind", most));
  return panel("what went wrong", "", el("p", { class: "hint" }, "How often each fault was found."), bars(entries, { toggle }));
}

// What is left of a long list: one quiet bar with the sum of it.
function summed(rest, noun, most) {
  const n = rest.reduce((sum, one) => sum + one.n, 0);
  return { label: `${counted(rest.length, `other ${noun}`)}`, value: Math.min(1, n / most), beside: el("b", {}, n.toLocaleString("en")) };
}

function scores(title, entries, before, { patch, toggle, mono = false }) {
  const { shown, rest } = largest(entries, MOST_BARS);
  const made = [...shown].sort((a, b) => a.mean - b.mean).map(({ name, n, mean }) => ({
    patch: patch(name), label: name, title: `${name}: mean score ${number(mean, 3)} of ${counted(n, "case")}`, value: mean, before: before?.get(name)?.before ?? null,
    beside: [el("b", {}, number(mean, mean === 1 ? null : 2)), el("small", {}, ` of ${n.toLocaleString("en")}`)],
  }));
  if (rest.length) {
    const n = rest.reduce((sum, one) => sum + one.n, 0);
    const mean = rest.reduce((sum, one) => sum + one.mean * one.n, 0) / n;
    made.push({ label: `${rest.length.toLocaleString("en")} others`, value: mean, beside: [el("b", {}, number(mean, 2)), el("small", {}, ` of ${n.toLocaleString("en")}`)] });
  }
  return panel(title, "", el("p", { class: "hint" }, `Mean score${before ? "; the tick is the baseline" : ""}.`), bars(made, { toggle, mono }));
}

function endings(entries, toggle) {
  const { shown, rest } = largest(entries, MOST_BARS);
  const most = shown[0].n;
  const made = shown.map(({ name, n }) => ({ patch: { ending: name }, label: words(name), title: `${words(name)}: ${n}`, value: n / most, beside: el("b", {}, n.toLocaleString("en")) }));
  if (rest.length) made.push(summed(rest, "ending", most));
  return panel("how conversations ended", "", bars(made, { toggle }));
}

function distribution(run, known, toggle) {
  const most = Math.max(...known.bands);
  const entries = BANDS.map((name, band) => ({ patch: known.bands[band] ? { score: name } : null, label: name, title: `${name === "error" ? "errors" : `score ${name}`}: ${counted(known.bands[band], "case")}`, value: known.bands[band] / most, beside: known.bands[band].toLocaleString("en"), band }))
    .filter(({ band, patch }) => patch || band === 0 || band === 4);
  return panel("scores", "", el("p", { class: "hint" }, `Cases by ${visible(run.headline)}.`), columns(entries, { toggle, label: "Cases by score" }));
}

function places(entries, toggle) {
  const made = entries.map(({ name, n, mean }) => ({ patch: { place: name }, label: name.split("-")[0], title: `message ${name}: mean score ${number(mean, 3)} of ${counted(n, "case")}`, value: mean, beside: number(mean, 2) }));
  return panel("by position", "", el("p", { class: "hint" }, "Mean score by the number of the message the decision comes at."), columns(made, { toggle, label: "Mean score by position" }));
}

function latency(known, [half, slow], toggle) {
  if (known.times.filter(Boolean).length < 2) return null;
  const most = Math.max(...known.times);
  const [first, last] = [known.times.findIndex(Boolean), known.times.findLastIndex(Boolean)];
  const made = TIME_NAMES.map((name, band) => ({ patch: known.times[band] ? { time: name } : null, label: name.replace(/ s$/, "").replace("under", "<").replace("over", ">"), title: `${name}: ${counted(known.times[band], "answer")}`, value: known.times[band] / most, beside: known.times[band].toLocaleString("en") })).slice(first, last + 1);
  return panel("time to answer", "", el("p", { class: "hint" }, `Seconds; half within ${seconds(half)}, 95 % within ${seconds(slow)}.`), columns(made, { toggle, label: "Answers by time" }));
}

function readings(run) {
  if (!run.readings?.length) return null;
  return panel("how to read it", "", run.readings.map(({ of, says, check_first }) => el("div", { class: "reading" },
    el("p", {}, el("b", {}, visible(of)), " ", prose(says)),
    check_first?.length ? el("ul", {}, check_first.map((one) => prose(one, "li"))) : null)));
}

function errors(run) {
  const texts = Object.entries(run.error_texts ?? {}).sort((a, b) => b[1] - a[1]);
  if (!texts.length) return null;
  return panel("errors, left out of every mean", "", el("ul", { class: "plain" }, texts.slice(0, MOST_BARS).map(([text, n]) => el("li", {}, el("b", {}, `${n.toLocaleString("en")}×`), " ", prose(text.slice(0, 400))))));
}

function passes(run) {
  if (!run.passes?.length || run.trials < 2) return null;
  return panel(`over ${run.trials} trials`, "small", el("table", { class: "plain-table" },
    el("thead", {}, el("tr", {}, ["trials", "right at least once", "right every time"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, run.passes.map(({ k, any, every }) => el("tr", {}, el("th", { scope: "row" }, String(k)), el("td", {}, number(any, 3)), el("td", {}, number(every, 3)))))));
}

const USED = { input_tokens: "tokens in", output_tokens: "tokens out", cost: "cost", asked_again: "asked again" };

function noted(run) {
  const kinds = Object.entries(run.notes ?? {}).sort((a, b) => b[1] - a[1]).map(([kind, n]) => [words(kind), n]);
  const used = Object.entries(USED).filter(([key]) => run.usage?.[key]).map(([key, name]) => [name, run.usage[key]]);
  const turns = run.turns ? [["turns of the user, on average", run.turns]] : [];
  const facts = [...kinds, ...turns, ...used];
  if (!facts.length) return null;
  return panel("also noted", "small", el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, number(value))])));
}
