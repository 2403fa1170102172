// The page as a whole. In: the address; out: what it says, drawn. Every choice goes into the address, and drawing follows from it.

import { press } from "./charts.js";
import { redraw, el } from "./dom.js";
import { chips, filterBar } from "./filters.js";
import { countsOf, whichRuns } from "./head.js";
import { find } from "./opened.js";
import { overview } from "./overview.js";
import { CasePane } from "./pane.js";
import { empty } from "./panels.js";
import { labelsOf, runList, when } from "./runs.js";
import { openSource } from "./source.js";
import { cleared, compared, FILTERS, readState, writeState } from "./state.js";
import { Store } from "./store.js";
import { CaseTable } from "./table.js";
import { theme } from "./theme.js";
import { counted, sentence, visible } from "./text.js";

const at = (id) => document.getElementById(id);
const source = openSource();
const store = new Store(source, () => soon());
const table = new CaseTable({
  open: (row, byKey) => openRow(row, byKey),
  sort: (key) => change({ sort: state.sort === key ? `-${key}` : state.sort === `-${key}` ? "" : key }),
});
const pane = new CasePane(at("case"), {
  read: source.case,
  moved: (step) => table.move(step),
  close: () => closeCase(),
  change: (...to) => change(...to),
  opened: () => table.reveal(),
  tell: (problem) => store.tell(problem),
});
const picked = new Set();
let state = readState(location.hash);
let rows = new Uint32Array(0);
let drawn = {}; // what was drawn last, by part, so that only what changed is drawn again
let scrolled = 0;
let waiting = false;

function soon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

// Changes what is shown. Typing and moving replace the address, everything else can be gone back from.
function change(patch, replace = false) {
  state = { ...state, ...patch };
  history[replace ? "replaceState" : "pushState"](null, "", writeState(state));
  draw();
}

// A filter from a chart: chosen a second time it comes off.
function toggle(patch) {
  const set = Object.entries(patch).every(([key, value]) => state[key] === value);
  chosen(
    set
      ? Object.fromEntries(
          Object.keys(patch)
            .filter((key) => key !== "run")
            .map((key) => [key, ""]),
        )
      : patch,
  );
}

function draw() {
  store.watched = !state.run;
  const labels = labelsOf(store.list ?? []);
  drawNotices();
  for (const [id, shown] of [
    ["list", !state.run],
    ["overview", state.run && !state.case],
    ["work", state.run],
    ["skip", state.run],
    ["title", state.run],
  ])
    at(id).hidden = !shown;
  document.body.classList.toggle("case-open", Boolean(state.run && state.case));
  if (!state.run) {
    document.title = "Runs · callmark";
    redraw(at("which"));
    redraw(at("counts"));
    drawn = {};
    if (store.list)
      redraw(
        at("list"),
        runList(store.list, labels, picked, { open: (name) => change({ ...readState(""), run: name }), compare: comparePicked, pick }),
      );
    return;
  }
  drawRun(labels);
}

function drawRun(labels) {
  const one = store.run(state.run);
  const base = state.base && state.base !== state.run ? store.run(state.base) : null;
  const names = compared(state);
  const others = names.length > 1 ? names.map((name) => store.run(name)) : [];
  const comparison = base?.run && one.run && others.every(({ run }) => run) ? store.compare(names) : null;
  if (one.run && !labels.has(state.run)) labels.set(state.run, one.run.model || one.run.label);
  drawHead(one, labels);
  if (!one.run) {
    // What another run left on the page would be taken for this one's.
    for (const id of ["overview", "work"]) at(id).hidden = true;
    return;
  }
  document.title = `${state.case ? `${visible(state.case)} · ` : ""}${visible(labels.get(state.run))} · callmark`;
  at("title").textContent = visible(labels.get(state.run));
  const { cases } = one;
  if (cases && one.whole) relate(cases, base?.whole ? base.cases : null);
  const there = comparison?.problem ? null : comparison;
  once("overview", [one.run, one.whole, cases?.count, there, there && JSON.stringify([...labels])], () => {
    redraw(at("overview"), overview({ run: one.run, cases: one.whole ? cases : null, comparison: there, labels, toggle }));
  });
  press(at("overview"), state);
  const known = cases?.run ?? one.run;
  once("bar", [known.names.tools.length, known.names.types.length, known.name, names.join("\n")], () => {
    redraw(
      at("filters"),
      filterBar({ run: known, runs: others.map(({ name }) => ({ name, label: labels.get(name) ?? name })), state, change: chosen }),
    );
  });
  at("filters").firstChild.update(state);
  redraw(
    at("chips"),
    chips(state, change, () => change(cleared())),
  );
  if (!cases) return;
  pane.show({ state, cases, others, labels, whole: one.whole }); // before the rows: what it asks for comes while they are drawn
  drawRows(cases, one, Boolean(base));
}

// Another run in a filter only changes whose answers are shown, the comparison stays.
function chosen(patch, replace) {
  if (patch.run && patch.run !== state.run)
    change({ change: "", ...patch, also: compared(state).filter((name) => name !== state.base && name !== patch.run) });
  else change(patch, replace);
}

function once(part, key, make) {
  if (drawn[part] && drawn[part].length === key.length && drawn[part].every((value, place) => value === key[place])) return false;
  drawn[part] = key;
  make();
  return true;
}

function relate(cases, base) {
  once("change", [cases, cases.count, base, base?.count], () => cases.against(base));
}

