// Expected and called side by side, argument by argument. In: an expected call and the calls that stand beside it, one for each run or trial
// ({title, one}); out: a table in which what is equal stays quiet and what differs is marked inside the value.

import { differences } from "./diff.js";
import { el } from "./dom.js";
import { folded } from "./fold.js";
import { breakable, callCode, code, counted, literal, prose, visible } from "./text.js";

export const LONGEST = 20_000; // characters of a value that are compared and shown
const FOLD = 600;
const MOST_ARGUMENTS = 200;

// Which call made stands beside which expected one: the pairs first, then whatever a fault says was called instead.
export function align(one) {
  const found = new Map((one.pairs ?? []).map(([expected, made]) => [expected, made]));
  for (const { expected_index: expected, actual_index: made } of one.faults) {
    if (expected === null || made === null || found.has(expected) || [...found.values()].includes(made)) continue;
    if (made < one.made.length) found.set(expected, made);
  }
  return found;
}

export function callBlock(call, columns, places, at, title) {
  const made = columns.map(({ one }, column) => (places[column] === undefined ? null : one.made[places[column]]));
  const faulty = columns.map(({ one }) => faultyArguments(one, at));
  const names = [...new Set([call, ...made].flatMap((one) => Object.keys(one?.arguments ?? {})))].slice(0, MOST_ARGUMENTS);
  const equal = columns.length > 1 ? () => wordCell("=", "") : equalValue;
  const tool = [
    "tool",
    el("div", { class: "value" }, breakable(call.name)),
    ...made.map((one, column) =>
      one ? (one.name === call.name ? equal(one.name) : differing(call.name, one.name)[1]) : absent(columns[column].one),
    ),
  ];
  const rows = names.map((name) => argumentRow(name, call, made, faulty, equal));
  const odd = made.some((one) => one && !one.arguments)
    ? [
        [
          "as it came",
          plain(""),
          ...made.map((one) =>
            one && !one.arguments ? folded(one.text || one.malformed, FOLD, { attributes: { class: "value" } }) : plain(""),
          ),
        ],
      ]
    : [];
  return argumentTable(title, columns, [tool, ...rows, ...odd]);
}

// Whether an argument of a paired call is wrong is what its faults say: a value that is written otherwise may agree. Of another tool's call
// everything that differs is marked.
function faultyArguments(one, at) {
  if (!one.pairs.some(([expected]) => expected === at)) return () => true;
  const paths = one.faults
    .filter(({ expected_index: index, argument }) => index === at && argument !== null)
    .map(({ argument }) => argument);
  return (name) => paths.some((path) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`));
}

function argumentRow(name, call, made, faulty, equal) {
  const has = (one) => one?.arguments && Object.hasOwn(one.arguments, name);
  const wanted = has(call) ? literal(call.arguments[name], true) : null;
  const cells = made.map((one, column) => {
    if (!one || !one.arguments) return { cell: plain("") };
    const wrong = faulty[column](name);
    if (!has(one)) return { cell: wanted === null ? plain("") : wordCell("missing", wrong ? "wrong" : ""), wrong };
    const given = literal(one.arguments[name], true);
    if (given === wanted) return { cell: equal(given) };
    if (!wrong) return { cell: equalValue(given) };
    if (wanted === null) return { cell: el("div", {}, value([[given, true]], "wrong", given), wordCell("not expected", "wrong")), wrong };
    const [left, cell] = differing(wanted, given);
    return { cell, left, wrong };
  });
  const left = cells.find((cell) => cell.left)?.left;
  const expected =
    wanted === null
      ? wordCell("none expected", "")
      : (left ?? (cells.some(({ wrong }) => wrong) ? value([[wanted, false]], "right", wanted) : equalValue(wanted)));
  return [name, expected, ...cells.map(({ cell }) => cell)];
}

function argumentTable(title, columns, rows) {
  const named = columns.length > 1;
  return el(
    "table",
    { class: named ? "arguments many" : "arguments" },
    title ? el("caption", {}, title) : el("caption", { class: "unseen" }, "Expected and called, argument by argument"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, el("span", { class: "unseen" }, "argument")),
        el("th", { scope: "col" }, "expected"),
        columns.map(({ title: name }) => el("th", { scope: "col" }, named ? prose(name) : "called")),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(([name, ...cells], at) =>
        el(
          "tr",
          { class: at === 0 ? "tool-row" : "" },
          el("th", { scope: "row" }, breakable(name)),
          cells.map((cell, place) => el("td", { "data-of": place && named ? visible(columns[place - 1].title) : null }, cell)),
        ),
      ),
    ),
  );
}

export function plain(written) {
  return code(written, "div", { class: "value" });
}

export function equalValue(written) {
  return folded(written.slice(0, LONGEST), FOLD, { attributes: { class: "value equal" } });
}

export function wordCell(written, tone) {
  return el("div", { class: `value-word ${tone ? `${tone}-word` : ""}` }, written);
}

function absent(one) {
  return one.error ? wordCell("error", "") : wordCell(one.made.length ? "not called" : "no call", "wrong");
}

function differing(wanted, given) {
  const [left, right] = differences(wanted, given);
  return [value(left, "right", wanted), value(right, "wrong", given)];
}

// A value with its differing parts marked. A very long one begins shortly before its first difference.
function value(pieces, tone, whole) {
  const shown = pieces.map(([part, differs]) =>
    differs
      ? el("mark", { class: tone }, visible(part))
      : el("span", {}, visible(part.length > FOLD ? `${part.slice(0, FOLD / 2)} … ${part.slice(-FOLD / 4)}` : part)),
  );
  return el(
    "div",
    { class: "value", dir: "auto" },
    shown,
    whole.length > LONGEST ? el("small", {}, ` … ${counted(whole.length, "character")}`) : null,
  );
}

export function extraBlock(columns, extras, expected) {
  return el(
    "div",
    { class: "extras" },
    el("h3", {}, expected ? "called besides" : "no call was expected"),
    el(
      "div",
      { class: "side-by-side" },
      columns.map(({ title, one }, at) =>
        el(
          "div",
          {},
          columns.length > 1 ? prose(title, "small") : null,
          extras[at].length
            ? extras[at].slice(0, 50).map((call) => callCode(call))
            : el("span", { class: "none" }, one.error ? "error" : expected ? "nothing" : "no call was made ✓"),
        ),
      ),
    ),
  );
}
