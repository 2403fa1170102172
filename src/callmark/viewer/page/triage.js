// Triage of a case: labels with a note, and a corrected expectation. In: the labels of the run's dataset ({labels, writable, author, problem}) and
// `send(label, note)`, `correct(calls, also)`, which return promises; out: elements. "Saved" is shown once the line is on disk, and only as long as
// nothing else has been typed. A note is saved while it is typed, whenever the typing pauses, and when its case is left.

import { el } from "./dom.js";
import { brief, counted, prose, visible } from "./text.js";

const PAUSE = 700; // milliseconds without typing, after which a note is saved

export const USUAL_LABELS = [
  ["model", "Model is wrong", "m"],
  ["expectation", "Expectation is wrong", "e"],
  ["unclear", "Unclear", "u"],
];

const isUsual = (label) => USUAL_LABELS.some(([usual]) => usual === label);

export function labelWord(label) {
  return visible(label);
}

export class TriagePanel {
  // `previous` is the panel of the same case that this one replaces: what was typed in it, and what is being written, goes on here.
  constructor({ id, key, known, labels, send, correct, suggested, correction, previous = null }) {
    Object.assign(this, { id, key, labels, send });
    const { label, note } = (labels.labels[id] ?? []).find(({ author }) => author === labels.author) ?? { label: "", note: "" };
    this.own = { label, note }; // as it is on disk
    this.label = label; // as it is wanted
    this.status = el("span", { class: "save-status", role: "status" });
    if (!labels.writable) {
      this.box = el("section", { class: "triage", "aria-label": "Labels" }, this.others(true) ?? el("p", { class: "hint" }, "No labels. This page is read-only."));
      return;
    }
    this.buttons = USUAL_LABELS.map(([label, name, key]) =>
      el(
        "button",
        { type: "button", "data-key": `label ${label}`, "aria-keyshortcuts": key, onclick: () => this.toggle(label) },
        name,
        el("kbd", { "aria-hidden": "true" }, key),
      ),
    );
    const words = [...new Set([...known, this.own.label])].filter((label) => label && !isUsual(label));
    this.other = el("input", {
      type: "text",
      id: "other-label",
      "data-key": "other label",
      "aria-label": "Another label",
      placeholder: "Another label",
      maxlength: 40,
      autocomplete: "off",
      list: "known-labels",
      onkeydown: (event) => event.key === "Enter" && this.other.blur(), // which is a change
      oninput: () => this.say("Not saved yet"),
      onchange: () => this.save(),
    });
    this.note = el("textarea", {
      id: "note",
      "data-key": "note",
      rows: 1,
      "aria-label": "Note",
      "aria-keyshortcuts": "n",
      placeholder: "Note",
      maxlength: 4000,
      oninput: () => this.typed(),
      onchange: () => this.save(),
    });
    this.box = el(
      "section",
      { class: "triage", "aria-label": "Labels" },
      el("div", { class: "label-buttons", role: "group", "aria-label": "What is wrong" }, this.buttons),
      el("datalist", { id: "known-labels" }, words.map((label) => el("option", { value: label }))),
      el("div", { class: "label-fields" }, this.other, this.note, this.status),
      this.others(false),
      correct ? correctionForm({ correct, suggested, correction }) : null,
    );
    this.mark();
    this.note.value = this.own.note;
    if (previous) this.takeOver(previous);
  }

  // Whether something that was typed or chosen is not on disk.
  get isUnsaved() {
    if (!this.note) return false;
    return this.label !== this.own.label || this.note.value.trim() !== this.own.note || this.other.value.trim() !== this.shownOther;
  }

  takeOver(previous) {
    clearTimeout(previous.timer);
    previous.isReplaced = true;
    Object.assign(this, { own: previous.own, label: previous.label, sent: previous.sent });
    this.mark();
    this.note.value = previous.note.value;
    this.other.value = previous.other.value;
    this.note.setSelectionRange(previous.note.selectionStart, previous.note.selectionEnd);
    const goOn = () => (this.isUnsaved ? this.typed() : this.say(previous.status.textContent, previous.status.classList.contains("problem-text")));
    if (!previous.saving) return goOn();
    this.saving = previous.saving.then(() => {
      Object.assign(this, { own: previous.own, label: previous.label, saving: null });
      this.mark();
      goOn();
    });
  }

  // What others say, or everybody on a page that is read-only.
  others(all) {
    const said = (this.labels.labels[this.id] ?? []).filter(({ author }) => all || author !== this.labels.author);
    if (!said.length) return null;
    return el(
      "ul",
      { class: "plain said" },
      said.slice(0, 20).map(({ label, note, author }) =>
        el("li", {}, label ? [el("span", { class: "label" }, labelWord(label)), " "] : null, prose(author || "someone", "b"), note ? [": ", prose(note)] : null),
      ),
    );
  }

