// What was expected and what was called, argument by argument. In: CASEs of one case, one for each run or trial that is looked at
// ({title, one}), and `point(column, message, value)`; out: elements. What is equal stays quiet, what differs is marked inside the value.

import { differences } from "./diff.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { breakable, callCode, code, counted, literal, number, prose, seconds, visible, words } from "./text.js";

const LONGEST = 20_000; // characters of a value that are compared and shown
const FOLD = 600;
const MOST_ARGUMENTS = 200;
const MOST_FINDINGS = 50;

export function verdict(columns, point) {
  const expected = columns[0].one.expected;
  const aligned = columns.map(({ one }) => align(one));
  const blocks = expected.map((call, at) => callBlock(call, columns, aligned.map((of) => of.get(at)), at, expected.length > 1 ? `call ${at + 1} of ${expected.length}` : ""));
  const extras = columns.map(({ one }, place) => one.made.filter((_, at) => ![...aligned[place].values()].includes(at)));
  return [
    el("div", { class: "columns-head" }, columns.map((column) => outcome(column))),
    blocks,
    alsoRight(columns[0].one),
    !expected.length || extras.some((list) => list.length) ? extraBlock(columns, extras, expected.length) : null,
    [faultList, noteList].map((list) => columns.map((column, place) => list(column, columns.length > 1, (message, value) => point(place, message, value)))),
    scenario(columns[0].one, columns),
    columns.map((column) => beside(column, columns.length > 1)),
  ];
}

function alsoRight(one) {
  const others = one.alternatives ?? [];
  if (!others.length) return null;
  return el("details", { class: "findings" }, el("summary", {}, counted(others.length, "other right answer")), others.slice(0, 20).map((calls) => el("p", {}, calls.length ? calls.map((call) => callCode(call)) : "no call")));
}

// Which call made stands beside which expected one: the pairs first, then whatever a fault says was called instead.
function align(one) {
  const found = new Map((one.pairs ?? []).map(([expected, made]) => [expected, made]));
  for (const { expected_index: expected, actual_index: made } of one.faults) {
    if (expected === null || made === null || found.has(expected) || [...found.values()].includes(made)) continue;
    if (made < one.made.length) found.set(expected, made);
  }
  return found;
}

function outcome({ title, one, score, pass }) {
  const [tone, text] = one.error ? ["error", "! error, not scored"] : pass === 1 ? ["right", "✓ right"] : ["wrong", "✗ wrong"];
  return el("div", { class: `outcome-word ${tone}` }, el("b", {}, text), one.error || score === null ? "" : el("span", { class: "outcome-score" }, number(score)), title ? prose(title, "small") : null);
}

function callBlock(call, columns, places, at, title) {
  const made = columns.map(({ one }, column) => (places[column] === undefined ? null : one.made[places[column]]));
  const faulty = columns.map(({ one }) => faultyArguments(one, at));
  const names = [...new Set([call, ...made].flatMap((one) => Object.keys(one?.arguments ?? {})))].slice(0, MOST_ARGUMENTS);
  const equal = columns.length > 1 ? () => word("=", "") : same;
  const tool = ["tool", el("div", { class: "value" }, breakable(call.name)), ...made.map((one, column) => (one ? (one.name === call.name ? equal(one.name) : differing(call.name, one.name)[1]) : absent(columns[column].one)))];
  const rows = names.map((name) => argumentRow(name, call, made, faulty, equal));
  const odd = made.some((one) => one && !one.arguments) ? [["as it came", text(""), ...made.map((one) => (one && !one.arguments ? folded(one.text || one.malformed, FOLD, { attributes: { class: "value" } }) : text("")))]] : [];
  return argumentTable(title, columns, [tool, ...rows, ...odd]);
}

