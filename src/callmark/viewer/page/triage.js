// Triage of a case: labels with a note, and a corrected expectation. In: the labels of the run's dataset ({labels, writable, author, problem}) and
// `save(label, note)`, `correct(calls, also)`, which return promises; out: elements. "Saved" is shown once the line is on disk.

import { el } from "./dom.js";
import { brief, counted, prose, visible } from "./text.js";

export const USUAL_LABELS = [
  ["model", "Model is wrong", "m"],
  ["expectation", "Expectation is wrong", "e"],
  ["unclear", "Unclear", "u"],
];

export function labelWord(label) {
  return visible(label);
}

export class TriagePanel {
  constructor({ id, known, labels, save, correct, suggested, isCorrected }) {
    Object.assign(this, { id, labels, save });
    this.own = (labels.labels[id] ?? []).find(({ author }) => author === labels.author) ?? { label: "", note: "" };
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
    const words = [...new Set([...known, this.own.label])].filter((label) => label && !USUAL_LABELS.some(([usual]) => usual === label));
    this.other = el("input", {
      type: "text",
      id: "other-label",
      "aria-label": "Another label",
      placeholder: "Another label",
      maxlength: 40,
      autocomplete: "off",
      list: "known-labels",
      onkeydown: (event) => event.key === "Enter" && this.other.blur(), // which is a change
      onchange: () => this.other.value.trim() && this.write(this.other.value.trim()),
    });
    this.note = el("textarea", { id: "note", rows: 1, "aria-label": "Note", "aria-keyshortcuts": "n", placeholder: "Note", maxlength: 4000, onchange: () => this.writeNote() });
    this.note.value = this.own.note;
    this.box = el(
      "section",
      { class: "triage", "aria-label": "Labels" },
      el("div", { class: "label-buttons", role: "group", "aria-label": "What is wrong" }, this.buttons),
      el("datalist", { id: "known-labels" }, words.map((label) => el("option", { value: label }))),
      el("div", { class: "label-fields" }, this.other, this.note, this.status),
      this.others(false),
      correct ? correctionForm({ correct, suggested, isCorrected }) : null,
    );
    this.mark();
  }

  // What others say, or everybody on a page that is read-only.
  others(all) {
    const said = (this.labels.labels[this.id] ?? []).filter(({ author }) => all || author !== this.labels.author);
    if (!said.length) return null;
    return el(
      "ul",
      { class: "plain said" },
      said.slice(0, 20).map(({ label, note, author }) =>
        el("li", {}, el("span", { class: "label" }, labelWord(label)), " ", prose(author || "someone", "b"), note ? [": ", prose(note)] : null),
      ),
    );
  }

  mark() {
    USUAL_LABELS.forEach(([label], at) => this.buttons[at].setAttribute("aria-pressed", String(this.own.label === label)));
    this.other.value = USUAL_LABELS.some(([label]) => label === this.own.label) ? "" : this.own.label;
  }

  toggle(label) {
    return this.write(this.own.label === label ? "" : label);
  }

  writeNote() {
    if (this.own.label) return this.write(this.own.label);
    this.status.textContent = "Choose a label: the note is saved with it.";
    return null;
  }

  async write(label) {
    if (!this.labels.writable) return;
    this.status.textContent = "Saving…";
    this.status.className = "save-status";
    const note = label ? this.note.value : "";
    try {
      await this.save(label, note);
      this.own = { label, note };
      this.mark();
      this.status.textContent = label ? "Saved" : "Removed";
    } catch (problem) {
      this.status.textContent = `Not saved: ${visible(problem.message)}`;
      this.status.className = "save-status problem-text";
    }
  }
}

function correctionForm({ correct, suggested, isCorrected }) {
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
    el("summary", {}, "Correct the expectation", isCorrected ? el("small", {}, " corrected; counts once the run is graded with it") : null),
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
  const usual = USUAL_LABELS.map(([label]) => label);
  const order = [...counts].sort(([a, n], [b, m]) => usual.indexOf(b) - usual.indexOf(a) || m - n);
  return { labels: order.map(([label, n]) => ({ label, n })), unlabeled };
}

export function triageSentence({ labels, unlabeled }) {
  const said = labels.slice(0, 8).map(({ label, n }) => `${labelWord(label)} ${n.toLocaleString("en")}`);
  return [...said, unlabeled ? `${counted(unlabeled, "failure")} without a label` : "every failure has a label"].join(" · ");
}