  mark() {
    USUAL_LABELS.forEach(([label], at) => this.buttons[at].setAttribute("aria-pressed", String(this.own.label === label)));
    const isTyping = this.shownOther !== undefined && this.other.value.trim() !== this.shownOther;
    this.shownOther = isUsual(this.own.label) ? "" : this.own.label;
    if (!isTyping) this.other.value = this.shownOther;
  }

  say(text, isProblem = false) {
    this.status.textContent = text;
    this.status.className = isProblem ? "save-status problem-text" : "save-status";
  }

  // The second press of a label removes it; the note stays.
  toggle(label) {
    if (!this.note) return;
    this.other.value = this.shownOther;
    this.label = this.label === label ? "" : label;
    this.save();
  }

  typed() {
    clearTimeout(this.timer);
    if (this.isReplaced) return;
    if (!this.isUnsaved) return this.say(this.own.label || this.own.note ? "Saved" : "");
    this.say("Not saved yet");
    this.timer = setTimeout(() => this.save(), PAUSE);
  }

  // Resolves when nothing is being written any more. A problem is shown, and the note stays as it was typed.
  save() {
    clearTimeout(this.timer);
    if (this.isUnsaved && !this.isReplaced) this.saving ??= this.write().finally(() => (this.saving = null));
    return this.saving ?? Promise.resolve();
  }

  async write() {
    let before;
    do {
      before = this.own;
      const given = this.wanted();
      this.say("Saving…");
      try {
        await this.send(given.label, given.note);
        this.own = given;
      } catch (problem) {
        this.label = this.own.label;
        return this.say(`Not saved: ${visible(problem.message)}`, true);
      } finally {
        this.sent = "";
        this.mark();
      }
    } while (this.label !== this.own.label);
    if (this.isUnsaved) return this.typed();
    this.say(before.label && !this.own.label ? (this.own.note ? "Label removed" : "Removed") : "Saved");
  }

  // The label and the note to write: a typed label replaces the other ones, and one that was emptied is removed.
  wanted() {
    const typed = this.other.value.trim();
    if (typed !== this.shownOther) this.label = typed || (isUsual(this.label) ? this.label : "");
    this.shownOther = typed;
    const given = { label: this.label, note: this.note.value.trim() };
    this.sent = JSON.stringify(given);
    return given;
  }

  // Sends what is not saved while the page is closed: what was typed since the last request does not wait for its answer.
  sendLast() {
    if (!this.saving) this.save();
    if (!this.isUnsaved) return;
    const last = this.sent;
    const { label, note } = this.wanted();
    if (this.sent !== last) this.send(label, note).catch(() => {});
  }
}

function correctionForm({ correct, suggested, correction }) {
  const text = el("textarea", { class: "mono", rows: 5, "aria-label": "Expected calls as JSON", spellcheck: "false" });
  text.value = suggested;
  const status = el("div", { class: "save-status", role: "status" });
  const send = async (also) => {
    status.replaceChildren("Saving…");
    try {
      const { patch, command } = await correct(text.value, also);
      status.replaceChildren(`Saved to ${visible(patch)}. Grade the run with it: `, el("code", {}, brief(command)));
    } catch (problem) {
      status.replaceChildren(el("span", { class: "problem-text" }, `Not saved: ${visible(problem.message)}`));
    }
  };
  return el(
    "details",
    { class: "correction" },
    el("summary", {}, "Correct the expectation", correction ? el("small", {}, ` ${correction}`) : null),
    el("p", { class: "hint" }, "The correct calls as JSON, initially the model's own. An empty list expects no call. The dataset is not changed."),
    text,
    el(
      "div",
      { class: "label-fields" },
      el("button", { type: "button", class: "main-button", "data-key": "correct", onclick: () => send(false) }, "Replace the expected calls"),
      el("button", { type: "button", class: "quiet-button", "data-key": "accept", onclick: () => send(true) }, "Accept as an alternative"),
    ),
    status,
  );
}

// The labels of the failures as a bar, and what is left: [{patch, label, n}] for a chart. `wrong(at)` is whether a row is a failure.
export function labelParts(cases) {
  const counts = new Map();
  let unlabeled = 0;
  for (let at = 0; at < cases.count; at += 1) {
    const given = cases.labelsOf(at);
    if (!given.length && cases.pass[at] === 0) unlabeled += 1;
    for (const label of new Set(given.map((each) => each.label))) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const rank = (label) => (isUsual(label) ? USUAL_LABELS.findIndex(([usual]) => usual === label) : USUAL_LABELS.length);
  const order = [...counts].sort(([a, n], [b, m]) => rank(a) - rank(b) || m - n);
  return { labels: order.map(([label, n]) => ({ label, n })), unlabeled };
}

export function triageSentence({ labels, unlabeled }) {
  const said = labels.slice(0, 8).map(({ label, n }) => `${labelWord(label)} ${n.toLocaleString("en")}`);
  return [...said, unlabeled ? `${counted(unlabeled, "failure")} without a label` : "every failure has a label"].join(" · ");
}
