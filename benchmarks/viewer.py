"""Is the viewer fast with 100,000 cases? Measures the first screen and every interaction in a browser.

Two runs of a synthetic dataset are graded: conversations of five calls each, thirty tools, a fault in one of four. Debian's Chromium opens
the run in a viewer that was just started (`callmark view`, a separate process), and again when all data is cached. The first screen is
complete when the header, the counts, the metrics with the headline's interval, and a table of cases are shown; charts, which need every
case, follow and are reported too. An interaction is timed with `performance.now()` from the input to the frame that shows its result,
several times each; the longest time counts. So do long tasks (over 50 ms) reported by a PerformanceObserver. The limits are 2 s for the
first screen, and 200 ms for each interaction and each task after loading. The history of 200 runs of three
datasets is measured in the same way: until chart and leaderboard are shown, and each filter; its limit is 1 s. Exits with status 1 if a
limit is exceeded.

    python benchmarks/viewer.py [--cases 100000] [--times 5] [--to DIR] [--history-only]
"""

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the browser settings are in tests/

import msgspec
from msgspec import structs
from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser import FLAGS, find_browser
from tests.graded_runs import make_run
from tests.viewer.conftest import viewer_process

from callmark.formats import write_lines
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings
from callmark.models.model import ModelSettings
from callmark.runs.git_state import GitState
from callmark.runs.grade import grade_predictions
from callmark.runs.labels import LABELS, Label
from callmark.runs.manifest import ModelRunInfo
from callmark.runs.run import Run
from callmark.runs.summary_file import store_summary
from callmark.types import Usage

POINTS = 5  # decision points per conversation
TOOLS = [
    f"{verb}_{noun}" for verb in ("find", "get", "create", "change", "cancel") for noun in ("order", "user", "room", "item", "bill", "trip")
]
FIRST_SCREEN = 2000  # milliseconds
STEP = 200
HISTORY = 1000

# Records when each part first appears on the screen, checked in every frame.
ARRIVALS = """
window.arrived = {};
window.slow = [];
const wanted = { rows: ".row", numbers: ".tile-number", charts: ".heat", intervals: ".tile-interval:not(:empty)" };
const look = () => {
  for (const [name, selector] of Object.entries(wanted)) {
    if (!(name in arrived) && document.querySelector(selector)) arrived[name] = performance.now();
  }
  if (Object.keys(arrived).length < Object.keys(wanted).length) requestAnimationFrame(look);
};
requestAnimationFrame(look);
new PerformanceObserver((list) => slow.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask", buffered: true });
const drawn = () => new Promise((done) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(0);
}));
window.timed = async (act) => {
  const began = performance.now();
  const there = act() ?? (() => true);
  do await drawn(); while (!there());
  return performance.now() - began;
};
window.untilCase = (act) => {
  const title = () => document.getElementById("case-title")?.textContent;
  const before = title();
  act();
  return () => title() !== before;
};
window.type = (text) => {
  const box = document.getElementById("search");
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
};
window.chooseIn = (box, at) => {
  box.selectedIndex = at;
  box.dispatchEvent(new Event("change", { bubbles: true }));
};
window.choose = (key, at) => chooseIn(document.querySelector(`[data-key="${key}"]`), at);
window.chooseByName = (name, at) => chooseIn(document.querySelector(`[name="${name}"]`), at);
window.scroll = (by) => { document.querySelector(".row-scroll").scrollTop += by; };
window.press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
"""

