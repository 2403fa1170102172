// The whole page, drawn from its address. Every choice goes into the address.

import { showPressed } from "./charts.js";
import { redraw, el } from "./dom.js";
import { filterBar, filterChips } from "./filters.js";
import { runCounts, runPicker } from "./head.js";
import { historyView } from "./history.js";
import { findRow } from "./case_view.js";
import { charts, overview } from "./overview.js";
import { CasePane } from "./case_pane.js";
import { empty } from "./panels.js";
import { formatTime, runLabels, runList } from "./runs.js";
import { openSource } from "./source.js";
import { FILTERS, comparedRuns, readState, withoutFilters, writeState } from "./state.js";
import { Store } from "./store.js";
import { CaseTable } from "./table.js";
import { USUAL_LABELS, labelParts, triageSentence } from "./triage.js";
import { applyTheme } from "./theme.js";
import { counted, sentence, visible } from "./text.js";

const byId = (id) => document.getElementById(id);
const source = openSource();
const store = new Store(source, () => scheduleDraw());
const table = new CaseTable({
  open: (row, byKey) => openRow(row, byKey),
  sort: (key) => change({ sort: state.sort === key ? `-${key}` : state.sort === `-${key}` ? "" : key }),
});
const pane = new CasePane(byId("case"), {
  read: source.case,
  move: (step) => table.move(step),
  close: () => closeCase(),
  change: (...to) => change(...to),
  onOpen: () => table.reveal(),
  report: (problem) => store.report(problem),
  label: (...given) => store.label(...given),
  correct: (body) => source.correct(body),
});
const selected = new Set(); // runs to compare
let state = readAddress(location.hash);
let rows = new Uint32Array(0);
let distinct = 0; // cases of the rows: a row is a trial
let drawnInputs = {}; // the inputs of each part when it was last drawn, so that only changed parts are drawn again
let scrollBefore = 0; // the scroll position before a case was opened
let drawScheduled = false;
let labelCounts = null; // of the cases that are shown

// A report of the history has no other page.
function readAddress(hash) {
  const found = readState(hash);
  return !source.live && source.hasHistory && !found.run ? { ...found, view: "history" } : found;
}

function scheduleDraw() {
  if (drawScheduled) return;
  drawScheduled = true;
  requestAnimationFrame(() => {
    drawScheduled = false;
    draw();
  });
}

// Changes the state. Typing and moving replace the address; everything else adds to the history.
function change(patch, replace = false) {
  state = { ...state, ...patch };
  history[replace ? "replaceState" : "pushState"](null, "", writeState(state));
  draw();
}

// Sets the filter of a chart's mark, or removes it if it is set.
function toggle(patch) {
  const set = Object.entries(patch).every(([key, value]) => state[key] === value);
  changeRunOrFilter(
    set
      ? Object.fromEntries(
          Object.keys(patch)
            .filter((key) => key !== "run")
            .map((key) => [key, ""]),
        )
      : patch,
  );
}

// Filters the cases and shows them: what a button of the verdict or a group of failures does.
function jump(patch) {
  changeRunOrFilter({ ...withoutFilters(), ...patch });
  showPart("cases");
}

function showPart(id) {
  byId(id).scrollIntoView({ block: "start" });
  table.reveal();
}

// One key from anywhere on the page: what broke in a comparison, else what is wrong.
function showFailures() {
  const broken = store.run(state.run).cases?.change.includes(3);
  jump(state.base && broken ? { change: "broken" } : { score: "wrong" });
  table.focus();
}

function draw() {
  store.listShown = !state.run;
  store.historyShown = !state.run && state.view === "history";
  store.shownRun = state.run;
  const labels = runLabels(store.list ?? []);
  drawNotices();
  for (const [id, shown] of [
    ["run-list", !state.run],
    ["overview", state.run && !state.case],
    ["charts", state.run && !state.case],
    ["cases", state.run],
    ["skip", state.run],
    ["jump", state.run && !state.case],
    ["title", state.run],
  ])
    byId(id).hidden = !shown;
  document.body.classList.toggle("case-open", Boolean(state.run && state.case));
  if (!state.run) {
    const isHistory = state.view === "history";
    document.title = `${isHistory ? "History" : "Runs"} · callmark`;
    redraw(byId("run-picker"));
    redraw(byId("counts"));
    if (!isHistory) drawnInputs = {};
    if (isHistory) drawHistory();
    else if (store.list)
      redraw(
        byId("run-list"),
        listTabs(),
        runList(store.list, labels, selected, {
          open: (name) => change({ ...readState(""), run: name }),
          compare: compareSelected,
          select: toggleSelected,
        }),
      );
    return;
  }
  drawRun(labels);
}

