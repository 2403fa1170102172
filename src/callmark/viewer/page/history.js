// The history of runs: a chart of a dataset's runs over time or by a tag, a leaderboard, and cost against score. In: the entries (history.py)
// and the state; out: elements. Runs graded by another version than the newest are marked: their numbers may mean something else.

import { el } from "./dom.js";
import { MAX_SERIES, costChart, timeChart } from "./history_charts.js";
import { empty, panel } from "./panels.js";
import { formatTime } from "./runs.js";
import { brief, counted, interval, number, prose, seconds, visible } from "./text.js";

const MAX_ROWS = 50; // of the leaderboard, before all are shown

export function historyView(entries, { state, change, width, open }) {
  if (!entries.length) return empty("No runs yet.", "Start one with `callmark run CASES --model MODEL`, or grade predictions with `callmark grade CASES --predictions FILE`.");
  const datasets = [...new Map(entries.map((run) => [run.digest, run.dataset]))];
  const digest = datasets.some(([each]) => each === state.dataset) ? state.dataset : newest(entries).digest;
  const all = state.dataset === ALL_DATASETS;
  const ofDataset = entries.filter((run) => run.digest === digest);
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (run) => (!state.model || run.label === state.model) && words.every((word) => searchText(run).includes(word));
  const charted = ofDataset.filter(matches);
  const ranked = (all ? entries : ofDataset).filter(matches);
  const reference = newest(ofDataset);
  const metrics = [...new Set(charted.flatMap((run) => Object.keys(run.metrics)))];
  const metric = metrics.includes(state.metric) ? state.metric : reference.headline;
  const tags = [...new Set(ofDataset.flatMap((run) => Object.keys(run.tags)))];
  const by = tags.includes(state.by) ? state.by : "";
  const references = new Map(datasets.map(([each]) => [each, newest(entries.filter((run) => run.digest === each))]));
  const differing = (run) => incomparable(run, references.get(run.digest));
  // Runs without a model have a name of their own each: then all of them are one series.
  const names = [...new Set(charted.map(({ label }) => label))];
  const labels = names.length === charted.length ? [""] : names;
  const seriesOf = (run) => (labels[0] === "" ? "" : run.label);
  const data = { seriesOf, runs: charted, metric, by, labels, differing, width, open };
  return [
    el(
      "div",
      { class: "filters", role: "search" },
      historyChoice("Dataset", "dataset", [...datasets.map(([value, name]) => [value, datasets.filter(([, other]) => other === name).length > 1 ? `${name} · ${value.slice(-6)}` : name]), ...(datasets.length > 1 ? [[ALL_DATASETS, "All datasets in the leaderboard"]] : [])], all ? ALL_DATASETS : digest, change),
      historyChoice("Model", "model", [["", "All models"], ...[...new Set((all ? entries : ofDataset).map(({ label }) => label))].map((label) => [label, label])], state.model, change),
      historyChoice("Metric", "metric", metrics.map((name) => [name, name]), metric, change),
      historyChoice("Order", "by", [["", "Over time"], ...tags.map((tag) => [tag, `By ${tag}`])], by, change),
      el("input", { type: "search", class: "search history-search", id: "search", "data-key": "history search", "aria-label": "Search runs, tags, branches and commits", placeholder: "Search", value: state.q, onfocus: (event) => event.target.setSelectionRange(state.q.length, state.q.length), oninput: (event) => change({ q: event.target.value }, true) }),
    ),
    el("p", { class: "row-count history-count", role: "status" }, `${counted(ranked.length, "run")}${all ? "" : ` of ${visible(reference.dataset)}`}${charted.some(differing) ? `, ${charted.filter(differing).length} not comparable` : ""}`),
    panel(
      `${metric} ${by ? `by ${by}` : "over time"}`,
      "wide history-chart",
      el("p", { class: "hint" }, "A line through a point is its 95% interval. Hollow points were graded by a different version or with different expectations than the newest run: they are not comparable."),
      charted.some((run) => run.metrics[metric]) ? timeChart(data) : empty("No scores to show.", "Choose another metric, or remove a filter."),
      labels.length > MAX_SERIES ? el("p", { class: "hint" }, `${counted(labels.length - MAX_SERIES, "more model")} in gray.`) : null,
    ),
    el(
      "div",
      { class: "panels" },
      panel(
        "Cost against score",
        "",
        charted.some((run) => run.cost !== null && run.metrics[metric]) ? costChart(data) : empty("No costs are known.", "Set the prices of a model in `callmark.toml`."),
      ),
      panel("Leaderboard", "wide flush leaderboard", leaderboard(ranked, { state, metric, change, open, differing, all })),
    ),
  ];
}

const ALL_DATASETS = "all";

// The version decides what a number means, and so do corrected expectations.
function incomparable(run, reference) {
  if (run.version !== reference.version) return `graded by callmark ${run.version}`;
  return run.patch !== reference.patch ? (run.patch ? "graded with different corrections" : "graded without the corrections") : "";
}

