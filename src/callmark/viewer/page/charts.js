// Charts as SVG, with their labels as text around it. In: lists of numbers; out: elements whose marks are buttons. A mark has a `patch` of the
// state ({tool: "get_order"}): `toggle(patch)` is called when it is clicked, and `showPressed` shows which marks are active. The marks of one
// chart are one Tab stop; arrow keys move between them.

import { el, rovingFocus, svg } from "./dom.js";
import { breakable, number, prose, shortenAll, signed, visible } from "./text.js";

const MAX_BAR_LABEL = 48; // characters, on one line or two

// Horizontal bars: [{patch, label, title, value (0 to 1), caption, before}]. `before`, the baseline's value, is drawn as a tick. A bar
// without a patch is not a button. Labels are shortened to `width` characters; a `note` is shown below a label.
export function bars(entries, { toggle, mono = false, width = MAX_BAR_LABEL }) {
  const labels = shortenAll(
    entries.map(({ label }) => visible(label)),
    width,
  );
  const rows = entries.map((entry, at) => {
    const drawing = svg(
      "svg",
      { class: "track", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "rail", width: 100, height: 10 }),
      svg("rect", { class: "bar-fill", width: Math.max(0, Math.min(100, entry.value * 100)), height: 10 }),
      entry.before !== undefined && entry.before !== null
        ? svg("line", { class: "baseline-tick", x1: entry.before * 100, x2: entry.before * 100, y1: 0, y2: 10 })
        : null,
    );
    const name = breakable(labels[at], { dir: "auto", class: mono ? "bar-name mono" : "bar-name" });
    const inside = [
      entry.note
        ? el("span", { class: "bar-text" }, name, prose(entry.note, "small", { class: "bar-name" }))
        : name,
      drawing,
      el("span", { class: "bar-number" }, entry.caption),
    ];
    if (!entry.patch) return el("div", { class: "bar quiet" }, inside);
    return makeMark(entry.patch, toggle, el("button", { type: "button", class: "bar", title: visible(entry.title) }, inside));
  });
  const box = el("div", { class: "bars" }, rows);
  rovingFocus(
    box,
    rows.filter((row) => row.localName === "button"),
  );
  return box;
}

