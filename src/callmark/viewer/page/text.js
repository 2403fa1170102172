// Text, numbers and calls for people. In: strings, numbers and calls from data; out: text or elements that show them safely.

import { el } from "./dom.js";

const CONTROLS = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(
  " ",
);
const INVISIBLE_NAMES = {
  "\u061c": "ALM",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u2060": "WJ",
  "\ufeff": "BOM",
  "\u2028": "LS",
  "\u2029": "PS",
  "\u00ad": "SHY",
  "\u007f": "DEL",
};
// Characters that control, hide or reorder text. A joiner inside an emoji is kept.
const INVISIBLE =
  /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d/gu;

// The text with every invisible character spelled out (⟪ESC⟫, ⟪RLO⟫, ⟪U+E0041⟫), except line breaks and tabs.
export function visible(text) {
  return String(text ?? "").replace(INVISIBLE, (found) => {
    const number = found.codePointAt(0);
    return `⟪${CONTROLS[number] ?? INVISIBLE_NAMES[found] ?? `U+${number.toString(16).toUpperCase().padStart(4, "0")}`}⟫`;
  });
}

const MAX_PROSE = 4000; // characters of a sentence, a name, a value; whole texts are folded instead (fold.js)
const MAX_CODE = 20_000;

// Text from data as a separate element, so that its direction does not affect the text around it.
export function prose(text, tag = "span", attributes = {}) {
  return el(tag, { dir: "auto", ...attributes }, brief(text));
}

export function code(text, tag = "code", attributes = {}) {
  return el(tag, { dir: "ltr", ...attributes }, brief(text, MAX_CODE));
}

// The beginning of a text that is usually short, so that a very long one does not block the page.
export function brief(text, length = MAX_PROSE) {
  return visible(cut(String(text ?? ""), length));
}

// A name that may break after `_`, `.`, `-` and `/` (`create_support_ticket`).
export function breakable(name) {
  return el(
    "span",
    { dir: "ltr" },
    brief(name)
      .split(/(?<=[_.\-/])/)
      .map((part) => [part, el("wbr")]),
  );
}

// A sentence of the page itself: text in backticks is code.
export function sentence(text) {
  return visible(text)
    .split("`")
    .map((part, at) => (at % 2 ? el("code", { dir: "ltr" }, part) : part));
}

// `.784`, `1`, `0`, `12.5`; an en dash for no number. `digits` fixes the decimals of fractions below one.
export function number(value, digits = null) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (size >= 1 && (digits === null || size > 1)) return value.toLocaleString("en", { maximumFractionDigits: size >= 100 ? 0 : 2 });
  const written = digits === null ? String(Number(value.toFixed(3))) : value.toFixed(digits);
  return written.replace(/^(-?)0\./, "$1.");
}

// With its sign, a minus that is as wide as the plus: `+.116`, `−.020`, `0`.
export function signed(value) {
  if (value === null || value === undefined) return "–";
  const written = number(Math.abs(value), 3);
  return Number(written) === 0 ? "0" : `${value < 0 ? "−" : "+"}${written}`;
}

// `[.631, .705]`, or an empty text without an interval.
export function interval(low, high) {
  return low === null || low === undefined ? "" : `[${number(low, 3)}, ${number(high, 3)}]`;
}

export function pValue(p) {
  if (p === null || p === undefined) return "";
  return p < 0.001 ? "p < .001" : `p = ${number(p, 3)}`;
}

export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

export function seconds(value) {
  if (value === null || Number.isNaN(value)) return "";
  if (value < 0.001) return "< 1 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 60 ? `${Number(value.toFixed(1))} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

// `wrong_tool` as `wrong tool`.
export function words(kind) {
  return brief(kind).replaceAll("_", " ");
}

// `wrong_tool` as `Wrong tool`, for a label.
export function labelWords(kind) {
  const text = words(kind);
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

// Where a wrong value came from: `hallucinated`, another message, or the expected value in another format.
export function originWords(origin) {
  if (origin === "format") return "different format";
  return origin === "elsewhere" ? "from elsewhere in the conversation" : origin;
}

export function cut(text, length) {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

// A name in at most `width` characters, its middle replaced by `…`, like callmark.wording.shorten_middle.
export function shortenMiddle(text, width) {
  if (text.length <= width) return text;
  const letters = [...text];
  if (letters.length <= width) return text;
  const kept = Math.max(width, 1) - 1;
  const tail = Math.floor(kept / 2);
  return `${letters.slice(0, kept - tail).join("")}…${letters.slice(letters.length - tail).join("")}`;
}

// Names, each shortened in the middle to `width` characters, or to as many more as it takes to tell different names apart,
// like callmark.wording.shorten_all.
export function shortenAll(names, width) {
  const widths = new Map(names.map((name) => [name, Math.max(width, 1)]));
  for (;;) {
    const short = new Map([...widths].map(([name, limit]) => [name, shortenMiddle(name, limit)]));
    const counts = new Map();
    for (const text of short.values()) counts.set(text, (counts.get(text) ?? 0) + 1);
    const colliding = [...short].filter(([, text]) => counts.get(text) > 1);
    if (!colliding.length) return names.map((name) => short.get(name));
    for (const [name] of colliding) widths.set(name, widths.get(name) + 1 + Math.floor(widths.get(name) / 64));
  }
}

const MAX_LINE = 64;

// A value as JSON: on one line or, with `multiline`, on several lines if one would be too long.
export function literal(value, multiline = false) {
  const written = JSON.stringify(value) ?? "";
  return multiline && written.length > MAX_LINE && typeof value === "object" ? JSON.stringify(value, null, 2) : written;
}

// An argument of a call as text: a matcher as people wrote it (`TKT-*`), any other value as JSON.
export function argumentText(call, name, multiline = false) {
  return call.shown && Object.hasOwn(call.shown, name) ? call.shown[name] : literal(call.arguments[name], multiline);
}

// A call as code: its name, and its arguments, each on its own line if one line would be too long. A malformed call shows its text.
export function callCode(call) {
  if (!call.arguments) {
    return el(
      "code",
      { class: "call", dir: "ltr" },
      el("b", {}, brief(call.name)),
      "(",
      el("span", { class: "problem-text" }, visible(cut(call.text || call.malformed || "", 2000))),
      ")",
    );
  }
  const names = Object.keys(call.arguments);
  const written = names.map((name) => [brief(name), visible(cut(argumentText(call, name), 2000))]);
  const long = written.reduce((sum, [name, value]) => sum + name.length + value.length + 3, call.name.length) > MAX_LINE;
  const parts = written.map(([name, value], at) => [
    long ? "\n  " : "",
    el("span", { class: "name" }, `${name}=`),
    el("span", { dir: "auto" }, value),
    at < written.length - 1 || long ? (long ? "," : ", ") : "",
  ]);
  return el("code", { class: "call", dir: "ltr" }, el("b", {}, brief(call.name)), "(", parts, long && names.length ? "\n)" : ")");
}
