// Panels with the charts of a run. In: its chart data (chart_data.js) and the comparison; out: sections whose marks filter the table.

import { bars, columns, heatMap } from "./charts.js";
import { SCORE_BANDS, TIME_BANDS } from "./cases.js";
import { el } from "./dom.js";
import { splitAfter } from "./chart_data.js";
import { counted, labelWords, number, seconds, sentence, visible } from "./text.js";

export const MAX_BARS = 12;
const MAX_TOOLS = 16; // tools of the heat map, on either side
const MIN_RANKED_CASES = 5; // of a tool: the mean of fewer is not meaningful

export function panel(title, kind, ...content) {
  return el("section", { class: `panel ${kind}` }, el("h2", {}, title), content);
}

// An empty state: what is missing, and what to do next.
export function empty(message, next) {
  return el("div", { class: "empty" }, el("p", { class: "empty-message" }, sentence(message)), next ? el("p", {}, sentence(next)) : null);
}

export function chartPanels(run, { counts, latencies }, comparison, toggle) {
  const before = comparison ? new Map(comparison.faults.filter((fault) => fault.run === run.name).map((fault) => [fault.kind, fault])) : null;
  const toolsBefore = comparison ? new Map(comparison.tools.filter((tool) => tool.run === run.name).map((tool) => [tool.tool, tool])) : null;
  const faults = faultPanel(run, counts, before, toggle);
  const scores = scorePanel(run, counts, toggle);
  // Any first call that leads to the goal is correct in a scenario, so only decision points show which tool was called instead.
  const scenarios = run.case_kind === "scenarios";
  const stacked = [
    counts.positions.length > 1 ? positionPanel(counts.positions, toggle) : null,
    counts.endings.length > 1 ? endingPanel(counts.endings, toggle) : null,
    latencyPanel(counts, latencies, toggle),
  ].filter(Boolean);
  return [
    el(
      "div",
      { class: "panels" },
      scenarios ? [faults, scores] : [confusionPanel(counts, toggle), el("div", { class: "stack" }, faults, scores)],
    ),
    el(
      "div",
      { class: "panels" },
      meanPanel(scenarios ? "By first expected tool" : "Weakest tools", counts.tools, toolsBefore, {
        patch: (tool) => ({ tool }),
        toggle,
        mono: true,
        minCases: scenarios ? 1 : MIN_RANKED_CASES,
      }),
      counts.scenarioTypes.length > 1 ? meanPanel("By scenario type", counts.scenarioTypes, null, { patch: (type) => ({ type }), toggle }) : null,
      counts.files.length > 1 ? meanPanel("By file", counts.files, null, { patch: (file) => ({ file }), toggle }) : null,
      stacked.length ? el("div", { class: "stack" }, stacked) : null,
    ),
  ];
}

function confusionPanel(counts, toggle) {
  const { shown } = splitAfter(
    counts.tools.filter(({ name }) => name !== "no call"),
    MAX_TOOLS,
  );
  const named = new Set(shown.map(({ name }) => name));
  const called = new Map();
  for (const { actual, n } of counts.confusion) called.set(actual, (called.get(actual) ?? 0) + n);
  const alsoCalled = [...called]
    .filter(([name]) => !named.has(name) && name !== "no call" && name !== "unknown tool")
    .sort((a, b) => b[1] - a[1]);
  for (const [name] of alsoCalled.slice(0, Math.max(0, MAX_TOOLS - named.size))) named.add(name);
  const group = (name) => (named.has(name) || name === "no call" || name === "unknown tool" ? name : "other tools");
  const cells = new Map();
  for (const { expected, actual, n } of counts.confusion) {
    const [row, column] = [group(expected), group(actual)];
    const patch = row === "other tools" || column === "other tools" ? null : { tool: row, actual: column };
    const cell = cells.get(`${row} → ${column}`) ?? { row, column, n: 0, patch };
    cell.n += n;
    cells.set(`${row} → ${column}`, cell);
  }
  const used = (side) =>
    [...named, "other tools", "no call", "unknown tool"].filter((name) => [...cells.values()].some((cell) => cell[side] === name));
  const wrong = [...cells.values()].some(({ row, column }) => row !== column);
  return panel(
    "Which tool was called instead",
    "",
    el("p", { class: "hint" }, wrong ? "Rows: expected. Columns: actual. Shade: share of the row. Click a cell to filter the table." : "Every call was to the expected tool."),
    el("div", { class: "scroll-x" }, heatMap(used("row"), used("column"), [...cells.values()], toggle)),
  );
}

function faultPanel(run, counts, before, toggle) {
  const { trials } = run;
  if (!counts.faults.length && !before?.size)
    return panel(
      "What went wrong",
      "",
      run.counts_faults
        ? empty("No faults.", "Every scored case is correct. Add harder cases to tell models apart.")
        : empty("Faults were not counted.", "Grade with the evaluator call, schema or process to see them."),
    );
  const gone = [...(before?.values() ?? [])]
    .filter(({ kind, before: was }) => was && !counts.faults.some(({ name }) => name === kind))
    .map(({ kind }) => ({ name: kind, n: 0 }));
  const { shown, rest } = splitAfter([...counts.faults, ...gone], MAX_BARS);
  const highest = Math.max(1, ...shown.map(({ n }) => n), ...[...(before?.values() ?? [])].map((fault) => fault.before * trials));
  const entries = shown.map(({ name, n }) => {
    const fault = before?.get(name);
    const was = fault && Math.round(fault.before * trials);
    return {
      patch: n ? { fault: name } : null,
      label: labelWords(name),
      title: `${labelWords(name)}: ${counted(n, "fault")}`,
      value: n / highest,
      before: was === undefined ? null : was / highest,
      caption: [el("b", {}, n.toLocaleString("en")), was === undefined ? "" : el("small", {}, ` was ${was.toLocaleString("en")}`)],
    };
  });
  if (rest.length) entries.push(remainderBar(rest, "kind", highest));
  return panel(
    "What went wrong",
    "",
    el("p", { class: "hint" }, `Number of faults by kind.${before ? " The tick is the baseline." : ""}`),
    bars(entries, { toggle }),
  );
}

