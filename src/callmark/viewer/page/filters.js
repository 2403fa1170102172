// Search, filters and what is filtered by, as chips. In: the run and the state; out: elements that call `change(patch)`.

import { BANDS } from "./cases.js";
import { el } from "./dom.js";
import { FILTERS } from "./state.js";
import { cut, visible, words } from "./text.js";

const MOST_OPTIONS = 1000; // a list that nobody could read through is searched instead
const SORTS = [
  ["", "in the file's order"],
  ["score", "worst first"],
  ["-score", "best first"],
  ["expected", "expected tool"],
  ["made", "called tool"],
  ["fault", "fault"],
  ["-seconds", "slowest first"],
];

export function filterBar({ run, runs, state, change }) {
  const { tools, faults, types } = run.names;
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
      [["right", "✓ right"], ["wrong", "✗ wrong"], ...BANDS.map((name) => [name, name === "error" ? "! error" : `score ${name}`])],
      change,
    ),
    types.length > 1
      ? choice(
          "type",
          "all scenario types",
          types.map((name) => [name, name]),
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
  box.update = (now) => {
    if (search.value !== now.q) search.value = now.q;
    for (const label of choices) {
      const select = label.querySelector("select");
      const known = [...select.options].some(({ value }) => value === now[select.name]);
      select.value = known ? now[select.name] : "";
      label.classList.toggle("set", select.name !== "run" && Boolean(now[select.name]));
    }
    outcomes.hidden = !now.base;
    for (const part of parts) part.setAttribute("aria-pressed", String(now.change === part.dataset.change));
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
    options.slice(0, MOST_OPTIONS).map(([value, name]) => el("option", { value }, cut(visible(name), 60))),
  );
  return el("label", { class: `choice choice-${key}` }, select);
}

const SAID = {
  tool: (value) => ["expected", value],
  made: (value) => ["called", value],
  fault: (value) => ["fault", words(value)],
  score: (value) => ["score", value],
  type: (value) => ["type", value],
  change: (value) => ["against the baseline", value],
  place: (value) => ["message", value.replace("-", "–")],
  time: (value) => ["time", value],
  ending: (value) => ["ended", words(value)],
  origin: (value) => ["value", value],
  q: (value) => ["search", value],
};

// What narrows the table down, each to be taken off by a click. Empty where nothing does.
export function chips(state, change, clear) {
  const set = [...FILTERS, "q"].filter((key) => state[key]);
  if (!set.length) return [];
  const made = set.map((key) => {
    const [name, value] = SAID[key](state[key]);
    return el(
      "button",
      { type: "button", class: "chip", "data-key": `chip ${key}`, onclick: () => change({ [key]: "" }) },
      el("span", { class: "chip-name" }, name),
      el("bdi", {}, cut(visible(value), 60)),
      el("span", { class: "chip-x", "aria-hidden": "true" }, "×"),
      el("span", { class: "unseen" }, "take this filter off"),
    );
  });
  return [
    ...made,
    set.length > 1 ? el("button", { type: "button", class: "quiet-button", "data-key": "chip all", onclick: clear }, "clear all") : null,
  ];
}
