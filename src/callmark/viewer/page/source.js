// Where everything comes from: the data inside a report, or the viewer's API. In: names of runs and cases; out: promises of
// a list of runs, a run, its rows, a case (with `messages`, null where they were left out) and a comparison, as page_data.py writes them.

const FIRST = 500; // rows that are asked for at first, so that there is something to see
const CHUNK = 10_000; // and then at once

export function openSource() {
  const inside = document.getElementById("callmark-data");
  return inside ? reported(JSON.parse(inside.textContent)) : served();
}

function reported(data) {
  const named = (name) => data.runs.find((run) => run.name === name);
  return {
    live: false,
    leftOut: data.left_out?.conversations || data.left_out?.cases ? data.left_out : null,
    comparison: data.comparison ?? null,
    problem: data.comparison_problem ?? "", // why the runs of the report are not compared
    runs: async () => ({ runs: data.runs.map(listed), ready: true }),
    run: async (name) =>
      named(name) ?? refuse(`There is no run called ${name} in this report. Its runs are listed under “callmark”, at the top.`),
    rows: async (name, from) => (from ? { ...data.rows[name], from, id: [] } : data.rows[name]),
    compare: async () => data.comparison ?? refuse(data.comparison_problem || "These runs are not compared in this report."),
    case: async (name, id, trial) => {
      const found = data.cases[name]?.[`${id}#${trial}`];
      return found ? { ...found, messages: found.conversation === null ? null : (data.conversations[found.conversation] ?? null) } : null;
    },
  };
}

// A run as the list shows it: its headline's name as the number itself.
function listed(run) {
  return { ...run, headline: run.metrics.find((metric) => metric.name === run.headline) ?? null };
}

function served() {
  const token = takeToken();
  const ask = async (path, query = []) => {
    const answer = await fetch(`/api/${path}?${new URLSearchParams(query)}`, { headers: { "X-Callmark-Token": token }, cache: "no-store" });
    if (answer.ok) return answer.json();
    const said = await answer.json().catch(() => ({}));
    return refuse(
      said.error
        ? [/[.?!]$/.test(said.error) ? said.error : `${said.error}.`, said.hint].filter(Boolean).join(" ")
        : answer.status === 403
          ? "This page may not read the runs any more. Open the address that `callmark view` printed."
          : `The viewer answered ${answer.status}.`,
    );
  };
  return {
    live: true,
    leftOut: null,
    comparison: null,
    problem: "",
    runs: () => ask("runs"),
    run: (name) => ask("run", [["name", name]]),
    rows: (name, from) =>
      ask("rows", [
        ["name", name],
        ["from", from],
        ["most", from ? CHUNK : FIRST],
      ]),
    compare: (names) =>
      ask(
        "compare",
        names.map((name) => ["name", name]),
      ),
    case: (name, id, trial) =>
      ask("case", [
        ["name", name],
        ["id", id],
        ["trial", trial],
      ]),
  };
}

// The token stays out of the address, so that a copied address does not carry it. It is kept for all tabs of this browser, so that a copied
// address opens in another one; it is of no use once the viewer has ended.
function takeToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    localStorage.setItem("callmark-token", given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  return localStorage.getItem("callmark-token") ?? "";
}

function refuse(sentence) {
  throw new Error(sentence);
}
