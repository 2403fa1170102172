// A conversation. In: a case result with its messages; out: an element with `highlight(message, value)`, which scrolls to a message and marks
// a value in it.

import { el } from "./dom.js";
import { folded, clearMarks, markText } from "./fold.js";
import { empty } from "./panels.js";
import { brief, callCode, counted, cut, labelWords, prose } from "./text.js";

const FOLDED_TEXT = { system: 240, developer: 240, tool: 480 }; // characters shown before unfolding, by role
const FOLDED_OTHER_TEXT = 1200;
const MAX_JSON = 20_000; // characters of a result that is formatted on several lines
const MAX_MESSAGES = 400;

export function conversationView(result) {
  const recorded = result.messages;
  if (!recorded)
    return result.problem
      ? empty(result.problem, "")
      : empty(
          "The report does not include this conversation, to keep the file small.",
          "Run `callmark view` on the folder of the run to read it.",
        );
  // The prompt of the model, then the recorded messages after the decision point.
  const prompt = result.prompt_length === null ? recorded : [...recorded.slice(0, result.prompt_length), ...(result.prompt_tail ?? [])];
  const messages = [...prompt, ...recorded.slice(result.prompt_length ?? recorded.length)];
  if (!messages.length)
    return empty(result.prompt_length === null ? "This conversation has no transcript." : "This case has no messages.", "");
  const promptLength = prompt.length;
  const faults = result.prompt_length === null ? faultMessages(result) : new Map();
  const views = messages.map((message, index) => () => messageView(message, index, faults.get(index)));
  const list = el("ol", { class: "messages" });
  const start = Math.max(0, promptLength - MAX_MESSAGES);
  if (start) {
    const earlier = el(
      "li",
      { class: "earlier" },
      el(
        "button",
        { type: "button", class: "quiet-button", onclick: () => earlier.replaceWith(...views.slice(0, start).map((make) => make())) },
        `Show ${counted(start, "earlier message")}`,
      ),
    );
    list.append(earlier);
  }
  list.append(...views.slice(start, promptLength).map((make) => make()));
  if (result.prompt_length !== null) list.append(decisionView(result));
  const rest = views.slice(promptLength, promptLength + MAX_MESSAGES);
  const box = el("div", { class: "conversation-box" }, list);
  if (rest.length && result.prompt_length !== null) {
    const after = el(
      "details",
      { class: "after" },
      el("summary", {}, `Rest of the recorded conversation, ${counted(messages.length - promptLength, "message")}`),
    );
    after.addEventListener(
      "toggle",
      () =>
        after.open &&
        after.children.length === 1 &&
        after.append(
          el(
            "ol",
            { class: "messages", start: promptLength + 1 },
            rest.map((make) => make()),
          ),
        ),
    );
    box.append(after);
  }
  box.highlight = (index, value) => highlightMessage(box, messages, index, value);
  return box;
}

// The message with the n-th call of a conversation; null if there is none.
export function messageOfCall(messages, index) {
  if (index === null || index === undefined || !messages) return null;
  let before = 0;
  for (let at = 0; at < messages.length; at += 1) {
    before += messages[at].calls?.length ?? 0;
    if (before > index) return at;
  }
  return null;
}

// The messages of a simulated conversation with the calls at fault, and the kinds of the faults; then those that a note names.
function faultMessages(result) {
  const found = new Map();
  const add = (message, words) => message !== null && message !== undefined && found.set(message, [...new Set([...(found.get(message) ?? []), words])]);
  for (const { kind, actual_index: index } of result.faults) add(messageOfCall(result.messages, index), labelWords(kind));
  if (!found.size) for (const { kind, message } of result.notes) add(message, labelWords(kind));
  return found;
}

function messageView(message, index, faults) {
  const length = FOLDED_TEXT[message.role] ?? FOLDED_OTHER_TEXT;
  const speaker = message.role === "tool" && message.name ? `tool · ${brief(message.name)}` : brief(message.role);
  const text = message.role === "tool" ? indentJson(message.text) : message.text;
  return el(
    "li",
    {
      class: `message ${["system", "developer", "user", "assistant", "tool"].includes(message.role) ? message.role : "other"} ${faults ? "at-fault" : ""}`,
      "data-message": index,
      tabindex: -1,
    },
    el("span", { class: "role" }, speaker, faults ? el("span", { class: "wrong-label" }, faults.join(", ")) : null, el("span", { class: "message-number" }, String(index))),
    text ? folded(text, length, { attributes: { class: message.role === "tool" ? "message-text mono" : "message-text" } }) : null,
    (message.calls ?? []).map((call) => el("div", { class: "call-line" }, el("span", { class: "call-label" }, "Call"), callCode(call))),
  );
}

// Formats JSON on several lines. Other texts, and very long JSON, are unchanged.
function indentJson(text) {
  if (!text || text.length > MAX_JSON || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function decisionView(result) {
  const calls = (list, none) => (list.length ? list.map((call) => callCode(call)) : el("span", { class: "none" }, none));
  return el(
    "li",
    { class: "decision", tabindex: -1, "data-message": "decision" },
    el("span", { class: "role" }, "◆ Decision point"),
    el("div", { class: "call-line" }, el("span", { class: "call-label" }, "Expected"), el("div", {}, calls(result.expected, "no call"))),
    el(
      "div",
      { class: "call-line" },
      el("span", { class: "call-label" }, "Actual"),
      el("div", {}, result.error ? prose(cut(result.error, 300), "span", { class: "problem-text" }) : calls(result.actual, "no call")),
    ),
  );
}

function highlightMessage(box, messages, index, value) {
  clearMarks(box);
  box.querySelector(".earlier button")?.click();
  const after = box.querySelector(".after");
  if (after && !box.querySelector(`[data-message="${index}"]`)) after.open = true;
  // A <details> fires its toggle event a moment later.
  setTimeout(() => {
    const message = box.querySelector(`[data-message="${index}"]`);
    if (!message) return;
    for (const previous of box.querySelectorAll(".highlighted")) previous.classList.remove("highlighted");
    message.classList.add("highlighted");
    const sought = typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);
    const text = messages[index]?.text ?? "";
    const mark = markText(message, messages[index]?.role === "tool" ? indentJson(text) : text, sought);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    (mark ?? message).scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    message.focus({ preventScroll: true });
  });
}
