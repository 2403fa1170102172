// Similar failures: the same tool, argument and origin of the value. In: Cases; out: a panel whose bars filter the table by a group.

import { bars } from "./charts.js";
import { el } from "./dom.js";
import { CHANGES, groupKey } from "./cases.js";
import { empty, panel } from "./panels.js";
import { counted, labelWords, originWords, rowNoun } from "./text.js";

const MAX_GROUP_LABEL = 60; // characters
const MAX_GROUPS = 5; // before the others are unfolded
const MAX_MORE = 60;

// What the failures of a change are called, and what is said if there are none (nothing: then the panel is left out).
const PANELS = { "": ["Similar failures", "No failures."], broken: ["What broke", "Nothing broke."], "both wrong": ["Wrong before too", ""] };

// The groups of the failures, largest first: [{key, label, title, n}]. With `change`, only failures that changed so from the baseline.
function failureGroups(cases, change) {
  const wanted = CHANGES.indexOf(change);
  const counts = new Map();
  for (let at = 0; at < cases.count; at += 1) {
    const group = cases.group[at];
    if (group >= 0 && (!change || cases.change[at] === wanted)) counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const { groups } = cases.run.names;
  return [...counts].map(([group, n]) => ({ key: groupKey(groups[group]), n, ...groupWords(groups[group]) })).sort((a, b) => b.n - a.n);
}

// `get_order order_id` and `Wrong value, hallucinated`.
export function groupWords([kind, tool, actual, argument, origin]) {
  const what = [labelWords(kind), origin && originWords(origin)].filter(Boolean).join(", ");
  const where = actual ? `${tool} → ${actual}` : [tool, argument].filter(Boolean).join(" ");
  return { where, what };
}

export function groupPanel(cases, change, jump) {
  const groups = failureGroups(cases, change);
  const [title, none] = PANELS[change];
  if (!groups.length) return none ? panel(title, "groups", empty(none, "")) : null;
  const highest = groups[0].n;
  const noun = rowNoun(cases.run);
  const list = (shown) =>
    bars(
      shown.map(({ key, where, what, n }) => ({
        patch: change ? { group: key, change } : { group: key },
        label: where || what,
        note: where ? what : "",
        title: `${[where, what].filter(Boolean).join(": ")}: ${counted(n, noun)}`,
        value: n / highest,
        caption: el("b", {}, n.toLocaleString("en")),
      })),
      { toggle: jump, mono: true, width: MAX_GROUP_LABEL },
    );
  return panel(
    title,
    "groups",
    el("p", { class: "hint" }, `${counted(groups.length, "group")}: the same tool, argument and origin of the value, with the number of ${noun}s. A click opens a group.`),
    list(groups.slice(0, MAX_GROUPS)),
    groups.length > MAX_GROUPS
      ? el("details", {}, el("summary", {}, `${counted(groups.length - MAX_GROUPS, "more group")}`), list(groups.slice(MAX_GROUPS, MAX_GROUPS + MAX_MORE)))
      : null,
  );
}
