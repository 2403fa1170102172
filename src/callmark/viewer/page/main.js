// The page as a whole. In: the address; out: what it says, drawn. Every choice goes into the address, and drawing follows from it.

import { press } from "./charts.js";
import { redraw, el } from "./dom.js";
import { chips, filterBar } from "./filters.js";
import { columnsOf, find, openedCase } from "./opened.js";
import { empty, overview } from "./overview.js";
import { progress, runList, when } from "./runs.js";
import { openSource } from "./source.js";
import { cleared, compared, FILTERS, readState, writeState } from "./state.js";
import { Store } from "./store.js";
import { CaseTable } from "./table.js";
import { counted, prose, visible } from "./text.js";

const at = (id) => document.getElementById(id);
const source = openSource();
const store = new Store(source, () => soon());
const table = new CaseTable({ open: (row, byKey) => openRow(row, byKey), sort: (key) => change({ sort: state.sort === key ? `-${key}` : state.sort === `-${key}` ? "" : key }) });
const picked = new Set();
let state = readState(location.hash);
let rows = new Uint32Array(0);
let drawn = {}; // what was drawn last, by part, so that only what changed is drawn again
let openKey = "";
let scrolled = 0;
let titleNext = false; // whether the focus goes to the case once it is drawn
let pointNext = null; // a message and a value to point at then
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
  chosen(set ? Object.fromEntries(Object.keys(patch).filter((key) => key !== "run").map((key) => [key, ""])) : patch);
}

