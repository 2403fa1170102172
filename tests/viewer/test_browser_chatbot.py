"""What a chatbot's owner sees: conversations with long tool names, many evaluators and several trials, at every width."""

from pathlib import Path
from shutil import copytree

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from msgspec import structs
from playwright.sync_api import Page, expect

from callmark.grading.evaluators.schema import SchemaEvaluator
from callmark.models.model import ModelSettings
from callmark.registry import built_in
from callmark.runs.labels import LABELS, Label, add_label
from callmark.runs.manifest import ModelRunInfo
from callmark.runs.run import Run
from tests.graded_runs import make_run, some
from tests.viewer.conftest import Opener, viewer_process, write_report_of

WIDTHS = (1920, 1440, 1280, 390)
COMPARED = "run=sloppy&base=careful"


@pytest.fixture(scope="module")
def chat_page(opened_once: Opener, chat_report: Path) -> Page:
    return opened_once(chat_report)


@pytest.fixture
def chat(chat_page: Page) -> Page:
    """Open the comparison in its first state."""
    chat_page.set_viewport_size({"width": 1440, "height": 900})
    go(chat_page, COMPARED)
    expect(chat_page.locator("#row-count")).to_have_text("8 trials (4 cases)")
    expect(chat_page.locator("#jump")).to_contain_text("Broken")
    return chat_page


def go(page: Page, state: str) -> Page:
    page.evaluate("(state) => { location.hash = state; document.activeElement.blur(); scrollTo(0, 0); }", state)
    return page


def cut_texts(page: Page, selector: str) -> list[str]:
    """Return the texts of these elements that do not fit into them."""
    found: list[str] = page.locator(selector).evaluate_all(
        "(all) => all.filter((one) => one.scrollWidth > one.clientWidth || one.clientWidth < 30).map((one) => one.textContent)"
    )
    return found


def test_every_metric_name_is_fully_visible_in_a_comparison(opened: Opener, tmp_path: Path) -> None:
    evaluators = [SchemaEvaluator() if each is SchemaEvaluator else each for each in built_in("evaluators")]
    metrics = {f"{each.name}.{metric.name}": metric for each in evaluators for metric in each.metrics}
    for name, good in (("base", 10), ("tuned", 30)):
        grades = [structs.replace(grade, metrics=dict.fromkeys(metrics, grade.metrics["call.score"])) for grade in some(good)]
        run = Run(make_run(tmp_path / "runs" / name, grades, metrics=tuple(metrics)))
        run.folder.write(structs.replace(run.info, metrics=metrics))
    page = opened(f"{write_report_of(tmp_path / 'runs' / 'base', tmp_path / 'runs' / 'tuned').as_uri()}#run=tuned&base=base")
    expect(page.locator(".tile-change")).to_have_count(len(metrics))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert cut_texts(page, ".tile-name") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width, height", [(1440, 900), (390, 844)])
def test_case_opens_on_its_fault(chat: Page, width: int, height: int) -> None:
    chat.set_viewport_size({"width": width, "height": height})
    go(chat, f"{COMPARED}&case=create-06")
    fault = chat.locator(".case-verdict .fault")
    expect(fault).to_contain_text('description: expected "The form for parental leave ends with an error')
    expect(fault).to_be_in_viewport(ratio=0.99)
    message = chat.locator(".message.at-fault")
    expect(message).to_have_count(1)
    expect(message).to_contain_text("Missing argument")
    expect(message.locator(".call")).to_contain_text("TicketManagementPlugin-create_support_ticket(")
    if width == 390:  # the conversation is below
        fault.get_by_role("button", name="Show message").click()
    expect(message).to_be_in_viewport()


def test_equal_arguments_and_ignored_calls_of_a_case_are_folded(chat: Page) -> None:
    go(chat, f"{COMPARED}&case=create-06")
    verdict = chat.locator(".case-verdict")
    expect(verdict.locator(".arguments tbody tr:visible th")).to_have_text(["Tool", "description"])
    fold = verdict.get_by_role("button", name="5 arguments equal")
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(verdict.locator(".arguments tbody tr:visible th")).to_have_count(7)
    expect(verdict.get_by_role("heading", name="Extra calls")).to_have_count(0)
    ignored = verdict.get_by_text("3 other calls, not counted as faults")
    expect(verdict.locator(".ignored .call").first).to_be_hidden()
    ignored.click()
    expect(verdict.locator(".ignored .call").first).to_have_text("ReferenceDataPlugin-list_departments()")
    go(chat, f"{COMPARED}&case=create-chattily-02")
    expect(chat.locator("#case-title")).to_have_text("create-chattily-02")
    expect(verdict.get_by_role("heading", name="Extra calls")).to_be_visible()
    expect(verdict.locator(".extras:not(.ignored)")).to_contain_text("TicketManagementPlugin-create_support_ticket")
    chat.emulate_media(media="print")
    expect(verdict.locator(".equal-rows").first).to_be_visible()
    chat.emulate_media(media="screen")


