// Panels with the charts of a run. In: the numbers of its cases (tallies.js) and the comparison; out: sections whose marks filter the table.

import { bars, columns, heatMap } from "./charts.js";
import { BANDS, TIME_NAMES } from "./cases.js";
import { el } from "./dom.js";
import { largest } from "./tallies.js";
import { counted, number, seconds, sentence, visible, words } from "./text.js";

export const MOST_BARS = 12;
const MOST_TOOLS = 16; // tools of the heat map, on either side

export function panel(title, kind, ...content) {
  return el("section", { class: `panel ${kind}` }, el("h2", {}, title), content);
}

// What is the matter, and what to do next.
export function empty(what, next) {
  return el("div", { class: "empty" }, el("p", { class: "empty-what" }, sentence(what)), next ? el("p", {}, sentence(next)) : null);
}

export function chartPanels(run, { known, times }, comparison, toggle) {
  const before = comparison ? new Map(comparison.faults.filter((one) => one.run === run.name).map((one) => [one.kind, one])) : null;
  const toolsBefore = comparison ? new Map(comparison.tools.filter((one) => one.run === run.name).map((one) => [one.tool, one])) : null;
  const wrong = faults(known, before, run.trials, toggle);
  const spreadOut = distribution(run, known, toggle);
  // The first call of a whole conversation may be any that leads to what is expected, so only decision points can mistake a tool for another.
  const scenarios = run.what === "scenarios";
  const beside = [
    known.places.length > 1 ? places(known.places, toggle) : null,
    known.endings.length > 1 ? endings(known.endings, toggle) : null,
    latency(known, times, toggle),
  ].filter(Boolean);
  return [
    el(
      "div",
      { class: "panels" },
      scenarios ? [wrong, spreadOut] : [confusion(known, toggle), el("div", { class: "stack" }, wrong, spreadOut)],
    ),
    el(
      "div",
      { class: "panels" },
      scores(scenarios ? "by the first tool expected" : "weakest tools", known.tools, toolsBefore, {
        patch: (tool) => ({ tool }),
        toggle,
        mono: true,
      }),
      known.types.length > 1 ? scores("by scenario type", known.types, null, { patch: (type) => ({ type }), toggle }) : null,
      beside.length ? el("div", { class: "stack" }, beside) : null,
    ),
  ];
}

function confusion(known, toggle) {
  const { shown } = largest(
    known.tools.filter(({ name }) => name !== "no call"),
    MOST_TOOLS,
  );
  const kept = new Set(shown.map(({ name }) => name));
  const called = new Map();
  for (const { made, n } of known.confusion) called.set(made, (called.get(made) ?? 0) + n);
  const alsoCalled = [...called]
    .filter(([name]) => !kept.has(name) && name !== "no call" && name !== "unknown tool")
    .sort((a, b) => b[1] - a[1]);
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
  const used = (side) =>
    [...kept, "other tools", "no call", "unknown tool"].filter((name) => [...cells.values()].some((cell) => cell[side] === name));
  const wrong = [...cells.values()].some(({ row, column }) => row !== column);
  return panel(
    "which tool was called instead",
    "",
    el("p", { class: "hint" }, wrong ? "Expected down, called across; the shade is the share of a row. A cell filters the table." : "Every call went to the right tool."),
    el("div", { class: "scroll-x" }, heatMap(used("row"), used("column"), [...cells.values()], toggle)),
  );
}

function faults(known, before, trials, toggle) {
  if (!known.faults.length && !before?.size)
    return panel("what went wrong", "", empty("Nothing went wrong.", "Every scored case is right. Harder cases would tell more."));
  const gone = [...(before?.values() ?? [])]
    .filter(({ kind, before: was }) => was && !known.faults.some(({ name }) => name === kind))
    .map(({ kind }) => ({ name: kind, n: 0 }));
  const { shown, rest } = largest([...known.faults, ...gone], MOST_BARS);
  const most = Math.max(1, ...shown.map(({ n }) => n), ...[...(before?.values() ?? [])].map((one) => one.before * trials));
  const entries = shown.map(({ name, n }) => {
    const one = before?.get(name);
    const was = one && Math.round(one.before * trials);
    return {
      patch: n ? { fault: name } : null,
      label: words(name),
      title: `${words(name)}: ${counted(n, "time")}`,
      value: n / most,
      before: was === undefined ? null : was / most,
      beside: [el("b", {}, n.toLocaleString("en")), was === undefined ? "" : el("small", {}, ` was ${was.toLocaleString("en")}`)],
    };
  });
  if (rest.length) entries.push(summed(rest, "kind", most));
  return panel(
    "what went wrong",
    "",
    el("p", { class: "hint" }, `How often each fault was found${before ? "; the tick is the baseline" : ""}.`),
    bars(entries, { toggle }),
  );
}

