// The verdict of a case: expected and actual calls, faults, evaluator errors, notes, and the scenario. In: its result, once for each run or
// trial that is shown ({title, result, score, pass}), and `highlight(column, message, value)`, which shows a message of the conversation;
// out: elements.

import { MAX_VALUE, alignCalls, callBlock, equalValue, extraCalls, labelCell, plainValue } from "./arguments.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { brief, callCode, code, counted, literal, number, prose, seconds, visible, words } from "./text.js";

const MAX_FINDINGS = 50;

export function verdictView(columns, highlight) {
  const expected = columns[0].result.expected;
  const aligned = columns.map(({ result }) => alignCalls(result));
  const blocks = expected.map((call, index) =>
    callBlock(
      call,
      columns,
      aligned.map((indexes) => indexes.get(index)),
      index,
      expected.length > 1 ? `call ${index + 1} of ${expected.length}` : "",
    ),
  );
  const extras = columns.map(({ result }, column) => result.actual.filter((_, index) => ![...aligned[column].values()].includes(index)));
  return [
    el(
      "div",
      { class: "columns-head" },
      columns.map((column) => outcome(column)),
    ),
    blocks,
    alternatives(columns[0].result),
    !expected.length || extras.some((list) => list.length) ? extraCalls(columns, extras, expected.length) : null,
    [faultList, noteList].map((list) =>
      columns.map((column, index) => list(column, columns.length > 1, (message, value) => highlight(index, message, value))),
    ),
    scenario(columns[0].result, columns),
    columns.map((column) => furtherFacts(column, columns.length > 1)),
  ];
}

function alternatives(result) {
  const lists = result.alternatives ?? [];
  if (!lists.length) return null;
  return el(
    "details",
    { class: "findings" },
    el("summary", {}, counted(lists.length, "other right answer")),
    lists.slice(0, 20).map((calls) => el("p", {}, calls.length ? calls.map((call) => callCode(call)) : "no call")),
  );
}

function outcome({ title, result, score, pass }) {
  const [tone, text] = result.error ? ["error", "! error, not scored"] : pass === 1 ? ["right", "✓ right"] : ["wrong", "✗ wrong"];
  return el(
    "div",
    { class: `outcome-label ${tone}` },
    el("b", {}, text),
    result.error || score === null ? "" : el("span", { class: "outcome-score" }, number(score)),
    title ? prose(title, "small") : null,
  );
}

function faultList({ title, result }, titled, highlight) {
  const evaluators = usedEvaluators(result);
  const lines = result.faults
    .filter((fault) => counts(fault, evaluators))
    .map((fault) =>
      el(
        "li",
        { class: "fault" },
        el("span", { class: "sign", "aria-hidden": "true" }, "✗"),
        el(
          "div",
          {},
          prose(fault.sentence),
          " ",
          originLink(fault, highlight),
          fault.evaluators?.length
            ? el(
                "small",
                { class: "evaluators" },
                ` counts in ${fault.evaluators
                  .filter((evaluator) => evaluators.has(evaluator))
                  .map(visible)
                  .join(", ")}`,
              )
            : null,
        ),
      ),
    );
  const failed = Object.entries(result.evaluator_errors ?? {}).map(([evaluator, error]) =>
    prose(`${evaluator}: ${error}`.slice(0, 4000), "li"),
  );
  return [
    findingList("error", title, titled, result.error ? [prose(result.error.slice(0, 4000), "li")] : []),
    findingList("evaluator errors", title, titled, failed),
    findingList("what went wrong", title, titled, lines),
  ];
}

function noteList({ title, result }, titled, highlight) {
  const evaluators = usedEvaluators(result);
  const uncounted = result.faults.filter((fault) => !counts(fault, evaluators)).map(({ sentence }) => ({ kind: "", sentence, message: null }));
  const lines = [...result.notes, ...uncounted].map(({ kind, sentence, message }) =>
    el(
      "li",
      { class: "note" },
      el("span", { class: "sign", "aria-hidden": "true" }, "·"),
      el(
        "div",
        {},
        kind ? el("b", {}, `${words(kind)} `) : null,
        prose(sentence),
        " ",
        message === null || message === undefined ? null : link(`show message ${message}`, () => highlight(message, null)),
      ),
    ),
  );
  return findingList("noted, touches no score of the calls", title, titled, lines);
}

// Faults that no evaluator of the run counts are listed with the notes.
function usedEvaluators(result) {
  return new Set(Object.keys(result.metrics ?? {}).map((name) => name.split(".")[0]));
}

function counts(fault, evaluators) {
  return !evaluators.size || (fault.evaluators ?? []).some((evaluator) => evaluators.has(evaluator));
}

