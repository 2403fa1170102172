// The expected and the actual call of a row as pieces [text, differs], so that the fault is within the first characters of both. In: the calls as
// code, and the kind and the argument of the first fault; out: two lists of pieces. The work for a row is bounded: its calls are short.
// `short(name, width)` shortens the name of a tool: `shortTools` makes it for all calls on the screen, so that different tools look different.
// Calls that fit into `room` characters are shown whole.

import { differences } from "./diff.js";
import { shortenAll, shortenMiddle } from "./text.js";

const MAX_TOOL = 24; // characters of a tool's name before its arguments
const MAX_SHORT_TOOL = 16; // before a single argument
const MAX_OTHER_TOOL = 36; // of two tools that differ: what matters is the name
const MAX_BEFORE = 36; // characters before the first difference
const [KEPT_START, KEPT_END] = [7, 8]; // characters of a value before the first difference: its first and its last
const EXTRA = ["extra_argument", "unknown_argument"];

// `tool` and `(order_id="1")`; a text that is no call is all name.
function splitCall(text) {
  const at = text.indexOf("(");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

export function shortTools(calls) {
  const names = [...new Set(calls.map((text) => splitCall(text)[0]))];
  const byWidth = new Map();
  return (name, width) => {
    if (!byWidth.has(width)) byWidth.set(width, new Map(shortenEach(names, width).map((short, at) => [names[at], short])));
    return byWidth.get(width).get(name) ?? shortenMiddle(name, width);
  };
}

function shortenEach(names, width) {
  const short = names.map((name) => shortenTool(name, width));
  const repeated = names.filter((_, at) => short.indexOf(short[at]) !== short.lastIndexOf(short[at]));
  const longer = new Map(shortenAll(repeated, width).map((text, at) => [repeated[at], text]));
  const found = names.map((name, at) => longer.get(name) ?? short[at]);
  return new Set(found).size < names.length ? names : found;
}

// `…create_support_ticket` for `TicketManagementPlugin-create_support_ticket`: the last part says most.
function shortenTool(name, width) {
  if (name.length <= width) return name;
  const last = /[-./:](\w+)$/.exec(name);
  return shortenMiddle(last ? `…${last[1]}` : name, width);
}

export function plainCall(text, short) {
  const [name, rest] = splitCall(text);
  return [[short(name, rest.length > 2 ? MAX_TOOL : MAX_OTHER_TOOL) + rest, false]];
}

export function callPieces(expected, actual, { kind, argument }, short, room) {
  if (!expected || !actual) return [plainCall(expected, short), plainCall(actual, short)];
  const [[expectedName, wanted], [actualName, given]] = [splitCall(expected), splitCall(actual)];
  if (expectedName !== actualName) {
    return [[[short(expectedName, MAX_OTHER_TOOL) + wanted, false]], [[short(actualName, MAX_OTHER_TOOL) + given, false]]];
  }
  const name = short(expectedName, MAX_SHORT_TOOL);
  const [wantedPart, givenPart] = argument ? [argumentPart(wanted, argument), argumentPart(given, argument)] : ["", ""];
  if (kind === "missing_argument" && wantedPart) return [around("", wantedPart), around(`${name}(`, `${argument} missing`)];
  if (EXTRA.includes(kind) && givenPart) return [around("", `${argument} not expected`), around(`${name}(`, givenPart)];
  if (wantedPart && givenPart && wantedPart !== givenPart && Math.max(expected.length, actual.length) > room) {
    const [left, right] = differences(wantedPart, givenPart).map(trimmed);
    const [wantedFirst, givenFirst] = [wanted, given].map((written) => written.startsWith(`(${argument}=`));
    return [[[wantedFirst ? "" : "… ", false], ...left], [[`${name}(${givenFirst ? "" : "… "}`, false], ...right, [")", false]]];
  }
  const whole = short(expectedName, MAX_TOOL);
  return differences(whole + wanted, whole + given).map((pieces) => fromDifference(pieces, name));
}

// The expected call is to the same tool, so only its argument is written.
function around(start, part) {
  return [[`${start}… `, false], [part, true], [start && ")", false]];
}

// Of a long equal beginning of an argument, its name, and the beginning and the end of what is equal in its value.
function trimmed(pieces) {
  const [[first, differs], ...rest] = pieces;
  return differs || !rest.length ? pieces : [[shortBeginning(first), false], ...rest];
}

function shortBeginning(argument) {
  const value = argument.indexOf("=") + 1;
  return argument.length > value + KEPT_START + KEPT_END + 1 ? `${argument.slice(0, value + KEPT_START)}…${argument.slice(-KEPT_END)}` : argument;
}

// `city="Bonn"`, from the argument to the end of the call; an empty text if it is not in it.
function argumentPart(written, argument) {
  const places = [`(${argument}=`, `, ${argument}=`].map((text) => [written.indexOf(text), text.indexOf(argument)]);
  const [place, skipped] = places.find(([at]) => at >= 0) ?? [-1, 0];
  return place < 0 ? "" : written.slice(place + skipped).replace(/(, …)?\)$/, "");
}

// Of a long equal beginning, only the tool, the argument at fault and the end of what is equal in it.
function fromDifference(pieces, name) {
  const [[first, differs], ...rest] = pieces;
  const open = first.indexOf("(");
  if (differs || !rest.length || open < 0 || first.length <= MAX_BEFORE) return pieces;
  const start = Math.max(first.lastIndexOf(", ") + 2, open + 1);
  const argument = first.slice(start);
  return [[`${name}(${start > open + 1 ? "… " : ""}${shortBeginning(argument)}`, false], ...rest];
}