// What is left of a long list: one quiet bar with the sum of it.
function summed(rest, noun, most) {
  const n = rest.reduce((sum, one) => sum + one.n, 0);
  return { label: `${counted(rest.length, `other ${noun}`)}`, value: Math.min(1, n / most), beside: el("b", {}, n.toLocaleString("en")) };
}

function scores(title, entries, before, { patch, toggle, mono = false }) {
  const { shown, rest } = largest(entries, MOST_BARS);
  const made = [...shown]
    .sort((a, b) => a.mean - b.mean)
    .map(({ name, n, mean }) => ({
      patch: patch(name),
      label: name,
      title: `${name}: mean score ${number(mean, 3)} of ${counted(n, "case")}`,
      value: mean,
      before: before?.get(name)?.before ?? null,
      beside: [el("b", {}, number(mean, mean === 1 ? null : 2)), el("small", {}, ` of ${n.toLocaleString("en")}`)],
    }));
  if (rest.length) {
    const n = rest.reduce((sum, one) => sum + one.n, 0);
    const mean = rest.reduce((sum, one) => sum + one.mean * one.n, 0) / n;
    made.push({
      label: `${rest.length.toLocaleString("en")} others`,
      value: mean,
      beside: [el("b", {}, number(mean, 2)), el("small", {}, ` of ${n.toLocaleString("en")}`)],
    });
  }
  return panel(
    title,
    "",
    el("p", { class: "hint" }, `Mean score${before ? "; the tick is the baseline" : ""}.`),
    bars(made, { toggle, mono }),
  );
}

function endings(entries, toggle) {
  const { shown, rest } = largest(entries, MOST_BARS);
  const most = shown[0].n;
  const made = shown.map(({ name, n }) => ({
    patch: { ending: name },
    label: words(name),
    title: `${words(name)}: ${n}`,
    value: n / most,
    beside: el("b", {}, n.toLocaleString("en")),
  }));
  if (rest.length) made.push(summed(rest, "ending", most));
  return panel("how conversations ended", "", bars(made, { toggle }));
}

function distribution(run, known, toggle) {
  const most = Math.max(...known.bands);
  const entries = BANDS.map((name, band) => ({
    patch: known.bands[band] ? { score: name } : null,
    label: name,
    title: `${name === "error" ? "errors" : `score ${name}`}: ${counted(known.bands[band], "case")}`,
    value: known.bands[band] / most,
    beside: known.bands[band].toLocaleString("en"),
    band,
  })).filter(({ band, patch }) => patch || band === 0 || band === 4);
  return panel(
    "scores",
    "",
    el("p", { class: "hint" }, `Cases by ${visible(run.headline)}.`),
    columns(entries, { toggle, label: "Cases by score" }),
  );
}

function places(entries, toggle) {
  const made = entries.map(({ name, n, mean }) => ({
    patch: { place: name },
    label: name.split("-")[0],
    title: `message ${name}: mean score ${number(mean, 3)} of ${counted(n, "case")}`,
    value: mean,
    beside: number(mean, 2),
  }));
  return panel(
    "by position",
    "",
    el("p", { class: "hint" }, "Mean score by the number of the message the decision comes at."),
    columns(made, { toggle, label: "Mean score by position" }),
  );
}

function latency(known, [half, slow], toggle) {
  if (known.times.filter(Boolean).length < 2) return null;
  const most = Math.max(...known.times);
  const [first, last] = [known.times.findIndex(Boolean), known.times.findLastIndex(Boolean)];
  const made = TIME_NAMES.map((name, band) => ({
    patch: known.times[band] ? { time: name } : null,
    label: name.replace(/ s$/, "").replace("under", "<").replace("over", ">"),
    title: `${name}: ${counted(known.times[band], "answer")}`,
    value: known.times[band] / most,
    beside: known.times[band].toLocaleString("en"),
  })).slice(first, last + 1);
  return panel(
    "time to answer",
    "",
    el("p", { class: "hint" }, `Seconds; half within ${seconds(half)}, 95 % within ${seconds(slow)}.`),
    columns(made, { toggle, label: "Answers by time" }),
  );
}
