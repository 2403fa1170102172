// What became of a case: expected and called, what went wrong in words, what was noted, and the scenario. In: the case as it went, once for
// each run or trial that is looked at ({title, one, score, pass}), and `point(column, message, value)`, which shows a place in the
// conversation; out: elements.

import { LONGEST, align, callBlock, equalValue, extraBlock, plain, wordCell } from "./arguments.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { brief, callCode, code, counted, literal, number, prose, seconds, visible, words } from "./text.js";

const MOST_FINDINGS = 50;

export function verdict(columns, point) {
  const expected = columns[0].one.expected;
  const aligned = columns.map(({ one }) => align(one));
  const blocks = expected.map((call, at) =>
    callBlock(
      call,
      columns,
      aligned.map((of) => of.get(at)),
      at,
      expected.length > 1 ? `call ${at + 1} of ${expected.length}` : "",
    ),
  );
  const extras = columns.map(({ one }, place) => one.made.filter((_, at) => ![...aligned[place].values()].includes(at)));
  return [
    el(
      "div",
      { class: "columns-head" },
      columns.map((column) => outcome(column)),
    ),
    blocks,
    alsoRight(columns[0].one),
    !expected.length || extras.some((list) => list.length) ? extraBlock(columns, extras, expected.length) : null,
    [faultList, noteList].map((list) =>
      columns.map((column, place) => list(column, columns.length > 1, (message, value) => point(place, message, value))),
    ),
    scenario(columns[0].one, columns),
    columns.map((column) => beside(column, columns.length > 1)),
  ];
}

function alsoRight(one) {
  const others = one.alternatives ?? [];
  if (!others.length) return null;
  return el(
    "details",
    { class: "findings" },
    el("summary", {}, counted(others.length, "other right answer")),
    others.slice(0, 20).map((calls) => el("p", {}, calls.length ? calls.map((call) => callCode(call)) : "no call")),
  );
}

function outcome({ title, one, score, pass }) {
  const [tone, text] = one.error ? ["error", "! error, not scored"] : pass === 1 ? ["right", "✓ right"] : ["wrong", "✗ wrong"];
  return el(
    "div",
    { class: `outcome-word ${tone}` },
    el("b", {}, text),
    one.error || score === null ? "" : el("span", { class: "outcome-score" }, number(score)),
    title ? prose(title, "small") : null,
  );
}

function faultList({ title, one }, named, point) {
  const evaluators = evaluatorsOf(one);
  const lines = one.faults
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
          origin(fault, point),
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
  return [
    told("error", title, named, one.error ? [prose(one.error.slice(0, 4000), "li")] : []),
    told("what went wrong", title, named, lines),
  ];
}

function noteList({ title, one }, named, point) {
  const evaluators = evaluatorsOf(one);
  const uncounted = one.faults.filter((fault) => !counts(fault, evaluators)).map(({ sentence }) => ({ kind: "", sentence, message: null }));
  const lines = [...one.notes, ...uncounted].map(({ kind, sentence, message }) =>
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
        message === null || message === undefined ? null : link(`show message ${message}`, () => point(message, null)),
      ),
    ),
  );
  return told("noted, touches no score of the calls", title, named, lines);
}

// Faults that no evaluator of the run counts are told with the notes.
function evaluatorsOf(one) {
  return new Set(Object.keys(one.metrics ?? {}).map((name) => name.split(".")[0]));
}

function counts(fault, evaluators) {
  return !evaluators.size || (fault.evaluators ?? []).some((evaluator) => evaluators.has(evaluator));
}

function told(name, title, named, lines) {
  if (!lines.length) return null;
  return el(
    "div",
    { class: "findings" },
    el("h3", {}, name, named ? [" · ", prose(title)] : ""),
    el("ul", { class: "plain" }, lines.slice(0, MOST_FINDINGS)),
    lines.length > MOST_FINDINGS ? el("p", { class: "hint" }, `and ${(lines.length - MOST_FINDINGS).toLocaleString("en")} more`) : null,
  );
}