def test_conversation_of_another_run_opens_on_its_own_fault(chat: Page) -> None:
    go(chat, f"{COMPARED}&case=create-06")
    expect(chat.locator(".message.at-fault")).to_be_in_viewport()
    runs = chat.get_by_role("group", name="Select a conversation")
    runs.get_by_role("button", name="careful").click()
    expect(chat.locator(".message.at-fault")).to_have_count(0)
    runs.get_by_role("button", name="sloppy").click()
    expect(chat.locator(".message.at-fault")).to_be_in_viewport()


def test_row_names_the_missing_argument_after_a_short_tool(chat: Page) -> None:
    row = chat.locator(".row", has_text="create-06").first
    expect(row.locator(".cell-actual")).to_have_text("…create_…_ticket(… description missing)")
    expect(row.locator(".cell-expected")).to_contain_text('… description="The form for parental leave')
    expect(row.locator(".cell-faults")).to_have_text("missing argument description")
    whole = row.locator(".cell-actual code").get_attribute("title") or ""
    assert whole.startswith('TicketManagementPlugin-create_support_ticket(title="')
    mark, cell = row.locator(".cell-actual mark").bounding_box(), row.locator(".cell-actual").bounding_box()
    assert mark
    assert cell
    assert mark["x"] + mark["width"] <= cell["x"] + cell["width"] + 1


def test_case_ids_are_fully_visible_beside_their_trials(chat: Page) -> None:
    expect(chat.locator(".row")).not_to_have_count(0)
    titles = chat.locator(".row .cell-case > span")
    assert set(titles.all_inner_texts()) == {"create-06", "create-chattily-02", "not-allowed-01", "with-item-04"}
    for width in WIDTHS:
        chat.set_viewport_size({"width": width, "height": 900})
        assert cut_texts(chat, ".row .cell-case > span") == []


def test_trials_and_cases_are_both_counted_and_named(chat: Page) -> None:
    expect(chat.locator("#row-count")).to_have_text("8 trials (4 cases)")
    broken = chat.locator(".verdict .part.wrong")
    expect(broken.locator("b")).to_have_text("3")
    broken.click()
    expect(chat.locator("#row-count")).to_have_text("6 of 8 trials (3 of 4 cases)")
    expect(chat.locator("#jump")).to_contain_text("Cases 3 of 4")
    expect(chat.locator(".groups .hint").first).to_contain_text("with the number of trials")
    expect(chat.locator(".panel", has_text="By scenario type").locator(".bar-number").first).to_contain_text("trials")


def test_group_chip_says_what_the_group_is(chat: Page) -> None:
    chat.locator(".groups .bar", has_text="create_support_ticket description").click()
    chip = chat.locator(".chip", has_text="Group")
    expect(chip.locator("bdi")).to_have_text("TicketManagementPlugin-create_support_ticket description · Missing argument")


def test_groups_are_listed_once(chat: Page, opened: Opener, both_report: Path) -> None:
    expect(chat.locator(".groups h2")).to_have_text(["What broke"])  # nothing was wrong before
    go(chat, "run=sloppy")
    expect(chat.locator(".groups h2")).to_have_text(["Similar failures"])
    page = opened(both_report)
    expect(page.locator(".groups h2")).to_have_text(["What broke", "Wrong before too"])
    page.locator(".groups", has_text="Wrong before too").locator(".bar").first.click()
    expect(page.locator("#row-count")).to_have_text("1 of 36 cases")


def test_labels_that_were_shortened_are_not_cut_again(chat: Page) -> None:
    for width in WIDTHS:
        chat.set_viewport_size({"width": width, "height": 900})
        assert cut_texts(chat, ".bar-name, .part-name") == []
    names = chat.locator(".panel", has_text="By first expected tool").locator(".bar-name").all_inner_texts()
    assert "TicketManagementPlugin-create_support_ticket" in names


def test_intervals_of_trials_are_on_one_line(chat: Page) -> None:
    for width in WIDTHS:
        chat.set_viewport_size({"width": width, "height": 900})
        heights = chat.locator(".trials td").evaluate_all("(all) => all.map((cell) => cell.offsetHeight)")
        assert heights
        assert max(heights) < 40


