"""axe-core in the browser: the page has no serious accessibility problem, in light and dark, wide and narrow."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")
pytest.importorskip("axe_playwright_python", reason="no axe-core: pip install -e '.[dev]'")

from playwright.sync_api import Page, expect

from tests.viewer.conftest import Opener

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")


def findings(page: Page) -> list[str]:
    """Return the serious findings of axe: the rule and the elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate("axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)")
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}" for one in found if one["impact"] in SERIOUS]


def go(page: Page, state: str, wait: str) -> None:
    page.evaluate("(state) => { location.hash = state; }", state)
    page.locator(wait).first.wait_for()


# A few rows are as good a check as many, and faster.
FILTERED = "run=base&q=s8&tool=cancel_order&fault=wrong_value&sort=-score"
COMPARED = "run=tuned&base=base&q=s3"


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_is_accessible(opened: Opener, both_report: Path, dark: bool, width: int) -> None:
    page = opened(both_report, width=width, dark=dark)
    go(page, FILTERED, ".heat:visible")
    expect(page.locator('.bar[aria-pressed="true"]').first).to_be_visible()
    assert findings(page) == []
    go(page, "run=base&q=s8&case=s8%3A5", "#case-title:visible")
    page.get_by_role("button", name="Show message 0").click()
    expect(page.locator(".highlighted")).to_be_visible()
    assert findings(page) == []
    go(page, COMPARED, ".forest:visible")
    assert findings(page) == []
    go(page, f"{COMPARED}&case=s3%3A3", ".outcome-label:visible")
    assert findings(page) == []
    go(page, "nothing", ".runs:visible")
    assert findings(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert findings(page) == []


@pytest.mark.parametrize("width, dark", [(1440, False), (390, True)])
def test_viewer_is_accessible_with_labels_and_history(opened: Opener, viewer_address: str, width: int, dark: bool) -> None:
    page = opened(f"{viewer_address}#run=tuned&base=base&score=wrong", width=width, dark=dark)
    page.locator(".groups:visible").first.wait_for()
    assert findings(page) == []
    go(page, "run=base&q=s8&case=s8%3A5", ".triage:visible")
    page.get_by_text("Correct the expectation").click()
    assert findings(page) == []
    go(page, "", ".runs:visible")
    assert findings(page) == []
    go(page, "view=history", ".board:visible")
    assert findings(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_conversations_and_empty_states_are_accessible(opened: Opener, desk_report: Path, dark: bool) -> None:
    page = opened(desk_report, dark=dark)
    assert findings(page) == []
    page.locator(".row").first.click()
    expect(page.locator("#case-title")).to_be_visible()
    page.locator(".case-verdict details:not([open]) > summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    page.get_by_role("button", name="arguments equal").first.click()
    assert findings(page) == []
    go(page, "run=desk&q=nothing+has+this", "#no-rows:visible")
    assert findings(page) == []


@pytest.mark.parametrize("width, dark", [(1440, True), (390, False)])
def test_comparison_of_chatbots_is_accessible(opened: Opener, chat_report: Path, width: int, dark: bool) -> None:
    page = opened(f"{chat_report.as_uri()}#run=sloppy&base=careful&q=create", width=width, dark=dark)
    page.locator(".groups:visible").first.wait_for()
    assert findings(page) == []
    go(page, "run=sloppy&base=careful&case=create-06", ".at-fault:visible")
    assert findings(page) == []


def test_axe_finds_a_missing_label(opened: Opener, both_report: Path) -> None:
    page = opened(both_report)
    page.evaluate(
        "document.querySelector('#search').removeAttribute('aria-label'); document.querySelector('#search').removeAttribute('placeholder')"
    )
    assert "label" in findings(page)[0]