// Runs and history are two views of the same folder. A report has one of them.
function listTabs() {
  if (!source.live) return null;
  const tab = (view, name) => el("button", { type: "button", "data-key": `view ${view}`, "aria-pressed": String(state.view === view), onclick: () => change({ ...readState(""), view }) }, name);
  return el("div", { class: "segments view-tabs", role: "group", "aria-label": "View" }, tab("", "Runs"), tab("history", "History"));
}

function drawHistory() {
  const history = store.history();
  const box = byId("run-list");
  const edge = Math.max(16, Math.min(40, innerWidth * 0.025)); // as in page.css
  const width = Math.max(280, Math.min(1240, document.documentElement.clientWidth - 2 * edge) - 44);
  drawIfChanged("history", [history, width, writeState(state)], () =>
    redraw(
      box,
      listTabs(),
      el("h1", {}, "History"),
      history
        ? historyView(history.runs, { state, change, width, open: source.live ? (name) => change({ ...readState(""), run: name }) : null })
        : empty("Loading runs…", ""),
    ),
  );
}

function drawRun(labels) {
  const entry = store.run(state.run);
  const base = state.base && state.base !== state.run ? store.run(state.base) : null;
  const names = comparedRuns(state);
  const entries = names.length > 1 ? names.map((name) => store.run(name)) : [];
  const comparison = base?.run && entry.run && entries.every(({ run }) => run) ? store.compare(names) : null;
  if (entry.run && !labels.has(state.run)) labels.set(state.run, entry.run.model || entry.run.label);
  drawHead(entry, labels);
  if (!entry.run) {
    // The numbers of another run would be mistaken for those of this one.
    for (const id of ["overview", "charts", "cases", "jump"]) byId(id).hidden = true;
    return;
  }
  document.title = `${state.case ? `${visible(state.case)} · ` : ""}${visible(labels.get(state.run))} · callmark`;
  byId("title").textContent = visible(labels.get(state.run));
  const { cases } = entry;
  if (cases && entry.complete) compareCases(cases, base?.complete ? base.cases : null);
  const valid = comparison?.problem ? null : comparison;
  drawIfChanged("overview", [entry.run, entry.complete, cases?.count, base?.complete, valid, valid && JSON.stringify([...labels])], () => {
    const shown = { run: entry.run, cases: entry.complete ? cases : null, comparison: valid, changed: Boolean(base?.complete), labels, toggle, jump };
    redraw(byId("overview"), overview(shown));
    redraw(byId("charts"), charts(shown));
  });
  for (const id of ["overview", "charts"]) showPressed(byId(id), state);
  const run = cases?.run ?? entry.run;
  if (cases && entry.labels)
    drawIfChanged("labels", [cases, entry.labels], () => {
      const given = Object.entries(entry.labels.labels).map(([id, labels]) => [id, labels.filter(({ label }) => label)]); // others are notes
      cases.labels = new Map(given.filter(([, labels]) => labels.length));
    });
  if (cases) drawIfChanged("counted labels", [cases, cases.count, cases.labels], () => (labelCounts = labelParts(cases)));
  const given = cases ? labelCounts : { labels: [], unlabeled: 0 };
  drawIfChanged("filters", [run.names.tools.length, run.names.scenario_types.length, run.names.files.length, run.name, names.join("\n"), JSON.stringify(given.labels), entry.labels?.writable], () => {
    redraw(
      byId("filters"),
      filterBar({
        run: { ...run, labelable: entry.labels?.writable },
        runs: entries.map(({ name }) => ({ name, label: labels.get(name) ?? name })),
        labels: given.labels,
        state,
        change: changeRunOrFilter,
      }),
    );
  });
  byId("filters").firstChild.update(state);
  redraw(
    byId("chips"),
    filterChips(state, run.names.groups, change, () => change(withoutFilters())),
  );
  if (!cases) return;
  byId("triage-count").textContent = given.labels.length ? triageSentence(given) : "";
  pane.show({ state, cases, runs: entries, labels, triage: entry.labels, complete: entry.complete }); // first, so that its request runs while the rows are drawn
  drawRows(cases, entry, Boolean(base));
}

// Choosing another run in the filters only changes which of the compared runs is shown.
function changeRunOrFilter(patch, replace) {
  if (patch.run && patch.run !== state.run)
    change({ change: "", ...patch, also: comparedRuns(state).filter((name) => name !== state.base && name !== patch.run) });
  else change(patch, replace);
}

// Draws a part if its inputs have changed; returns whether they have.
function drawIfChanged(part, inputs, drawPart) {
  const last = drawnInputs[part];
  if (last && last.length === inputs.length && last.every((value, index) => value === inputs[index])) return false;
  drawnInputs[part] = inputs;
  drawPart();
  return true;
}