// Upright columns side by side: [{patch, label, title, value (0 to 1), caption}]. Labels are below; a column without a patch is not a button.
export function columns(entries, { toggle, label }) {
  const marks = [];
  const boxes = entries.map((entry) => {
    const drawing = svg(
      "svg",
      { viewBox: "0 0 10 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "rail", width: 10, height: 100 }),
      svg("rect", { class: "bar-fill", y: 100 - 100 * entry.value, width: 10, height: 100 * entry.value }),
    );
    const inside = [
      drawing,
      el("span", { class: "column-number", "aria-hidden": "true" }, entry.caption),
      el("span", { class: "column-name", "aria-hidden": "true" }, entry.label),
      el("span", { class: "visually-hidden" }, entry.title),
    ];
    if (!entry.patch) return el("div", { class: "column quiet" }, inside);
    const mark = makeMark(entry.patch, toggle, el("button", { type: "button", class: "column", title: entry.title }, inside));
    marks.push(mark);
    return mark;
  });
  const box = el("div", { class: "columns", role: "group", "aria-label": label }, boxes);
  rovingFocus(box, marks);
  return box;
}

// A mean between its bounds, with its interval.
export function rangeBar({ mean, low, high, bounds }) {
  const [least, greatest] = bounds ?? [0, 1];
  const inside = (value) => Math.max(0, Math.min(100, ((value - least) / (greatest - least)) * 100));
  return svg(
    "svg",
    { class: "range", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { class: "rail-line", x1: 0, x2: 100, y1: 4, y2: 4 }),
    low === null || low === undefined ? null : svg("line", { class: "interval-line", x1: inside(low), x2: inside(high), y1: 4, y2: 4 }),
    svg("line", { class: "mean-tick", x1: inside(mean), x2: inside(mean), y1: 0, y2: 8 }),
  );
}

const MAP_WIDTH = 400; // pixels that the cells of a small map are spread over
const MAX_LABEL = 24; // characters of a tool's name
const LETTER_WIDTH = 7.3; // pixels of a character of a label: mono at 12 px

// Expected tools in rows, actual tools in columns. `cells` is [{row, column, n, patch}]; the shade of a cell is its share of its row.
export function heatMap(rows, across, cells, toggle) {
  const size = Math.max(28, Math.min(42, Math.floor(MAP_WIDTH / across.length)));
  const names = [...new Set([...rows, ...across])];
  const short = shortenAll(names.map(visible), MAX_LABEL);
  const labels = new Map(names.map((name, at) => [name, short[at]]));
  const left = Math.max(...rows.map((name) => labels.get(name).length), 8) * LETTER_WIDTH + 12;
  const top = Math.max(...across.map((name) => labels.get(name).length)) * LETTER_WIDTH * 0.72 + 18;
  const width = left + across.length * size + top * 0.72;
  const height = top + rows.length * size + 8;
  const sums = new Map();
  for (const { row, n } of cells) sums.set(row, (sums.get(row) ?? 0) + n);
  const x = new Map(across.map((name, at) => [name, left + at * size]));
  const y = new Map(rows.map((name, at) => [name, top + at * size]));
  const marks = [];
  const drawn = cells.map(({ row, column, n, patch }) => {
    const correct = row === column;
    const share = n / sums.get(row);
    const name = `Expected ${visible(row)}, actual ${visible(column)}: ${n.toLocaleString("en")} of ${sums.get(row).toLocaleString("en")}`;
    const inside = [
      svg("title", {}, name),
      svg("rect", {
        class: correct ? "cell right" : "cell",
        x: x.get(column) + 1,
        y: y.get(row) + 1,
        width: size - 2,
        height: size - 2,
        rx: 3,
        "fill-opacity": correct ? 0.1 : 0.18 + 0.82 * Math.min(1, share * 1.6),
      }),
      svg(
        "text",
        {
          class: !correct && share > 0.32 ? "count strong" : "count",
          x: x.get(column) + size / 2,
          y: y.get(row) + size / 2 + 4,
          "text-anchor": "middle",
        },
        n < 1000 ? String(n) : `${Math.round(n / 1000)}k`,
      ),
    ];
    if (!patch) return svg("g", {}, inside);
    const mark = makeMark(
      patch,
      toggle,
      svg(
        "g",
        {
          class: "mark",
          role: "button",
          "aria-label": name,
          onkeydown: (event) =>
            (event.key === "Enter" || event.key === " ") && (event.preventDefault(), event.stopPropagation(), toggle(patch)),
        },
        inside,
      ),
    );
    marks.push(mark);
    return mark;
  });
  const box = svg(
    "svg",
    {
      class: "heat",
      width: Math.ceil(width),
      height: Math.ceil(height),
      viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
      role: "group",
      "aria-label": "Expected tools in rows, actual tools in columns",
    },
    rows.map((name) =>
      svg("line", { class: "grid", x1: left, x2: left + across.length * size, y1: y.get(name) + size, y2: y.get(name) + size }),
    ),
    rows.map((name) =>
      svg(
        "text",
        { class: "axis", x: left - 8, y: y.get(name) + size / 2 + 4, "text-anchor": "end" },
        svg("title", {}, visible(name)),
        labels.get(name),
      ),
    ),
    across.map((name) =>
      svg(
        "text",
        { class: "axis", transform: `translate(${x.get(name) + size / 2 - 2} ${top - 8}) rotate(-46)` },
        svg("title", {}, visible(name)),
        labels.get(name),
      ),
    ),
    drawn,
  );
  rovingFocus(box, marks);
  return box;
}

const DIRECTION_TONES = { better: "right", worse: "wrong", "within noise": "noise" };
const DIRECTION_SIGNS = { better: "▲", worse: "▼", "within noise": "≈" };

// Differences with their intervals around zero: [{label, changes: [{run, before, after, difference, low, high, p, direction}]}].
export function forestPlot(metrics, showRuns) {
  const edges = metrics
    .flatMap(({ changes }) => changes.flatMap(({ difference, low, high }) => [difference, low, high]))
    .filter((value) => Number.isFinite(value));
  const extent = Math.max(0.05, ...edges.map(Math.abs)) * 1.08;
  const x = (value) => 100 + (100 * value) / extent;
  const rows = metrics.flatMap(({ label, changes }) =>
    changes.map((change, index) =>
      el(
        "div",
        { class: index ? "forest-row further" : "forest-row", role: "row" },
        el("span", { class: "forest-name", role: "rowheader" }, index ? "" : el("span", { class: "metric-name" }, visible(label)), showRuns ? prose(change.label, "small") : null),
        el("span", { class: "forest-values", role: "cell" }, `${number(change.before, 3)} → ${number(change.after, 3)}`),
        el(
          "span",
          { class: "forest-plot", role: "cell" },
          svg(
            "svg",
            { viewBox: "0 0 200 20", preserveAspectRatio: "none", "aria-hidden": "true", class: DIRECTION_TONES[change.direction] },
            svg("line", { class: "zero", x1: 100, x2: 100, y1: 0, y2: 20 }),
            Number.isFinite(change.low) ? svg("line", { class: "interval-line", x1: x(change.low), x2: x(change.high), y1: 10, y2: 10 }) : null,
            Number.isFinite(change.difference)
              ? svg("line", { class: "mean-tick", x1: x(change.difference), x2: x(change.difference), y1: 4, y2: 16 })
              : null,
          ),
        ),
        el(
          "span",
          { class: "forest-change", role: "cell" },
          el("b", { class: DIRECTION_TONES[change.direction] }, `${DIRECTION_SIGNS[change.direction]} ${signed(change.difference)}`),
          Number.isFinite(change.low) ? ` [${signed(change.low)}, ${signed(change.high)}]` : "",
        ),
        el("span", { class: "forest-chance", role: "cell" }, change.direction === "within noise" ? "within noise" : `${change.direction}, ${change.pValue}`),
      ),
    ),
  );
  return el("div", { class: "forest", role: "table", "aria-label": "Differences from the baseline, with 95% intervals" }, rows);
}

// Parts of a whole, side by side: [{patch, label, n, tone, sign}].
export function stackedParts(entries, { toggle, label }) {
  const total = entries.reduce((sum, { n }) => sum + n, 0) || 1;
  const marks = entries.map(({ patch, label: name, n, tone, sign }) => {
    const mark = el(
      "button",
      { type: "button", class: `part ${tone}`, disabled: n === 0 },
      el(
        "span",
        { class: "part-line" },
        svg("svg", { viewBox: "0 0 10 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10 })),
      ),
      el("b", {}, n.toLocaleString("en")),
      el("span", { class: "part-name" }, `${sign} ${name}`),
    );
    mark.style.setProperty("--share", String(n / total));
    return makeMark(patch, toggle, mark);
  });
  const box = el("div", { class: "parts", role: "group", "aria-label": label }, marks);
  rovingFocus(
    box,
    marks.filter((mark) => !mark.disabled),
  );
  return box;
}

const patches = new WeakMap();

function makeMark(patch, toggle, mark) {
  patches.set(mark, patch);
  mark.setAttribute("aria-pressed", "false");
  mark.setAttribute(
    "data-key",
    Object.entries(patch)
      .map(([key, value]) => `${key}=${value}`)
      .join("&"),
  );
  mark.addEventListener("click", () => toggle(patch));
  return mark;
}

// Shows which marks of a box are active filters.
export function showPressed(box, state) {
  for (const mark of box.querySelectorAll("[aria-pressed]")) {
    const pressed = String(Object.entries(patches.get(mark)).every(([key, value]) => state[key] === value));
    if (mark.getAttribute("aria-pressed") !== pressed) mark.setAttribute("aria-pressed", pressed);
  }
}
