// What the page shows, as its address keeps it. In: location.hash; out: a state, and for a state its hash.
// Nothing chosen is left out of the address, and whatever is unknown in an address is passed over.

const LISTS = ["also"]; // further runs that are compared
const WORDS = ["run", "base", "q", "sort", "case", "trial", "whose"];

// What narrows the table down. `tool` is the expected one, `made` the one that was called.
export const FILTERS = ["tool", "made", "fault", "score", "type", "change", "place", "time", "ending", "origin"];

export function readState(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { also: given.getAll("also") };
  for (const key of [...WORDS, ...FILTERS]) state[key] = given.get(key) ?? "";
  return state;
}

export function writeState(state) {
  const out = new URLSearchParams();
  for (const key of [...WORDS, ...FILTERS]) if (state[key]) out.set(key, state[key]);
  for (const key of LISTS) for (const value of state[key]) out.append(key, value);
  return `#${out}`;
}

export function cleared() {
  return Object.fromEntries([...FILTERS, "q"].map((key) => [key, ""]));
}

// The runs that are looked at together, the baseline first; the others in an order that does not depend on whose answers are shown.
export function compared(state) {
  return state.base ? [...new Set([state.base, ...[state.run, ...state.also].sort()])] : [state.run];
}
