"""Triage in the browser: labels by keyboard, two people at once, hostile notes, corrected expectations, read-only pages."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from playwright.sync_api import Browser, Page, expect

import callmark
from callmark.runs.labels import LABELS, Label, add_label, read_labels
from callmark.runs.patch import PATCH
from callmark.runs.run import Run
from tests.graded_runs import make_run, wrong
from tests.viewer.conftest import Opener, started_viewer, viewer_process, write_report_of

HOSTILE = '<img src=x onerror="hit=1"><script>hit=1</script>\u202e{{1}}'


@pytest.fixture
def runs(shop_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the example runs and their dataset."""
    shutil.copytree(shop_folder.parent, tmp_path / "copy")
    return tmp_path / "copy" / "runs"


@pytest.fixture
def address(runs: Path) -> Iterator[str]:
    with viewer_process(runs) as address:
        yield address


def saved(page: Page, word: str = "Saved") -> None:
    expect(page.locator(".triage .save-status").first).to_have_text(word)


def events(runs: Path) -> list[tuple[str, str, str]]:
    return [(event.case, event.label, event.note) for event in read_labels(str(runs / LABELS)).events]


def test_cases_are_labeled_by_keyboard_filtered_and_counted(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base", wait=".row")
    page.keyboard.press("f")
    page.keyboard.press("Enter")
    page.locator(".triage").wait_for()
    page.keyboard.press("m")
    saved(page)
    expect(page.get_by_role("button", name="Model is wrong")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("j")
    expect(page.locator("#case-title")).to_have_text("s0:3")
    page.locator(".triage").wait_for()
    page.keyboard.press("n")
    page.keyboard.type("first a note")
    page.keyboard.press("Escape")
    saved(page)
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Expectation is wrong")).to_have_attribute("aria-pressed", "true")
    saved(page)
    page.get_by_label("Another label").fill("flaky tool")
    page.keyboard.press("Enter")
    expect(page.locator(".label-buttons [aria-pressed=true]")).to_have_count(0)
    saved(page)
    note = "first a note"
    assert events(runs) == [("s0:1", "model", ""), ("s0:3", "", note), ("s0:3", "expectation", note), ("s0:3", "flaky tool", note)]
    expect(page.locator("#triage-count")).to_have_text("model 1 · flaky tool 1 · 17 failures without a label")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    digest = Run(runs / "base").info.dataset.digest
    for case, label in (("s1:5", "unclear"), ("s2:1", "expectation")):
        add_label(str(runs / LABELS), Label(digest, case, label, author="ann"))
    expect(page.locator("#triage-count")).to_have_text("model 1 · expectation 1 · unclear 1 · flaky tool 1 · 15 failures without a label")
    page.get_by_label("Label", exact=True).select_option("flaky tool")
    expect(page.locator(".row .cell-case")).to_have_text(["s0:3flaky tool"])
    page.get_by_label("Label", exact=True).select_option("no label")
    expect(page.locator("#row-count")).to_have_text("15 of 36 cases")
    # The label holds for the next run of the dataset, and a second press removes it.
    page.evaluate("location.hash = 'run=tuned&case=s0%3A1'")
    expect(page.get_by_role("button", name="Model is wrong")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("m")
    saved(page, "Removed")
    assert events(runs)[-1] == ("s0:1", "", "")


def type_note(page: Page, text: str) -> str:
    """Type a note at once, and return what the page says of it at the same moment."""
    said: str = page.locator("#note").evaluate(
        """(note, text) => {
            note.focus();
            note.setRangeText(text);
            note.dispatchEvent(new InputEvent("input", { bubbles: true }));
            return document.querySelector(".save-status").textContent;
        }""",
        text,
    )
    return said


def test_note_is_saved_while_it_is_typed_and_not_called_saved_before(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    page.keyboard.press("m")
    saved(page)
    assert type_note(page, "The guest never gave this ID.") == "Not saved yet"
    saved(page)
    assert events(runs)[-1] == ("s0:1", "model", "The guest never gave this ID.")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("m")  # which removes the label, and only the label
    saved(page, "Label removed")
    assert events(runs)[-1] == ("s0:1", "", "The guest never gave this ID.")
    expect(page.locator("#triage-count")).to_have_text("")  # a note alone is no label


def test_note_without_a_label_is_saved_when_its_case_is_left(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    type_note(page, "before any label")
    page.get_by_role("button", name="Next case").click()
    expect(page.locator("#case-title")).to_have_text("s0:3")
    expect(page.locator("#note")).to_have_value("")
    page.keyboard.press("k")
    expect(page.locator("#case-title")).to_have_text("s0:1")
    expect(page.locator("#note")).to_have_value("before any label")
    page.reload()
    expect(page.locator("#note")).to_have_value("before any label")
    assert events(runs) == [("s0:1", "", "before any label")]


def test_note_is_saved_when_the_page_is_left(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    type_note(page, "half typed")
    page.reload()
    page.locator(".triage").wait_for()
    page.wait_for_function(
        """async () => {
            const headers = { "X-Callmark-Token": localStorage.getItem("callmark-token") };
            return (await (await fetch("/api/labels?name=base", { headers })).text()).includes("half typed");
        }"""
    )
    assert events(runs) == [("s0:1", "", "half typed")]


def test_note_that_cannot_be_saved_is_kept_and_saved_later(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    (runs / LABELS).mkdir()
    assert type_note(page, "kept") == "Not saved yet"
    expect(page.locator(".save-status").first).to_contain_text("Not saved: ")
    page.get_by_role("button", name="Next case").click()
    expect(page.locator("#case-title")).to_have_text("s0:3")
    page.get_by_role("button", name="Previous case").click()
    expect(page.locator("#case-title")).to_have_text("s0:1")
    expect(page.locator("#note")).to_have_value("kept")
    (runs / LABELS).rmdir()
    page.keyboard.press("m")
    saved(page)
    assert events(runs) == [("s0:1", "model", "kept")]


def test_label_of_somebody_else_does_not_disturb_typing(opened: Opener, runs: Path, address: str) -> None:
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    type_note(page, "a long thought")
    page.keyboard.press("Home")
    add_label(str(runs / LABELS), Label(Run(runs / "base").info.dataset.digest, "s0:1", "unclear", "why", "ann"))
    expect(page.locator(".said")).to_have_text("unclear ann: why")
    expect(page.locator("#note")).to_be_focused()
    page.keyboard.type("And ")
    expect(page.locator("#note")).to_have_value("And a long thought")
    saved(page)
    assert ("s0:1", "", "And a long thought") in events(runs)


LABEL_ALL = """([author, from, to]) => {
    window.done = [];
    const headers = { "X-Callmark-Token": localStorage.getItem("callmark-token"), "Content-Type": "application/json" };
    (async () => {
        for (let n = from; n < to; n += 1) {
            const body = JSON.stringify({ run: "run", case: `c${n}`, label: "model", note: author });
            const response = await fetch("/api/label", { method: "POST", headers, body }).catch(() => null);
            if (!response?.ok) break;
            done.push(`c${n}`);
        }
        window.finished = true;
    })();
}"""


def test_two_browsers_label_a_hundred_cases_at_once_and_nothing_is_lost(opened: Opener, tmp_path: Path) -> None:
    make_run(tmp_path / "run", [wrong(f"c{number}") for number in range(100)])
    with viewer_process(tmp_path, "--author", "ann") as one, viewer_process(tmp_path, "--author", "bob") as two:
        pages = [opened(one), opened(two)]
        for page, author, part in zip(pages, ("ann", "bob"), ([0, 60], [40, 100]), strict=True):
            page.evaluate(LABEL_ALL, [author, *part])
        for page in pages:
            page.wait_for_function("() => window.finished", timeout=60_000)
            assert page.evaluate("done.length") == 60
    found = read_labels(str(tmp_path / LABELS))
    assert found.problems == []
    expected = [(f"c{n}", who, who) for who, part in (("ann", range(60)), ("bob", range(40, 100))) for n in part]
    assert sorted((event.case, event.note, event.author) for event in found.events) == sorted(expected)
    assert len(found.of_dataset("one")) == 100


def test_killed_viewer_loses_nothing_that_was_shown_as_saved(browser: Browser, tmp_path: Path) -> None:
    make_run(tmp_path / "run", [wrong(f"c{number}") for number in range(1000)])
    with started_viewer(tmp_path) as (address, process):
        page = browser.new_page()
        page.goto(address)
        page.locator(".runs").wait_for()
        page.evaluate(LABEL_ALL, ["ann", 0, 1000])
        page.wait_for_function("() => done.length >= 10")
        process.kill()
        page.wait_for_function("() => window.finished")
        done = page.evaluate("done")
        page.close()
    assert 10 <= len(done) < 1000
    labeled = [event.case for event in read_labels(str(tmp_path / LABELS)).events]
    assert labeled[: len(done)] == done
    assert len(labeled) <= len(done) + 1  # the last one may have been written, but not yet reported


def test_hostile_labels_and_notes_are_shown_as_text(opened: Opener, runs: Path) -> None:
    digest = Run(runs / "base").info.dataset.digest
    add_label(str(runs / LABELS), Label(digest, "s0:1", "model", HOSTILE, HOSTILE[:60]))
    with (runs / LABELS).open("a") as lines:  # a file that somebody else prepared
        lines.write(json.dumps({"dataset": digest, "case": "s0:3", "label": HOSTILE}) + "\n")
        lines.write("{broken\n")
    report = write_report_of(runs / "base")
    with viewer_process(runs) as address:
        for where in (address, report.as_uri()):
            page = opened(f"{where}#run=base&case=s0%3A1", wait=".triage")
            expect(page.locator(".said")).to_contain_text("<script>hit=1</script>⟪RLO⟫{{1}}")
            expect(page.locator(".said")).to_contain_text('<img src=x onerror="hit=1">')
            expect(page.locator(".notice")).to_contain_text("labels.jsonl, line 2: label: expected up to 40 letters")
            expect(page.locator(".notice")).to_contain_text("labels.jsonl, line 3: not a valid label")
            assert page.locator("img, main script").count() == 0
    expect(page.locator(".label-buttons")).to_have_count(0)  # a report only shows labels


def test_corrected_expectation_fixes_the_case_and_leaves_the_dataset(opened: Opener, runs: Path, address: str) -> None:
    before = (runs.parent / "shop.jsonl").read_bytes()
    page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
    page.get_by_text("Correct the expectation").click()
    calls = page.get_by_label("Expected calls as JSON")
    assert json.loads(calls.input_value()) == [{"name": "get_order", "arguments": {"order_id": "#W2000"}}]
    calls.fill("[{")
    page.get_by_role("button", name="Replace the expected calls").click()
    expect(page.locator(".correction .save-status")).to_contain_text("Not saved: the calls are not valid JSON")
    calls.fill('[{"name": "f", "arguments": {"a": {"$nope": 1}}}]')
    page.get_by_role("button", name="Replace the expected calls").click()
    expect(page.locator(".correction .save-status")).to_contain_text("Not saved: ")
    assert not (runs / PATCH).exists()
    calls.fill('[{"name": "get_order", "arguments": {"order_id": "#W2000"}}]')
    page.get_by_role("button", name="Replace the expected calls").click()
    expect(page.locator(".correction .save-status")).to_contain_text("Saved to patch.jsonl. Grade the run with it: callmark grade ")
    page.evaluate("location.hash = 'run=base&case=s0%3A3'")
    expect(page.locator("#case-title")).to_have_text("s0:3")
    page.get_by_text("Correct the expectation").click()
    page.get_by_role("button", name="Accept as an alternative").click()
    expect(page.locator(".correction .save-status")).to_contain_text("Saved to patch.jsonl")
    page.reload()
    expect(page.locator(".correction summary")).to_contain_text("corrected; counts once the run is graded with it")
    run = callmark.grade(runs / "base", patch=runs / PATCH)
    fixed = {grade.case for grade in run.grades() if grade.metrics.get("call.pass") == 1}
    assert {"s0:1", "s0:3"} <= fixed
    assert run.summary().correct == 18
    assert (runs.parent / "shop.jsonl").read_bytes() == before
    page.evaluate("location.hash = 'run=base&case=s0%3A1'")
    page.reload()
    expect(page.locator(".outcome-label")).to_have_text("✓ Correct1")
    expect(page.locator(".decision .call").first).to_have_text('get_order(order_id="#W2000")')
    expect(page.locator(".correction summary")).to_contain_text("corrected; the run is graded with it")


def test_read_only_viewer_shows_labels_and_writes_none(opened: Opener, runs: Path) -> None:
    add_label(str(runs / LABELS), Label(Run(runs / "base").info.dataset.digest, "s0:1", "unclear", "why", "ann"))
    before = (runs / LABELS).read_bytes()
    with viewer_process(runs, "--read-only") as address:
        page = opened(f"{address}#run=base&case=s0%3A1", wait=".triage")
        expect(page.locator(".said")).to_have_text(re.compile("unclear ann: why"))
        expect(page.locator(".label-buttons, .correction")).to_have_count(0)
        page.keyboard.press("m")
        page.wait_for_timeout(200)
    assert (runs / LABELS).read_bytes() == before


def test_label_that_cannot_be_written_is_not_shown_as_saved(opened: Opener, runs: Path) -> None:
    (runs / LABELS).mkdir()
    with viewer_process(runs) as address:
        page = opened(f"{address}#run=base&case=s0%3A1", wait=".case-verdict")
        expect(page.locator(".notice")).to_contain_text("labels.jsonl: expected a regular file, got a folder")
        page.get_by_role("button", name="Model is wrong").click()
        expect(page.locator(".save-status").first).to_contain_text("Not saved: ")
        expect(page.get_by_role("button", name="Model is wrong")).to_have_attribute("aria-pressed", "false")