function compareCases(cases, base) {
  drawIfChanged("changes", [cases, cases.count, base, base?.count], () => cases.compareWith(base));
}

function drawRows(cases, entry, isCompared) {
  const filters = [...FILTERS, "q", "sort"].map((key) => state[key]);
  const fresh = drawIfChanged("selection", [cases.run.name, ...filters], () => {});
  drawIfChanged("rows", [cases, cases.count, drawnInputs.changes, state.label && cases.labels, ...filters], () => {
    rows = cases.select(state);
    distinct = entry.run.trials > 1 ? countCases(cases, rows) : rows.length;
  });
  byId("row-count").textContent = rowCount(cases, entry.run);
  if (!entry.complete && cases.count < cases.total) byId("row-count").append(` · loading ${cases.total.toLocaleString("en")}…`);
  drawJump(entry.run.trials > 1 ? allCases(cases) : cases.count, isFiltered());
  byId("no-rows").hidden = rows.length > 0;
  byId("table").hidden = rows.length === 0;
  if (!rows.length) redraw(byId("no-rows"), noRows(cases, entry));
  if (!byId("table").firstChild) byId("table").append(table.box);
  table.show(cases, rows, {
    opened: state.case ? findRow(cases, state.case, state.trial || 0) : -1,
    sort: state.sort,
    compared: isCompared,
    trials: entry.run.trials > 1,
    timed: (entry.run.usage?.median_seconds ?? 0) >= 0.001,
    fresh,
    narrow: Boolean(state.case),
  });
}

// `61 of 162 trials (23 of 54 cases)`; without trials a row is a case.
function rowCount(cases, run) {
  const part = (shown, all, noun) => (rows.length === cases.count ? counted(all, noun) : `${shown.toLocaleString("en")} of ${counted(all, noun)}`);
  if (run.trials < 2) return part(rows.length, cases.count, "case");
  return `${part(rows.length, cases.count, "trial")} (${part(distinct, allCases(cases), "case")})`;
}

function countCases(cases, of) {
  const ids = new Set();
  for (const at of of) ids.add(cases.id[at]);
  return ids.size;
}

const countedCases = new WeakMap(); // by cases, until rows are added

function allCases(cases) {
  const last = countedCases.get(cases);
  if (last?.rows === cases.count) return last.n;
  const n = new Set(cases.id).size;
  countedCases.set(cases, { rows: cases.count, n });
  return n;
}

function isFiltered() {
  return [...FILTERS, "q"].some((key) => state[key]);
}

// The parts of the page, always within reach; the number of cases says at once what a click on a chart has filtered. What it widens comes last.
function drawJump(total, filtered) {
  drawIfChanged("jump", [distinct, total, filtered, Boolean(state.base)], () => {
    const part = (id, name) => el("button", { type: "button", "data-key": `jump ${id}`, onclick: () => showPart(id) }, name);
    const all = total.toLocaleString("en");
    redraw(
      byId("jump"),
      part("main", "Summary"),
      el("button", { type: "button", "data-key": "jump failures", "aria-keyshortcuts": "f", onclick: showFailures }, state.base ? "Broken" : "Failures"),
      part("charts", "Charts"),
      part("cases", ["Cases ", el("b", {}, filtered ? `${distinct.toLocaleString("en")} of ${all}` : all)]),
    );
  });
}

function noRows(cases, entry) {
  if (cases.count)
    return el(
      "div",
      {},
      empty("No matching cases.", "Remove a filter, or clear all of them."),
      el("button", { type: "button", class: "main-button", "data-key": "clear", onclick: () => change(withoutFilters()) }, "Clear filters"),
    );
  if (!entry.complete) return empty("Loading cases…", "");
  return entry.run.status === "running"
    ? empty("No predictions yet.", "They appear here as they arrive.")
    : empty("This run has no cases.", "Check that its dataset is not empty: `callmark stats FILE`.");
}

function drawHead(entry, labels) {
  const list = store.list ?? [];
  const { run } = entry;
  const bases = list.filter(
    ({ name, case_kind: caseKind }) => name !== state.run && (!run || caseKind === run.case_kind) && (source.live || name === source.comparison?.runs[0]),
  );
  const key = [state.run, state.base, state.also.join("\n"), Boolean(run), JSON.stringify([...labels])];
  drawIfChanged("run-picker", key, () => redraw(byId("run-picker"), runPicker({ labels, list, bases, state, change })));
  if (!run) return;
  drawIfChanged("counts", [run.cases, run.errors, run.status, run.predictions], () => redraw(byId("counts"), runCounts(run)));
  byId("foot").textContent = [formatTime(run.created), run.dataset && visible(run.dataset)].filter(Boolean).join(" · ");
}

