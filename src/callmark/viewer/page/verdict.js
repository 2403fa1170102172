// The verdict of a case: expected and actual calls, faults, evaluator errors, notes, and the scenario. In: its result, once for each run or
// trial that is shown ({title, result, score, pass, cases}), and `highlight(column, message, value)`, which shows a message of the conversation;
// out: elements.

import { MAX_VALUE, alignCalls, callBlock, equalValue, extraCalls, labelCell, plainValue } from "./arguments.js";
import { messageOfCall } from "./conversation.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { brief, callCode, code, counted, labelWords, literal, number, prose, seconds, visible, words } from "./text.js";

const MAX_FINDINGS = 50;
const FIRST_FAULTS = 4; // before the others are folded: the calls are compared below

export function verdictView(columns, highlight, triage) {
  const expected = columns[0].result.expected;
  const aligned = columns.map(({ result }) => alignCalls(result));
  const hasFaults = columns.some(({ result }) => result.faults.length);
  const blocks = expected.map((call, index) =>
    callBlock(
      call,
      columns,
      aligned.map((indexes) => indexes.get(index)),
      index,
      { title: expected.length > 1 ? `Call ${index + 1} of ${expected.length}` : "", fold: hasFaults || columns.length > 1 },
    ),
  );
  const lists = (list) => columns.map((column, index) => list(column, columns.length > 1, (message, value) => highlight(index, message, value)));
  return [
    el(
      "div",
      { class: "columns-head" },
      columns.map((column) => outcome(column)),
    ),
    lists(faultList),
    triage ?? null,
    blocks,
    alternatives(columns[0].result),
    furtherCalls(columns, aligned, expected.length),
    lists(noteList),
    scenario(columns[0].result, columns),
    columns.map((column) => furtherFacts(column, columns.length > 1)),
  ];
}

// Calls beside the expected ones. Those that no fault is about are folded: the evaluators ignore them.
function furtherCalls(columns, aligned, expected) {
  const placed = columns.map((_, column) => new Set(aligned[column].values()));
  const calls = (column, counts) => {
    const { result, cases } = columns[column];
    const named = new Set(result.faults.map((fault) => fault.actual_index));
    const isCounted = (index) => named.has(index) || !cases.run.counts_faults || !expected;
    return result.actual.filter((_, index) => !placed[column].has(index) && isCounted(index) === counts);
  };
  const [extras, ignored] = [true, false].map((counts) => columns.map((_, column) => calls(column, counts)));
  const numbers = ignored.map((list) => list.length);
  const most = Math.max(...numbers);
  return [
    !expected || extras.some((list) => list.length)
      ? el("div", { class: "extras" }, el("h3", {}, expected ? "Extra calls" : "No call expected"), extraCalls(columns, extras, expected ? "none" : "no call ✓"))
      : null,
    most
      ? el("details", { class: "extras ignored" }, el("summary", {}, `${new Set(numbers).size > 1 ? "Up to " : ""}${counted(most, "other call")}, not counted as ${most === 1 ? "a fault" : "faults"}`), extraCalls(columns, ignored, "none"))
      : null,
  ];
}

function alternatives(result) {
  const lists = result.alternatives ?? [];
  if (!lists.length) return null;
  return el(
    "details",
    { class: "findings" },
    el("summary", {}, counted(lists.length, "accepted alternative")),
    lists.slice(0, 20).map((calls) => el("p", {}, calls.length ? calls.map((call) => callCode(call)) : "no call")),
  );
}

function outcome({ title, result, score, pass }) {
  const [tone, text] = result.error ? ["error", "! Error, excluded from scores"] : pass === 1 ? ["right", "✓ Correct"] : ["wrong", "✗ Wrong"];
  return el(
    "div",
    { class: `outcome-label ${tone}` },
    el("b", {}, text),
    result.error || score === null ? "" : el("span", { class: "outcome-score" }, number(score)),
    title ? prose(title, "small") : null,
  );
}

