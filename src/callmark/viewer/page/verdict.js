// What was expected and what was called, argument by argument. In: CASEs of one case, one for each run or trial that is looked at
// ({title, one}), and `point(column, message, value)`; out: elements. What is equal stays quiet, what differs is marked inside the value.

import { differences } from "./diff.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { callCode, code, counted, literal, number, prose, seconds, visible, words } from "./text.js";

const LONGEST = 20_000; // characters of a value that are compared and shown
const FOLD = 600;
const MOST_ARGUMENTS = 200;

export function verdict(columns, point) {
  const expected = columns[0].one.expected;
  const aligned = columns.map(({ one }) => align(one));
  const blocks = expected.map((call, at) => callBlock(call, columns, aligned.map((of) => of.get(at)), expected.length > 1 ? `call ${at + 1} of ${expected.length}` : ""));
  const extras = columns.map(({ one }, place) => one.made.filter((_, at) => ![...aligned[place].values()].includes(at)));
  return [
    el("div", { class: "columns-head" }, columns.map((column) => outcome(column))),
    blocks,
    !expected.length || extras.some((list) => list.length) ? extraBlock(columns, extras, expected.length) : null,
    columns.map((column, place) => findings(column, columns.length > 1, (message, value) => point(place, message, value))),
    scenario(columns[0].one, columns),
    columns.map((column) => beside(column, columns.length > 1)),
  ];
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

function callBlock(call, columns, places, title) {
  const made = columns.map(({ one }, column) => (places[column] === undefined ? null : one.made[places[column]]));
  const names = [...new Set([call, ...made].flatMap((one) => Object.keys(one?.arguments ?? {})))].slice(0, MOST_ARGUMENTS);
  const tool = ["tool", text(call.name), ...made.map((one, column) => (one ? (one.name === call.name ? same(one.name) : differing(call.name, one.name)[1]) : absent(columns[column].one)))];
  const rows = names.map((name) => argumentRow(name, call, made));
  const odd = made.some((one) => one && !one.arguments) ? [["as it came", text(""), ...made.map((one) => (one && !one.arguments ? folded(one.text || one.malformed, FOLD, { attributes: { class: "value mono" } }) : text("")))]] : [];
  return table(title, columns, [tool, ...rows, ...odd]);
}

function argumentRow(name, call, made) {
  const has = (one) => one?.arguments && Object.hasOwn(one.arguments, name);
  const wanted = has(call) ? literal(call.arguments[name], 1) : null;
  const cells = made.map((one) => {
    if (!one || !one.arguments) return { cell: text("") };
    if (!has(one)) return { cell: wanted === null ? text("") : word("missing", "wrong") };
    const given = literal(one.arguments[name], 1);
    if (wanted === null) return { cell: el("div", {}, value([[given, true]], "wrong", given), word("not expected", "wrong")) };
    if (given === wanted) return { cell: same(given) };
    return { cell: differing(wanted, given)[1], left: differing(wanted, given)[0] };
  });
  const left = cells.find((cell) => cell.left)?.left;
  const expected = wanted === null ? word("none expected", "") : (left ?? (cells.some(({ cell }) => cell.classList?.contains("wrong-word")) ? value([[wanted, false]], "right", wanted) : same(wanted)));
  return [name, expected, ...cells.map(({ cell }) => cell)];
}

function table(title, columns, rows) {
  const named = columns.length > 1;
  return el("table", { class: "arguments" },
    title ? el("caption", {}, title) : el("caption", { class: "unseen" }, "Expected and called, argument by argument"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, el("span", { class: "unseen" }, "argument")), el("th", { scope: "col" }, "expected"), columns.map(({ title: name }) => el("th", { scope: "col" }, named ? prose(name) : "called")))),
    el("tbody", {}, rows.map(([name, ...cells], at) => el("tr", { class: at === 0 ? "tool-row" : "" }, el("th", { scope: "row" }, code(name, "span")), cells.map((cell) => el("td", {}, cell))))));
}

function text(written) {
  return code(written, "div", { class: "value" });
}

function same(written) {
  return folded(written.slice(0, LONGEST), FOLD, { attributes: { class: "value equal mono", dir: "auto" } });
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
  return el("div", { class: "value mono", dir: "auto" }, shown, whole.length > LONGEST ? el("small", {}, ` … ${counted(whole.length, "character")}`) : null);
}

