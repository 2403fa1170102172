// A conversation as it went. In: a CASE with its messages; out: an element, and `point(message, value)` that scrolls to a message and
// marks a value in it.

import { el } from "./dom.js";
import { folded, highlight, unmark } from "./fold.js";
import { empty } from "./panels.js";
import { brief, callCode, counted, cut, prose } from "./text.js";

const LONG = { system: 240, developer: 240, tool: 480 }; // characters of a message that are shown at first
const LONG_OTHERWISE = 1200;
const LONGEST_JSON = 20_000; // characters of a result that is laid out line by line
const MOST_MESSAGES = 400;

export function talk(one) {
  const recorded = one.messages;
  if (!recorded)
    return one.problem
      ? empty(one.problem, "")
      : empty(
          "This conversation was left out of the report to keep the file small.",
          "Open the run's folder with `callmark view` to read it.",
        );
  // What the model saw: the recording so far, and what stood before the decision besides. What was recorded after it comes last.
  const before = one.upto === null ? recorded : [...recorded.slice(0, one.upto), ...(one.tail ?? [])];
  const messages = [...before, ...recorded.slice(one.upto ?? recorded.length)];
  if (!messages.length)
    return empty(one.upto === null ? "There is no transcript of this conversation." : "The case begins with nothing said.", "");
  const upto = before.length;
  const said = messages.map((message, at) => () => entry(message, at));
  const list = el("ol", { class: "talk" });
  const start = Math.max(0, upto - MOST_MESSAGES);
  if (start) {
    const earlier = el(
      "li",
      { class: "earlier" },
      el(
        "button",
        { type: "button", class: "quiet-button", onclick: () => earlier.replaceWith(...said.slice(0, start).map((make) => make())) },
        `show ${counted(start, "earlier message")}`,
      ),
    );
    list.append(earlier);
  }
  list.append(...said.slice(start, upto).map((make) => make()));
  if (one.upto !== null) list.append(decision(one));
  const rest = said.slice(upto, upto + MOST_MESSAGES);
  const box = el("div", { class: "talk-box" }, list);
  if (rest.length && one.upto !== null) {
    const after = el(
      "details",
      { class: "after" },
      el("summary", {}, `how it went on in the data, ${counted(messages.length - upto, "message")}`),
    );
    after.addEventListener(
      "toggle",
      () =>
        after.open &&
        after.children.length === 1 &&
        after.append(
          el(
            "ol",
            { class: "talk", start: upto + 1 },
            rest.map((make) => make()),
          ),
        ),
    );
    box.append(after);
  }
  box.point = (at, value) => point(box, messages, at, value);
  return box;
}

function entry(message, at) {
  const long = LONG[message.role] ?? LONG_OTHERWISE;
  const who = message.role === "tool" && message.name ? `tool · ${brief(message.name)}` : brief(message.role);
  const text = message.role === "tool" ? laidOut(message.text) : message.text;
  return el(
    "li",
    {
      class: `message ${["system", "developer", "user", "assistant", "tool"].includes(message.role) ? message.role : "other"}`,
      "data-message": at,
      tabindex: -1,
    },
    el("span", { class: "role" }, who, el("span", { class: "message-number" }, String(at))),
    text ? folded(text, long, { attributes: { class: message.role === "tool" ? "said mono" : "said" } }) : null,
    (message.calls ?? []).map((call) => el("div", { class: "made-call" }, el("span", { class: "call-word" }, "calls"), callCode(call))),
  );
}

// A result in JSON line by line; anything else, and what is too long to be worth it, as it came.
function laidOut(text) {
  if (!text || text.length > LONGEST_JSON || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function decision(one) {
  const calls = (list, none) => (list.length ? list.map((call) => callCode(call)) : el("span", { class: "none" }, none));
  return el(
    "li",
    { class: "decision", tabindex: -1, "data-message": "decision" },
    el("span", { class: "role" }, "◆ the decision"),
    el("div", { class: "made-call" }, el("span", { class: "call-word" }, "expected"), el("div", {}, calls(one.expected, "no call"))),
    el(
      "div",
      { class: "made-call" },
      el("span", { class: "call-word" }, "called"),
      el("div", {}, one.error ? prose(cut(one.error, 300), "span", { class: "odd" }) : calls(one.made, "no call")),
    ),
  );
}

function point(box, messages, at, value) {
  unmark(box);
  box.querySelector(".earlier button")?.click();
  const after = box.querySelector(".after");
  if (after && !box.querySelector(`[data-message="${at}"]`)) after.open = true;
  // A <details> tells of its opening a moment later.
  setTimeout(() => {
    const message = box.querySelector(`[data-message="${at}"]`);
    if (!message) return;
    for (const other of box.querySelectorAll(".pointed-at")) other.classList.remove("pointed-at");
    message.classList.add("pointed-at");
    const sought = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
    const mark = highlight(message, messages[at]?.role === "tool" ? laidOut(messages[at].text) : (messages[at]?.text ?? ""), sought);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    (mark ?? message).scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    message.focus({ preventScroll: true });
  });
}