def test_heat_map_that_is_cut_has_a_shadow_at_the_edge(opened: Opener, both_report: Path) -> None:
    page = opened(both_report, width=390)
    box = page.locator(".scroll-x:has(.heat)")
    assert box.evaluate("(box) => getComputedStyle(box).backgroundAttachment") == "local, local, scroll, scroll"


def test_label_of_the_open_case_has_a_background(opened: Opener, chat_folder: Path) -> None:
    digest = Run(chat_folder / "sloppy").info.dataset.digest
    folder = chat_folder.parent / "labeled"
    copytree(chat_folder, folder)
    add_label(str(folder / LABELS), Label(digest, "create-06", "model", author="ann"))
    with viewer_process(folder) as address:
        page = opened(f"{address}#run=sloppy&case=create-06", wait=".row .label")
        pill = page.locator('.row[aria-selected="true"] .label')
        row = page.locator('.row[aria-selected="true"]')
        color = "(box) => getComputedStyle(box).backgroundColor"
        assert pill.evaluate(color) != row.evaluate(color)


def test_zero_broken_and_zero_fixed_are_as_readable_as_other_numbers(chat: Page) -> None:
    part = chat.locator(".verdict .part", has_text="Fixed")
    expect(part.locator("b")).to_have_text("0")
    expect(part).to_be_disabled()
    assert part.evaluate("(part) => getComputedStyle(part).opacity") == "1"


@pytest.mark.parametrize("width", [1440, 390])
def test_runs_with_long_names_can_be_told_apart(opened: Opener, tmp_path: Path, width: int) -> None:
    names = [f"qwen3-8b-retail-sft-lr2e5-epoch-3-step{step}" for step in (400, 600, 800)]
    for name in names:
        make_run(tmp_path / "runs" / name, some(20, of=30))
    for suffix in ("", "-2"):
        run = Run(make_run(tmp_path / "runs" / f"scripted-hasty-2026-11-19T03-47{suffix}", some(20, of=30)))
        run.folder.write(structs.replace(run.info, model_run=ModelRunInfo("scripted-hasty", ModelSettings("scripted-hasty"), 1)))
    with viewer_process(tmp_path / "runs") as address:
        page = opened(f"{address}#run={names[1]}&base={names[0]}&also={names[2]}", width=width, wait=".verdict")
        page.locator(".choice-run").wait_for()
        for select in page.locator(".run-picker select, .choice-run select").all():
            options = select.locator("option").all_inner_texts()
            assert len(set(options)) == len(options)
            room, needed = select.evaluate(
                """(select) => {
                    const pen = document.createElement("canvas").getContext("2d");
                    const style = getComputedStyle(select);
                    pen.font = style.font;
                    const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
                    return [room, pen.measureText(select.selectedOptions[0].label).width];
                }"""
            )
            assert needed <= room + 1
        labels = page.get_by_label("Run", exact=True).first.locator("option").all_inner_texts()
        assert "scripted-hasty-2026-11-19T03-47-2" in labels
        page.locator(".row").first.click()
        cells = page.locator(".arguments tr").nth(1).locator("td[data-of]")
        expect(cells).to_have_count(3)
        heads = cells.evaluate_all("(all) => all.map((cell) => cell.dataset.of)")
        assert len(set(heads)) == len(heads) == 3
        assert all(len(head) <= 18 for head in heads)


def test_tabs_stay_where_they_are_when_the_count_grows(chat: Page) -> None:
    tab = chat.locator("#jump").get_by_role("button", name="Broken")
    left = "(tab) => tab.getBoundingClientRect().left"
    before = tab.evaluate(left)
    tab.click()
    expect(chat.locator("#jump")).to_contain_text("Cases 3 of 4")
    assert tab.evaluate(left) == before


def test_card_says_what_was_expected(opened: Opener, base_report: Path) -> None:
    page = opened(base_report, width=390, height=844)
    cards = page.locator(".row:visible")
    for found, actual, expected in (("s2:1", 'get_user(user_id="lena")', "get_order(…)"), ("s2:5", "— no call", "cancel_order(…)")):
        page.get_by_label("Search ids").fill(found)
        card = cards.filter(has_text=found).first
        expect(card.locator(".cell-actual")).to_have_text(actual)
        expect(card.locator(".cell-expected")).to_be_visible()
        expect(card.locator(".cell-expected")).to_contain_text(expected.partition("(")[0])
        assert "expected" in card.locator(".cell-expected").evaluate("(cell) => getComputedStyle(cell, '::before').content")


def test_short_list_is_no_taller_than_its_rows(chat: Page) -> None:
    go(chat, f"{COMPARED}&q=create-06")
    expect(chat.locator(".row")).to_have_count(2)
    height = chat.locator(".grid").evaluate("(grid) => grid.offsetHeight")
    assert height < 150
