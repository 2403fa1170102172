// The list of runs. In: what the source lists; out: a table to open one from, or to pick several to compare. No runs: what to do next.

import { range } from "./charts.js";
import { el } from "./dom.js";
import { empty } from "./panels.js";
import { counted, interval, number, prose, visible } from "./text.js";

// What each run is called: by the model that was asked, else by its own name; of those of one name the folder tells which is which.
export function labelsOf(runs) {
  const called = runs.map(({ name, model, label }) => [name, model || label]);
  const often = new Map();
  for (const [, label] of called) often.set(label, (often.get(label) ?? 0) + 1);
  return new Map(called.map(([name, label]) => [name, often.get(label) > 1 && label !== name ? `${label} · ${name}` : label]));
}

export function runList(runs, labels, picked, { open, compare, pick }) {
  if (!runs.length) {
    return [
      el("h1", {}, "Runs"),
      el(
        "div",
        { class: "panel" },
        empty(
          "There is no run here yet.",
          "Make one with `callmark run DATA --model MODEL`, or grade answers you have with `callmark grade DATA --predictions FILE`. It shows up here by itself.",
        ),
      ),
    ];
  }
  const button = el(
    "button",
    { type: "button", class: "main-button", "data-key": "compare", disabled: picked.size < 2, onclick: compare },
    picked.size < 2 ? "Pick two to compare" : `Compare ${picked.size} runs`,
  );
  const rows = runs.map((run) =>
    el(
      "tr",
      { class: run.status === "running" ? "running" : "" },
      el(
        "td",
        { class: "pick" },
        runs.length > 1
          ? el("input", {
              type: "checkbox",
              checked: picked.has(run.name),
              "data-key": `pick ${run.name}`,
              "aria-label": `Compare ${visible(labels.get(run.name))}`,
              onchange: () => pick(run.name),
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
          when(run.made),
          " · ",
          visible(run.what),
          run.dataset ? [" · ", prose(run.dataset)] : null,
        ),
      ),
      el(
        "td",
        { class: "run-headline" },
        run.headline
          ? [
              el("span", { class: "run-number" }, number(run.headline.mean, 3)),
              el("small", {}, visible(run.headline.name), " ", interval(run.headline.low, run.headline.high)),
              range(run.headline.mean, run.headline.low, run.headline.high),
            ]
          : el("span", { class: "none" }, "no number yet"),
      ),
      el(
        "td",
        { class: "run-counts" },
        run.status === "running"
          ? progress(run)
          : [
              el("span", {}, typeof run.scored === "number" ? `${run.scored.toLocaleString("en")} scored` : "", " "),
              el("small", {}, counted(run.cases ?? 0, "case")),
              run.errors ? el("small", { class: "odd" }, `! ${counted(run.errors, "error")}`) : null,
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
            el("th", { scope: "col" }, el("span", { class: "unseen" }, "compare")),
            ["run", "headline", "cases"].map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el("tbody", {}, rows),
      ),
    ),
  ];
}

export function progress(run) {
  const [done, all] = [run.answers ?? 0, run.questions ?? 0];
  return el(
    "span",
    { class: "progress" },
    el("progress", { max: all || 1, value: done, "aria-label": "Answers so far" }),
    el("span", {}, `${done.toLocaleString("en")} of ${all.toLocaleString("en")} answers`),
  );
}

// `2026-11-15 18:42`; whatever is no date stays as it is.
export function when(made) {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d)[:-](\d\d)/.exec(made ?? "");
  return found ? `${found[1]} ${found[2]}:${found[3]}` : visible(made);
}