// The rest of a long list as one bar with its sum.
function remainderBar(rest, noun, highest) {
  const n = rest.reduce((sum, entry) => sum + entry.n, 0);
  return { label: `${counted(rest.length, `other ${noun}`)}`, value: Math.min(1, n / highest), caption: el("b", {}, n.toLocaleString("en")) };
}

// Mean scores, lowest first. Entries with fewer than `minCases` cases are not ranked.
function meanPanel(title, entries, before, { patch, toggle, mono = false, minCases = 1 }) {
  const ranked = entries.filter(({ n }) => n >= minCases).sort((a, b) => a.mean - b.mean);
  const unranked = entries.length - ranked.length;
  const { shown, rest } = splitAfter(ranked, MAX_BARS);
  const shownBars = shown.map(({ name, n, mean }) => ({
    patch: patch(name),
    label: name,
    title: `${name}: mean score ${number(mean, 3)} over ${counted(n, "case")}`,
    value: mean,
    before: before?.get(name)?.before ?? null,
    caption: meanCaption(mean, n),
  }));
  if (rest.length) {
    const n = rest.reduce((sum, entry) => sum + entry.n, 0);
    const mean = rest.reduce((sum, entry) => sum + entry.mean * entry.n, 0) / n;
    shownBars.push({ label: counted(rest.length, "other"), value: mean, caption: meanCaption(mean, n) });
  }
  const hint = [
    "Mean score, lowest first.",
    before ? "The tick is the baseline." : "",
    unranked ? `Not ranked: ${counted(unranked, "tool")} with fewer than ${minCases} cases.` : "",
  ];
  return panel(
    title,
    "",
    el("p", { class: "hint" }, hint.filter(Boolean).join(" ")),
    ranked.length ? bars(shownBars, { toggle, mono }) : empty("Too few cases.", `A tool needs at least ${minCases} cases to be ranked.`),
  );
}

function meanCaption(mean, n) {
  return [el("b", {}, number(mean, 2)), el("small", {}, ` ${counted(n, "case")}`)];
}

function endingPanel(entries, toggle) {
  const { shown, rest } = splitAfter(entries, MAX_BARS);
  const highest = shown[0].n;
  const shownBars = shown.map(({ name, n }) => ({
    patch: { ending: name },
    label: labelWords(name),
    title: `${labelWords(name)}: ${counted(n, "conversation")}`,
    value: n / highest,
    caption: el("b", {}, n.toLocaleString("en")),
  }));
  if (rest.length) shownBars.push(remainderBar(rest, "ending", highest));
  return panel("How conversations ended", "", bars(shownBars, { toggle }));
}

function scorePanel(run, counts, toggle) {
  const highest = Math.max(...counts.bands);
  const entries = SCORE_BANDS.map((name, band) => ({
    patch: counts.bands[band] ? { score: name } : null,
    label: name,
    title: `${name === "error" ? "Errors" : `Score ${name}`}: ${counted(counts.bands[band], "case")}`,
    value: counts.bands[band] / highest,
    caption: counts.bands[band].toLocaleString("en"),
    band,
  })).filter(({ band, patch }) => patch || band === 0 || band === 4);
  return panel(
    "Scores",
    "",
    el("p", { class: "hint" }, `Number of cases by ${visible(run.headline)}.`),
    columns(entries, { toggle, label: "Cases by score" }),
  );
}

function positionPanel(entries, toggle) {
  const shownColumns = entries.map(({ name, n, mean }) => ({
    patch: { position: name },
    label: name.split("-")[0],
    title: `Message ${name}: mean score ${number(mean, 3)} over ${counted(n, "case")}`,
    value: mean,
    caption: number(mean, 2),
  }));
  return panel(
    "By position",
    "",
    el("p", { class: "hint" }, "Mean score by the message number of the decision point."),
    columns(shownColumns, { toggle, label: "Mean score by position" }),
  );
}

function latencyPanel(counts, [median, slow], toggle) {
  if (counts.times.filter(Boolean).length < 2) return null;
  const highest = Math.max(...counts.times);
  const [first, last] = [counts.times.findIndex(Boolean), counts.times.findLastIndex(Boolean)];
  const shownColumns = TIME_BANDS.map((name, band) => ({
    patch: counts.times[band] ? { time: name } : null,
    label: name.replace(/ s$/, "").replace("under", "<").replace("over", ">"),
    title: `${name}: ${counted(counts.times[band], "prediction")}`,
    value: counts.times[band] / highest,
    caption: counts.times[band].toLocaleString("en"),
  })).slice(first, last + 1);
  return panel(
    "Latency",
    "",
    el("p", { class: "hint" }, `Seconds. Median ${seconds(median)}, 95th percentile ${seconds(slow)}.`),
    columns(shownColumns, { toggle, label: "Predictions by latency" }),
  );
}