function drawNotices() {
  const entries = state.run ? comparedRuns(state).map((name) => store.run(name)) : [];
  const notCompared = source.problem || (entries.length > 1 && store.comparisons.get(JSON.stringify(comparedRuns(state)))?.problem);
  const runProblems = entries.flatMap(({ error, run, labels }) => [error, run?.problem, labels?.problem]);
  const problems = [
    ...new Set([store.problem, ...runProblems, notCompared && `These runs cannot be compared: ${notCompared}`]),
  ].filter(Boolean);
  const leftOut =
    source.leftOut && state.run && !state.case
      ? `The report includes ${(source.leftOut.all_conversations - source.leftOut.conversations).toLocaleString("en")} of ${counted(source.leftOut.all_conversations, "conversation")}, those with the lowest scores first. \`callmark view\` shows all of them.`
      : "";
  drawIfChanged("notices", [...problems, leftOut], () =>
    redraw(
      byId("notices"),
      problems.map((problem) => el("p", { class: "notice bad", dir: "auto" }, sentence(problem))),
      leftOut && !problems.length ? el("p", { class: "notice" }, sentence(leftOut)) : null,
    ),
  );
}

function toggleSelected(name) {
  if (!selected.delete(name)) selected.add(name);
  draw();
}

// The oldest selected run is the baseline, and the newest is shown; a report already has its baseline.
function compareSelected() {
  const base = source.comparison?.runs[0];
  const others = store.list.map(({ name }) => name).filter((name) => selected.has(name) && name !== base);
  const names = base ? [base, ...others] : others.reverse();
  change({ ...readState(""), base: names[0], run: names[names.length - 1], also: names.slice(1, -1) });
}

function openRow(row, byKey) {
  const { cases } = store.run(state.run);
  if (!state.case) scrollBefore = scrollY;
  const wasOpen = Boolean(state.case);
  pane.focusNext = byKey && !wasOpen;
  change({ case: cases.id[row], trial: cases.trial[row] ? String(cases.trial[row]) : "", transcript: "" }, wasOpen);
  if (!wasOpen) {
    scrollTo(0, 0);
    table.reveal();
  }
}

function closeCase() {
  change({ case: "", trial: "", transcript: "" });
  scrollTo(0, scrollBefore);
  table.reveal();
  table.focus();
}

function handleKey(event) {
  const typing = event.target.closest?.("input, select, textarea");
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (event.key === "Escape" && typing && event.target.localName !== "select") event.target.blur();
  else if (event.key === "Escape" && state.case) closeCase();
  else if (typing) return;
  else if (event.key === "?") byId("help").showModal();
  else if (!state.run) return;
  else if (state.case && pane.triage && labelByKey(event.key)) return event.preventDefault();
  else if (event.key === "f" && !state.case) showFailures();
  else if (event.key === "/") byId("search")?.focus();
  else if (event.key === "j" || event.key === "k") table.move(event.key === "j" ? 1 : -1);
  else if (event.key === "Enter" && event.target === document.body) table.open(table.current, true);
  else return;
  event.preventDefault();
}

// Labels the open case, or goes to its note; returns whether the key does either.
function labelByKey(key) {
  const label = USUAL_LABELS.find(([, , its]) => its === key)?.[0];
  if (label) pane.triage.toggle(label);
  else if (key === "n") byId("note")?.focus();
  return Boolean(label) || key === "n";
}

function start() {
  applyTheme(byId("theme"));
  addEventListener("keydown", handleKey);
  for (const name of ["popstate", "hashchange"]) {
    addEventListener(name, () => {
      state = readAddress(location.hash);
      draw();
    });
  }
  byId("help-button").onclick = () => byId("help").showModal();
  byId("skip").onclick = () => table.focus();
  byId("brand").onclick = (event) => {
    event.preventDefault();
    change(readAddress(""));
  };
  addEventListener("visibilitychange", () => document.hidden && pane.save());
  addEventListener("pagehide", () => pane.sendLast());
  addEventListener("resize", () => state.view === "history" && scheduleDraw());
  draw();
  store.readList().then(() => {
    // A report opens with its run or its comparison.
    const runs = store.list ?? [];
    if (source.live || state.run || location.hash.length > 1 || !runs.length) return;
    const names = source.comparison?.runs ?? [runs[0].name];
    state = { ...state, run: names[1] ?? names[0], base: names.length > 1 ? names[0] : "", also: names.slice(2) };
    history.replaceState(null, "", writeState(state));
    draw();
  });
}

start();
