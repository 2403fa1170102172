// Charts as SVG with their words as text around it. In: lists of numbers; out: elements whose marks are buttons. What a mark stands for is its
// `patch` ({tool: "get_order"}): `toggle(patch)` is called when it is chosen, and `press` shows which marks are. The marks of one chart
// are one stop of the Tab key, arrows go between them.

import { el, oneStop, svg } from "./dom.js";
import { number, prose, shortened, signed, visible } from "./text.js";

// Horizontal bars: [{patch, label, title, value (0 to 1), beside, before, mark}]. `before` is a tick where the baseline was; no patch, no button.
export function bars(entries, { toggle, mono = false }) {
  const rows = entries.map((entry) => {
    const drawing = svg(
      "svg",
      { class: "track", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "rail", width: 100, height: 10 }),
      svg("rect", { class: "bar-fill", width: Math.max(0, Math.min(100, entry.value * 100)), height: 10 }),
      entry.before !== undefined && entry.before !== null
        ? svg("line", { class: "was", x1: entry.before * 100, x2: entry.before * 100, y1: 0, y2: 10 })
        : null,
    );
    const inside = [
      prose(shortened(entry.label, 26), "span", { class: mono ? "bar-name mono" : "bar-name" }),
      drawing,
      el("span", { class: "bar-number" }, entry.beside),
    ];
    if (!entry.patch) return el("div", { class: "bar quiet" }, inside);
    return standingFor(entry.patch, toggle, el("button", { type: "button", class: "bar", title: visible(entry.title) }, inside));
  });
  const box = el("div", { class: "bars" }, rows);
  oneStop(
    box,
    rows.filter((row) => row.localName === "button"),
  );
  return box;
}

// Upright columns side by side: [{patch, label, title, value (0 to 1), beside}]. Labels stand below; what is empty is no button.
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
      el("span", { class: "column-number", "aria-hidden": "true" }, entry.beside),
      el("span", { class: "column-name", "aria-hidden": "true" }, entry.label),
      el("span", { class: "unseen" }, entry.title),
    ];
    if (!entry.patch) return el("div", { class: "column quiet" }, inside);
    const mark = standingFor(entry.patch, toggle, el("button", { type: "button", class: "column", title: entry.title }, inside));
    marks.push(mark);
    return mark;
  });
  const box = el("div", { class: "columns", role: "group", "aria-label": label }, boxes);
  oneStop(box, marks);
  return box;
}

