// Similar failures: the same tool, argument and origin of the value. In: Cases; out: a panel whose bars filter the table by a group.

import { bars } from "./charts.js";
import { el } from "./dom.js";
import { groupKey } from "./cases.js";
import { empty, panel } from "./panels.js";
import { counted, labelWords, originWords, rowNoun } from "./text.js";

const MAX_GROUP_LABEL = 60; // characters
const MAX_GROUPS = 5; // before the others are unfolded
const MAX_MORE = 60;

// The groups of the failures, largest first: [{key, label, title, n}]. With `broken`, only failures that the baseline does not have.
function failureGroups(cases, broken) {
  const counts = new Map();
  for (let at = 0; at < cases.count; at += 1) {
    const group = cases.group[at];
    if (group >= 0 && (!broken || cases.change[at] === 3)) counts.set(group, (counts.get(group) ?? 0) + 1);
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

export function groupPanel(cases, broken, jump) {
  const groups = failureGroups(cases, broken);
  const title = broken ? "What broke" : "Similar failures";
  if (!groups.length) return panel(title, "groups", empty(broken ? "Nothing broke." : "No failures.", ""));
  const highest = groups[0].n;
  const noun = rowNoun(cases.run);
  const list = (shown) =>
    bars(
      shown.map(({ key, where, what, n }) => ({
        patch: broken ? { group: key, change: "broken" } : { group: key },
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
