"""Hostile text in every field of a run: nothing is executed, nothing is requested, and the text is shown as text.

Every page is watched for scripts, dialogs, requests and policy violations (`open_pages` in conftest.py); the text of each field begins with
the field's name, so that a test can look for it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from playwright.sync_api import Browser, Page, expect

from callmark.calls.strict import dump
from callmark.grading.settings import GradingSettings
from callmark.runs.grade import grade_predictions
from tests.rows import assistant, call, result, row, user, write_rows
from tests.viewer.conftest import WATCH, open_pages, viewer_process, watch_page, write_report_of
from tests.viewer.example_runs import shop_tool
from tests.viewer.grading_helpers import grade_run, predicted

TRICKS = [
    "<script>window.hit=1</script>",
    '"><img src=x onerror=window.hit=1>',
    "javascript:window.hit=1",
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    "<svg/onload=window.hit=1>",
    "<style>*{display:none!important}</style>",
    "]]>&lt;img src=x onerror=window.hit=1&gt;",
    "'\"`${window.hit=1}{{window.hit=1}}",
    "\x1b[31m\x1b]0;hit\x07\x00",
    "\u202e\u2066\u200f\u200b",
    "\u2028\u2029\ufeff",
    "__proto__",
]
PLAIN = [trick for trick in TRICKS if trick.isprintable()]
WORD = "w" * 1_000_000
LONGEST_TASK = 5000  # milliseconds; a megabyte that is laid out at once takes longer on a slow machine


def decision(trick: str) -> dict[str, Any]:
    """Return a case that has the text in every field."""
    tool = f"tool{trick}"
    messages = [
        {"role": "system", "content": f"system{trick}"},
        {"role": "developer", "content": f"developer{trick}"},
        user(f"user{trick}"),
        assistant(call(tool, {f"key{trick}": f"said{trick}"}, f"call{trick}"), text=f"assistant{trick}"),
        result(f"result{trick}", f"call{trick}", name=f"name{trick}"),
        user(f"again{trick}"),
    ]
    expected = call(tool, {f"key{trick}": f"expected{trick}", trick: trick, "nested": {trick: [trick]}})
    tools = [shop_tool(tool, f"key{trick}"), shop_tool(f"other{trick}")]
    return {**row(*messages, tools=tools, id=f"id{trick}"), "expected_output": assistant(expected), "group": f"group{trick}"}


def decision_prediction(trick: str) -> dict[str, Any]:
    actual = call(f"tool{trick}", {f"key{trick}": f"user{trick}", f"extra{trick}": trick})
    broken = call(f"odd{trick}", "{" + trick)
    more = {"text": f"text{trick}", "thinking": f"thinking{trick}", "finish_reason": f"finish{trick}"}
    return predicted(f"id{trick}", actual, broken, **more)


def long_decision() -> dict[str, Any]:
    """Return a case with texts of a megabyte; not in every field, as the cases around it in the file are read with it."""
    case = decision(WORD[:50])
    tool = f"tool{WORD}"
    case["messages"][2] = user(f"user{WORD}")
    return {**case, "id": "long", "expected_output": assistant(call(tool, {f"key{WORD}": f"expected{WORD}"}))}


def scenario(trick: str) -> dict[str, Any]:
    fields = {name: f"{name}{trick}" for name in ("id", "description", "scenarioType", "task_completion_condition", "instructions")}
    return {**fields, "expected_function_calls": [{"functionName": f"tool{trick}", "arguments": {f"key{trick}": f"expected{trick}"}}]}


def simulated_prediction(trick: str) -> dict[str, Any]:
    actual = call(f"tool{trick}", {f"key{trick}": f"made{trick}"})
    messages = [user(f"user{trick}"), assistant(actual, text=f"assistant{trick}"), result(f"result{trick}")]
    states = {name: {f"table{trick}": {f"row{trick}": {f"column{trick}": f"{name}{trick}"}}} for name in ("expected", "reached")}
    return predicted(f"id{trick}", actual, text=f"text{trick}", transcript=messages, ending=f"ending{trick}", states=states)


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the runs `decisions`, `others` and `scenarios`; their names, models, datasets, metrics and notes are hostile too."""
    folder = tmp_path_factory.mktemp("hostile")
    data = write_rows(folder / f"data{TRICKS[1].replace('/', '')}.jsonl", *map(decision, TRICKS), long_decision())
    answers = [*map(decision_prediction, TRICKS), {**decision_prediction(WORD), "case": "long"}]
    runs = [
        grade_run(folder, data, answers, "decisions"),
        grade_run(
            folder,
            data,
            [*answers[:3], *({"case": one["case"], "error": f"error{TRICKS[n]}"} for n, one in enumerate(answers[3:-1], 3))],
            "others",
        ),
    ]
    write_rows(folder / "scenarios.jsonl", *map(scenario, TRICKS), scenario(WORD))
    write_rows(folder / "simulated.jsonl", *map(simulated_prediction, TRICKS), simulated_prediction(WORD))
    settings = GradingSettings(evaluators=("process", "state", "effort"))
    simulated = grade_predictions(
        str(folder / "scenarios.jsonl"), [str(folder / "simulated.jsonl")], settings, out=str(folder / "runs"), name="scenarios"
    )
    for number, path in enumerate([*(Path(run.folder.path) for run in runs), Path(simulated.folder.path)]):
        info = json.loads((path / "run.json").read_text())
        trick = TRICKS[number]
        definitions = {f"odd.{trick}": {"name": trick, "label": f"metric{trick}"}, "__proto__": {"name": "x", "label": "__proto__"}}
        more = {"name": f"label{number}{trick}", "created": f"made{trick}", "metrics": {**info["metrics"], **definitions}}
        model_run = {
            "label": f"model{trick}",
            "model": {"model": trick},
            "requests": 14,
            "predictions": 14,
            "stop_reason": f"stopped{trick}",
        }
        (path / "run.json").write_text(json.dumps({**info, **more, **({"model_run": model_run} if number < 2 else {})}))
        lines = []
        for line in (path / "grades.jsonl").read_text().rstrip("\n").split("\n"):
            grade = json.loads(line)
            name = grade["case"].removeprefix("id")
            note = {"kind": "policy_violation", "sentence": f"note{name}", "argument": name, "message": 2}
            numbers = {**grade.get("metrics", {}), f"odd.{trick}": 0.5, "__proto__": 1.0} if grade.get("metrics") else {}
            explained = {"reasons": {f"odd.{trick}": f"reason{name}"}, "evaluator_errors": {f"evaluator{name}": f"failed{name}"}}
            lines.append(json.dumps({**grade, "metrics": numbers, "notes": [*grade.get("notes", ()), note], **explained}))
        (path / "grades.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder / "runs"


@pytest.fixture(scope="module", params=["report", "viewer"])
def page(request: pytest.FixtureRequest, browser: Browser, hostile_runs: Path) -> Iterator[Page]:
    """Open all three runs: in a report, and in the viewer."""
    with open_pages(browser) as opened:
        if request.param == "report":
            yield opened(write_report_of(*(hostile_runs / name for name in ("decisions", "others", "scenarios"))))
        else:
            with viewer_process(hostile_runs) as address:
                yield opened(address)


def go(page: Page, wait: str, **state: str) -> None:
    """Go to an address without loading the page again."""
    page.evaluate("(state) => { location.hash = String(new URLSearchParams(state)); }", state)
    page.locator(wait).first.wait_for()


def check_text(page: Page, selector: str, *texts: str) -> None:
    for text in texts:
        expect(page.locator(selector).first).to_contain_text(text)


def test_list_of_runs_shows_hostile_text(page: Page) -> None:
    go(page, ".runs:visible", nothing="x")
    called = (f"model{TRICKS[0]}", f"model{TRICKS[1]}", f"label2{TRICKS[2]}")  # by the model, if the run has one
    check_text(page, ".runs", *called, "decisions", f"data{TRICKS[1]}", f"made{TRICKS[0]}")


def test_overview_shows_hostile_text(page: Page) -> None:
    go(page, ".tile:visible", run="decisions")
    page.locator(".heat").wait_for()
    check_text(page, "main", f"metric{TRICKS[0]}", f"tool{TRICKS[0]}", "⟪")
    assert page.title().startswith(f"model{TRICKS[0]}")
    assert page.evaluate("Object.keys(Object.prototype).length + Object.keys(Array.prototype).length") == 0
    go(page, ".tile:visible", run="others")
    expect(page.locator("main")).to_contain_text(f"error{TRICKS[3]}")


# Clicks every mark twice, and returns those that leave no row or do not toggle off. Every click redraws the page.
CLICK_ALL = """() => {
  const marks = () => [...document.querySelectorAll("#charts [data-key]")];
  const click = (mark) => mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const all = document.getElementById("row-count").textContent;
  return marks().map((mark, at) => {
    click(mark);
    const rows = document.querySelectorAll(".row").length;
    click(marks()[at]);
    return rows && document.getElementById("row-count").textContent === all ? null : mark.dataset.key;
  });
}"""


def test_every_chart_mark_filters_and_toggles_off(page: Page) -> None:
    for run in ("decisions", "scenarios"):
        go(page, ".bar:visible", run=run)
        clicked = page.evaluate(CLICK_ALL)
        assert len(clicked) > 10
        assert set(clicked) == {None}


@pytest.mark.parametrize("trick", TRICKS, ids=ascii)
def test_case_shows_hostile_text_of_every_field(page: Page, trick: str) -> None:
    open_case(page, "decisions", trick)
    check_fields(
        page, ".case-conversation", trick, "system", "developer", "user", "assistant", "result", "again", "tool", "key", "said", "name"
    )
    fields = ("tool", "key", "expected", "user", "extra", "text", "thinking", "finish", "note", "odd", "group")
    check_fields(page, ".case-verdict", trick, *fields, "reason", "evaluator", "failed")


@pytest.mark.parametrize("trick", TRICKS, ids=ascii)
def test_scenario_shows_hostile_text_of_every_field(page: Page, trick: str) -> None:
    open_case(page, "scenarios", trick)
    check_fields(page, ".case-conversation", trick, "user", "assistant", "tool", "key", "made", "result")
    fields = ("description", "scenarioType", "task_completion_condition", "instructions", "ending", "note")
    check_fields(page, ".case-verdict", trick, *fields, "table", "row", "column", "reached", "expected", "text")


def open_case(page: Page, run: str, trick: str) -> None:
    """Open a case with everything unfolded, and check its title."""
    page.evaluate(
        "(state) => { document.getElementById('case').replaceChildren(); location.hash = String(new URLSearchParams(state)); }",
        {"run": run, "case": f"id{trick}"},
    )
    page.locator("#case-title").wait_for()
    page.evaluate("document.querySelectorAll('.case-verdict details:not([open]) > summary').forEach((one) => one.click())")
    check_fields(page, "#case-title", trick, "id")


NAMES = {"\x1b": "ESC", "\x07": "BEL", "\0": "NUL", "\u202e": "RLO", "\u2066": "LRI", "\u200f": "RLM", "\u200b": "ZWSP"}
NAMES |= {"\u2028": "LS", "\u2029": "PS", "\ufeff": "BOM"}


def check_fields(page: Page, selector: str, trick: str, *fields: str) -> None:
    """Check that each field is shown: as it is, or as a JSON string; invisible characters by their names."""
    found = page.locator(selector).text_content() or ""
    named = "".join(f"⟪{NAMES[letter]}⟫" if letter in NAMES else letter for letter in trick)
    quoted = "".join(f"⟪{NAMES[letter]}⟫" if letter in NAMES and letter >= " " else letter for letter in dump(trick)[1:-1])
    ways = (named, quoted, named.replace("_", " "))
    assert [field for field in fields if not any(f"{field}{way}" in found for way in ways)] == [], found[:5000]


def test_table_and_search_show_hostile_text(page: Page) -> None:
    go(page, ".row:visible", run="decisions")
    for trick in PLAIN:
        page.get_by_label("Search ids").fill(f"id{trick}")
        expect(page.locator(".row")).not_to_have_count(0)
        row = page.locator(".row").first
        for cell, text, width in ((".cell-case > span", f"id{trick}", 20), (".cell-actual code", f"odd{trick}", 36)):
            assert text in (row.locator(cell).get_attribute("title") or "")
            assert text[:8] in row.locator(cell).inner_text()  # shortened in the middle
            assert len(row.locator(cell).inner_text().partition("(")[0]) <= width
    check_text(page, ".chip", PLAIN[-1])


def test_comparison_shows_hostile_text(page: Page) -> None:
    go(page, ".forest:visible", run="others", base="decisions")
    check_text(page, "body", f"model{TRICKS[0]}", f"model{TRICKS[1]}")
    go(page, "#case-title:visible", run="others", base="decisions", case=f"id{TRICKS[1]}")
    expect(page.locator(".outcome-label")).to_have_count(2)


@pytest.mark.parametrize("trick", PLAIN)
def test_hostile_address_shows_a_notice(page: Page, trick: str) -> None:
    keys = ("run", "base", "case", "q", "tool", "sort", "fault", "transcript", "also")
    page.evaluate("(state) => { location.hash = state; }", "&".join(f"{key}={trick}" for key in keys))
    expect(page.locator(".notice, .empty").first).to_be_visible()


SLOW_TASKS = """() => {
  window.slow = [];
  new PerformanceObserver((list) => slow.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask" });
}"""


def test_megabyte_word_is_folded_and_does_not_block_the_page(page: Page) -> None:
    page.evaluate(SLOW_TASKS)
    for run, sought in (("decisions", "long"), ("scenarios", "idwww")):
        go(page, ".row:visible", run=run, q=sought)
        name = page.locator(".row .cell-case span").first.get_attribute("title") or ""
        go(page, "#case-title:visible", run=run, case=name)
        check_text(page, ".case-conversation", "w" * 200)
        assert len(page.locator("#case").text_content() or "") < 500_000
        page.get_by_role("button", name=re.compile("Show more of")).first.click()
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert max(page.evaluate("slow"), default=0) < LONGEST_TASK


def test_watcher_notices_a_page_that_misbehaves(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><script>window.hit = 1; alert(1); document.body.innerHTML = '<img src=\"http://127.0.0.1:9/x\">'</script><body>"
    )
    context = browser.new_context()
    context.add_init_script(WATCH)
    other = context.new_page()
    violations = watch_page(other, bad.as_uri())
    other.goto(bad.as_uri())
    other.evaluate("new Image().src = 'http://127.0.0.1:9/x'")
    other.evaluate("document.createElement('script'); setTimeout(() => { throw new Error('x') })")
    other.wait_for_timeout(200)
    hits = " ".join(other.evaluate("window.hits"))
    assert all(word in hits for word in ("window.hit", "alert", "createElement: script"))
    assert any(one.startswith("http://127.0.0.1:9") for one in violations)
    assert any(one.startswith("error") for one in violations)
    context.close()