// The shape of a distribution, small and silent.
export function sparkline({ columns: counts, low, high }) {
  const most = Math.max(1, ...counts);
  const marks = counts.map((count, at) =>
    svg("rect", {
      x: at * 10 + 1,
      width: 8,
      y: 24 - (count ? Math.max(1.5, (24 * count) / most) : 0.5),
      height: count ? Math.max(1.5, (24 * count) / most) : 0.5,
    }),
  );
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: "0 0 100 24",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Distribution from ${number(low)} to ${number(high)}: ${counts.join(", ")}`,
    },
    marks,
  );
}

// Where a mean lies between 0 and 1, with its interval.
export function range(mean, low, high) {
  const inside = (value) => Math.max(0, Math.min(100, value * 100));
  return svg(
    "svg",
    { class: "range", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { class: "rail-line", x1: 0, x2: 100, y1: 4, y2: 4 }),
    low === null || low === undefined ? null : svg("line", { class: "reach", x1: inside(low), x2: inside(high), y1: 4, y2: 4 }),
    svg("line", { class: "at", x1: inside(mean), x2: inside(mean), y1: 0, y2: 8 }),
  );
}

const MAP = 400; // pixels the cells of a small map are spread over
const LABEL = 24; // letters of a tool's name beside the map
const LETTER = 7.3; // width of a letter of the labels, as the browser draws its mono at 12 px

// Expected tools down, called ones across. `cells` is [{row, column, n, patch}]; the shade of a cell is its share of its row.
export function heatMap(rows, across, cells, toggle) {
  const size = Math.max(28, Math.min(42, Math.floor(MAP / across.length)));
  const left = Math.max(...rows.map((name) => shortened(name, LABEL).length), 8) * LETTER + 12;
  const top = Math.max(...across.map((name) => shortened(name, LABEL).length)) * LETTER * 0.72 + 18;
  const width = left + across.length * size + top * 0.72;
  const height = top + rows.length * size + 8;
  const sums = new Map();
  for (const { row, n } of cells) sums.set(row, (sums.get(row) ?? 0) + n);
  const x = new Map(across.map((name, at) => [name, left + at * size]));
  const y = new Map(rows.map((name, at) => [name, top + at * size]));
  const marks = [];
  const drawn = cells.map(({ row, column, n, patch }) => {
    const right = row === column;
    const share = n / sums.get(row);
    const name = `expected ${visible(row)}, called ${visible(column)}: ${n.toLocaleString("en")} of ${sums.get(row).toLocaleString("en")}`;
    const inside = [
      svg("title", {}, name),
      svg("rect", {
        class: right ? "cell right" : "cell",
        x: x.get(column) + 1,
        y: y.get(row) + 1,
        width: size - 2,
        height: size - 2,
        rx: 3,
        "fill-opacity": right ? 0.1 : 0.18 + 0.82 * Math.min(1, share * 1.6),
      }),
      svg(
        "text",
        {
          class: !right && share > 0.32 ? "count strong" : "count",
          x: x.get(column) + size / 2,
          y: y.get(row) + size / 2 + 4,
          "text-anchor": "middle",
        },
        n < 1000 ? String(n) : `${Math.round(n / 1000)}k`,
      ),
    ];
    if (!patch) return svg("g", {}, inside);
    const mark = standingFor(
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
      "aria-label": "Expected tools down, called tools across",
    },
    rows.map((name) =>
      svg("line", { class: "grid", x1: left, x2: left + across.length * size, y1: y.get(name) + size, y2: y.get(name) + size }),
    ),
    rows.map((name) =>
      svg(
        "text",
        { class: "axis", x: left - 8, y: y.get(name) + size / 2 + 4, "text-anchor": "end" },
        svg("title", {}, visible(name)),
        shortened(name, LABEL),
      ),
    ),
    across.map((name) =>
      svg(
        "text",
        { class: "axis", transform: `translate(${x.get(name) + size / 2 - 2} ${top - 8}) rotate(-46)` },
        svg("title", {}, visible(name)),
        shortened(name, LABEL),
      ),
    ),
    drawn,
  );
  oneStop(box, marks);
  return box;
}

// Differences with their intervals around zero: [{label, of: [{run, before, after, difference, low, high, p, within_noise}]}].
export function forest(metrics, several) {
  const edges = metrics
    .flatMap(({ of }) => of.flatMap(({ difference, low, high }) => [difference, low, high]))
    .filter((value) => Number.isFinite(value));
  const reach = Math.max(0.05, ...edges.map(Math.abs)) * 1.08;
  const at = (value) => 100 + (100 * value) / reach;
  const lines = metrics.flatMap(({ label, of }) =>
    of.map((one, place) =>
      el(
        "div",
        { class: place ? "forest-row further" : "forest-row", role: "row" },
        el("span", { class: "forest-name", role: "rowheader" }, place ? "" : visible(label), several ? prose(one.label, "small") : null),
        el("span", { class: "forest-values", role: "cell" }, `${number(one.before, 3)} → ${number(one.after, 3)}`),
        el(
          "span",
          { class: "forest-plot", role: "cell" },
          svg(
            "svg",
            { viewBox: "0 0 200 20", preserveAspectRatio: "none", "aria-hidden": "true", class: one.within_noise ? "noise" : "" },
            svg("line", { class: "zero", x1: 100, x2: 100, y1: 0, y2: 20 }),
            Number.isFinite(one.low) ? svg("line", { class: "reach", x1: at(one.low), x2: at(one.high), y1: 10, y2: 10 }) : null,
            Number.isFinite(one.difference)
              ? svg("line", { class: "at", x1: at(one.difference), x2: at(one.difference), y1: 4, y2: 16 })
              : null,
          ),
        ),
        el(
          "span",
          { class: "forest-change", role: "cell" },
          el("b", {}, signed(one.difference)),
          Number.isFinite(one.low) ? ` [${signed(one.low)}, ${signed(one.high)}]` : "",
        ),
        el("span", { class: "forest-chance", role: "cell" }, one.within_noise ? "within noise" : one.chance),
      ),
    ),
  );
  return el("div", { class: "forest", role: "table", "aria-label": "Differences to the baseline with 95 % intervals" }, lines);
}

// A whole in parts, side by side: [{patch, label, n, tone, sign}].
export function parts(entries, { toggle, label }) {
  const whole = entries.reduce((sum, { n }) => sum + n, 0) || 1;
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
    mark.style.setProperty("--share", String(n / whole));
    return standingFor(patch, toggle, mark);
  });
  const box = el("div", { class: "parts", role: "group", "aria-label": label }, marks);
  oneStop(
    box,
    marks.filter((mark) => !mark.disabled),
  );
  return box;
}

const patches = new WeakMap();

function standingFor(patch, toggle, mark) {
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

// Shows which marks of a box are what the table is filtered by.
export function press(box, state) {
  for (const mark of box.querySelectorAll("[aria-pressed]")) {
    const pressed = String(Object.entries(patches.get(mark)).every(([key, value]) => state[key] === value));
    if (mark.getAttribute("aria-pressed") !== pressed) mark.setAttribute("aria-pressed", pressed);
  }
}
