// An open case. In: its row, and the runs or trials to show side by side; out: the conversation and the verdict.

import { el } from "./dom.js";
import { empty } from "./panels.js";
import { conversationView } from "./conversation.js";
import { code, prose, visible } from "./text.js";
import { verdictView } from "./verdict.js";

const MAX_COLUMNS = 8;

// The columns that are shown side by side: one for each compared run, else one for each trial.
export function caseColumns(cases, at, runs, labels) {
  if (runs.length > 1) {
    return runs
      .slice(0, MAX_COLUMNS)
      .map(({ name, cases: runCases }) => ({
        run: name,
        title: labels.get(name) ?? name,
        trial: cases.trial[at],
        at: findRow(runCases, cases.id[at], cases.trial[at]),
        cases: runCases,
      }));
  }
  const id = cases.id[at];
  const trials = [];
  for (let row = 0; row < cases.count && cases.run.trials > 1; row += 1) if (cases.id[row] === id) trials.push(row);
  const rows = trials.length > 1 ? trials.slice(0, MAX_COLUMNS) : [at];
  return rows.map((row) => ({
    run: cases.run.name,
    title: rows.length > 1 ? `Trial ${cases.trial[row] + 1}` : "",
    trial: cases.trial[row],
    at: row,
    cases,
  }));
}

export function findRow(cases, id, trial) {
  if (!cases) return -1;
  for (let at = cases.id.indexOf(id); at >= 0; at = cases.id.indexOf(id, at + 1)) if (cases.trial[at] === Number(trial)) return at;
  return -1;
}

// `results` has a case result or null for each column; `transcript` (`run#trial`) is the column whose conversation is shown.
export function caseView({ name, trial, columns, results, transcript, choose, previous, next, close, copy, triage }) {
  const loaded = columns
    .map((column, at) => ({
      ...column,
      result: results[at],
      score: column.at < 0 ? null : nullForNaN(column.cases.score[column.at]),
      pass: column.at < 0 ? null : column.cases.pass[column.at],
    }))
    .filter(({ result }) => result);
  const head = el(
    "header",
    { class: "case-head" },
    el("h2", { tabindex: -1, id: "case-title" }, prose(name)),
    trial ? el("small", { class: "case-trial" }, `Trial ${trial}`) : null,
    el(
      "div",
      { class: "case-tools" },
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Previous case",
          "aria-keyshortcuts": "k",
          "data-key": "previous",
          onclick: previous,
        },
        "↑",
      ),
      el(
        "button",
        { type: "button", class: "icon-button", "aria-label": "Next case", "aria-keyshortcuts": "j", "data-key": "next", onclick: next },
        "↓",
      ),
      el("button", { type: "button", class: "quiet-button", "data-key": "copy", onclick: copy }, "Copy link"),
      el(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Close the case",
          "aria-keyshortcuts": "Escape",
          "data-key": "close",
          onclick: close,
        },
        "×",
      ),
    ),
  );
  if (!loaded.length) {
    return [head, el("div", { class: "case-body" }, leftOutCase(columns))];
  }
  const shown = loaded.find(({ run, trial }) => `${run}#${trial}` === transcript) ?? loaded[0];
  const hasOwnConversations = loaded.length > 1 && loaded.some(({ result }) => result.prompt_length === null);
  const conversation = conversationView(shown.result);
  const highlight = (index, message, value) => {
    const column = loaded[index];
    if (hasOwnConversations && column !== shown) choose(`${column.run}#${column.trial}`, message, value);
    else conversation.highlight?.(message, value);
  };
  const tabs = hasOwnConversations
    ? el(
        "div",
        { class: "segments", role: "group", "aria-label": "Select a conversation" },
        loaded.map(({ run, trial, title }) =>
          el(
            "button",
            {
              type: "button",
              "aria-pressed": String(run === shown.run && trial === shown.trial),
              "data-key": `transcript ${run}#${trial}`,
              onclick: () => choose(`${run}#${trial}`),
            },
            visible(title),
          ),
        ),
      )
    : null;
  const left = el(
    "section",
    { class: "case-conversation", "aria-label": "Conversation", tabindex: 0 },
    el("h3", { class: "pane-title" }, "Conversation"),
    tabs,
    conversation,
  );
  const right = el("section", { class: "case-verdict", "aria-label": "Expected and actual calls", tabindex: 0 }, verdictView(loaded, highlight, triage));
  return [head, el("div", { class: loaded.length > 1 ? "case-body many" : "case-body" }, left, right)];
}

// A case whose details are not in the report, as far as the table has it.
function leftOutCase(columns) {
  const facts = columns
    .filter(({ at }) => at >= 0)
    .map(({ title, cases, at }) => [
      title ? [el("dt", {}, ""), el("dd", {}, prose(title, "b"))] : null,
      el("dt", {}, "Expected"),
      el("dd", {}, code(cases.expected[at] || "no call")),
      el("dt", {}, "Actual"),
      el("dd", {}, code(cases.actual[at] || cases.error[at] || "no call")),
    ]);
  return el(
    "div",
    { class: "left-out" },
    empty(
      "The report does not include the details of this case, to keep the file small.",
      "Run `callmark view` on the folder of the run to see them.",
    ),
    el("dl", { class: "facts" }, facts),
  );
}

function nullForNaN(value) {
  return Number.isNaN(value) ? null : value;
}
