"""Is the viewer fast with 100,000 cases? Measures the first screen and every interaction in a browser.

Two runs of a synthetic dataset are graded: conversations of five calls each, thirty tools, a fault in one of four. Debian's Chromium opens
the run in a viewer that was just started (`callmark view`, a separate process), and again when all data is cached. The first screen is
complete when the header, the counts, the metrics with the headline's interval, and a table of cases are shown; charts, which need every
case, follow and are reported too. An interaction is timed with `performance.now()` from the input to the frame that shows its result,
several times each; the longest time counts. So do long tasks (over 50 ms) reported by a PerformanceObserver. The limits are 2 s for the
first screen, and 200 ms for each interaction and each task after loading. Exits with status 1 if a limit is exceeded.

    python benchmarks/viewer.py [--cases 100000] [--times 5] [--to DIR]
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the browser settings are in tests/

from playwright.sync_api import Browser, Page, sync_playwright
from tests.viewer.conftest import FLAGS, viewer_process

from callmark.formats import write_lines
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import grade_predictions

POINTS = 5  # decision points per conversation
TOOLS = [
    f"{verb}_{noun}" for verb in ("find", "get", "create", "change", "cancel") for noun in ("order", "user", "room", "item", "bill", "trip")
]
FIRST_SCREEN = 2000  # milliseconds
STEP = 200

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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.to) as made, sync_playwright() as playwright:
        folder = Path(made)
        runs = write_runs(folder, options.cases)
        size = sum(path.stat().st_size for path in runs.rglob("*.jsonl"))
        print(f"{options.cases:,} cases in each of two runs, {size / 1e6:,.0f} MB of predictions and grades; longest of {options.times}")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        with viewer_process(runs) as address:
            missed = first_screens(browser, address)
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


def steps(page: Page, times: int, given: dict[str, tuple[str, ...]] = STEPS) -> int:
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
        missed += longest > STEP
        print(
            f"  {name:20} {sorted(taken)[len(taken) // 2]:5.0f} ms, longest {max(taken):5.0f} ms, longest task "
            f"{max(slow, default=0):4.0f} ms, limit {STEP}: {'ok' if longest <= STEP else 'FAILED'}"
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