function faultList({ title, result }, titled, highlight) {
  const lines = result.faults.map((fault) =>
    el(
      "li",
      { class: "fault" },
      el("span", { class: "sign", "aria-hidden": "true" }, "✗"),
      el(
        "div",
        {},
        prose(fault.sentence),
        " ",
        originLink(fault, highlight) ?? callLink(result, fault, highlight),
        el("small", { class: "fault-kind" }, [labelWords(fault.kind), countedBy(fault)].filter(Boolean).join(" · ")),
      ),
    ),
  );
  const failed = Object.entries(result.evaluator_errors ?? {}).map(([evaluator, error]) =>
    prose(`${evaluator}: ${error}`.slice(0, 4000), "li"),
  );
  return [
    findingList("Error", title, titled, result.error ? [prose(result.error.slice(0, 4000), "li")] : []),
    findingList("Evaluator errors", title, titled, failed),
    findingList("Faults", title, titled, lines, FIRST_FAULTS),
  ];
}

function noteList({ title, result }, titled, highlight) {
  const lines = result.notes.map(({ kind, sentence, message }) =>
    el(
      "li",
      { class: "note" },
      el("span", { class: "sign", "aria-hidden": "true" }, "·"),
      el(
        "div",
        {},
        kind ? el("b", {}, `${labelWords(kind)} `) : null,
        prose(sentence),
        " ",
        message === null || message === undefined ? null : link(`Show message ${message}`, () => highlight(message, null)),
      ),
    ),
  );
  return findingList("Notes (not scored)", title, titled, lines);
}

function countedBy(fault) {
  const names = (fault.evaluators ?? []).map(visible);
  return names.length ? `counted by ${names.join(", ")}` : "";
}

function findingList(heading, title, titled, lines, first = MAX_FINDINGS) {
  if (!lines.length) return null;
  const further = lines.slice(first, MAX_FINDINGS);
  return el(
    "div",
    { class: "findings" },
    el("h3", {}, heading, titled ? [" · ", prose(title)] : ""),
    el("ul", { class: "plain" }, lines.slice(0, first)),
    further.length ? el("details", {}, el("summary", {}, counted(further.length, `more ${heading.toLowerCase().replace(/s$/, "")}`)), el("ul", { class: "plain" }, further)) : null,
    lines.length > MAX_FINDINGS ? el("p", { class: "hint" }, `and ${(lines.length - MAX_FINDINGS).toLocaleString("en")} more`) : null,
  );
}

function originLink(fault, highlight) {
  if (fault.origin !== "elsewhere" || fault.origin_message === null) return null;
  return link(`Show message ${fault.origin_message}`, () => highlight(fault.origin_message, fault.actual));
}

// In a simulated conversation, the message with the call at fault.
function callLink(result, fault, highlight) {
  const message = result.prompt_length === null ? messageOfCall(result.messages, fault.actual_index) : null;
  return message === null ? null : link(`Show message ${message}`, () => highlight(message, null));
}

function link(label, onclick) {
  return el("button", { type: "button", class: "link", onclick }, label);
}

function scenario(result, columns) {
  const facts = [
    ["Instructions", result.instructions],
    ["Complete when", result.completion],
    ["Description", result.description],
  ].filter(([, text]) => text);
  const states = columns.map(({ title, result: own }) => stateDifferences(own.states, columns.length > 1 ? title : ""));
  if (!facts.length && !states.some(Boolean)) return null;
  return el(
    "div",
    { class: "findings" },
    facts.length
      ? [
          el("h3", {}, "Scenario"),
          el(
            "dl",
            { class: "facts long" },
            facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, folded(text, 500))]),
          ),
        ]
      : null,
    states,
  );
}

