// The answer of the page: is it better, by how much, what broke. In: the run, its comparison (or null) and the labels of the runs; out: elements.
// The sentences come from analysis/verdict.py, as those of the terminal do. `jump(patch)` filters the cases and shows them.

import { stackedParts } from "./charts.js";
import { el } from "./dom.js";
import { formatTime } from "./runs.js";
import { brief, counted, prose, visible } from "./text.js";

const TONES = { better: "right", worse: "wrong", errors: "caution", "too few conversations": "caution", "not measured": "caution" };
const SIGNS = { better: "▲ ", worse: "▼ ", "within noise": "≈ ", errors: "! ", "too few conversations": "! ", "not measured": "! " };

export function verdictSection({ run, cases, comparison, jump }) {
  return comparison ? comparisonVerdicts(run, comparison, jump) : runVerdict(run, cases, jump);
}

function comparisonVerdicts(run, comparison, jump) {
  const [, ...others] = comparison.runs;
  const inOrder = [run.name, ...others.filter((name) => name !== run.name)].filter((name) => comparison.verdicts[name]);
  return inOrder.map((name) => {
    const { outcome, sentence, scope, caveats } = comparison.verdicts[name];
    const parts = [
      [{ run: name, change: "broken" }, "Broken", comparison.broken[name], "wrong", "✓→✗"],
      [{ run: name, change: "fixed" }, "Fixed", comparison.fixed[name], "right", "✗→✓"],
      [{ run: name, change: "both wrong" }, "Both wrong", comparison.both_wrong[name], "calm", "✗✗"],
      [{ run: name, change: "both correct" }, "Both correct", comparison.both_correct[name], "calm", "✓✓"],
    ];
    return section(TONES[outcome] ?? "", SIGNS[outcome] ?? "", sentence, scope, caveats, partBar(parts, `Cases of ${visible(name)} vs ${visible(comparison.runs[0])}`, jump));
  });
}

function runVerdict(run, cases, jump) {
  if (!run.verdict) return null;
  const { sentence, counts, scope } = run.verdict;
  const found = cases ? outcomes(cases) : null;
  const parts = found && [
    [{ score: "wrong" }, "Wrong", found.wrong, "wrong", "✗"],
    [{ score: "error" }, "Errors", found.error, "calm", "!"],
    [{ score: "correct" }, "Correct", found.correct, "right", "✓"],
  ];
  const partial = run.status === "running" ? "So far: " : "";
  return section("", partial, sentence, [...counts, scope].join(" · "), [], parts && partBar(parts.filter(([, , n]) => n), "Cases by outcome", jump));
}

function section(tone, sign, sentence, scope, caveats, parts) {
  return el(
    "section",
    { class: `verdict ${tone}` },
    el("p", { class: "verdict-sentence", dir: "auto" }, el("span", { class: "verdict-sign", "aria-hidden": "true" }, sign), el("span", { class: "verdict-text" }, brief(sentence))),
    el("p", { class: "verdict-scope" }, visible(scope)),
    caveats.length ? el("ul", { class: "caveats" }, caveats.map((line) => prose(line, "li"))) : null,
    parts,
  );
}

function partBar(parts, label, jump) {
  const entries = parts.map(([patch, name, n, tone, sign]) => ({ patch, label: name, n: n ?? 0, tone, sign }));
  return stackedParts(entries, { toggle: jump, label });
}

const countedOutcomes = new WeakMap(); // by cases, until rows are added

function outcomes(cases) {
  const last = countedOutcomes.get(cases);
  if (last?.count === cases.count) return last;
  const found = { count: cases.count, wrong: 0, error: 0, correct: 0 };
  for (let at = 0; at < cases.count; at += 1) {
    if (Number.isNaN(cases.score[at])) found.error += 1;
    else if (cases.pass[at] === 1) found.correct += 1;
    else if (cases.pass[at] === 0) found.wrong += 1;
  }
  countedOutcomes.set(cases, found);
  return found;
}

// Where the numbers come from: dataset, time, version, commit, tags.
export function provenance(run) {
  const { commit } = run;
  const tags = Object.entries(run.tags ?? {}).map(([key, value]) => (value ? `${key}=${value}` : key));
  return [
    run.dataset,
    formatTime(run.created),
    commit ? `${commit.commit.slice(0, 8)}${commit.branch ? ` on ${commit.branch}` : ""}${commit.dirty ? ", with changes" : ""}` : "",
    tags.length > 6 ? [...tags.slice(0, 6), counted(tags.length - 6, "more tag")].join(", ") : tags.join(", "),
  ]
    .filter(Boolean)
    .map((text) => brief(text, 300))
    .join(" · ");
}
