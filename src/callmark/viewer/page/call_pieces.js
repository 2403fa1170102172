// The expected and the actual call of a row as pieces [text, differs], so that the fault is within the first characters of both. In: the calls as
// code, and the kind and the argument of the first fault; out: two lists of pieces. The work for a row is bounded: its calls are short.

import { differences } from "./diff.js";
import { shortenAll, shortenMiddle } from "./text.js";

const MAX_TOOL = 24; // characters of a tool's name before its arguments
const MAX_SHORT_TOOL = 16; // before a single argument
const MAX_OTHER_TOOL = 36; // of two tools that differ: what matters is the name
const MAX_EQUAL = 34; // characters before the first difference that are shown
const MAX_KEPT = 60; // characters of the argument at fault before the first difference
const EXTRA = ["extra_argument", "unknown_argument"];

// `tool` and `(order_id="1")`; a text that is no call is all name.
function splitCall(text) {
  const at = text.indexOf("(");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

export function plainCall(text) {
  const [name, rest] = splitCall(text);
  return [[shortenMiddle(name, rest.length > 2 ? MAX_TOOL : MAX_OTHER_TOOL) + rest, false]];
}

export function callPieces(expected, actual, { kind, argument } = {}) {
  if (!expected || !actual) return [plainCall(expected), plainCall(actual)];
  const [[expectedName, wanted], [actualName, given]] = [splitCall(expected), splitCall(actual)];
  if (expectedName !== actualName) {
    const [left, right] = shortenAll([expectedName, actualName], MAX_OTHER_TOOL);
    return [[[left + wanted, false]], [[right + given, false]]];
  }
  if (argument && kind === "missing_argument") {
    const part = argumentPart(wanted, argument);
    if (part) return [around(expectedName, part), around(expectedName, `${argument} missing`)];
  }
  if (argument && EXTRA.includes(kind)) {
    const part = argumentPart(given, argument);
    if (part) return [around(expectedName, `${argument} not expected`), around(expectedName, part)];
  }
  const name = shortenMiddle(expectedName, MAX_TOOL);
  return differences(name + wanted, name + given).map(fromDifference);
}

function around(name, part) {
  return [[`${shortenMiddle(name, MAX_SHORT_TOOL)}(… `, false], [part, true], [")", false]];
}

// `city="Bonn"`, from the argument to the end of the call; an empty text if it is not in it.
function argumentPart(written, argument) {
  const places = [`(${argument}=`, `, ${argument}=`].map((text) => [written.indexOf(text), text.indexOf(argument)]);
  const [place, skipped] = places.find(([at]) => at >= 0) ?? [-1, 0];
  return place < 0 ? "" : written.slice(place + skipped).replace(/(, …)?\)$/, "");
}

// Of a long equal beginning, only the tool and the argument at fault.
function fromDifference(pieces) {
  const [[first, differs], ...rest] = pieces;
  const open = first.indexOf("(");
  if (differs || !rest.length || open < 0 || first.length - open <= MAX_EQUAL) return pieces;
  const start = Math.max(first.lastIndexOf(", ") + 2, open + 1);
  const kept = first.slice(start);
  return [[`${first.slice(0, open)}(… `, false], [kept.length > MAX_KEPT ? `…${kept.slice(-MAX_EQUAL)}` : kept, false], ...rest];
}
