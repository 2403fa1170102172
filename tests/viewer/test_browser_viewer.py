"""The viewer in a browser, served by `callmark view`: list, run, case, comparison, addresses, keys, themes, and a run in progress."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from playwright.sync_api import Browser, Page, expect

from callmark.runs.run import Run
from callmark.wording import shorten_all
from tests.graded_runs import make_run, right, some
from tests.viewer.conftest import Opener, viewer_process
from tests.viewer.example_runs import shop
from tests.viewer.grading_helpers import edit_manifest

PAPER = "getComputedStyle(document.documentElement).backgroundColor"


@pytest.fixture(scope="module")
def first_page(opened_once: Opener, viewer_address: str) -> Page:
    return opened_once(viewer_address)


@pytest.fixture
def viewer(first_page: Page) -> Page:
    """Open the list of runs."""
    first_page.evaluate("location.hash = ''; document.activeElement.blur()")
    expect(first_page.get_by_role("heading", name="Runs")).to_be_visible()
    return first_page


def check_row_count(page: Page, text: str) -> None:
    expect(page.locator("#row-count")).to_have_text(text)


def test_token_is_removed_from_the_address(viewer: Page, viewer_address: str) -> None:
    assert "token=" in viewer_address
    assert "token" not in viewer.url
    viewer.reload()
    expect(viewer.locator(".run-name").first).to_be_visible()


def test_runs_are_listed_with_their_numbers(viewer: Page) -> None:
    assert viewer.locator(".run-name").all_inner_texts() == ["tuned", "base"]
    expect(viewer.locator(".run-headline").nth(1)).to_contain_text(".614")
    expect(viewer.locator(".run-counts").nth(1)).to_have_text(re.compile("35 .*36 .*1 error"))


def test_run_can_be_filtered_searched_and_sorted(viewer: Page) -> None:
    viewer.get_by_role("button", name="base").click()
    check_row_count(viewer, "36 cases")
    expect(viewer.locator(".tile-number").first).to_have_text(".614")
    viewer.locator('#charts [data-key="fault=wrong_value"]').click()
    check_row_count(viewer, "8 of 36 cases")
    viewer.locator('#charts [data-key="tool=get_user&actual=get_user"]').click()
    check_row_count(viewer, "3 of 36 cases")
    viewer.locator(".chip", has_text="fault").click()
    viewer.get_by_label("Search ids").fill("s1")
    check_row_count(viewer, "3 of 36 cases")
    viewer.locator(".row-head").get_by_role("button", name="Case").click()
    viewer.locator(".row-head").get_by_role("button", name="Case").click()
    assert viewer.locator(".row .cell-case").all_inner_texts() == ["s11:3", "s10:3", "s1:3"]


def test_fault_links_to_the_message_of_its_value(viewer: Page) -> None:
    viewer.get_by_role("button", name="base").click()
    viewer.get_by_label("Search ids").fill("#W2008 cancel")
    viewer.locator(".row").click()
    expect(viewer.locator("#case-title")).to_have_text("s8:5")
    expect(viewer.locator(".arguments mark.wrong")).to_have_text("2")
    viewer.get_by_role("button", name="Show message 0").click()
    expect(viewer.locator(".highlighted mark.highlight")).to_have_text("#W2008")
    viewer.go_back()
    expect(viewer.locator("#case")).to_be_hidden()
    viewer.go_forward()
    expect(viewer.locator("#case-title")).to_have_text("s8:5")


def test_two_selected_runs_are_compared(viewer: Page) -> None:
    for name in ("base", "tuned"):
        viewer.get_by_label(f"Compare {name}").check()
    viewer.get_by_role("button", name="Compare 2 runs").click()
    expect(viewer.locator(".forest-row").first).to_contain_text(".614 → .957▲ +.343")
    assert viewer.locator(".part b").all_inner_texts() == ["2", "18", "1", "14"]
    viewer.locator('#overview [data-key="run=tuned&change=broken"]').click()
    check_row_count(viewer, "2 of 36 cases")
    viewer.locator(".row").first.click()
    expect(viewer.locator(".outcome-label")).to_have_text(["✓ Correct1base", "✗ Wrong.5tuned"])
    viewer.go_back()
    viewer.go_back()
    viewer.go_back()
    for name in ("base", "tuned"):
        viewer.get_by_label(f"Compare {name}").uncheck()
    expect(viewer.get_by_role("button", name="Select two runs to compare")).to_be_disabled()


def test_notice_says_why_runs_cannot_be_compared(opened: Opener, tmp_path: Path) -> None:
    make_run(tmp_path / "one", some(2, of=4))
    make_run(tmp_path / "other", [right("else")], digest="two")
    with viewer_process(tmp_path) as address:
        page = opened(f"{address}#run=other&base=one")
        notice = page.locator(".notice", has_text="These runs cannot be compared")
        expect(notice).to_have_text(
            "These runs cannot be compared: no case is scored in both one and other: 4 cases only in one, 1 case only in other. "
            "Runs are compared on the cases that both have: grade both on the same dataset."
        )
        page.wait_for_timeout(2500)  # the list is polled every two seconds
        expect(notice).to_have_count(1)
        page.get_by_label("Baseline", exact=True).select_option("")
        expect(notice).to_have_count(0)


def test_runs_are_labeled_by_model_and_by_folder_where_labels_repeat(opened: Opener, tmp_path: Path) -> None:
    for name, model in (("a", "small-model"), ("b", "small-model"), ("c", "large-model"), ("d", "")):
        run = Run(make_run(tmp_path / name, some(3, of=4)))
        if model:
            edit_manifest(run, model_run={"label": model, "model": {"model": model}})
    with viewer_process(tmp_path) as address:
        page = opened(address)
        assert page.locator(".run-name").all_inner_texts() == ["d", "large-model", "small-model", "small-model"]
        assert [text.split(" · ")[0] for text in page.locator(".runs th small").all_inner_texts()[1:]] == ["c", "b", "a"]
        page.get_by_role("button", name="large-model").click()
        expect(page.get_by_label("Run", exact=True).locator("option")).to_have_text(
            ["d", "large-model", "small-model · b", "small-model · a"]
        )
        expect(page).to_have_title("large-model · callmark")
        page.get_by_label("Baseline", exact=True).select_option("a")
        expect(page.locator(".verdict-text")).to_have_text(re.compile("^c and a have identical scores"))


def test_copied_address_restores_the_state_with_the_token(opened: Opener, viewer: Page, viewer_address: str) -> None:
    viewer.get_by_role("button", name="base").click()
    viewer.locator('#charts [data-key="fault=no_call"]').click()
    viewer.locator(".row").nth(1).click()
    expect(viewer.locator("#case-title")).to_have_text("s6:5")
    copied = viewer.url
    other = opened(viewer_address + "#" + copied.partition("#")[2], wait="#case-title")
    assert other.url == copied
    expect(other.locator("#case-title")).to_have_text("s6:5")
    check_row_count(other, "3 of 36 cases")


def test_keyboard_shortcuts_work_in_the_viewer(viewer: Page) -> None:
    viewer.get_by_role("button", name="tuned").focus()
    viewer.keyboard.press("Enter")
    check_row_count(viewer, "36 cases")
    viewer.keyboard.press("/")
    viewer.keyboard.type("nobody")
    viewer.keyboard.press("Escape")
    check_row_count(viewer, "2 of 36 cases")
    viewer.keyboard.press("j")
    viewer.keyboard.press("Enter")
    expect(viewer.locator("#case-title")).to_have_text("s3:3")
    viewer.keyboard.press("j")
    expect(viewer.locator("#case-title")).to_have_text("s7:3")
    viewer.keyboard.press("Escape")
    expect(viewer.locator("#case")).to_be_hidden()
    viewer.keyboard.press("?")
    expect(viewer.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    viewer.keyboard.press("Escape")


def test_viewer_fits_a_narrow_dark_screen(opened: Opener, viewer: Page, viewer_address: str) -> None:
    page = opened(f"{viewer_address}#run=tuned&base=base", width=390, dark=True)
    assert page.evaluate(PAPER) != viewer.evaluate(PAPER)
    expect(page.locator(".forest-row").first).to_be_visible()
    for address in ("#run=tuned&base=base", "#run=base&case=s8%3A5", "#"):
        page.evaluate(f"location.hash = '{address}'")
        page.locator(".row:visible, #case-title:visible, .runs:visible").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


NAMES = [
    [],
    ["short", "short", ""],
    ["exchange_delivered_order_items", "exchange_delivered_order_gifts", "exchange_pending_order_items"],
    ["a" * 80 + middle + "b" * 80 for middle in "xyz"],
    ["x" * 300, "x" * 301, "x" * 302, "y"],
    ["größe_" * 8 + "a", "größe_" * 8 + "b", "🙂" * 40, "🙂" * 41],
]


@pytest.mark.parametrize("names", NAMES, ids=range(len(NAMES)))
def test_page_shortens_names_as_the_terminal_does(viewer: Page, names: list[str]) -> None:
    for width in (1, 8, 26):
        short = viewer.evaluate("([names, width]) => import('/page/text.js').then((text) => text.shortenAll(names, width))", [names, width])
        assert short == shorten_all(names, width)


@pytest.mark.parametrize(
    "names, width, short",
    [
        (["get_user"], 18, ["get_user"]),
        (
            ["TicketPlugin-create_support_ticket", "TicketPlugin-update_support_ticket"],
            24,
            ["…create_support_ticket", "…update_support_ticket"],
        ),
        (["TicketPlugin-create_support_ticket", "TicketPlugin-update_support_ticket"], 18, ["…create_s…t_ticket", "…update_s…t_ticket"]),
        (["first_service.search_everything", "second_service.search_everything"], 18, ["first_ser…erything", "second_se…erything"]),
        (["a_long_name_that_ends_alike_one", "a_long_name_that_ends_alike_two"], 18, None),
    ],
)
def test_different_tools_have_different_short_names(viewer: Page, names: list[str], width: int, short: list[str] | None) -> None:
    found = viewer.evaluate(
        """([names, width]) => import('/page/call_pieces.js').then(({ shortTools }) => {
          const short = shortTools(names.map((name) => `${name}(a=1)`));
          return names.map((name) => short(name, width));
        })""",
        [names, width],
    )
    assert len(set(found)) == len(names)
    assert short is None or found == short


def test_without_the_token_no_data_is_shown(browser: Browser, viewer_address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(viewer_address.partition("?")[0])
    expect(page.locator(".notice")).to_contain_text("Open the URL that callmark view printed.")
    assert "base" not in page.locator("main").inner_text()
    context.close()


def test_list_follows_the_folder_and_an_empty_one_says_what_to_do(opened: Opener, tmp_path: Path) -> None:
    with viewer_process(tmp_path) as address:
        page = opened(address)
        expect(page.get_by_text("No runs yet.")).to_be_visible()
        expect(page.locator(".empty code").first).to_have_text("callmark run CASES --model MODEL")
        make_run(tmp_path / "late", some(3, of=4))
        expect(page.get_by_role("button", name="late")).to_be_visible()
        rmtree(tmp_path / "late")
        expect(page.get_by_text("No runs yet.")).to_be_visible()


GATED = '''
"""Responds to as many requests as the file `gate` says, and waits until it says more."""

import re
import time
from pathlib import Path

requests = 0


def answer(messages, tools):
    global requests
    requests += 1
    while requests > int(Path("gate").read_text() or 0):
        time.sleep(0.02)
    number = re.search(r"#W10\\d\\d", messages[0]["content"])
    return {"role": "assistant", "tool_calls": [{"name": "get_order", "arguments": {"order_id": number[0]}}]}
'''


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """Start a run in `tmp_path/runs` that pauses after four of its 36 predictions."""
    shop(tmp_path / "shop.jsonl")
    (tmp_path / "gated.py").write_text(GATED)
    (tmp_path / "gate").write_text("4")
    (tmp_path / "runs").mkdir()
    command = [
        sys.executable,
        "-m",
        "callmark",
        "run",
        "shop.jsonl",
        "--model",
        "python:gated:answer",
        "--name",
        "running",
        "--concurrency",
        "1",
    ]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield tmp_path / "gate", process
        finally:
            process.kill()


def test_run_in_progress_is_followed_without_reloading(opened: Opener, running: tuple[Path, "subprocess.Popen[bytes]"]) -> None:
    gate, process = running
    with viewer_process(gate.parent / "runs") as address:
        page = opened(address)
        expect(page.locator(".run-counts")).to_have_text("4 of 36 predictions")
        page.locator(".run-name").click()
        expect(page.locator("#counts")).to_contain_text("4 of 36 predictions")
        check_row_count(page, "4 cases")
        page.evaluate("window.loadedOnce = true")
        page.locator(".row").first.click()
        expect(page.locator("#case-title")).to_have_text("s0:3")
        gate.write_text("10")
        expect(page.locator("#counts")).to_contain_text("10 of 36 predictions")
        check_row_count(page, "10 cases")
        expect(page.locator("#case-title")).to_have_text("s0:3")
        page.keyboard.press("Escape")
        expect(page.locator(".tile-number").first).to_be_visible()
        gate.write_text("100")
        check_row_count(page, "36 cases")
        expect(page.locator("#counts")).to_have_text("36 cases · 12 conversations")
        assert process.wait(timeout=20) == 0
        expect(page.locator(".tile-interval").first).to_have_text("[.315, .352]")
        assert page.locator(".row .cell-case").all_inner_texts()[:4] == ["s0:3", "s0:5", "s1:3", "s1:5"]
        assert page.evaluate("window.loadedOnce") is True