function newest(runs) {
  return runs.reduce((best, run) => (run.created > best.created ? run : best), runs[0]);
}

function searchText(run) {
  const tags = Object.entries(run.tags).flatMap(([key, value]) => [`${key}=${value}`]);
  return [run.name, run.label, run.dataset, run.commit?.branch, run.commit?.commit, ...tags].join(" ").toLowerCase();
}

function historyChoice(label, key, options, chosen, change) {
  const select = el(
    "select",
    { "aria-label": label, "data-key": `history ${key}`, onchange: (event) => change({ [key]: event.target.value }) },
    options.map(([value, name]) => el("option", { value }, brief(name, 80))),
  );
  select.value = chosen;
  return el("label", { class: "choice" }, select);
}

const COLUMNS = [
  ["name", "Run", (run) => run.name.toLowerCase()],
  ["score", "Score", (run, metric) => run.metrics[metric]?.[0]],
  ["pass", "pass^k", (run) => run.pass_rate?.[0]],
  ["cost", "Cost per 1,000", (run) => run.cost],
  ["seconds", "Latency", (run) => run.seconds],
  ["created", "Created", (run) => run.created],
  ["commit", "Commit", (run) => run.commit?.branch ?? null],
];
const LOW_FIRST = ["name", "cost", "seconds", "commit"];

function leaderboard(runs, { state, metric, change, open, differing, all }) {
  const descending = state.sort.startsWith("-");
  const key = COLUMNS.some(([name]) => name === state.sort.replace(/^-/, "")) ? state.sort.replace(/^-/, "") : "score";
  const sign = state.sort ? (descending ? -1 : 1) : -1;
  const value = COLUMNS.find(([name]) => name === key)[2];
  const sorted = runs
    .map((run) => [value(run, metric) ?? null, run])
    .sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * (a < b ? -1 : a > b ? 1 : 0)))
    .map(([, run]) => run);
  const rowsOf = (shown) => shown.map((run) => boardRow(run, { metric, open, why: differing(run), all }));
  const body = el("tbody", {}, rowsOf(sorted.slice(0, MAX_ROWS)));
  const more =
    sorted.length > MAX_ROWS
      ? el("button", { type: "button", class: "quiet-button", "data-key": "all runs", onclick: () => (body.append(...rowsOf(sorted.slice(MAX_ROWS))), more.remove()) }, `Show ${counted(sorted.length - MAX_ROWS, "more run")}`)
      : null;
  const turn = (name) => (key === name ? (sign > 0 ? `-${name}` : name) : LOW_FIRST.includes(name) ? name : `-${name}`);
  return el(
    "div",
    { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Leaderboard" },
    el(
      "table",
      { class: "plain-table board" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          COLUMNS.map(([name, label]) =>
            el(
              "th",
              { scope: "col", "aria-sort": key === name ? (sign > 0 ? "ascending" : "descending") : null },
              el("button", { type: "button", "data-key": `rank ${name}`, onclick: () => change({ sort: turn(name) }) }, label),
            ),
          ),
        ),
      ),
      body,
    ),
    more,
  );
}

function boardRow(run, { metric, open, why, all }) {
  const [mean, low, high] = run.metrics[metric] ?? [null, null, null];
  const [rate, rateLow, rateHigh] = run.pass_rate ?? [null, null, null];
  const tags = Object.entries(run.tags).slice(0, 4).map(([key, value]) => (value ? `${key}=${value}` : key));
  return el(
    "tr",
    { class: why ? "differs" : "" },
    el(
      "th",
      { scope: "row" },
      open ? el("button", { type: "button", class: "run-name", "data-key": `history ${run.name}`, onclick: () => open(run.name) }, prose(run.label)) : prose(run.label, "b"),
      el("small", {}, [run.name === run.label ? "" : visible(run.name), all ? visible(run.dataset) : "", brief(tags.join(", "), 120)].filter(Boolean).join(" · ")),
      why ? el("small", { class: "caution" }, `Not comparable: ${visible(why)}`) : null,
    ),
    el("td", {}, el("b", {}, number(mean, 3)), " ", el("small", {}, interval(low, high)), run.status === "running" ? el("small", {}, " so far") : null),
    el("td", {}, rate === null ? "–" : [number(rate, 3), el("small", {}, ` ${interval(rateLow, rateHigh)}`), el("small", {}, ` k = ${run.trials}`)]),
    el("td", {}, run.cost === null ? "–" : `$${number(run.cost)}`),
    el("td", {}, run.seconds === null ? "–" : seconds(run.seconds)),
    el("td", {}, formatTime(run.created)),
    el("td", {}, run.commit ? [el("code", {}, visible(run.commit.commit.slice(0, 8))), " ", prose(run.commit.branch), run.commit.dirty ? el("small", {}, " with changes") : null] : "–"),
  );
}