# The actions of each interaction, and those that bring the page back to its previous state.
STEPS = {
    "filter by a fault": ("""document.querySelector('#charts [data-key="fault=wrong_value"]').click()""",) * 2,
    "filter by a cell": ("""document.querySelector('.heat .mark').dispatchEvent(new MouseEvent("click", { bubbles: true }))""",) * 2,
    "filter by a tool": ("""document.querySelector('#charts [data-key^="tool="].bar').click()""",) * 2,
    "filter by a score": ("""document.querySelector('#charts [data-key^="score="]').click()""",) * 2,
    "search": ("type('cancel_or')", "type('')"),
    "search for nothing": ("type('nowhere')", "type('')"),
    "sort by score": ("""document.querySelector('[data-key="sort score"]').click()""",) * 3,
    "sort by call": ("""document.querySelector('[data-key="sort actual"]').click()""",) * 3,
    "sort by time": ("""document.querySelector('[data-key="sort seconds"]').click()""",) * 3,
    "scroll a little": ("scroll(700)",) * 6,
    "scroll to the end": ("scroll(1e9)", "scroll(-1e9)"),
    "open a case": ("return untilCase(() => document.querySelectorAll('.row')[3].click())", "press('Escape')"),
    "go to the next": (
        "return untilCase(() => document.querySelectorAll('.row')[3].click())",
        "return untilCase(() => press('j'))",
        "return untilCase(() => press('j'))",
        "press('Escape')",
    ),
}
STEPS |= {
    "open a group": (
        """document.querySelector('.groups .bar').click()""",
        """document.querySelector('.chip').click()""",
    ),
    "filter by a label": ("chooseByName('label', 1)", "chooseByName('label', 0)"),
    "label a case": (
        "return untilCase(() => document.querySelectorAll('.row')[3].click())",
        """press('m'); return () => /Saved|Removed/.test(document.querySelector(".save-status").textContent)""",
        "press('Escape')",
    ),
}
HISTORY_STEPS = {
    "history: another dataset": ("choose('history dataset', 1)", "choose('history dataset', 3)", "choose('history dataset', 0)"),
    "history: by a tag": ("choose('history by', 1)", "choose('history by', 0)"),
    "history: sort": ("""document.querySelector('[data-key="rank cost"]').click()""",) * 2,
    "history: search": ("type('step=3')", "type('')"),
}
BASELINE_STEPS = {
    "filter by fixed": (
        """document.querySelector('[data-change="fixed"]').click()""",
        """document.querySelector('[data-change=""]').click()""",
    ),
    **STEPS,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--to", default=None, help="folder for the files; default: a temporary folder")
    parser.add_argument("--history-only", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.to) as made, sync_playwright() as playwright:
        folder = Path(made)
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        missed = history(browser, write_history(folder / "history"), options.times)
        if options.history_only:
            return 1 if missed else 0
        runs = write_runs(folder, options.cases)
        size = sum(path.stat().st_size for path in runs.rglob("*.jsonl"))
        print(f"{options.cases:,} cases in each of two runs, {size / 1e6:,.0f} MB of predictions and grades; longest of {options.times}")
        write_labels(runs, options.cases)
        with viewer_process(runs) as address:
            missed += first_screens(browser, address)
            page = opened(browser, f"{address}#run=base", "charts")
            missed += steps(page, options.times)
            page.context.close()
            page = opened(browser, f"{address}#run=tuned&base=base", "charts")
            page.locator(".forest").wait_for(timeout=120_000)
            print("  comparison of two runs")
            missed += steps(page, options.times, BASELINE_STEPS)
        browser.close()
    return 1 if missed else 0


def opened(browser: Browser, address: str, what: str) -> Page:
    """Open the page and wait until a part of it is shown."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce").new_page()
    page.add_init_script(ARRIVALS)
    page.goto(address)
    page.wait_for_function("(what) => what in arrived", arg=what, timeout=120_000)
    return page


def first_screens(browser: Browser, address: str) -> int:
    """Measure the first screen of a viewer that was just started, and again with cached data. Return how many were too slow."""
    missed = 0
    for state in ("cold", "cached"):
        page = opened(browser, f"{address}#run=base", "charts")
        page.wait_for_function("() => 'intervals' in arrived", timeout=120_000)
        at: dict[str, float] = page.evaluate("arrived")
        slow: list[float] = page.evaluate("slow")
        first = max(at[part] for part in ("rows", "numbers", "intervals"))
        missed += first > FIRST_SCREEN
        print(
            f"  first screen, {state:6} {first:6.0f} ms, limit {FIRST_SCREEN:,}: {'ok' if first <= FIRST_SCREEN else 'FAILED'}; "
            f"rows after {at['rows']:,.0f} ms, numbers {at['numbers']:,.0f}, first interval {at['intervals']:,.0f}, "
            f"charts {at['charts']:,.0f}; longest task while loading {max(slow, default=0):.0f} ms"
        )
        page.context.close()
    return missed


def history(browser: Browser, runs: Path, times: int) -> int:
    """Measure the history: until it is shown by a viewer that was just started, and each interaction. Return how many were too slow."""
    with viewer_process(runs) as address:
        page = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce").new_page()
        page.add_init_script(ARRIVALS)
        began = time.perf_counter()
        page.goto(f"{address}#view=history")
        page.locator(".history .series-point").first.wait_for()
        page.locator(".board tbody tr").first.wait_for()
        shown = 1000 * (time.perf_counter() - began)
        result = "ok" if shown <= HISTORY else "FAILED"
        count = page.locator(".history-count").inner_text()
        print(f"  history of 200 runs shown after {shown:.0f} ms ({count}), limit {HISTORY}: {result}")
        missed = int(shown > HISTORY) + steps(page, times, HISTORY_STEPS, HISTORY)
        page.context.close()
    return missed


def write_history(folder: Path) -> Path:
    """Write 200 runs of three datasets: eight models, checkpoints by a tag, some with three trials and some by an older version."""
    random = Random(1)
    for number in range(200):
        dataset, model, trials = f"set{number % 3}", f"model-{number % 8}", 3 if number % 5 == 0 else 1
        grades = []
        for at, trial in product(range(120), range(trials)):
            right = float(random.random() < 0.4 + number / 500)
            usage = Usage(random.random(), 900, 90, 0.002 * random.random())
            grades.append(GradeRecord(f"case{at}", trial, metrics={"call.score": right, "call.pass": right}, usage=usage))
        path = make_run(folder / f"run-{number:03}", grades, digest=dataset, metrics=("call.score", "call.pass"))
        run = Run(path)
        info = structs.replace(
            run.info,
            created=f"2026-{1 + number // 28:02}-{1 + number % 28:02}T10-00",
            callmark=version("callmark") if number % 10 else "0.0.9",
            tags={"step": str(100 * (number // 8))},
            git=GitState(f"{number:040x}", f"branch-{number % 4}", False),
            model_run=ModelRunInfo(model, ModelSettings(model), trials),
        )
        run.folder.write(info)
        store_summary(run.folder, info, Run(path).summary())
    return folder


def write_labels(runs: Path, cases: int) -> None:
    """Label 2,000 cases of the dataset of the runs."""
    digest = Run(runs / "base").info.dataset.digest
    ids = (f"t{at // POINTS}:{1 + 2 * (at % POINTS)}" for at in range(0, cases, max(1, cases // 2000)))
    labels = (Label(digest, case, ("model", "expectation", "unclear")[at % 3], "a note", "bench") for at, case in enumerate(ids))
    write_lines(str(runs / LABELS), map(msgspec.json.encode, labels))


def steps(page: Page, times: int, given: dict[str, tuple[str, ...]] = STEPS, limit: int = STEP) -> int:
    """Measure every interaction. Return how many were too slow."""
    missed = 0
    page.wait_for_timeout(1500)
    for name, acts in given.items():
        taken: list[float] = []
        page.evaluate("slow.length = 0")
        for _ in range(times):
            for act in acts:
                taken.append(page.evaluate(f"timed(() => {{ {act}; }})"))
                page.wait_for_timeout(60)
        slow: list[float] = page.evaluate("slow")
        longest = max([*taken, *slow])
        missed += longest > limit
        print(
            f"  {name:24} {sorted(taken)[len(taken) // 2]:5.0f} ms, longest {max(taken):5.0f} ms, longest task "
            f"{max(slow, default=0):4.0f} ms, limit {limit}: {'ok' if longest <= limit else 'FAILED'}"
        )
    return missed


def write_runs(folder: Path, cases: int) -> Path:
    """Write a dataset with that many decision points and two runs of it, `base` and `tuned`."""
    data = str(folder / "conversations.jsonl")
    conversations = cases // POINTS
    write_lines(data, (json.dumps(conversation(number)).encode() + b"\n" for number in range(conversations)))
    for name, share in (("base", 0.25), ("tuned", 0.2)):
        began = time.perf_counter()
        random = Random(name)
        file = str(folder / f"{name}.jsonl")
        rows = (prediction(random, share, *divmod(at, POINTS)) for at in range(conversations * POINTS))
        write_lines(file, (json.dumps(row).encode() + b"\n" for row in rows))
        grade_predictions(data, [file], GradingSettings(), out=str(folder / "runs"), name=name)
        print(f"  {name}: graded in {time.perf_counter() - began:.1f} s")
    return folder / "runs"


def called(number: int, point: int) -> dict[str, Any]:
    return {
        "name": TOOLS[(number * 7 + point * 11) % len(TOOLS)],
        "arguments": {"order_id": f"#W{number:06}", "amount": point, "reason": "no longer needed"},
    }


def offered(number: int) -> list[str]:
    """Return the tools of a conversation: those that are called, and one more."""
    return sorted({*(called(number, point)["name"] for point in range(POINTS)), TOOLS[number % len(TOOLS)]})


def conversation(number: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Please take care of #W{number:06}, not #W{number + 1:06}, and tell me how it went."}
    ]
    for point in range(POINTS):
        call = called(number, point)
        made = {"id": f"c{point}", "type": "function", "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": f"c{point}", "content": '{"status": "done"}'},
        ]
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount": {"type": "integer"}, "reason": {"type": "string"}},
    }
    tools = [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in offered(number)]
    return {"id": f"t{number}", "messages": messages, "tools": tools}


def prediction(random: Random, share: float, number: int, point: int) -> dict[str, Any]:
    """Return a prediction; this share of them is wrong, in one of four ways."""
    call = called(number, point)
    chance = random.random()
    if chance < share:
        way = int(chance / share * 4)
        changes: list[dict[str, Any]] = [{"order_id": f"#W{number + 1:06}"}, {"order_id": "#X"}, {"amount": -1}, {}]
        call = {"name": call["name"] if way < 3 else random.choice(offered(number)), "arguments": {**call["arguments"], **changes[way]}}
    return {"case": f"t{number}:{1 + 2 * point}", "calls": [call], "usage": {"seconds": round(random.expovariate(1.5), 3)}}


if __name__ == "__main__":
    sys.exit(main())
