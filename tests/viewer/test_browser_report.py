"""The report in a browser, opened from disk: filters, search, order, cases, addresses, keys, themes, narrow screens, print."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from msgspec import structs
from playwright.sync_api import Page, expect

from callmark.grading.grade import fault_sentence
from callmark.types import Fault, FaultKind
from callmark.viewer.case_columns import FAULT_KINDS
from tests.graded_runs import make_run, right, some, wrong
from tests.rows import call
from tests.viewer.conftest import Opener, write_report_of
from tests.viewer.grading_helpers import case, grade_run, predicted


def row_count(page: Page) -> str:
    return page.locator("#row-count").inner_text()


def shown(page: Page) -> list[str]:
    """Return the cases in the table, from the top."""
    return page.locator(".row .cell-case").all_inner_texts()


def click_mark(page: Page, name: str) -> None:
    """Click the mark of a chart that has this key."""
    page.locator(f'main [data-key="{name}"]').last.click()


@pytest.fixture(scope="module")
def base_page(opened_once: Opener, base_report: Path) -> Page:
    return opened_once(base_report)


@pytest.fixture
def base(base_page: Page) -> Page:
    """Open the report of `base` in its first state."""
    base_page.evaluate("location.hash = 'run=base'; document.activeElement.blur(); scrollTo(0, 0)")
    expect(base_page.locator("#row-count")).to_have_text("36 cases")
    return base_page


def test_report_opens_with_the_headline_and_the_charts(base: Page) -> None:
    expect(base).to_have_title("base · callmark")
    first = base.locator(".tile").first
    expect(first.locator(".tile-number")).to_have_text(".614")
    expect(first.locator(".tile-interval")).to_have_text(re.compile(r"^\[\.\d{3}, \.\d{3}\]$"))
    expect(base.locator("#counts")).to_have_text("36 cases · 12 conversations · 1 error")
    assert row_count(base) == "36 cases"
    for title in ("Which tool was called instead", "What went wrong", "Scores", "Weakest tools", "By position", "Latency"):
        expect(base.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(base.get_by_text("1× HTTP 503")).to_be_visible()


@pytest.mark.parametrize(
    "name, filtered, chips",
    [
        ("fault=wrong_value", "8 of 36 cases", ["Fault wrong value"]),
        ("fault=missing_argument", "3 of 36 cases", ["Fault missing argument"]),
        ("tool=get_order&actual=get_user", "4 of 36 cases", ["Expected get_order", "Actual get_user"]),
        ("tool=cancel_order&actual=no call", "3 of 36 cases", ["Expected cancel_order", "Actual no call"]),
        ("tool=cancel_order&actual=unknown tool", "1 of 36 cases", ["Expected cancel_order", "Actual unknown tool"]),
        ("tool=get_user", "12 of 36 cases", ["Expected get_user"]),
        ("score=.5", "11 of 36 cases", ["Score .5"]),
        ("score=error", "1 of 36 cases", ["Score error"]),
        ("position=5", "12 of 36 cases", ["Message 5"]),
        ("time=2–5 s", "12 of 36 cases", ["Latency 2–5 s"]),
    ],
)
def test_chart_click_filters_the_table_and_second_click_removes_the_filter(base: Page, name: str, filtered: str, chips: list[str]) -> None:
    click_mark(base, name)
    assert row_count(base) == filtered
    assert len(shown(base)) == int(filtered.split()[0])
    labels = [" ".join(text.replace("×", "").replace("Remove this filter", "").split()) for text in base.locator(".chip").all_inner_texts()]
    assert labels == chips
    expect(base.locator(f'#charts [data-key="{name}"]')).to_have_attribute("aria-pressed", "true")
    click_mark(base, name)
    assert row_count(base) == "36 cases"
    expect(base.locator(".chip")).to_have_count(0)
    expect(base.locator(f'#charts [data-key="{name}"]')).to_have_attribute("aria-pressed", "false")


def test_filters_combine_and_each_chip_removes_its_own(base: Page) -> None:
    click_mark(base, "fault=wrong_value")
    base.get_by_label("Expected tool", exact=True).select_option("get_order")
    base.get_by_label("Search ids").fill("#w2006")
    assert shown(base) == ["s6:1"]
    base.locator(".chip", has_text="Search").click()
    assert row_count(base) == "4 of 36 cases"
    base.locator(".chip", has_text="Expected").click()
    assert row_count(base) == "8 of 36 cases"
    base.get_by_label("Score", exact=True).select_option("correct")
    expect(base.get_by_text("No matching cases.")).to_be_visible()
    base.get_by_role("button", name="Clear filters").click()
    assert row_count(base) == "36 cases"


@pytest.mark.parametrize(
    "sought, found",
    [
        ("s3:", ["s3:1", "s3:3", "s3:5"]),
        ("DROP_order", ["s11:5"]),
        ("#w1004 cancel", ["s4:5"]),
        ("unknown tool", ["s11:5"]),
        ("503", ["s5:3"]),
        ("nothing has this", []),
    ],
)
def test_search_covers_ids_calls_faults_and_errors(base: Page, sought: str, found: list[str]) -> None:
    base.get_by_label("Search ids").fill(sought)
    assert shown(base) == found


def test_column_sorts_ascending_descending_and_not_at_all(base: Page) -> None:
    heads = base.locator(".row-head")
    first = shown(base)
    heads.get_by_role("button", name="Score").click()
    scores = [text for text in base.locator(".row .cell-score").all_inner_texts() if text]
    assert scores == sorted(scores, key=float)
    expect(base.locator(".row").first).to_have_class(re.compile("wrong"))
    heads.get_by_role("button", name="Score").click()
    expect(heads.locator(".cell-score")).to_have_attribute("aria-sort", "descending")
    expect(base.locator(".row").first).to_have_class(re.compile("right"))
    heads.get_by_role("button", name="Score").click()
    assert shown(base) == first
    heads.get_by_role("button", name="Latency").click()
    assert base.locator(".row .cell-latency").first.inner_text() == "50 ms"


def test_case_shows_differences_fault_and_conversation(base: Page) -> None:
    base.get_by_label("Search ids").fill("s8:5")
    base.locator(".row").click()
    case = base.get_by_role("article", name="Case")
    expect(case.locator("#case-title")).to_have_text("s8:5")
    expect(case.locator(".outcome-label")).to_have_text("✗ Wrong.5")
    row = case.locator(".arguments tbody tr", has_text="order_id")
    expect(row.locator("mark.right")).to_have_text("1")
    expect(row.locator("mark.wrong")).to_have_text("2")
    expect(row.locator("td").nth(1)).to_have_text('"#W2008"')
    expect(case.locator(".arguments tbody tr", has_text="reason").locator("mark")).to_have_count(0)
    expect(case.locator(".fault > div")).to_have_text(
        'order_id: expected "#W1008", got "#W2008" (from message 0) Show message 0Wrong value · counted by call, process'
    )
    assert case.locator(".messages > .message .role").all_inner_texts() == ["user\n0", "assistant\n1", "tool\n2", "assistant\n3", "tool\n4"]
    expect(case.locator(".decision")).to_contain_text('Expectedcancel_order(order_id="#W1008"')
    case.get_by_text("Rest of the recorded conversation, 3 messages").click()
    expect(case.get_by_text("It is cancelled.")).to_be_visible()


def test_wrong_value_links_to_the_message_it_was_taken_from(opened: Opener, base_report: Path) -> None:
    page = opened(f"{base_report.as_uri()}#run=base&case=s8%3A5", height=420)
    message = page.locator('.message[data-message="0"]')
    expect(page.locator(".decision")).to_be_in_viewport()
    expect(message).not_to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Show message 0").click()
    expect(message).to_be_in_viewport(ratio=1)
    expect(message).to_have_class(re.compile("highlighted"))
    expect(message.locator("mark.highlight")).to_have_text("#W2008")
    expect(message).to_be_focused()


def fault_of(kind: FaultKind) -> Fault:
    if kind.endswith(("_argument", "_type", "_value")):
        origin = ("elsewhere", 0) if kind == "wrong_value" else (None, None)
        return Fault(kind, 0, 0, "city", {"$glob": "BN-*", "$case": False}, "Bonn", ("call",), *origin)
    return Fault(kind, None, 0, None, 'f(city="Ulm")', 'g(city="Bonn")', ("call",))


def test_page_shows_the_fault_sentences_of_the_terminal(opened: Opener, tmp_path: Path) -> None:
    grade = structs.replace(wrong("a"), actual=("f",), faults=tuple(map(fault_of, FAULT_KINDS)))
    page = opened(f"{write_report_of(make_run(tmp_path / 'runs' / 'all', [grade])).as_uri()}#run=all&case=a", wait=".fault")
    sentences = page.locator(".fault > div > span").all_text_contents()  # those after the fourth are folded
    kinds = [text.partition(" · ")[0] for text in page.locator(".fault-kind").all_text_contents()]
    assert sentences == [fault_sentence(fault_of(kind), "f") for kind in FAULT_KINDS]
    assert kinds == [kind.replace("_", " ").capitalize() for kind in FAULT_KINDS]


def test_matchers_are_shown_as_people_wrote_them(opened: Opener, tmp_path: Path) -> None:
    expected = call("get_weather", {"city": {"$glob": "BN-*", "$case": False}, "days": {"$any": True}})
    run = grade_run(tmp_path, [case("a", [expected])], [predicted("a", call("get_weather", {"city": "Ulm", "days": 2}))])
    page = opened(f"{write_report_of(Path(run.folder.path)).as_uri()}#run=base&case=a", wait=".fault")
    expect(page.locator(".arguments tbody tr", has_text="city").locator("td").first).to_have_text("BN-*")
    expect(page.locator(".decision .call").first).to_have_text('get_weather(city=BN-*, days={"$any":true})')
    expect(page.locator(".row .cell-expected")).to_have_text("city=BN-*, days=2")


WITHOUT_DATASET = [
    # actual calls; the rows of the table: argument, expected, actual
    (
        [call("f", {"a": 1, "b": 9, "d": 4})],
        [["Tool", "f", "f"], ["a", "matches", "1"], ["b", "2", "9"], ["d", "none", "4\nnot expected"], ["c", "BN-*", "missing"]],
    ),
    ([call("g", {"a": 1})], [["Tool", "f", "g"], ["Call", "f(a=1, b=2, c=BN-*)", "g(a=1)"]]),
    ([], [["Tool", "f", "no call"], ["Call", "f(a=1, b=2, c=BN-*)", ""]]),
    (None, [["Tool", "f", "error"], ["Arguments", "unknown", ""]]),
]


@pytest.mark.parametrize("actual, rows", WITHOUT_DATASET)
def test_changed_dataset_shows_expected_values_of_the_grade(
    opened: Opener, tmp_path: Path, actual: list[dict[str, object]] | None, rows: list[list[str]]
) -> None:
    expected = call("f", {"a": 1, "b": 2, "c": {"$glob": "BN-*", "$case": False}})
    prediction = {"case": "a", "error": "HTTP 503"} if actual is None else predicted("a", *actual)
    run = grade_run(tmp_path, [case("a", [expected])], [prediction])
    dataset = tmp_path / "base-cases.jsonl"
    dataset.write_text(dataset.read_text().replace("BN-", "KI-"))
    page = opened(f"{write_report_of(Path(run.folder.path)).as_uri()}#run=base&case=a", wait=".arguments")
    cells = [line.locator("th, td").all_inner_texts() for line in page.locator(".arguments tbody tr").all()]
    assert [[text.strip() for text in line] for line in cells] == rows
    expect(page.locator(".notice")).to_contain_text("has changed since the run. Its conversations are not shown.")


def test_weakest_tools_ranks_tools_with_at_least_five_cases(opened: Opener, tmp_path: Path) -> None:
    numbers = {"rare": 4, "common": 17}
    cases = [case(f"{tool}{n}", [call(tool, {})]) for tool, number in numbers.items() for n in range(number)]
    run = grade_run(tmp_path, cases, [predicted(one["id"], call("common", {})) for one in cases])
    panel = opened(write_report_of(Path(run.folder.path))).locator(".panel", has_text="Weakest tools")
    expect(panel.locator(".bar")).to_have_count(1)
    expect(panel.locator(".bar")).to_contain_text("1 17 cases")
    expect(panel.locator(".hint")).to_have_text("Mean score, lowest first. Not ranked: 1 tool with fewer than 5 cases.")


def test_long_tool_names_are_shortened_until_they_differ(opened: Opener, tmp_path: Path) -> None:
    names = [f"exchange_delivered_order_{item}_of_a_customer_account" for item in ("items", "gifts", "parts")]
    cases = [case(f"{name}{n}", [call(name, {})]) for name in names for n in range(5)]
    run = grade_run(tmp_path, cases, [predicted(one["id"]) for one in cases])
    page = opened(write_report_of(Path(run.folder.path)))
    bars = page.locator(".panel", has_text="Weakest tools").locator(".bar-name").all_inner_texts()
    axis = page.locator(".heat .axis[text-anchor]").evaluate_all("(all) => all.map((each) => each.lastChild.data)")
    for labels in (bars, axis):
        assert len(labels) == len(set(labels)) == 3
        assert all("…" in label for label in labels)


@pytest.mark.parametrize(
    "case, sentence", [("s0:3", "(hallucinated)"), ("s2:5", "Shall I?"), ("s5:3", "HTTP 503"), ("s11:5", "drop_order")]
)
def test_other_outcomes_are_shown(base: Page, case: str, sentence: str) -> None:
    base.evaluate("(name) => { location.hash = `run=base&case=${name}`; }", case)
    expect(base.locator("#case-title")).to_have_text(case)
    expect(base.locator(".case-verdict")).to_contain_text(sentence)


def test_address_restores_the_state(opened: Opener, base: Page) -> None:
    click_mark(base, "fault=wrong_value")
    base.locator(".row-head").get_by_role("button", name="Case").click()
    base.get_by_label("Search ids").fill("get_user")
    base.locator(".row").nth(1).click()
    expect(base.locator("#case-title")).to_be_visible()
    other = opened(base.url, wait="#case-title")
    for page in (base, other):
        assert page.locator("#case-title").inner_text() == "s4:3"
        assert shown(page) == ["s0:3", "s4:3", "s8:3"]
        assert page.locator(".chip").count() == 2
        assert page.get_by_label("Search ids").input_value() == "get_user"
        assert page.get_by_label("Fault", exact=True).input_value() == "wrong_value"
        assert page.locator('.row[aria-selected="true"] .cell-case').inner_text() == "s4:3"


def test_back_and_forward_restore_earlier_states(base: Page) -> None:
    click_mark(base, "fault=wrong_value")
    click_mark(base, "tool=get_user")
    base.locator(".row").first.click()
    expect(base.locator("#case-title")).to_have_text("s0:3")
    base.go_back()
    expect(base.locator("#case")).to_be_hidden()
    assert row_count(base) == "3 of 36 cases"
    base.go_back()
    assert row_count(base) == "8 of 36 cases"
    base.go_back()
    assert row_count(base) == "36 cases"
    base.go_forward()
    base.go_forward()
    base.go_forward()
    expect(base.locator("#case-title")).to_have_text("s0:3")


def test_invalid_address_shows_what_is_missing(opened: Opener, base_report: Path) -> None:
    page = opened(f"{base_report.as_uri()}#run=base&case=gone&fault=nonsense&sort=%00&nothing=1&trial=x")
    expect(page.get_by_text("This run has no case with this ID.")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Clear filters").click()
    assert row_count(page) == "36 cases"
    assert "No run named nothing" in opened(f"{base_report.as_uri()}#run=nothing").locator(".notice").inner_text()


def test_two_runs_are_compared(opened: Opener, both_report: Path) -> None:
    page = opened(both_report)
    expect(page.get_by_label("Baseline", exact=True)).to_have_value("base")
    rows = page.locator(".forest-row")
    expect(rows.first).to_contain_text(".614 → .957▲ +.343 [+.079")
    expect(rows.first.locator(".interval-line")).to_have_count(1)
    assert page.locator(".part b").all_inner_texts() == ["2", "18", "1", "14"]
    click_mark(page, "run=tuned&change=broken")
    assert shown(page) == ["s3:3", "s7:3"]
    assert page.locator(".row .cell-change").all_inner_texts() == ["✓→✗ broken", "✓→✗ broken"]
    page.get_by_role("group", name="Outcome").get_by_role("button", name="Fixed").click()
    assert row_count(page) == "18 of 36 cases"
    page.get_by_role("group", name="Outcome").get_by_role("button", name="All").click()
    click_mark(page, "run=tuned&change=both wrong")
    page.locator(".row").click()
    case = page.locator("#case")
    expect(case.locator(".outcome-label")).to_have_text(["✗ Wrong.5base", "✗ Wrong.5tuned"])
    expect(case.locator(".arguments thead")).to_have_text("ArgumentExpectedbasetuned")
    expect(page.locator(".tile-change").first).to_have_text("▲ +.343 better")


def test_runs_of_a_comparison_can_be_changed(opened: Opener, both_report: Path) -> None:
    page = opened(both_report)
    page.get_by_label("Baseline", exact=True).select_option("")
    expect(page.locator(".forest")).to_have_count(0)
    page.locator("#head").get_by_label("Run", exact=True).select_option("base")
    expect(page.locator(".tile-number").first).to_have_text(".614")
    expect(page.get_by_label("Baseline", exact=True)).to_have_count(0)
    page.locator("#brand").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert page.locator(".run-name").all_inner_texts() == ["base", "tuned"]
    for name in ("base", "tuned"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare 2 runs").click()
    expect(page.locator(".forest")).to_be_visible()
    assert page.url.endswith("#run=tuned&base=base")


def test_report_says_why_runs_cannot_be_compared(opened: Opener, tmp_path: Path) -> None:
    one, other = make_run(tmp_path / "runs" / "one", some(2, of=4)), make_run(tmp_path / "runs" / "other", [right("else")], digest="two")
    page = opened(write_report_of(one, other))
    expect(page.locator(".notice", has_text="These runs cannot be compared")).to_have_text(
        "These runs cannot be compared: no case is scored in both one and other: 4 cases only in one, 1 case only in other. "
        "Runs are compared on the cases that both have: grade both on the same dataset."
    )
    expect(page.locator(".tile-number").first).to_have_text(".500")


def test_page_is_operable_by_keyboard(base: Page) -> None:
    keys = base.keyboard
    keys.press("?")
    expect(base.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    keys.press("Escape")
    expect(base.get_by_role("dialog")).to_have_count(0)
    keys.press("/")
    expect(base.get_by_label("Search ids")).to_be_focused()
    keys.type("wrong value")
    keys.press("Escape")
    assert row_count(base) == "8 of 36 cases"
    keys.press("j")
    expect(base.locator(".row").first).to_be_focused()
    keys.press("j")
    keys.press("k")
    keys.press("j")
    expect(base.locator(".row").nth(1)).to_be_focused()
    keys.press("Enter")
    expect(base.locator("#case-title")).to_have_text("s0:3")
    expect(base.locator("#case-title")).to_be_focused()
    keys.press("j")
    expect(base.locator("#case-title")).to_have_text("s3:1")
    keys.press("k")
    keys.press("k")
    expect(base.locator("#case-title")).to_have_text("s0:1")
    keys.press("Escape")
    expect(base.locator("#case")).to_be_hidden()
    expect(base.locator(".row").first).to_be_focused()
    keys.press("End")
    expect(base.locator(".row").last).to_be_focused()


def test_each_chart_is_one_tab_stop_with_arrow_keys_inside(base: Page) -> None:
    bars = base.locator(".panel", has_text="What went wrong").locator(".bar")
    bars.first.focus()
    for _ in range(2):
        base.keyboard.press("ArrowDown")
    expect(bars.nth(2)).to_be_focused()
    base.keyboard.press("Enter")
    assert row_count(base) == "3 of 36 cases"
    expect(bars.nth(2)).to_be_focused()
    cell = base.locator('.heat [data-key="tool=get_order&actual=get_order"]')
    cell.focus()
    base.keyboard.press("ArrowRight")
    base.keyboard.press(" ")
    assert "actual=get_user" in base.url
    stops = base.evaluate(
        "[...document.querySelectorAll('.heat, .bars, .columns')].map((box) => box.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert set(stops) == {1}


def test_every_control_is_reachable_by_tab(opened: Opener, base_report: Path) -> None:
    base = opened(base_report)
    reached: list[str] = []
    for _ in range(120):
        base.keyboard.press("Tab")
        name = base.evaluate("(e => e.id || e.getAttribute('data-key') || e.name || e.className)(document.activeElement)")
        if name == "skip" and reached:  # once around
            break
        reached.append(name)
    assert reached[:4] == ["skip", "brand", "theme", "help-button"]
    assert {"search", "tool", "fault", "score", "sort score"} <= set(reached)
    assert any(name.startswith("row") for name in reached)


def test_chosen_theme_is_stored(opened: Opener, base_report: Path) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.documentElement).color"
    light, dark = opened(base_report), opened(base_report, dark=True)
    seen = light.evaluate(paper)
    assert seen != dark.evaluate(paper)
    dark.get_by_role("button", name="Use the light theme").click()
    assert dark.evaluate(paper) == seen
    dark.reload()
    dark.locator(".row").first.wait_for()
    assert dark.evaluate(paper) == seen
    dark.get_by_role("button", name="Use the dark theme").click()
    assert dark.evaluate(paper) != seen


@pytest.mark.parametrize("width", [390, 768])
def test_page_fits_a_narrow_screen(opened: Opener, both_report: Path, desk_report: Path, width: int) -> None:
    wide = "document.documentElement.scrollWidth"
    page = opened(both_report, width=width)
    assert page.evaluate(wide) <= width
    page.get_by_label("Search ids").fill("s8")
    assert page.evaluate(wide) <= width
    page.locator(".row").last.click()
    expect(page.locator("#case-title")).to_have_text("s8:5")
    assert page.evaluate(wide) <= width
    page.get_by_role("button", name="Close the case").click()
    page.locator("#brand").click()
    expect(page.locator(".runs")).to_be_visible()
    assert page.evaluate(wide) <= width
    page.keyboard.press("?")
    assert page.evaluate(wide) <= width
    desk = opened(desk_report, width=width)
    assert desk.evaluate(wide) <= width
    desk.locator(".row").first.click()
    expect(desk.locator("#case-title")).to_be_visible()
    assert desk.evaluate(wide) <= width


def test_print_has_the_rows_and_no_controls(opened: Opener, base_report: Path) -> None:
    base = opened(base_report)
    base.emulate_media(media="print")
    base.evaluate("dispatchEvent(new Event('beforeprint'))")
    for hidden in (".filters", ".tools"):
        expect(base.locator(hidden)).to_be_hidden()
    expect(base.locator(".row")).to_have_count(36)
    bottoms = base.evaluate("[...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect().bottom)")
    assert bottoms == sorted(set(bottoms))
    expect(base.locator(".row").last).to_be_visible()
    assert base.evaluate("getComputedStyle(document.querySelector('.row-scroll')).overflowY") == "visible"


def test_simulated_conversations_are_shown(opened: Opener, desk_report: Path) -> None:
    page = opened(desk_report)
    expect(page.locator("#counts")).to_contain_text("2 cases")
    expect(page.get_by_role("heading", name="By scenario type")).to_be_visible()
    expect(page.get_by_role("heading", name="Results over 2 trials")).to_be_visible()
    expect(page.get_by_text("Which tool was called instead")).to_have_count(0)
    click_mark(page, "type=create_ticket")
    assert [text.split()[-2:] for text in shown(page)] == [["Trial", "1"], ["Trial", "2"]]
    page.locator(".row").first.click()
    case = page.locator("#case")
    expect(case.locator(".outcome-label")).to_have_count(2)
    expect(case.locator(".message.user").first).to_be_visible()
    assert case.locator(".message.tool").count() > 0
    verdict = case.locator(".case-verdict")
    expect(verdict).to_contain_text("Policy violation")
    expect(verdict).to_contain_text("State difference")
    expect(verdict).to_contain_text("completed")
    verdict.get_by_text("State changes").first.click()
    expect(verdict.locator("details[open] .arguments").first).to_contain_text("tickets / TKT-1042 / title")
    verdict.get_by_role("button", name=re.compile("Show message")).first.click()
    expect(case.locator(".highlighted")).to_be_in_viewport()
    case.get_by_role("group", name="Select a conversation").get_by_role("button", name="Trial 2").click()
    assert "transcript=" in page.url
    expect(case.get_by_role("button", name="Trial 2")).to_have_attribute("aria-pressed", "true")


def test_page_lists_where_evaluators_disagree_and_opens_an_example(opened: Opener, tmp_path: Path) -> None:
    cases = [case(name, [call("get_weather", {"city": "Bonn"})]) for name in ("a", "b & c")]
    answers = [predicted(name, call("get_weather", {"city": city})) for name, city in (("a", "Bonn"), ("b & c", "bonn!"))]
    run = grade_run(tmp_path, cases, answers)
    (group,) = run.disagreements()
    page = opened(f"{write_report_of(Path(run.folder.path)).as_uri()}#run=base", wait=".disagreements")
    panel = page.locator(".disagreements")
    expect(panel.locator("li")).to_have_count(1)
    expect(panel.locator("li b")).to_have_text("1×")
    expect(panel.locator("li > span")).to_have_text(group.sentence)
    panel.get_by_role("link", name="b & c").click()
    expect(page.locator(".fault")).to_have_count(1)
    expect(page.locator(".fault-kind")).to_have_text("Wrong value · counted by call")


def test_page_without_disagreements_has_no_such_panel(opened: Opener, tmp_path: Path) -> None:
    run = grade_run(tmp_path, [case("a", [call("get_weather", {"city": "Bonn"})])], [predicted("a")])
    page = opened(f"{write_report_of(Path(run.folder.path)).as_uri()}#run=base", wait=".tile")
    expect(page.locator(".disagreements")).to_have_count(0)
