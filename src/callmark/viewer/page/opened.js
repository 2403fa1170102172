// A case opened beside the table. In: the row, the runs or trials to stand side by side; out: the conversation and the verdict in one element.

import { el } from "./dom.js";
import { empty } from "./panels.js";
import { talk } from "./conversation.js";
import { code, prose, visible } from "./text.js";
import { verdict } from "./verdict.js";

const MOST_COLUMNS = 8;

// Which answers stand side by side: one for each run that is compared, else one for each trial.
export function columnsOf(cases, at, others, labels) {
  if (others.length > 1) {
    return others
      .slice(0, MOST_COLUMNS)
      .map(({ name, cases: of }) => ({
        run: name,
        title: labels.get(name) ?? name,
        trial: cases.trial[at],
        at: find(of, cases.id[at], cases.trial[at]),
        cases: of,
      }));
  }
  const id = cases.id[at];
  const trials = [];
  for (let row = 0; row < cases.count && cases.run.trials > 1; row += 1) if (cases.id[row] === id) trials.push(row);
  const rows = trials.length > 1 ? trials.slice(0, MOST_COLUMNS) : [at];
  return rows.map((row) => ({
    run: cases.run.name,
    title: rows.length > 1 ? `trial ${cases.trial[row] + 1}` : "",
    trial: cases.trial[row],
    at: row,
    cases,
  }));
}

export function find(cases, id, trial) {
  if (!cases) return -1;
  for (let at = cases.id.indexOf(id); at >= 0; at = cases.id.indexOf(id, at + 1)) if (cases.trial[at] === Number(trial)) return at;
  return -1;
}

// `loaded` is a CASE or null for each column; `whose` (`run#trial`) is the column whose conversation is read.
export function openedCase({ name, columns, loaded, whose, choose, previous, next, close, copy }) {
  const there = columns
    .map((column, at) => ({
      ...column,
      one: loaded[at],
      score: column.at < 0 ? null : nothingForNaN(column.cases.score[column.at]),
      pass: column.at < 0 ? null : column.cases.pass[column.at],
    }))
    .filter(({ one }) => one);
  const head = el(
    "header",
    { class: "case-head" },
    el("h2", { tabindex: -1, id: "case-title" }, prose(name)),
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
      el("button", { type: "button", class: "quiet-button", "data-key": "copy", onclick: copy }, "copy address"),
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
  if (!there.length) {
    return [head, el("div", { class: "case-body" }, leftOut(columns))];
  }
  const read = there.find(({ run, trial }) => `${run}#${trial}` === whose) ?? there[0];
  const own = there.length > 1 && there.some(({ one }) => one.upto === null);
  const conversation = talk(read.one);
  const point = (place, message, value) => {
    const column = there[place];
    if (own && column !== read) choose(`${column.run}#${column.trial}`, message, value);
    else conversation.point?.(message, value);
  };
  const tabs = own
    ? el(
        "div",
        { class: "segments", role: "group", "aria-label": "Whose conversation" },
        there.map(({ run, trial, title }) =>
          el(
            "button",
            {
              type: "button",
              "aria-pressed": String(run === read.run && trial === read.trial),
              "data-key": `whose ${run}#${trial}`,
              onclick: () => choose(`${run}#${trial}`),
            },
            visible(title),
          ),
        ),
      )
    : null;
  const left = el(
    "section",
    { class: "case-talk", "aria-label": "Conversation", tabindex: 0 },
    el("h3", { class: "pane-title" }, "conversation"),
    tabs,
    conversation,
  );
  const right = el("section", { class: "case-verdict", "aria-label": "Expected and called", tabindex: 0 }, verdict(there, point));
  return [head, el("div", { class: there.length > 1 ? "case-body many" : "case-body" }, left, right)];
}

// What the table knows of a case whose details are not in the report.
function leftOut(columns) {
  const known = columns
    .filter(({ at }) => at >= 0)
    .map(({ title, cases, at }) => [
      title ? [el("dt", {}, ""), el("dd", {}, prose(title, "b"))] : null,
      el("dt", {}, "expected"),
      el("dd", {}, code(cases.expected[at] || "no call")),
      el("dt", {}, "called"),
      el("dd", {}, code(cases.made[at] || cases.error[at] || "no call")),
    ]);
  return el(
    "div",
    { class: "left-out" },
    empty(
      "The details of this case were left out of the report to keep the file small.",
      "Open the run's folder with `callmark view` to see them.",
    ),
    el("dl", { class: "facts" }, known),
  );
}

function nothingForNaN(value) {
  return Number.isNaN(value) ? null : value;
}
