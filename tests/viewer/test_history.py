"""The history of runs: what is in it, and how the page shows it: order, filters, runs that are not comparable, the report."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")

from msgspec import structs
from playwright.sync_api import Page, expect

import callmark
from callmark.cli.main import run as command
from callmark.grading.record import GradeRecord
from callmark.models.model import ModelSettings
from callmark.runs.git_state import GitState
from callmark.runs.manifest import ModelRunInfo
from callmark.runs.run import Run
from callmark.types import Usage
from callmark.viewer.run_collection import RunCollection
from tests.graded_runs import make_run, some
from tests.viewer.conftest import Opener, viewer_process

HOSTILE = '<script>hit=1</script>"'


def checkpoint(
    folder: Path, number: int, *, digest: str = "one", version: str = "1.0", trials: int = 1, model: str = "small", created: str = ""
) -> None:
    usage = Usage(0.5, 100, 10, 0.001 * number)
    grades = [structs.replace(grade, usage=usage, trial=trial) for grade in some(20 + 2 * number) for trial in range(trials)]
    run = Run(make_run(folder / f"run-{number}", grades, digest=digest))
    run.folder.write(
        structs.replace(
            run.info,
            callmark=version,
            created=created or f"2026-01-{number:02}T10-00",
            tags={"step": str(100 * number), "note": HOSTILE},
            git=GitState(f"{number:040x}", f"branch-{number}", True),
            model_run=ModelRunInfo(model, ModelSettings(model), trials) if model else None,
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    for number in (1, 2, 3, 10):
        checkpoint(folder, number, version="0.9" if number == 2 else "1.0", trials=2 if number == 3 else 1)
    checkpoint(folder, 4, model="large")
    checkpoint(folder, 5, digest="two")
    return folder


@pytest.fixture(scope="module")
def history(folder: Path, opened_once: Opener) -> Iterator[Page]:
    with viewer_process(folder) as address:
        page = opened_once(f"{address}#view=history", wait=".board tbody tr")
        yield page


def names(page: Page) -> list[str]:
    return [text.split(" · ")[0] for text in page.locator(".board th small:first-of-type").all_inner_texts()]


def go(page: Page, state: str) -> None:
    page.evaluate("(state) => { location.hash = ''; location.hash = state; }", f"view=history&{state}")
    page.locator(".board tbody tr").first.wait_for()


def test_numbers_are_those_of_the_summaries(folder: Path) -> None:
    runs = {each["name"]: each for each in RunCollection(str(folder)).history_data()["runs"]}
    assert len(runs) == 6
    for name, entry in runs.items():
        summary = callmark.Run(folder / name).summary()
        for metric, estimate in summary.metrics.items():
            assert entry["metrics"][metric] == [estimate.mean, estimate.low, estimate.high]
        assert entry["cost"] == pytest.approx(1000 * summary.usage.cost / summary.usage.n)  # type: ignore[union-attr, operator]
    assert runs["run-3"]["pass_rate"][0] == callmark.Run(folder / "run-3").summary().details.trials.pass_rates[-1].every  # type: ignore[union-attr]
    assert runs["run-1"]["pass_rate"] is None


def test_leaderboard_is_sorted_by_any_column(history: Page) -> None:
    go(history, "dataset=one")
    assert names(history) == ["run-10", "run-4", "run-3", "run-2", "run-1"]
    history.get_by_role("button", name="Cost per 1,000").click()
    assert names(history) == ["run-1", "run-2", "run-3", "run-4", "run-10"]
    history.get_by_role("button", name="Cost per 1,000").click()
    assert names(history) == ["run-10", "run-4", "run-3", "run-2", "run-1"]
    expect(history.locator('.board [aria-sort="descending"]')).to_have_text("Cost per 1,000")
    row = history.locator(".board tbody tr", has_text="run-3")
    expect(row).to_contain_text("00000000 branch-3 with changes")
    expect(row).to_contain_text("k = 2")


def test_filters_and_tags_select_what_is_charted(history: Page) -> None:
    go(history, "dataset=one&by=step")
    expect(history.locator(".history-count")).to_have_text("5 runs of one.jsonl, 1 not comparable")
    expect(history.locator(".history-chart svg.history .series-point")).to_have_count(5)
    assert "1,000" in history.locator(".history-chart .axis").all_text_contents()
    history.get_by_label("Model", exact=True).select_option("large")
    assert names(history) == ["run-4"]
    history.get_by_label("Model", exact=True).select_option("")
    history.get_by_label("Search runs").fill("branch-3")
    assert names(history) == ["run-3"]
    expect(history.get_by_label("Search runs")).to_be_focused()
    history.get_by_label("Search runs").fill("")
    history.get_by_label("Dataset", exact=True).select_option("all")
    assert len(names(history)) == 6
    history.get_by_label("Dataset", exact=True).select_option("two")
    assert names(history) == ["run-5"]
    history.get_by_label("Metric", exact=True).select_option("call.pass")
    expect(history.get_by_role("heading", name="call.pass by step")).to_be_visible()


def chart_points(page: Page) -> list[float]:
    """Return where the points of the upper chart are, from left to right."""
    places: list[float] = page.locator(".history-chart .history .series-point").evaluate_all(
        "(all) => all.map((one) => one.transform.baseVal.consolidate().matrix.e)"
    )
    return sorted(places)


def chart_ticks(page: Page) -> list[str]:
    """Return the labels of the horizontal axis of the upper chart; none may be cut or touch another."""
    found: list[str] = page.locator(".history-chart .history").evaluate(
        """(chart) => {
            const labels = [...chart.querySelectorAll("text.axis:not([text-anchor=end])")];
            const boxes = labels.map((label) => label.getBoundingClientRect());
            const { left, right } = chart.getBoundingClientRect();
            const touches = (a, b) => a !== b && a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
            const good = boxes.every((box) => box.left >= left && box.right <= right && !boxes.some((other) => touches(box, other)));
            return good ? labels.map((label) => label.textContent) : [];
        }"""
    )
    return found


@pytest.mark.parametrize("width", [1440, 390])
def test_runs_over_time_are_spread_over_the_chart_with_several_ticks(history: Page, width: int) -> None:
    history.set_viewport_size({"width": width, "height": 844})
    go(history, "dataset=one")
    expect(history.locator(".history-chart h2")).to_have_text("call.score over time")
    expect(history.locator(".history-chart .history")).to_have_attribute("width", str(1196 if width == 1440 else 314))
    points = chart_points(history)
    assert points[-1] - points[0] > 200
    assert len(set(points)) == 5
    days = [tick for tick in chart_ticks(history) if "-" in tick]
    assert len(days) >= 3
    assert all("01-01" <= day <= "01-10" for day in days)
    assert "2026" in chart_ticks(history)
    widths = history.locator("svg.history").evaluate_all("(all) => all.map((chart) => chart.getAttribute('width'))")
    assert len(widths) == 2
    assert len(set(widths)) == 1
    go(history, "dataset=one&by=step")
    expect(history.locator(".history-chart h2")).to_have_text("call.score by step")
    assert len(chart_ticks(history)) >= 3
    history.set_viewport_size({"width": 1440, "height": 900})


def test_runs_of_a_day_have_hours_and_runs_at_one_time_have_room(opened: Opener, tmp_path: Path) -> None:
    for number, hour in enumerate((9, 12, 15, 18), 1):
        checkpoint(tmp_path, number, created=f"2026-01-05T{hour:02}-30")
    checkpoint(tmp_path, 5, digest="two", created="2026-01-05T10-00")
    with viewer_process(tmp_path) as address:
        page = opened(f"{address}#view=history&dataset=one", wait=".board tbody tr", width=390)
        ticks = chart_ticks(page)
        assert [tick for tick in ticks if "-" in tick] == ["01-05"]
        assert len(ticks) - 1 >= 3
        assert all(re.fullmatch(r"\d\d:\d\d", tick) for tick in ticks if tick != "01-05")
        page.get_by_label("Dataset", exact=True).select_option("two")
        expect(page.locator(".history-count")).to_have_text("1 run of two.jsonl")
        assert set(chart_ticks(page)) - {"01-04", "01-05", "01-06"} <= {f"{hour:02}:00" for hour in range(24)}


def test_each_model_is_a_series_and_runs_without_a_model_are_one(opened: Opener, tmp_path: Path) -> None:
    for number, model in enumerate(("", "", "", "large", "small"), 1):
        checkpoint(tmp_path, number, model=model)
    legend = ".history-chart .legend li"
    with viewer_process(tmp_path) as address:
        page = opened(f"{address}#view=history&by=step", wait=".board tbody tr")
        expect(page.locator(legend)).to_have_text(["small", "large", "no model"])
        expect(page.locator(".history-chart polyline")).to_have_count(1)
        expect(page.locator(".history-chart a.series-2")).to_have_count(3)
        page.get_by_label("Model", exact=True).select_option("no model")
        expect(page.locator(".board .run-name")).to_have_text(["run-3", "run-2", "run-1"])
        expect(page.locator(legend)).to_have_count(0)
        expect(page.locator(".history-chart polyline")).to_have_count(1)


def test_leaderboard_on_a_phone_is_cards_that_can_be_sorted(history: Page) -> None:
    history.set_viewport_size({"width": 390, "height": 844})
    go(history, "dataset=one")
    rows = history.locator(".board tbody tr")
    sizes = rows.evaluate_all("(all) => all.map((one) => [one.offsetHeight, one.querySelector('th').offsetWidth])")
    assert all(height < 150 and name > 280 for height, name in sizes)
    expect(rows.first).to_contain_text("$10")
    assert history.evaluate("document.documentElement.scrollWidth") <= 390
    search, filters = history.locator(".history-search").bounding_box(), history.locator("#run-list .filters").bounding_box()
    assert search
    assert filters
    assert search["width"] == filters["width"]
    history.get_by_role("button", name="Cost per 1,000").click()
    assert names(history) == ["run-1", "run-2", "run-3", "run-4", "run-10"]
    history.set_viewport_size({"width": 1440, "height": 900})


def test_run_of_another_version_is_marked_as_not_comparable(history: Page) -> None:
    go(history, "dataset=one")
    expect(history.locator(".history a.hollow")).to_have_count(1 + 1)  # in both charts
    expect(history.locator(".board tr.differs")).to_have_count(1)
    expect(history.locator(".board tr.differs")).to_contain_text("Not comparable: graded by callmark 0.9")


def test_hostile_tags_are_text_and_a_point_opens_its_run(history: Page) -> None:
    go(history, "dataset=one")
    expect(history.locator(".board tbody")).to_contain_text(f"note={HOSTILE}")
    history.locator('.history a[aria-label*="run-4"]').first.focus()
    history.keyboard.press("Enter")
    expect(history.locator(".provenance")).to_contain_text("branch-4")
    history.go_back()
    expect(history.get_by_role("heading", name="History", exact=True)).to_be_visible()


def test_history_is_a_report_without_cases(folder: Path, opened: Opener, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "history.html"
    assert command(["report", *map(str, sorted(folder.glob("run-*"))), "--history", "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}   ")
    page = opened(out, wait=".board tbody tr", width=390, dark=True)
    expect(page.get_by_role("heading", name="History", exact=True)).to_be_visible()
    expect(page.locator(".view-tabs")).to_have_count(0)
    page.locator("#brand").click()
    expect(page.get_by_role("heading", name="History", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".board button.run-name")).to_have_count(0)
    assert '"c39"' not in out.read_text()


def test_run_in_progress_has_a_number_in_the_list(tmp_path: Path) -> None:
    from tests.rows import call
    from tests.viewer.grading_helpers import case, edit_manifest, grade_run, predicted

    cases = [case(f"c{n}", [call("f", {"n": n})]) for n in range(8)]
    run = grade_run(tmp_path, cases, [predicted(f"c{n}", call("f", {"n": n % 2})) for n in range(8)])
    edit_manifest(run, status="running")
    (entry,) = RunCollection(str(tmp_path / "runs")).list_data()["runs"]
    assert entry["headline"]["mean"] == pytest.approx((2 + 6 * 0.5) / 8)
    assert entry["headline"]["low"] is not None
    assert entry["status"] == "running"


def test_empty_folder_says_what_to_do(opened: Opener, tmp_path: Path) -> None:
    with viewer_process(tmp_path) as address:
        page = opened(f"{address}#view=history")
        expect(page.get_by_text("No runs yet.")).to_be_visible()
        make_run(tmp_path / "run", [GradeRecord("a", error="HTTP 503")])
        expect(page.get_by_text(re.compile("No scores to show|1 run of"))).to_have_count(2)
