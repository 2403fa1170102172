// The source of all data: a report's own, or the viewer's API. In: names of runs and cases; out: promises of a list of runs, a run, its rows,
// a case (with `messages`, null if they were left out), a comparison and labels, as page_data.py and triage.py build them. A viewer also has
// `label(body)` and `correct(body)`, which write.

const FIRST_CHUNK = 500; // rows of the first request, so that the first ones appear quickly
const CHUNK = 10_000; // rows of every other request

export function openSource() {
  const inside = document.getElementById("callmark-data");
  return inside ? reportSource(JSON.parse(inside.textContent)) : viewerSource();
}

const EMPTY_LABELS = { labels: {}, writable: false, author: "", problem: "", corrected: [], pending: [] };

function reportSource(data) {
  const findRun = (name) => data.runs.find((run) => run.name === name);
  return {
    live: false,
    leftOut: data.left_out?.conversations || data.left_out?.cases ? data.left_out : null,
    comparison: data.comparison ?? null,
    problem: data.comparison_problem ?? "", // why the runs of the report are not compared
    runs: async () => ({ runs: data.runs.map(listEntry), ready: true }),
    run: async (name) =>
      findRun(name) ?? refuse(`No run named ${name} in this report. Click “callmark” at the top for the list of its runs.`),
    rows: async (name, start) => (start ? { ...data.rows[name], start, id: [] } : data.rows[name]),
    compare: async () => data.comparison ?? refuse(data.comparison_problem || "This report does not compare these runs."),
    hasHistory: Boolean(data.history),
    history: async () => data.history ?? { runs: [], ready: true },
    labels: async (name) => data.labels?.[name] ?? EMPTY_LABELS,
    case: async (name, id, trial) => {
      const found = data.cases[name]?.[`${id}#${trial}`];
      return found ? { ...found, messages: found.conversation === null ? null : (data.conversations[found.conversation] ?? null) } : null;
    },
  };
}

// A run for the list: with the headline metric itself instead of its name.
function listEntry(run) {
  return { ...run, headline: run.metrics.find((metric) => metric.name === run.headline) ?? null };
}

function viewerSource() {
  const token = takeToken();
  const request = async (path, query = [], body = null, keepalive = false) => {
    const response = await fetch(`/api/${path}?${new URLSearchParams(query)}`, {
      method: body === null ? "GET" : "POST",
      headers: { "X-Callmark-Token": token, ...(body === null ? {} : { "Content-Type": "application/json" }) },
      body: body === null ? undefined : JSON.stringify(body),
      cache: "no-store",
      keepalive,
    }).catch(() => refuse("The viewer does not respond. Check that `callmark view` is still running."));
    if (response.ok) return response.json();
    const problem = await response.json().catch(() => ({}));
    return refuse(
      problem.error
        ? [/[.?!]$/.test(problem.error) ? problem.error : `${problem.error}.`, problem.hint].filter(Boolean).join(" ")
        : response.status === 403
          ? "The token is missing or wrong. Open the URL that `callmark view` printed."
          : `The viewer returned HTTP status ${response.status}.`,
    );
  };
  return {
    live: true,
    leftOut: null,
    comparison: null,
    problem: "",
    hasHistory: true,
    history: () => request("history"),
    runs: () => request("runs"),
    run: (name) => request("run", [["name", name]]),
    labels: (name) => request("labels", [["name", name]]),
    label: (body) => request("label", [], body, true), // sent even if the page is closed meanwhile
    correct: (body) => request("correct", [], body),
    rows: (name, start) =>
      request("rows", [
        ["name", name],
        ["start", start],
        ["limit", start ? CHUNK : FIRST_CHUNK],
      ]),
    compare: (names) =>
      request(
        "compare",
        names.map((name) => ["name", name]),
      ),
    case: (name, id, trial) =>
      request("case", [
        ["name", name],
        ["id", id],
        ["trial", trial],
      ]),
  };
}

// Moves the token from the address to the browser's storage: a copied address does not carry it, but opens in any tab of this browser. It is
// worthless once the viewer has stopped.
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