function findingList(heading, title, titled, lines) {
  if (!lines.length) return null;
  return el(
    "div",
    { class: "findings" },
    el("h3", {}, heading, titled ? [" · ", prose(title)] : ""),
    el("ul", { class: "plain" }, lines.slice(0, MAX_FINDINGS)),
    lines.length > MAX_FINDINGS ? el("p", { class: "hint" }, `and ${(lines.length - MAX_FINDINGS).toLocaleString("en")} more`) : null,
  );
}

function originLink(fault, highlight) {
  if (fault.origin !== "elsewhere" || fault.origin_message === null) return null;
  return link(`show message ${fault.origin_message}`, () => highlight(fault.origin_message, fault.actual));
}

function link(label, onclick) {
  return el("button", { type: "button", class: "link", onclick }, label);
}

function scenario(result, columns) {
  const facts = [
    ["instructions", result.instructions],
    ["done when", result.completion],
    ["about", result.description],
  ].filter(([, text]) => text);
  const states = columns.map(({ title, result: own }) => stateDifferences(own.states, columns.length > 1 ? title : ""));
  if (!facts.length && !states.some(Boolean)) return null;
  return el(
    "div",
    { class: "findings" },
    facts.length
      ? [
          el("h3", {}, "the scenario"),
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

// The changes that the conversation made and those that were expected, cell by cell. The notes say which differences count: new rows have
// other keys.
function stateDifferences(states, title) {
  if (!states) return null;
  if (states.unknown) return prose(states.unknown, "p", { class: "hint" });
  const [expected, reached] = [flattenTables(states.expected), flattenTables(states.reached)];
  const paths = [...new Set([...expected.keys(), ...reached.keys()])];
  if (!paths.length) return el("p", { class: "hint" }, "Nothing was changed, and nothing was to be.");
  const rows = paths.slice(0, MAX_FINDINGS).map((path) => {
    const [wanted, actual] = [expected.get(path), reached.get(path)];
    const cells =
      wanted === actual
        ? [equalValue(wanted), labelCell("=", "")]
        : [
            wanted === undefined ? labelCell("not changed", "") : plainValue(wanted.slice(0, MAX_VALUE)),
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
    el("summary", {}, "what was changed in the end", title ? [" · ", prose(title)] : ""),
    el(
      "table",
      { class: "arguments" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["where", "expected", "reached"].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el("tbody", {}, rows),
    ),
    paths.length > MAX_FINDINGS ? el("p", { class: "hint" }, `and ${counted(paths.length - MAX_FINDINGS, "more value")}`) : null,
  );
}

// Maps `orders / #W1 / status` to its value as code. A row that was deleted is `gone`.
function flattenTables(tables) {
  const out = new Map();
  for (const [name, rows] of Object.entries(tables ?? {})) {
    for (const [key, row] of Object.entries(rows ?? {})) {
      if (row === null || typeof row !== "object") out.set(`${name} / ${key}`, row === null ? "gone" : literal(row));
      else for (const [column, value] of Object.entries(row)) out.set(`${name} / ${key} / ${column}`, literal(value));
    }
  }
  return out;
}

function furtherFacts({ title, result }, titled) {
  const { usage } = result;
  const [input, output] = [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0];
  const facts = [
    ["ending", result.ending && words(result.ending)],
    ["stopped because", result.finish_reason && words(result.finish_reason)],
    ["time", usage ? seconds(usage.seconds ?? 0) : ""],
    ["tokens", input + output ? `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out` : ""],
    ["type", result.scenario_type && brief(result.scenario_type)],
    ["group", result.group && brief(result.group)],
  ].filter(([, value]) => value);
  const numbers = Object.entries(result.metrics ?? {});
  const reasons = Object.entries(result.reasons ?? {});
  const suffix = () => (titled ? [" · ", prose(title)] : "");
  return el(
    "div",
    { class: "findings" },
    result.text ? [el("h3", {}, "said besides", suffix()), folded(result.text, 500, { attributes: { class: "quote" } })] : null,
    result.thinking
      ? el("details", {}, el("summary", {}, "what it said to itself", suffix()), folded(result.thinking, 2000, { attributes: { class: "quote" } }))
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
          el("h3", {}, "reasons", suffix()),
          el(
            "dl",
            { class: "facts long" },
            reasons.slice(0, MAX_FINDINGS).map(([name, text]) => [el("dt", {}, brief(name)), el("dd", {}, folded(text, 500))]),
          ),
        ]
      : null,
    numbers.length
      ? el(
          "details",
          {},
          el("summary", {}, `all ${numbers.length} numbers`, suffix()),
          el(
            "dl",
            { class: "facts" },
            numbers.map(([name, value]) => [el("dt", {}, brief(name)), el("dd", {}, number(value))]),
          ),
        )
      : null,
  );
}
