// The panel with the decisions of a run and its pooled metrics. In: the run; out: a section, or null for a run that has neither. A matrix
// has the expected categories as rows and the actual ones as columns.

import { el } from "./dom.js";
import { panel } from "./panels.js";
import { brief, counted, number, visible } from "./text.js";

export function decisionPanel(run) {
  const [matrices, pooled] = [run.matrices ?? [], run.pooled ?? []];
  if (!matrices.length && !pooled.length) return null;
  return panel(
    matrices.length ? "Decisions" : "Pooled metrics",
    "decisions",
    matrices.map((matrix) => matrixTable(matrix)),
    pooled.length
      ? [
          matrices.length ? el("h3", {}, "Pooled metrics") : null,
          el("p", { class: "hint" }, "Pooled: over all calls of the run. Mean: over its predictions."),
          numberTable(
            ["", "Pooled", "Mean"],
            pooled.map(({ name, label, value, mean, part, whole }) => [
              el("span", { title: name }, visible(label)),
              [number(value, 3), el("small", {}, `${number(part)} of ${number(whole)}`)],
              mean === null ? "–" : number(mean, 3),
            ]),
          ),
        ]
      : null,
  );
}

function matrixTable({ evaluator, expected, actual, counts, metrics, left_out: leftOut }) {
  return [
    el("p", { class: "hint" }, `${brief(evaluator)}: number of predictions. Rows: expected. Columns: actual.`),
    el(
      "div",
      { class: "scroll-x" },
      numberTable(
        ["Expected", ...actual.map((name) => brief(name))],
        expected.map((name, row) => [brief(name), ...counts[row].map((count) => count.toLocaleString("en"))]),
      ),
    ),
    leftOut ? el("p", { class: "hint" }, `Not shown: ${counted(leftOut, "prediction")} in other categories.`) : null,
    el(
      "dl",
      { class: "facts" },
      metrics.map(({ name, label, mean }) => [el("dt", { title: name }, visible(label)), el("dd", {}, number(mean, 3))]),
    ),
  ];
}

function numberTable(heads, rows) {
  return el(
    "table",
    { class: "plain-table" },
    el("thead", {}, el("tr", {}, heads.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map(([first, ...cells]) => el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", {}, cell))))),
  );
}
