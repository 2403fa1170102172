"""The answer first: the verdict is that of the terminal, what broke is one step away, similar failures are a group."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from playwright.sync_api import expect

from callmark.cli.main import run as command
from callmark.grading.record import GradeRecord
from tests.graded_runs import failed, make_run, right, some, wrong
from tests.rows import call
from tests.viewer.conftest import Opener, viewer_process, write_report_of
from tests.viewer.grading_helpers import case, grade_run, predicted


def with_errors(errors: int) -> list[GradeRecord]:
    return [failed(f"c{number}") if number < errors else right(f"c{number}") for number in range(40)]


RUNS: dict[str, Sequence[GradeRecord]] = {
    "none": some(0),
    "few": some(10),
    "half": some(20),
    "more": some(22),
    "most": some(35),
    "all": some(40),
    "unreachable": with_errors(30),
    "one-error": with_errors(1),
    "other-half": [wrong(f"c{number}") if number < 20 else right(f"c{number}") for number in range(40)],
    "tiny": some(1, of=3),
    "tiny-better": some(3, of=3),
    "longer": some(20, of=60),
}
COMPARISONS = [
    ("half", "most", "better"),
    ("few", "all", "better"),
    ("all", "half", "worse"),
    ("most", "none", "worse"),
    ("half", "more", "within noise"),
    ("half", "other-half", "within noise"),
    ("half", "half-again", "identical"),
    ("half", "unreachable", "cannot be compared"),
    ("unreachable", "all", "cannot be compared"),
    ("all", "one-error", "identical"),
    ("tiny", "tiny-better", "Too few conversations"),
    ("few", "longer", "better"),
]


def test_verdict_is_the_sentence_of_the_terminal(opened: Opener, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, grades in {**RUNS, "half-again": some(20)}.items():
        make_run(tmp_path / name, grades)
    with viewer_process(tmp_path) as address:
        page = opened(address)
        for first, second, outcome in COMPARISONS:
            assert command(["compare", str(tmp_path / first), str(tmp_path / second)]) == 0
            printed = " ".join(capsys.readouterr().out.split())
            page.evaluate("(state) => { location.hash = state; }", f"run={second}&base={first}")
            expect(page.locator(".verdict-text")).to_have_text(re.compile(rf"\b{second}\b.*\b{first}\b|\b{first}\b.*\b{second}\b"))
            sentence = page.locator(".verdict-text").inner_text()
            scope = page.locator(".verdict-scope").inner_text()
            assert outcome in sentence
            assert printed.startswith(f"{sentence} ({scope})")
            for line in page.locator(".caveats li").all_inner_texts():
                assert line in printed


@pytest.mark.parametrize("width, height", [(1440, 900), (390, 844)])
def test_first_broken_case_is_one_step_away(opened: Opener, both_report: Path, width: int, height: int) -> None:
    page = opened(both_report, width=width, height=height)
    first = page.locator(".row").first
    broken = page.locator(".verdict .part.wrong")
    expect(broken).to_be_in_viewport()
    expect(page.locator("#jump").get_by_role("button", name="Broken")).to_be_in_viewport()
    broken.click()
    expect(page.locator("#row-count")).to_have_text("2 of 36 cases")
    expect(first).to_be_in_viewport(ratio=0.99)
    expect(first).to_contain_text("s3:3")
    page.evaluate("location.hash = 'run=tuned&base=base'; scrollTo(0, 0)")
    expect(page.locator("#row-count")).to_have_text("36 cases")
    page.keyboard.press("f")
    expect(first).to_be_in_viewport(ratio=0.99)
    expect(first).to_be_focused()
    expect(first).to_contain_text("broken")


def test_similar_failures_open_as_a_group(opened: Opener, both_report: Path) -> None:
    page = opened(f"{both_report.as_uri()}#run=base")
    groups = page.locator(".groups .bar")
    expect(groups.filter(has_text="order_id").first).to_contain_text("get_order order_idWrong value, from elsewhere in the conversation")
    counts = [int(text) for text in page.locator(".groups .bar-number").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 20  # 19 failures and an error
    page.locator(".groups summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    groups.filter(has_text="user_id").first.click()
    expect(page.locator("#row-count")).to_have_text("3 of 36 cases")
    assert page.locator(".row .cell-case").all_inner_texts() == ["s0:3", "s4:3", "s8:3"]
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    expect(page.locator("#case-title")).to_have_text("s4:3")
    page.go_back()
    page.locator(".chip", has_text="Group").click()
    expect(page.locator("#row-count")).to_have_text("36 cases")


def test_list_opens_on_what_is_wrong(opened: Opener, both_report: Path) -> None:
    page = opened(both_report)
    assert page.locator(".row .cell-change").all_inner_texts()[:4] == ["✓→✗ broken", "✓→✗ broken", "both wrong", "✗→✓ fixed"]
    page.evaluate("location.hash = 'run=base'")
    page.locator(".provenance", has_text="shop.jsonl").wait_for()
    signs = page.locator(".row .sign").all_inner_texts()
    assert signs == sorted(signs, key="✗!✓".index)


def test_row_shows_the_argument_at_fault_of_a_long_call(opened: Opener, tmp_path: Path) -> None:
    arguments = {"first": "the same " * 12, "second": "as expected " * 12, "city": "Bonn", "last": "also the same"}
    run = grade_run(tmp_path, [case("a", [call("book", arguments)])], [predicted("a", call("book", {**arguments, "city": "Ulm"}))])
    page = opened(write_report_of(Path(run.folder.path)))
    actual = page.locator(".row .cell-actual")
    expect(actual).to_contain_text('city="Ulm"')
    expect(page.locator(".row .cell-expected")).to_contain_text('city="Bonn"')
    mark = actual.locator("mark").first
    assert mark.bounding_box()["x"] < actual.bounding_box()["x"] + actual.bounding_box()["width"]  # type: ignore[index]


def test_direction_has_a_sign_a_word_and_a_color(opened: Opener, viewer_address: str) -> None:
    page = opened(f"{viewer_address}#run=tuned&base=base", wait=".tile-change")
    changes = page.locator(".tile-change")
    expect(changes.first).to_have_text("▲ +.343 better")
    words = {(text.split(maxsplit=2)[0], text.split(maxsplit=2)[2]) for text in changes.all_text_contents()}
    assert words == {("▲", "better"), ("≈", "within noise")}
    page.evaluate("location.hash = 'run=base&base=tuned'")
    expect(page.locator(".tile-change").first).to_have_text("▼ −.343 worse")
    expect(page.locator(".verdict")).to_have_class(re.compile("wrong"))