function extraBlock(columns, extras, expected) {
  return el("div", { class: "extras" }, el("h3", {}, expected ? "called besides" : "no call was expected"),
    el("div", { class: "side-by-side" }, columns.map(({ title, one }, at) => el("div", {}, columns.length > 1 ? prose(title, "small") : null,
      extras[at].length ? extras[at].slice(0, 50).map((call) => callCode(call)) : el("span", { class: "none" }, one.error ? "error" : expected ? "nothing" : "no call was made ✓")))));
}

function findings({ title, one }, named, point) {
  const heading = (name) => el("h3", {}, name, named ? [" · ", prose(title)] : "");
  const faults = one.faults.map((fault) => el("li", { class: "fault" }, el("span", { class: "sign", "aria-hidden": "true" }, "✗"), el("div", {}, prose(fault.sentence), " ", origin(fault, point),
    fault.suites?.length ? el("small", { class: "suites" }, ` counts in ${fault.suites.map(visible).join(", ")}`) : null)));
  const notes = one.notes.map((note) => el("li", { class: "note" }, el("span", { class: "sign", "aria-hidden": "true" }, "·"), el("div", {}, el("b", {}, words(note.kind)), " ", prose(note.sentence), " ",
    note.message === null || note.message === undefined ? null : link(`message ${note.message}`, () => point(note.message, null)))));
  return [
    one.error ? el("div", { class: "findings" }, heading("error"), el("p", {}, prose(one.error.slice(0, 4000)))) : null,
    faults.length ? el("div", { class: "findings" }, heading("what went wrong"), el("ul", { class: "plain" }, faults)) : null,
    notes.length ? el("div", { class: "findings" }, heading("noted, touches no score"), el("ul", { class: "plain" }, notes)) : null,
  ];
}

function origin(fault, point) {
  if (fault.origin === "invented") return el("span", { class: "origin" }, "Stands nowhere in the conversation.");
  if (fault.origin !== "elsewhere" || fault.origin_message === null) return null;
  return link(`taken from message ${fault.origin_message}`, () => point(fault.origin_message, fault.actual));
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

// Rows of the end state that are not as they should be, cell by cell.
function stateDifferences(states, title) {
  if (!states) return null;
  if (states.unknown) return el("p", { class: "hint" }, prose(states.unknown));
  const rows = [];
  const [expected, reached] = [flat(states.expected), flat(states.reached)];
  for (const path of [...new Set([...expected.keys(), ...reached.keys()])]) {
    if (expected.get(path) !== reached.get(path)) rows.push([path, expected.get(path), reached.get(path)]);
  }
  if (!rows.length) return el("p", { class: "hint" }, "✓ The end state is as expected.");
  return el("div", { class: "findings" }, el("h3", {}, "state at the end", title ? [" · ", prose(title)] : ""),
    el("table", { class: "arguments" }, el("thead", {}, el("tr", {}, ["where", "expected", "reached"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.slice(0, 50).map(([path, wanted, given]) => el("tr", {}, el("th", { scope: "row" }, code(path, "span")), ...(wanted === undefined || given === undefined ? [wanted === undefined ? word("unchanged", "") : text(wanted.slice(0, LONGEST)), given === undefined ? word("unchanged", "wrong") : text(given.slice(0, LONGEST))] : differing(wanted, given)).map((cell) => el("td", {}, cell)))))),
    rows.length > 50 ? el("p", { class: "hint" }, `and ${counted(rows.length - 50, "more difference")}`) : null);
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
  return el("div", { class: "findings" }, named ? el("h3", {}, prose(title)) : null,
    one.text ? [el("h3", {}, "said besides"), folded(one.text, 500, { attributes: { class: "quote" } })] : null,
    one.thinking ? el("details", {}, el("summary", {}, "what it said to itself"), folded(one.thinking, 2000, { attributes: { class: "quote" } })) : null,
    facts.length ? el("dl", { class: "facts" }, facts.map(([name, said]) => [el("dt", {}, name), el("dd", {}, said)])) : null,
    numbers.length ? el("details", {}, el("summary", {}, `all ${numbers.length} numbers`), el("dl", { class: "facts" }, numbers.map(([name, held]) => [el("dt", {}, visible(name)), el("dd", {}, number(held))]))) : null);
}
