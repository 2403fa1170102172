// The list of runs. In: the runs of the source; out: a table to open a run or to select several for a comparison. Without runs, an empty
// state that says what to do next.

import { rangeBar } from "./charts.js";
import { el } from "./dom.js";
import { empty } from "./panels.js";
import { counted, interval, number, prose, visible } from "./text.js";

// The label of each run: its model, else its name; with the folder if labels repeat, or the folder alone if it begins with the label.
export function runLabels(runs) {
  const labels = runs.map(({ name, model, label }) => [name, model || label]);
  const counts = new Map();
  for (const [, label] of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return new Map(labels.map(([name, label]) => [name, counts.get(label) < 2 ? label : name.startsWith(label) ? name : `${label} · ${name}`]));
}

export function runList(runs, labels, selected, { open, compare, select }) {
  if (!runs.length) {
    return [
      el("h1", {}, "Runs"),
      el(
        "div",
        { class: "panel" },
        empty(
          "No runs yet.",
          "Start one with `callmark run CASES --model MODEL`, or grade predictions with `callmark grade CASES --predictions FILE`. New runs appear here automatically.",
        ),
      ),
    ];
  }
  const button = el(
    "button",
    { type: "button", class: "main-button", "data-key": "compare", disabled: selected.size < 2, onclick: compare },
    selected.size < 2 ? "Select two runs to compare" : `Compare ${selected.size} runs`,
  );
  const rows = runs.map((run) =>
    el(
      "tr",
      { class: run.status === "running" ? "running" : "" },
      el(
        "td",
        { class: "select-run" },
        runs.length > 1
          ? el("input", {
              type: "checkbox",
              checked: selected.has(run.name),
              "data-key": `select ${run.name}`,
              "aria-label": `Compare ${visible(labels.get(run.name))}`,
              onchange: () => select(run.name),
            })
          : null,
      ),
      el(
        "th",
        { scope: "row" },
        el(
          "button",
          { type: "button", class: "run-name", "data-key": `run ${run.name}`, onclick: () => open(run.name) },
          prose(run.model || run.label),
        ),
        el(
          "small",
          {},
          (run.model || run.label) === run.name ? null : [prose(run.name), " · "],
          formatTime(run.created),
          " · ",
          visible(run.case_kind),
          run.dataset ? [" · ", prose(run.dataset)] : null,
        ),
      ),
      el(
        "td",
        { class: "run-headline" },
        run.headline
          ? [
              el("span", { class: "run-number" }, number(run.headline.mean, 3)),
              el("small", {}, visible(run.headline.name), " ", interval(run.headline.low, run.headline.high), run.status === "running" ? " so far" : ""),
              rangeBar(run.headline),
            ]
          : el("span", { class: "none" }, "no score yet"),
      ),
      el(
        "td",
        { class: "run-counts" },
        run.status === "running"
          ? runProgress(run)
          : [
              el("span", {}, typeof run.scored === "number" ? `${run.scored.toLocaleString("en")} scored` : "", " "),
              el("small", {}, counted(run.cases ?? 0, "case")),
              run.errors ? el("small", { class: "problem-text" }, `! ${counted(run.errors, "error")}`) : null,
            ],
      ),
    ),
  );
  return [
    el("div", { class: "list-head" }, el("h1", {}, "Runs"), runs.length > 1 ? button : null),
    el(
      "div",
      { class: "panel flush" },
      el(
        "table",
        { class: "runs" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, "Compare")),
            ["Run", "Headline metric", "Cases"].map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el("tbody", {}, rows),
      ),
    ),
  ];
}

export function runProgress(run) {
  const [done, all] = [run.predictions ?? 0, run.requests ?? 0];
  return el(
    "span",
    { class: "progress" },
    el("progress", { max: all || 1, value: done, "aria-label": "Predictions so far" }),
    el("span", {}, `${done.toLocaleString("en")} of ${all.toLocaleString("en")} predictions`),
  );
}

// `2026-11-15 18:42`; any other text is unchanged.
export function formatTime(time) {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d)[:-](\d\d)/.exec(time ?? "");
  return found ? `${found[1]} ${found[2]}:${found[3]}` : visible(time);
}