function origin(fault, point) {
  if (fault.origin !== "elsewhere" || fault.origin_message === null) return null;
  return link(`show message ${fault.origin_message}`, () => point(fault.origin_message, fault.actual));
}

function link(label, go) {
  return el("button", { type: "button", class: "link", onclick: go }, label);
}

function scenario(one, columns) {
  const facts = [
    ["instructions", one.instructions],
    ["done when", one.completion],
    ["about", one.description],
  ].filter(([, said]) => said);
  const states = columns.map(({ title, one: of }) => stateDifferences(of.states, columns.length > 1 ? title : ""));
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
            facts.map(([name, said]) => [el("dt", {}, name), el("dd", {}, folded(said, 500))]),
          ),
        ]
      : null,
    states,
  );
}

// What the conversation changed and what it should have, cell by cell. Which differences count stands in the notes: new rows have other keys.
function stateDifferences(states, title) {
  if (!states) return null;
  if (states.unknown) return prose(states.unknown, "p", { class: "hint" });
  const [expected, reached] = [flat(states.expected), flat(states.reached)];
  const paths = [...new Set([...expected.keys(), ...reached.keys()])];
  if (!paths.length) return el("p", { class: "hint" }, "Nothing was changed, and nothing was to be.");
  const rows = paths.slice(0, MOST_FINDINGS).map((path) => {
    const [wanted, given] = [expected.get(path), reached.get(path)];
    const cells =
      wanted === given
        ? [equalValue(wanted), wordCell("=", "")]
        : [
            wanted === undefined ? wordCell("not changed", "") : plain(wanted.slice(0, LONGEST)),
            given === undefined ? wordCell("not changed", "") : plain(given.slice(0, LONGEST)),
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
    paths.length > MOST_FINDINGS ? el("p", { class: "hint" }, `and ${counted(paths.length - MOST_FINDINGS, "more value")}`) : null,
  );
}

// `orders / #W1 / status` → its value as code. A row that is gone is `gone`.
function flat(tables) {
  const out = new Map();
  for (const [name, rows] of Object.entries(tables ?? {})) {
    for (const [key, row] of Object.entries(rows ?? {})) {
      if (row === null || typeof row !== "object") out.set(`${name} / ${key}`, row === null ? "gone" : literal(row));
      else for (const [column, held] of Object.entries(row)) out.set(`${name} / ${key} / ${column}`, literal(held));
    }
  }
  return out;
}

function beside({ title, one }, named) {
  const facts = [
    ["ending", one.ending && words(one.ending)],
    ["stopped because", one.finish && words(one.finish)],
    ["time", one.seconds === null || one.seconds === undefined ? "" : seconds(one.seconds)],
    ["tokens", one.tokens ? `${one.tokens[0].toLocaleString("en")} in, ${one.tokens[1].toLocaleString("en")} out` : ""],
    ["type", one.type && brief(one.type)],
    ["group", one.group && brief(one.group)],
  ].filter(([, value]) => value);
  const numbers = Object.entries(one.metrics ?? {});
  const of = () => (named ? [" · ", prose(title)] : "");
  return el(
    "div",
    { class: "findings" },
    one.text ? [el("h3", {}, "said besides", of()), folded(one.text, 500, { attributes: { class: "quote" } })] : null,
    one.thinking
      ? el("details", {}, el("summary", {}, "what it said to itself", of()), folded(one.thinking, 2000, { attributes: { class: "quote" } }))
      : null,
    facts.length
      ? el(
          "dl",
          { class: "facts" },
          facts.map(([name, said]) => [el("dt", {}, name), el("dd", {}, said)]),
        )
      : null,
    numbers.length
      ? el(
          "details",
          {},
          el("summary", {}, `all ${numbers.length} numbers`, of()),
          el(
            "dl",
            { class: "facts" },
            numbers.map(([name, held]) => [el("dt", {}, brief(name)), el("dd", {}, number(held))]),
          ),
        )
      : null,
  );
}
