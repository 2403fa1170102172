// Search, filters, and active filters as chips. In: the run and the state; out: elements that call `change(patch)`.

import { SCORE_BANDS } from "./cases.js";
import { el } from "./dom.js";
import { FILTERS } from "./state.js";
import { cut, visible, words } from "./text.js";

const MAX_OPTIONS = 1000; // a longer list is searched instead
const SORTS = [
  ["", "in the file's order"],
  ["score", "worst first"],
  ["-score", "best first"],
  ["expected", "expected tool"],
  ["actual", "called tool"],
  ["fault", "fault"],
  ["-seconds", "slowest first"],
];

export function filterBar({ run, runs, state, change }) {
  const { tools, faults, scenario_types: scenarioTypes } = run.names;
  const search = el("input", {
    type: "search",
    class: "search",
    id: "search",
    placeholder: "search",
    "aria-label": "Search ids, calls and faults",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    oninput: (event) => change({ q: event.target.value }, true),
  });
  const choices = [
    runs.length > 1
      ? choice(
          "run",
          "run",
          runs.map(({ name, label }) => [name, label]),
          change,
        )
      : null,
    choice("tool", "all tools", [...tools.map((name) => [name, name]), ["no call", "no call expected"]], change),
    choice(
      "fault",
      "all faults",
      faults.map((name) => [name, words(name)]),
      change,
    ),
    choice(
      "score",
      "all scores",
      [["right", "✓ right"], ["wrong", "✗ wrong"], ...SCORE_BANDS.map((name) => [name, name === "error" ? "! error" : `score ${name}`])],
      change,
    ),
    scenarioTypes.length > 1
      ? choice(
          "type",
          "all scenario types",
          scenarioTypes.map((name) => [name, name]),
          change,
        )
      : null,
    choice("sort", "order", SORTS.slice(1), change),
  ].filter(Boolean);
  const parts = ["", "fixed", "broken"].map((name) =>
    el("button", { type: "button", "data-change": name, onclick: () => change({ change: name }) }, name || "all"),
  );
  const outcomes = el("div", { class: "segments", role: "group", "aria-label": "Against the baseline" }, parts);
  const box = el(
    "div",
    { class: "filters", role: "search" },
    el("div", { class: "search-box" }, search, el("kbd", { "aria-hidden": "true" }, "/")),
    choices,
    outcomes,
  );
  box.update = (current) => {
    if (search.value !== current.q) search.value = current.q;
    for (const label of choices) {
      const select = label.querySelector("select");
      const known = [...select.options].some(({ value }) => value === current[select.name]);
      select.value = known ? current[select.name] : "";
      label.classList.toggle("set", select.name !== "run" && Boolean(current[select.name]));
    }
    outcomes.hidden = !current.base;
    for (const part of parts) part.setAttribute("aria-pressed", String(current.change === part.dataset.change));
  };
  box.update(state);
  return box;
}

function choice(key, all, options, change) {
  const select = el(
    "select",
    {
      name: key,
      "aria-label": { run: "Run", tool: "Expected tool", fault: "Fault", score: "Score", type: "Scenario type", sort: "Order" }[key],
      onchange: (event) => change({ [key]: event.target.value }),
    },
    key === "run" ? null : el("option", { value: "" }, all),
    options.slice(0, MAX_OPTIONS).map(([value, name]) => el("option", { value }, cut(visible(name), 60))),
  );
  return el("label", { class: `choice choice-${key}` }, select);
}

const CHIP_LABELS = {
  tool: (value) => ["expected", value],
  actual: (value) => ["called", value],
  fault: (value) => ["fault", words(value)],
  score: (value) => ["score", value],
  type: (value) => ["type", value],
  change: (value) => ["against the baseline", value],
  position: (value) => ["message", value.replace("-", "–")],
  time: (value) => ["time", value],
  ending: (value) => ["ended", words(value)],
  origin: (value) => ["value", value],
  q: (value) => ["search", value],
};

// The active filters, each removed by a click; none where the table is not filtered.
export function filterChips(state, change, clear) {
  const set = [...FILTERS, "q"].filter((key) => state[key]);
  if (!set.length) return [];
  const chips = set.map((key) => {
    const [name, value] = CHIP_LABELS[key](state[key]);
    return el(
      "button",
      { type: "button", class: "chip", "data-key": `chip ${key}`, onclick: () => change({ [key]: "" }) },
      el("span", { class: "chip-name" }, name),
      el("bdi", {}, cut(visible(value), 60)),
      el("span", { class: "chip-x", "aria-hidden": "true" }, "×"),
      el("span", { class: "visually-hidden" }, "take this filter off"),
    );
  });
  return [
    ...chips,
    set.length > 1 ? el("button", { type: "button", class: "quiet-button", "data-key": "chip all", onclick: clear }, "clear all") : null,
  ];
}
