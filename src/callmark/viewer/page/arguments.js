// Expected and actual calls side by side, argument by argument. In: an expected call and the actual calls paired with it, one for each run or
// trial ({title, result}); out: a table in which differences are marked inside the values.

import { differences } from "./diff.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { argumentText, breakable, callCode, code, counted, prose, shortenAll, visible } from "./text.js";

export const MAX_VALUE = 20_000; // characters of a value that are compared and shown
const FOLDED_VALUE = 600;
const MAX_ARGUMENTS = 200;
const MIN_FOLDED = 3; // equal arguments
const MAX_TITLE = 18; // characters of a run above a value on a phone

// Maps the index of each expected call to the actual call shown next to it: its pair, else the call that a fault names instead.
export function alignCalls(result) {
  const aligned = new Map((result.pairs ?? []).map(([expected, actual]) => [expected, actual]));
  for (const { expected_index: expected, actual_index: actual } of result.faults) {
    if (expected === null || actual === null || aligned.has(expected) || [...aligned.values()].includes(actual)) continue;
    if (actual < result.actual.length) aligned.set(expected, actual);
  }
  return aligned;
}

// With `fold`, the arguments that are equal in every column are folded, so that those at fault are seen first.
export function callBlock(expectedCall, columns, actualIndexes, index, { title, fold }) {
  const actualCalls = columns.map(({ result }, column) =>
    actualIndexes[column] === undefined ? null : result.actual[actualIndexes[column]],
  );
  const faulty = columns.map(({ result }) => faultyArguments(result, index));
  const inOrder = expectedCall.partial ? [...actualCalls, expectedCall] : [expectedCall, ...actualCalls];
  const names = [...new Set(inOrder.flatMap((call) => Object.keys(call?.arguments ?? {})))].slice(0, MAX_ARGUMENTS);
  const equal = columns.length > 1 ? () => labelCell("=", "") : equalValue;
  const tool = [
    "Tool",
    el("div", { class: "value" }, breakable(expectedCall.name)),
    ...actualCalls.map((call, column) =>
      call
        ? call.name === expectedCall.name
          ? equal(call.name)
          : markDifferences(expectedCall.name, call.name)[1]
        : missingCall(columns[column].result),
    ),
  ];
  // Without the dataset, an expected call is known as far as the faults name it: its wrong arguments, or the whole call as code.
  const rows = !expectedCall.partial
    ? names.map((name) => argumentRow(name, expectedCall, actualCalls, faulty, equal))
    : expectedCall.code
      ? [
          [
            "Call",
            plainValue(expectedCall.code.slice(0, MAX_VALUE)),
            ...actualCalls.map((call) => plainValue(call?.arguments ? call.code.slice(0, MAX_VALUE) : "")),
          ],
        ]
      : names.length || isPaired(columns[0].result, index)
        ? names.map((name) => partialRow(name, expectedCall, actualCalls, columns, index))
        : [["Arguments", labelCell("unknown", ""), ...actualCalls.map(() => plainValue(""))]];
  const malformed = actualCalls.some((call) => call && !call.arguments)
    ? [
        [
          "Raw text",
          plainValue(""),
          ...actualCalls.map((call) =>
            call && !call.arguments ? folded(call.text || call.malformed, FOLDED_VALUE, { attributes: { class: "value" } }) : plainValue(""),
          ),
        ],
      ]
    : [];
  const equalRows = fold ? rows.filter(({ isEqual }) => isEqual) : [];
  const hidden = equalRows.length < MIN_FOLDED ? [] : equalRows;
  return argumentTable(title, columns, [tool, ...rows.filter((row) => !hidden.includes(row)), ...malformed], hidden);
}