function draw() {
  store.watched = !state.run;
  const labels = new Map((store.list ?? []).map(({ name, label }) => [name, label]));
  drawNotices();
  for (const [id, shown] of [["list", !state.run], ["overview", state.run && !state.case], ["work", state.run], ["skip", state.run], ["title", state.run]]) at(id).hidden = !shown;
  document.body.classList.toggle("case-open", Boolean(state.run && state.case));
  if (!state.run) {
    document.title = "Runs · callmark";
    redraw(at("which"));
    redraw(at("counts"));
    drawn = {};
    if (store.list) redraw(at("list"), runList(store.list, picked, { open: (name) => change({ ...readState(""), run: name }), compare: comparePicked, pick }));
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
  drawHead(one, labels);
  if (!one.run) return;
  labels.set(one.run.name, one.run.label);
  document.title = `${visible(one.run.label)} · callmark`;
  at("title").textContent = visible(one.run.label);
  const { cases } = one;
  if (cases && one.whole) relate(cases, base?.whole ? base.cases : null);
  once("overview", [one.run, one.whole, cases?.count, comparison], () => {
    redraw(at("overview"), overview({ run: one.run, cases: one.whole ? cases : null, comparison, labels, toggle }));
  });
  press(at("overview"), state);
  once("bar", [one.run.names.tools.length, one.run.names.types.length, one.run.name, names.join("\n")], () => {
    redraw(at("filters"), filterBar({ run: one.run, runs: others.map(({ name }) => ({ name, label: labels.get(name) ?? name })), state, change: chosen }));
  });
  at("filters").firstChild.update(state);
  redraw(at("chips"), chips(state, change, () => change(cleared())));
  if (cases) drawRows(cases, one, Boolean(base));
  if (cases) drawCase(cases, others, labels, one);
}

// Another run in a filter only changes whose answers are shown, the comparison stays.
function chosen(patch, replace) {
  if (patch.run && patch.run !== state.run) change({ change: "", ...patch, also: compared(state).filter((name) => name !== state.base && name !== patch.run) });
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
  at("kept").textContent = rows.length === cases.count ? counted(cases.count, "case") : `${rows.length.toLocaleString("en")} of ${counted(cases.count, "case")}`;
  if (!one.whole && cases.count < cases.total) at("kept").append(` · ${cases.total.toLocaleString("en")} on their way`);
  at("no-rows").hidden = rows.length > 0;
  at("table").hidden = rows.length === 0;
  if (!rows.length) redraw(at("no-rows"), noRows(cases, one));
  if (!at("table").firstChild) at("table").append(table.box);
  table.show(cases, rows, { opened: state.case ? find(cases, state.case, state.trial || 0) : -1, sort: state.sort, compared: isCompared, trials: one.run.trials > 1, timed: (one.run.usage?.median_seconds ?? 0) >= 0.001, fresh });
}

function noRows(cases, one) {
  if (cases.count) return el("div", {}, empty("No case fits.", "Take a filter off, or all of them."), el("button", { type: "button", class: "main-button", "data-key": "clear", onclick: () => change(cleared()) }, "Clear the filters"));
  if (!one.whole) return empty("Reading the cases…", "");
  return one.run.status === "running" ? empty("No answer yet.", "They show up here as they come.") : empty("This run has no cases.", "Was its dataset empty? `callmark check` tells.");
}

function drawHead(one, labels) {
  const { run } = one;
  const list = store.list ?? [];
  const run_ = run ?? { label: state.run };
  const bases = list.filter(({ name, what }) => name !== state.run && (!run || what === run.what) && (source.live || name === source.comparison?.runs[0]));
  once("which", [state.run, state.base, state.also.join("\n"), run_.label, JSON.stringify(list.map(({ name, label }) => [name, label])), labels.size], () => redraw(at("which"),
    list.length > 1 ? picker("Run", "pick run", list.map(({ name, label }) => [name, label]), state.run, (name) => change({ ...readState(""), run: name, base: state.base === name ? "" : state.base })) : prose(run_.label, "strong"),
    bases.length ? [el("span", { class: "vs" }, "vs"), picker("Baseline", "pick base", [["", "nothing"], ...bases.map(({ name, label }) => [name, label])], state.base, (base) => change({ base, also: base ? state.also.filter((name) => name !== base) : [], change: "" }))] : null,
    state.also.length ? el("span", { class: "vs" }, `and ${counted(state.also.length, "more run")}`) : null));
  if (!run) return;
  const parts = [counted(run.cases, "case"), run.conversations && run.conversations !== run.cases ? counted(run.conversations, "conversation") : "", run.errors ? counted(run.errors, "error") : ""].filter(Boolean);
  once("counts", [parts.join(), run.status, run.answers], () => redraw(at("counts"), el("span", {}, parts.join(" · ")), run.status === "running" ? progress(run) : null));
  at("foot").textContent = [when(run.made), run.dataset && visible(run.dataset)].filter(Boolean).join(" · ");
}

function picker(label, key, options, chosenValue, choose) {
  const select = el("select", { "aria-label": label, "data-key": key, onchange: (event) => choose(event.target.value) }, options.map(([value, name]) => el("option", { value }, visible(name))));
  select.value = chosenValue;
  return select;
}

function drawNotices() {
  const said = [store.problem, state.run ? store.run(state.run).error : "", (state.run && store.run(state.run).run?.problem) || "", state.run && state.base ? store.run(state.base).error : ""].filter(Boolean);
  const left = source.leftOut && state.run ? `The report holds ${(source.leftOut.of - source.leftOut.conversations).toLocaleString("en")} of ${counted(source.leftOut.of, "conversation")}, the worst cases first; \`callmark view\` shows all of them.` : "";
  once("notices", [...said, left], () => redraw(at("notices"), said.map((one) => prose(one, "p", { class: "notice bad" })), left && !said.length ? el("p", { class: "notice" }, left) : null));
}

function pick(name) {
  if (!picked.delete(name)) picked.add(name);
  draw();
}

// The oldest of what was picked is the baseline, the newest what is looked at.
function comparePicked() {
  const names = source.comparison ? source.comparison.runs.filter((name) => picked.has(name)) : store.list.map(({ name }) => name).filter((name) => picked.has(name)).reverse();
  change({ ...readState(""), base: names[0], run: names[names.length - 1], also: names.slice(1, -1) });
}

function openRow(row, byKey) {
  const { cases } = store.run(state.run);
  if (!state.case) scrolled = scrollY;
  const already = Boolean(state.case);
  titleNext = byKey && !already;
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

function drawCase(cases, others, labels, one) {
  const box = at("case");
  box.hidden = !state.case;
  if (!state.case) {
    openKey = "";
    box.replaceChildren();
    return;
  }
  const row = find(cases, state.case, state.trial || 0);
  const key = JSON.stringify([state.run, state.case, state.trial, state.whose, row >= 0, others.map(({ name, cases: of }) => [name, of?.count])]);
  if (key === openKey || (row < 0 && !one.whole)) return;
  openKey = key;
  if (row < 0) {
    redraw(box, el("div", { class: "case-body" }, el("div", {}, empty("This run has no such case.", visible(state.case)), el("button", { type: "button", class: "main-button", onclick: closeCase }, "Close"))));
    return;
  }
  const columns = columnsOf(cases, row, others, labels);
  Promise.all(columns.map(({ run, trial, at: place }) => (place < 0 ? null : source.case(run, cases.id[row], trial)))).then((loaded) => {
    if (key !== openKey) return;
    const scroll = box.querySelector(".case-talk")?.scrollTop ?? 0;
    const same = box.dataset.case === `${state.run} ${state.case}`;
    redraw(box, openedCase({ name: cases.place(row), columns, loaded, whose: state.whose || `${state.run}#${state.trial || 0}`, choose: (whose, message, value) => chooseTalk(whose, message, value), previous: () => table.move(-1), next: () => table.move(1), close: closeCase, copy }));
    box.dataset.case = `${state.run} ${state.case}`;
    if (titleNext) at("case-title").focus();
    titleNext = false;
    if (pointNext) box.querySelector(".talk-box")?.point(...pointNext);
    pointNext = null;
    if (same) box.querySelector(".case-talk")?.scrollTo(0, scroll);
    else scrollToDecision(box.querySelector(".case-talk"));
    if (!same) table.reveal();
  }, (problem) => store.tell(problem));
}

// Another column's conversation, and perhaps a place in it.
function chooseTalk(whose, message, value) {
  pointNext = message === undefined ? null : [message, value];
  change({ whose }, true);
}

// Only where the conversation scrolls by itself; on a narrow screen the verdict comes first.
function scrollToDecision(pane) {
  const decision = pane?.querySelector(".decision");
  if (decision && pane.scrollHeight > pane.clientHeight) pane.scrollTop = decision.offsetTop + decision.offsetHeight - pane.clientHeight + 24;
}

async function copy(event) {
  const button = event.currentTarget;
  const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  button.textContent = done ? "copied ✓" : "copy it from the address bar";
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

function theme(chosenTheme) {
  const dark = chosenTheme ? chosenTheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
  at("theme").setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
  at("theme").onclick = () => {
    const next = dark ? "light" : "dark";
    remember("callmark-theme", next);
    theme(next);
  };
}

// A page opened from disk may have nothing to remember with.
function remember(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    return localStorage.getItem(key) ?? "";
  } catch {
    return value ?? "";
  }
}

function start() {
  theme(remember("callmark-theme"));
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
