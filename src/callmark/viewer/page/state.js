// The state of the page in its address: a hash is parsed into a state, a state is written as a hash. Unknown keys are ignored.

const LIST_KEYS = ["also"]; // other runs in the comparison
const TEXT_KEYS = ["view", "dataset", "model", "metric", "by", "run", "base", "q", "sort", "case", "trial", "transcript"];

// The filters of the table. `tool` is the expected tool, `actual` the actual one.
export const FILTERS = ["tool", "actual", "fault", "score", "type", "file", "change", "position", "time", "ending", "origin", "group", "label"];

export function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { also: given.getAll("also") };
  for (const key of [...TEXT_KEYS, ...FILTERS]) state[key] = given.get(key) ?? "";
  return state;
}

export function writeState(state) {
  const out = new URLSearchParams();
  for (const key of [...TEXT_KEYS, ...FILTERS]) if (state[key]) out.set(key, state[key]);
  for (const key of LIST_KEYS) for (const value of state[key]) out.append(key, value);
  return `#${out}`;
}

export function withoutFilters() {
  return Object.fromEntries([...FILTERS, "q"].map((key) => [key, ""]));
}

// The runs of the comparison, the baseline first; the others in an order that does not depend on which of them is open.
export function comparedRuns(state) {
  return state.base ? [...new Set([state.base, ...[state.run, ...state.also].sort()])] : [state.run];
}