// Whether an argument of a paired call is wrong is what its faults say: a value that is written otherwise may agree. Of another tool's call
// everything that differs is marked.
function faultyArguments(one, at) {
  if (!one.pairs.some(([expected]) => expected === at)) return () => true;
  const paths = one.faults.filter(({ expected_index: index, argument }) => index === at && argument !== null).map(({ argument }) => argument);
  return (name) => paths.some((path) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`));
}

function argumentRow(name, call, made, faulty, equal) {
  const has = (one) => one?.arguments && Object.hasOwn(one.arguments, name);
  const wanted = has(call) ? literal(call.arguments[name], true) : null;
  const cells = made.map((one, column) => {
    if (!one || !one.arguments) return { cell: text("") };
    const wrong = faulty[column](name);
    if (!has(one)) return { cell: wanted === null ? text("") : word("missing", wrong ? "wrong" : ""), wrong };
    const given = literal(one.arguments[name], true);
    if (given === wanted) return { cell: equal(given) };
    if (!wrong) return { cell: same(given) };
    if (wanted === null) return { cell: el("div", {}, value([[given, true]], "wrong", given), word("not expected", "wrong")), wrong };
    const [left, cell] = differing(wanted, given);
    return { cell, left, wrong };
  });
  const left = cells.find((cell) => cell.left)?.left;
  const expected = wanted === null ? word("none expected", "") : (left ?? (cells.some(({ wrong }) => wrong) ? value([[wanted, false]], "right", wanted) : same(wanted)));
  return [name, expected, ...cells.map(({ cell }) => cell)];
}

function argumentTable(title, columns, rows) {
  const named = columns.length > 1;
  return el("table", { class: named ? "arguments many" : "arguments" },
    title ? el("caption", {}, title) : el("caption", { class: "unseen" }, "Expected and called, argument by argument"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", { class: "unseen" }, "argument")), el("th", { scope: "col" }, "expected"), columns.map(({ title: name }) => el("th", { scope: "col" }, named ? prose(name) : "called")))),
    el("tbody", {}, rows.map(([name, ...cells], at) => el("tr", { class: at === 0 ? "tool-row" : "" }, el("th", { scope: "row" }, breakable(name)), cells.map((cell, place) => el("td", { "data-of": place && named ? visible(columns[place - 1].title) : null }, cell))))));
}

function text(written) {
  return code(written, "div", { class: "value" });
}

function same(written) {
  return folded(written.slice(0, LONGEST), FOLD, { attributes: { class: "value equal" } });
}

function word(written, tone) {
  return el("div", { class: `value-word ${tone ? `${tone}-word` : ""}` }, written);
}

function absent(one) {
  return one.error ? word("error", "") : word(one.made.length ? "not called" : "no call", "wrong");
}

function differing(wanted, given) {
  const [left, right] = differences(wanted, given);
  return [value(left, "right", wanted), value(right, "wrong", given)];
}

// A value with its differing parts marked. A very long one begins shortly before its first difference.
function value(pieces, tone, whole) {
  const shown = pieces.map(([part, differs]) => (differs ? el("mark", { class: tone }, visible(part)) : el("span", {}, visible(part.length > FOLD ? `${part.slice(0, FOLD / 2)} … ${part.slice(-FOLD / 4)}` : part))));
  return el("div", { class: "value", dir: "auto" }, shown, whole.length > LONGEST ? el("small", {}, ` … ${counted(whole.length, "character")}`) : null);
}

function extraBlock(columns, extras, expected) {
  return el("div", { class: "extras" }, el("h3", {}, expected ? "called besides" : "no call was expected"),
    el("div", { class: "side-by-side" }, columns.map(({ title, one }, at) => el("div", {}, columns.length > 1 ? prose(title, "small") : null,
      extras[at].length ? extras[at].slice(0, 50).map((call) => callCode(call)) : el("span", { class: "none" }, one.error ? "error" : expected ? "nothing" : "no call was made ✓")))));
}

function faultList({ title, one }, named, point) {
  const suites = suitesOf(one);
  const lines = one.faults.filter((fault) => counts(fault, suites)).map((fault) => el("li", { class: "fault" }, el("span", { class: "sign", "aria-hidden": "true" }, "✗"), el("div", {}, prose(fault.sentence), " ", origin(fault, point),
    fault.suites?.length ? el("small", { class: "suites" }, ` counts in ${fault.suites.filter((suite) => suites.has(suite)).map(visible).join(", ")}`) : null)));
  return [told("error", title, named, one.error ? [prose(one.error.slice(0, 4000), "li")] : []), told("what went wrong", title, named, lines)];
}

function noteList({ title, one }, named, point) {
  const suites = suitesOf(one);
  const uncounted = one.faults.filter((fault) => !counts(fault, suites)).map(({ sentence }) => ({ kind: "", sentence, message: null }));
  const lines = [...one.notes, ...uncounted].map(({ kind, sentence, message }) => el("li", { class: "note" }, el("span", { class: "sign", "aria-hidden": "true" }, "·"),
    el("div", {}, kind ? el("b", {}, `${words(kind)} `) : null, prose(sentence), " ", message === null || message === undefined ? null : link(`show message ${message}`, () => point(message, null)))));
  return told("noted, touches no score of the calls", title, named, lines);
}

// Faults that no suite of the run counts are told with the notes.
function suitesOf(one) {
  return new Set(Object.keys(one.metrics ?? {}).map((name) => name.split(".")[0]));
}

function counts(fault, suites) {
  return !suites.size || (fault.suites ?? []).some((suite) => suites.has(suite));
}

function told(name, title, named, lines) {
  if (!lines.length) return null;
  return el("div", { class: "findings" }, el("h3", {}, name, named ? [" · ", prose(title)] : ""), el("ul", { class: "plain" }, lines.slice(0, MOST_FINDINGS)),
    lines.length > MOST_FINDINGS ? el("p", { class: "hint" }, `and ${(lines.length - MOST_FINDINGS).toLocaleString("en")} more`) : null);
}

function origin(fault, point) {
  if (fault.origin !== "elsewhere" || fault.origin_message === null) return null;
  return link(`show message ${fault.origin_message}`, () => point(fault.origin_message, fault.actual));
}

function link(label, go) {
  return el("button", { type: "button", class: "link", onclick: go }, label);
}

function scenario(one, columns) {
  const facts = [["instructions", one.instructions], ["done when", one.completion], ["about", one.description]].filter(([, said]) => said);
  const states = columns.map(({ title, one: of }) => stateDifferences(of.states, columns.length > 1 ? title : ""));
  if (!facts.length && !states.some(Boolean)) return null;
  return el("div", { class: "findings" }, facts.length ? [el("h3", {}, "the scenario"), el("dl", { class: "facts long" }, facts.map(([name, said]) => [el("dt", {}, name), el("dd", {}, folded(said, 500))]))] : null, states);
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
    const cells = wanted === given ? [same(wanted), word("=", "")] : [wanted === undefined ? word("not changed", "") : text(wanted.slice(0, LONGEST)), given === undefined ? word("not changed", "") : text(given.slice(0, LONGEST))];
    return el("tr", {}, el("th", { scope: "row" }, code(path, "span")), cells.map((cell) => el("td", {}, cell)));
  });
  return el("details", {}, el("summary", {}, "what was changed in the end", title ? [" · ", prose(title)] : ""),
    el("table", { class: "arguments" }, el("thead", {}, el("tr", {}, ["where", "expected", "reached"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)),
    paths.length > MOST_FINDINGS ? el("p", { class: "hint" }, `and ${counted(paths.length - MOST_FINDINGS, "more value")}`) : null);
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
    ["ending", one.ending && words(one.ending)], ["stopped because", one.finish && words(one.finish)], ["time", one.seconds === null || one.seconds === undefined ? "" : seconds(one.seconds)],
    ["tokens", one.tokens ? `${one.tokens[0].toLocaleString("en")} in, ${one.tokens[1].toLocaleString("en")} out` : ""], ["type", one.type && visible(one.type)], ["group", one.group && visible(one.group)],
  ].filter(([, value]) => value);
  const numbers = Object.entries(one.metrics ?? {});
  const of = () => (named ? [" · ", prose(title)] : "");
  return el("div", { class: "findings" },
    one.text ? [el("h3", {}, "said besides", of()), folded(one.text, 500, { attributes: { class: "quote" } })] : null,
    one.thinking ? el("details", {}, el("summary", {}, "what it said to itself", of()), folded(one.thinking, 2000, { attributes: { class: "quote" } })) : null,
    facts.length ? el("dl", { class: "facts" }, facts.map(([name, said]) => [el("dt", {}, name), el("dd", {}, said)])) : null,
    numbers.length ? el("details", {}, el("summary", {}, `all ${numbers.length} numbers`, of()), el("dl", { class: "facts" }, numbers.map(([name, held]) => [el("dt", {}, visible(name)), el("dd", {}, number(held))]))) : null);
}