// Returns a test for argument names. The faults say which arguments of a paired call are wrong: values that are written differently may
// still match. In a call of another tool, every difference is marked.
function faultyArguments(result, index) {
  if (!isPaired(result, index)) return () => true;
  const paths = result.faults
    .filter(({ expected_index: expected, argument }) => expected === index && argument !== null)
    .map(({ argument }) => argument);
  return (name) => paths.some((path) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`));
}

function isPaired(result, index) {
  return result.pairs.some(([expected]) => expected === index);
}

// An argument whose expected value is known only if a fault of the first column names it.
function partialRow(name, expectedCall, actualCalls, columns, index) {
  const faults = columns.map(({ result }) =>
    result.faults.find(({ expected_index: expected, argument }) => expected === index && argument === name),
  );
  const isExtra = (fault) => fault?.kind === "extra_argument" || fault?.kind === "unknown_argument";
  const expected = Object.hasOwn(expectedCall.arguments, name) ? argumentText(expectedCall, name, true) : null;
  const cells = actualCalls.map((call, column) => {
    const fault = faults[column];
    if (!call?.arguments) return plainValue("");
    if (!Object.hasOwn(call.arguments, name)) return fault ? labelCell("missing", "wrong") : plainValue("");
    const actual = argumentText(call, name, true);
    if (!fault) return equalValue(actual);
    if (isExtra(fault)) return el("div", {}, markedValue([[actual, true]], "wrong", actual), labelCell("not expected", "wrong"));
    return expected === null ? markedValue([[actual, true]], "wrong", actual) : markDifferences(expected, actual)[1];
  });
  const matches = columns.length === 1 && isPaired(columns[0].result, index);
  const expectedCell =
    expected !== null
      ? markedValue([[expected, false]], "right", expected)
      : labelCell(isExtra(faults[0]) ? "none" : matches ? "matches" : "unknown", "");
  return [name, expectedCell, ...cells];
}

function argumentRow(name, expectedCall, actualCalls, faulty, equal) {
  const has = (call) => call?.arguments && Object.hasOwn(call.arguments, name);
  const expected = has(expectedCall) ? argumentText(expectedCall, name, true) : null;
  const cells = actualCalls.map((call, column) => {
    if (!call || !call.arguments) return { cell: plainValue("") };
    const wrong = faulty[column](name);
    if (!has(call)) return { cell: expected === null ? plainValue("") : labelCell("missing", wrong ? "wrong" : ""), wrong };
    const actual = argumentText(call, name, true);
    if (actual === expected) return { cell: equal(actual), isEqual: true };
    if (!wrong) return { cell: equalValue(actual) };
    if (expected === null)
      return { cell: el("div", {}, markedValue([[actual, true]], "wrong", actual), labelCell("not expected", "wrong")), wrong };
    const [left, cell] = markDifferences(expected, actual);
    return { cell, left, wrong };
  });
  const left = cells.find((cell) => cell.left)?.left;
  const expectedCell =
    expected === null
      ? labelCell("none", "")
      : (left ?? (cells.some(({ wrong }) => wrong) ? markedValue([[expected, false]], "right", expected) : equalValue(expected)));
  return Object.assign([name, expectedCell, ...cells.map(({ cell }) => cell)], { isEqual: cells.every(({ isEqual }) => isEqual) });
}

function argumentTable(title, columns, rows, equalRows) {
  const titled = columns.length > 1;
  const names = shortenAll(columns.map(({ title: name }) => visible(name)), MAX_TITLE);
  const row = ([name, ...cells], at) =>
    el(
      "tr",
      { class: at === 0 ? "tool-row" : "" },
      el("th", { scope: "row" }, breakable(name)),
      cells.map((cell, index) => el("td", { "data-of": index && titled ? names[index - 1] : null }, cell)),
    );
  return el(
    "table",
    { class: titled ? "arguments many" : "arguments" },
    title ? el("caption", {}, title) : el("caption", { class: "visually-hidden" }, "Expected and actual arguments"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, "Argument")),
        el("th", { scope: "col" }, "Expected"),
        columns.map(({ title: name }) => el("th", { scope: "col" }, titled ? prose(name) : "Actual")),
      ),
    ),
    el("tbody", {}, rows.map(row)),
    equalRows.length ? equalPart(equalRows, columns.length + 2, row) : null,
  );
}

// The equal arguments as a part of the table that a click unfolds.
function equalPart(rows, width, row) {
  const part = el("tbody", { class: "equal-rows", hidden: true }, rows.map((each) => row(each, -1)));
  const button = el("button", { type: "button", class: "quiet-button more", "aria-expanded": "false", onclick: () => unfold(part.hidden) }, counted(rows.length, "argument"), " equal");
  const unfold = (open) => {
    part.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  return [el("tbody", { class: "equal-count" }, el("tr", {}, el("td", { colspan: width }, button))), part];
}

export function plainValue(text) {
  return code(text, "div", { class: "value" });
}

export function equalValue(text) {
  return folded(text.slice(0, MAX_VALUE), FOLDED_VALUE, { attributes: { class: "value equal" } });
}

export function labelCell(text, tone) {
  return el("div", { class: `value-label ${tone ? `${tone}-label` : ""}` }, text);
}

function missingCall(result) {
  return result.error ? labelCell("error", "") : labelCell(result.actual.length ? "not called" : "no call", "wrong");
}

function markDifferences(expected, actual) {
  const [left, right] = differences(expected, actual);
  return [markedValue(left, "right", expected), markedValue(right, "wrong", actual)];
}

// A value with its differing parts marked; long equal parts are shortened.
function markedValue(pieces, tone, whole) {
  const shown = pieces.map(([part, differs]) =>
    differs
      ? el("mark", { class: tone }, visible(part))
      : el("span", {}, visible(part.length > FOLDED_VALUE ? `${part.slice(0, FOLDED_VALUE / 2)} … ${part.slice(-FOLDED_VALUE / 4)}` : part)),
  );
  return el(
    "div",
    { class: "value", dir: "auto" },
    shown,
    whole.length > MAX_VALUE ? el("small", {}, ` … ${counted(whole.length, "character")}`) : null,
  );
}

// Calls that were not expected, one list for each column.
export function extraCalls(columns, extras, none) {
  return el(
    "div",
    { class: "side-by-side" },
    columns.map(({ title, result }, index) =>
      el(
        "div",
        {},
        columns.length > 1 ? prose(title, "small") : null,
        extras[index].length
          ? extras[index].slice(0, 50).map((call) => callCode(call))
          : el("span", { class: "none" }, result.error ? "error" : none),
      ),
    ),
  );
}