function drawRows(cases, one, isCompared) {
  const filters = [...FILTERS, "q", "sort"].map((key) => state[key]);
  const fresh = once("filters", [cases.run.name, ...filters], () => {});
  once("rows", [cases, cases.count, drawn.change, ...filters], () => {
    rows = cases.select(state);
  });
  at("kept").textContent =
    rows.length === cases.count ? counted(cases.count, "case") : `${rows.length.toLocaleString("en")} of ${counted(cases.count, "case")}`;
  if (!one.whole && cases.count < cases.total) at("kept").append(` · ${cases.total.toLocaleString("en")} on their way`);
  at("no-rows").hidden = rows.length > 0;
  at("table").hidden = rows.length === 0;
  if (!rows.length) redraw(at("no-rows"), noRows(cases, one));
  if (!at("table").firstChild) at("table").append(table.box);
  table.show(cases, rows, {
    opened: state.case ? find(cases, state.case, state.trial || 0) : -1,
    sort: state.sort,
    compared: isCompared,
    trials: one.run.trials > 1,
    timed: (one.run.usage?.median_seconds ?? 0) >= 0.001,
    fresh,
    beside: Boolean(state.case),
  });
}

function noRows(cases, one) {
  if (cases.count)
    return el(
      "div",
      {},
      empty("No case fits.", "Take a filter off, or all of them."),
      el("button", { type: "button", class: "main-button", "data-key": "clear", onclick: () => change(cleared()) }, "Clear the filters"),
    );
  if (!one.whole) return empty("ReadContext the cases…", "");
  return one.run.status === "running"
    ? empty("No answer yet.", "They show up here as they come.")
    : empty("This run has no cases.", "Was its dataset empty? `callmark lint` tells.");
}

function drawHead(one, labels) {
  const list = store.list ?? [];
  const { run } = one;
  const bases = list.filter(
    ({ name, what }) => name !== state.run && (!run || what === run.what) && (source.live || name === source.comparison?.runs[0]),
  );
  const key = [state.run, state.base, state.also.join("\n"), Boolean(run), JSON.stringify([...labels])];
  once("which", key, () => redraw(at("which"), whichRuns({ labels, list, bases, state, change })));
  if (!run) return;
  once("counts", [run.cases, run.errors, run.status, run.answers], () => redraw(at("counts"), countsOf(run)));
  at("foot").textContent = [when(run.made), run.dataset && visible(run.dataset)].filter(Boolean).join(" · ");
}

function drawNotices() {
  const looked = state.run ? compared(state).map((name) => store.run(name)) : [];
  const unlike = source.problem || (looked.length > 1 && store.comparisons.get(JSON.stringify(compared(state)))?.problem);
  const each = looked.flatMap(({ error, run }) => [error, run?.problem]);
  const said = [...new Set([store.problem, ...each, unlike && `These runs are not compared: ${unlike}`])].filter(Boolean);
  const left =
    source.leftOut && state.run && !state.case
      ? `The report holds ${(source.leftOut.of - source.leftOut.conversations).toLocaleString("en")} of ${counted(source.leftOut.of, "conversation")}, the worst cases first; \`callmark view\` shows all of them.`
      : "";
  once("notices", [...said, left], () =>
    redraw(
      at("notices"),
      said.map((one) => el("p", { class: "notice bad", dir: "auto" }, sentence(one))),
      left && !said.length ? el("p", { class: "notice" }, sentence(left)) : null,
    ),
  );
}

function pick(name) {
  if (!picked.delete(name)) picked.add(name);
  draw();
}

// The oldest of what was picked is the baseline, the newest what is looked at; a report has its baseline already.
function comparePicked() {
  const base = source.comparison?.runs[0];
  const chosenNames = store.list.map(({ name }) => name).filter((name) => picked.has(name) && name !== base);
  const names = base ? [base, ...chosenNames] : chosenNames.reverse();
  change({ ...readState(""), base: names[0], run: names[names.length - 1], also: names.slice(1, -1) });
}

function openRow(row, byKey) {
  const { cases } = store.run(state.run);
  if (!state.case) scrolled = scrollY;
  const already = Boolean(state.case);
  pane.focusNext = byKey && !already;
  change({ case: cases.id[row], trial: cases.trial[row] ? String(cases.trial[row]) : "", whose: "" }, already);
  if (!already) {
    scrollTo(0, 0);
    table.reveal();
  }
}

function closeCase() {
  change({ case: "", trial: "", whose: "" });
  scrollTo(0, scrolled);
  table.reveal();
  table.focus();
}

function pressed(event) {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at("help").open) return;
  if (event.key === "Escape" && event.target.id === "search") at("search").blur();
  else if (event.key === "Escape" && state.case) closeCase();
  else if (typing) return;
  else if (event.key === "?") at("help").showModal();
  else if (!state.run) return;
  else if (event.key === "/") at("search")?.focus();
  else if (event.key === "j" || event.key === "k") table.move(event.key === "j" ? 1 : -1);
  else if (event.key === "Enter" && event.target === document.body) table.open(table.current, true);
  else return;
  event.preventDefault();
}

function start() {
  theme(at("theme"));
  addEventListener("keydown", pressed);
  for (const moved of ["popstate", "hashchange"]) {
    addEventListener(moved, () => {
      state = readState(location.hash);
      draw();
    });
  }
  at("help-button").onclick = () => at("help").showModal();
  at("skip").onclick = () => table.focus();
  at("brand").onclick = (event) => {
    event.preventDefault();
    change(readState(""));
  };
  draw();
  store.readList().then(() => {
    // A report opens with its answer: its run, or its comparison.
    const runs = store.list ?? [];
    if (source.live || state.run || location.hash.length > 1 || !runs.length) return;
    const names = source.comparison?.runs ?? [runs[0].name];
    state = { ...state, run: names[1] ?? names[0], base: names.length > 1 ? names[0] : "", also: names.slice(2) };
    history.replaceState(null, "", writeState(state));
    draw();
  });
}

start();