// The state changes of the conversation and the expected ones, field by field. The notes say which differences count: new rows have
// other keys.
function stateDifferences(states, title) {
  if (!states) return null;
  if (states.unknown) return prose(states.unknown, "p", { class: "hint" });
  const [expected, reached] = [flattenTables(states.expected, states.shown), flattenTables(states.reached)];
  const paths = [...new Set([...expected.keys(), ...reached.keys()])];
  if (!paths.length) return el("p", { class: "hint" }, "No state changes, and none were expected.");
  const rows = paths.slice(0, MAX_FINDINGS).map((path) => {
    const [target, actual] = [expected.get(path), reached.get(path)];
    const cells =
      target === actual
        ? [equalValue(target), labelCell("=", "")]
        : [
            target === undefined ? labelCell("not changed", "") : plainValue(target.slice(0, MAX_VALUE)),
            actual === undefined ? labelCell("not changed", "") : plainValue(actual.slice(0, MAX_VALUE)),
          ];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, code(path, "span")),
      cells.map((cell) => el("td", {}, cell)),
    );
  });
  return el(
    "details",
    {},
    el("summary", {}, "State changes", title ? [" · ", prose(title)] : ""),
    el(
      "table",
      { class: "arguments" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Field", "Expected", "Actual"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el("tbody", {}, rows),
    ),
    paths.length > MAX_FINDINGS ? el("p", { class: "hint" }, `and ${counted(paths.length - MAX_FINDINGS, "more value")}`) : null,
  );
}

// Maps `orders / #W1 / status` to its value as JSON, or as in `shown`. A deleted row is `deleted`.
function flattenTables(tables, shown = {}) {
  const out = new Map();
  for (const [name, rows] of Object.entries(tables ?? {})) {
    for (const [key, row] of Object.entries(rows ?? {})) {
      if (row === null || typeof row !== "object") out.set(`${name} / ${key}`, row === null ? "deleted" : literal(row));
      else
        for (const [column, value] of Object.entries(row)) {
          const path = `${name} / ${key} / ${column}`;
          out.set(path, Object.hasOwn(shown, path) ? shown[path] : literal(value));
        }
    }
  }
  return out;
}

function furtherFacts({ title, result, cases }, titled) {
  const { usage } = result;
  const [input, output] = [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0];
  const facts = [
    ["Ending", result.ending && words(result.ending)],
    ["Finish reason", result.finish_reason && words(result.finish_reason)],
    ["Latency", usage ? seconds(usage.seconds ?? 0) : ""],
    ["Tokens", input + output ? `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out` : ""],
    ["Scenario type", result.scenario_type && brief(result.scenario_type)],
    ["File", result.file && brief(result.file)],
    ["Group", result.group && brief(result.group)],
  ].filter(([, value]) => value);
  const heuristics = new Set((cases.run.metrics ?? []).filter(({ heuristic }) => heuristic).map(({ name }) => name));
  const mark = (name) => (heuristics.has(name) ? `${brief(name)} (heuristic)` : brief(name));
  const numbers = Object.entries(result.metrics ?? {});
  const reasons = Object.entries(result.reasons ?? {});
  const suffix = () => (titled ? [" · ", prose(title)] : "");
  return el(
    "div",
    { class: "findings" },
    result.text ? [el("h3", {}, "Accompanying text", suffix()), folded(result.text, 500, { attributes: { class: "quote" } })] : null,
    result.thinking
      ? el("details", {}, el("summary", {}, "Reasoning", suffix()), folded(result.thinking, 2000, { attributes: { class: "quote" } }))
      : null,
    facts.length
      ? el(
          "dl",
          { class: "facts" },
          facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]),
        )
      : null,
    reasons.length
      ? [
          el("h3", {}, "Reasons", suffix()),
          el(
            "dl",
            { class: "facts long" },
            reasons.slice(0, MAX_FINDINGS).map(([name, text]) => [el("dt", {}, mark(name)), el("dd", {}, folded(text, 500))]),
          ),
        ]
      : null,
    numbers.length
      ? el(
          "details",
          {},
          el("summary", {}, `All ${counted(numbers.length, "metric")}`, suffix()),
          el(
            "dl",
            { class: "facts" },
            numbers.map(([name, value]) => [el("dt", {}, mark(name)), el("dd", {}, number(value))]),
          ),
        )
      : null,
  );
}
