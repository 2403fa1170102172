// The header: the run, its baseline, and the number of cases. In: the runs and the state; out: elements that call `change(patch)`.

import { el } from "./dom.js";
import { runProgress } from "./runs.js";
import { readState } from "./state.js";
import { counted, prose, shortenAll, visible } from "./text.js";

const MAX_RUN = 34; // characters of a run in a picker

// Another run opens without the current filters, but with the same baseline.
export function runPicker({ labels, list, bases, state, change }) {
  const options = (runs) => runs.map(({ name }) => [name, labels.get(name)]);
  const open = (name) => change({ ...readState(""), run: name, base: state.base === name ? "" : state.base });
  const chooseBase = (base) => change({ base, also: base ? state.also.filter((name) => name !== base) : [], change: "" });
  return [
    list.length > 1 ? picker("Run", "pick run", options(list), state.run, open) : prose(labels.get(state.run) ?? state.run, "strong"),
    bases.length
      ? [el("span", { class: "vs" }, "vs"), picker("Baseline", "pick base", [["", "No baseline"], ...options(bases)], state.base, chooseBase)]
      : null,
    state.also.length ? el("span", { class: "vs" }, `and ${counted(state.also.length, "more run")}`) : null,
  ];
}

function picker(label, key, entries, chosen, choose) {
  const names = shortenAll(entries.map(([, name]) => visible(name)), MAX_RUN);
  const select = el(
    "select",
    { "aria-label": label, "data-key": key, onchange: (event) => choose(event.target.value) },
    entries.map(([value], at) => el("option", { value }, names[at])),
  );
  select.value = chosen;
  return select;
}

export function runCounts(run) {
  const showConversations = run.conversations && run.conversations !== run.cases;
  const parts = [
    counted(run.cases, "case"),
    showConversations ? counted(run.conversations, "conversation") : "",
    run.errors ? counted(run.errors, "error") : "",
  ];
  return [el("span", {}, parts.filter(Boolean).join(" · ")), run.status === "running" ? runProgress(run) : null];
}
