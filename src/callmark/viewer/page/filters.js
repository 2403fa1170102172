// Search, filters, and active filters as chips. In: the run and the state; out: elements that call `change(patch)`.

import { SCORE_BANDS, UNLABELED, groupKey } from "./cases.js";
import { el } from "./dom.js";
import { groupWords } from "./group_panel.js";
import { FILTERS } from "./state.js";
import { labelWords, originWords, shortenAll, shortenMiddle, visible, words } from "./text.js";

const MAX_OPTIONS = 1000; // a longer list is searched instead
const MAX_OPTION_LABEL = 26; // characters: as many as a closed list shows
const MAX_CHIP = 60;
const SORTS = [
  ["file", "Dataset order"],
  ["score", "Lowest score first"],
  ["-score", "Highest score first"],
  ["expected", "By expected tool"],
  ["actual", "By actual tool"],
  ["fault", "By fault"],
  ["-seconds", "Slowest first"],
];

const SEGMENTS = [
  ["All", { change: "", score: "" }],
  ["Wrong", { change: "", score: "wrong" }],
  ["Broken", { change: "broken", score: "" }],
  ["Fixed", { change: "fixed", score: "" }],
];

export function filterBar({ run, runs, labels, state, change }) {
  const { tools, faults, scenario_types: scenarioTypes, files } = run.names;
  const search = el("input", {
    type: "search",
    class: "search",
    id: "search",
    "data-key": "search", // so that typing goes on when the filters are drawn again
    placeholder: "Search",
    "aria-label": "Search IDs, calls, faults and errors",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    oninput: (event) => change({ q: event.target.value }, true),
  });
  const choices = [
    runs.length > 1
      ? choice(
          "run",
          "",
          runs.map(({ name, label }) => [name, label]),
          change,
        )
      : null,
    choice("tool", "All tools", [...tools.map((name) => [name, name]), ["no call", "No call expected"]], change),
    choice(
      "fault",
      "All faults",
      faults.map((name) => [name, labelWords(name)]),
      change,
    ),
    choice(
      "score",
      "All scores",
      [["correct", "✓ Correct"], ["wrong", "✗ Wrong"], ...SCORE_BANDS.map((name) => [name, name === "error" ? "! Error" : `Score ${name}`])],
      change,
    ),
    scenarioTypes.length > 1
      ? choice(
          "type",
          "All scenario types",
          scenarioTypes.map((name) => [name, name]),
          change,
        )
      : null,
    files.length > 1
      ? choice(
          "file",
          "All files",
          files.map((name) => [name, name]),
          change,
        )
      : null,
    labels.length || run.labelable
      ? choice("label", "All labels", [...labels.map(({ label, n }) => [label, `${label} (${n.toLocaleString("en")})`]), [UNLABELED, "No label"]], change)
      : null,
    choice("sort", "Failures first", SORTS, change),
  ].filter(Boolean);
  const parts = SEGMENTS.map(([name, patch]) =>
    el("button", { type: "button", "data-change": patch.change, "data-score": patch.score, onclick: () => change(patch) }, name),
  );
  const outcomes = el("div", { class: "segments", role: "group", "aria-label": "Outcome" }, parts);
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
    for (const part of parts) {
      part.hidden = Boolean(part.dataset.change) && !current.base;
      part.setAttribute("aria-pressed", String(current.change === part.dataset.change && current.score === part.dataset.score));
    }
  };
  box.update(state);
  return box;
}

function choice(key, all, options, change) {
  const shown = options.slice(0, MAX_OPTIONS);
  const labels = shortenAll(
    shown.map(([, name]) => visible(name)),
    MAX_OPTION_LABEL,
  );
  const select = el(
    "select",
    {
      name: key,
      "aria-label": { run: "Run", tool: "Expected tool", fault: "Fault", score: "Score", type: "Scenario type", file: "File", label: "Label", sort: "Sort" }[key],
      onchange: (event) => change({ [key]: event.target.value }),
    },
    key === "run" ? null : el("option", { value: "" }, all),
    shown.map(([value], at) => el("option", { value }, labels[at])),
  );
  return el("label", { class: `choice choice-${key}` }, select);
}

const CHIP_LABELS = {
  tool: (value) => ["Expected", value],
  actual: (value) => ["Actual", value],
  fault: (value) => ["Fault", words(value)],
  score: (value) => ["Score", value],
  type: (value) => ["Scenario type", value],
  file: (value) => ["File", value],
  change: (value) => ["Change", value],
  position: (value) => ["Message", value.replace("-", "–")],
  time: (value) => ["Latency", value],
  ending: (value) => ["Ending", words(value)],
  origin: (value) => ["Value", originWords(value)],
  group: (value, groups) => ["Group", groupText(value, groups)],
  label: (value) => ["Label", value],
  q: (value) => ["Search", value],
};

// `get_order order_id · Wrong value, hallucinated`: the words of the bar that set the filter.
function groupText(key, groups) {
  const parts = groups.find((each) => groupKey(each) === key);
  if (!parts) return words(key);
  const { where, what } = groupWords(parts);
  return [shortenMiddle(visible(where), MAX_CHIP), what].filter(Boolean).join(" · ");
}

// The active filters as buttons that remove them; none if the table is not filtered. `groups` are the groups of failures of the run.
export function filterChips(state, groups, change, clear) {
  const set = [...FILTERS, "q"].filter((key) => state[key]);
  if (!set.length) return [];
  const chips = set.map((key) => {
    const [name, value] = CHIP_LABELS[key](state[key], groups);
    return el(
      "button",
      { type: "button", class: "chip", "data-key": `chip ${key}`, onclick: () => change({ [key]: "" }) },
      el("span", { class: "chip-name" }, name),
      el("bdi", {}, shortenMiddle(visible(value), 2 * MAX_CHIP)),
      el("span", { class: "chip-x", "aria-hidden": "true" }, "×"),
      el("span", { class: "visually-hidden" }, "Remove this filter"),
    );
  });
  return [
    ...chips,
    set.length > 1 ? el("button", { type: "button", class: "quiet-button", "data-key": "chip all", onclick: clear }, "Clear all") : null,
  ];
}
