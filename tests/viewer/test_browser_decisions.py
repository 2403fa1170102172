"""The panel of decisions and pooled metrics in a browser: the numbers that the terminal prints, and the mark of a heuristic."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from playwright.sync_api import Locator, Page, expect

from tests.conftest import Cli
from tests.decision_runs import decision_runs
from tests.viewer.conftest import Opener, write_report_of

PANEL = ".panel.decisions"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decisions")
    decision_runs(path)
    return path / "runs"


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    return write_report_of(folder / "base", folder / "tuned")


@pytest.fixture(scope="module")
def page(opened_once: Opener, report: Path) -> Page:
    return opened_once(report)


def panel_of(page: Page, state: str) -> Locator:
    page.evaluate(f"location.hash = {state!r}")
    panel = page.locator(PANEL)
    expect(panel.get_by_role("heading").first).to_have_text("Decisions")
    return panel


def table(panel: Locator, index: int) -> list[list[str]]:
    rows = panel.locator("table").nth(index).locator("tr")
    return [rows.nth(at).locator("th, td").all_inner_texts() for at in range(rows.count())]


def test_panel_has_the_matrix_its_rates_and_the_pooled_metrics(page: Page) -> None:
    panel = panel_of(page, "run=base")
    expect(panel.locator("td").first).to_have_text("18")
    assert table(panel, 0) == [["Expected", "call", "no call"], ["call", "18", "2"], ["no call", "3", "7"]]
    facts = dict(zip(panel.locator("dt").all_inner_texts(), panel.locator("dd").all_inner_texts(), strict=True))
    assert (facts["over-calling"], facts["under-calling"], facts["behavior (heuristic)"]) == (".300", ".100", "0")
    assert table(panel, 1)[1:] == [
        ["pooled precision", ".857\n18 of 21", ".833"],
        ["pooled recall", ".600\n18 of 30", ".667"],
        ["pooled wrong calls with a hallucinated value", "1\n3 of 3", "1"],
    ]


def test_panel_and_terminal_show_the_same_numbers(cli: Cli, page: Page, folder: Path) -> None:
    panel = panel_of(page, "run=base")
    expect(panel.locator("td").first).to_have_text("18")
    out = cli("grade", folder / "base", *(part for name in ("call", "process", "decision") for part in ("-e", name))).out
    for expected, *counts in table(panel, 0)[1:]:
        (line,) = re.findall(rf"expected {expected}: got (.*)", out)
        assert sorted(line.split(", ")) == sorted(f"{name} {count}" for name, count in zip(("call", "no call"), counts, strict=True))
    for label, pooled, _ in table(panel, 1)[1:3]:
        assert f"{label} {pooled.split()[0]}" in out
    for label, value in zip(panel.locator("dt").all_inner_texts(), panel.locator("dd").all_inner_texts(), strict=True):
        assert f"{label} {value}" in out


def test_heuristic_is_marked_in_tiles_comparison_and_case(page: Page) -> None:
    panel_of(page, "run=tuned&base=base")
    expect(page.locator(".forest .metric-name", has_text="behavior")).to_have_text("behavior (heuristic)")
    assert page.locator(".tile-name", has_text="behavior").all_text_contents() == ["behavior (heuristic)"]
    page.evaluate("location.hash = 'run=tuned&base=base&case=none0'")
    names = page.locator(".case-verdict .facts dt", has_text="decision.behavior")
    expect(names.first).to_be_attached()
    assert set(names.all_text_contents()) == {"decision.behavior (heuristic)"}


def test_panel_fits_a_narrow_screen(opened: Opener, report: Path) -> None:
    page = opened(report, width=390)
    expect(page.locator(PANEL)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_run_without_decisions_has_the_pooled_metrics_only(opened: Opener, base_report: Path) -> None:
    panel = opened(base_report).locator(PANEL)
    expect(panel.get_by_role("heading")).to_have_text(["Pooled metrics"])
    assert [label for label, *_ in table(panel, 0)[1:]] == ["pooled precision", "pooled recall"]
