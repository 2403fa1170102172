"""Chart files: they show the counts, and no name becomes part of a chart's specification."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import callmark
from callmark.errors import BadInput
from callmark.reporting import charts as module
from callmark.reporting.charts import FORMATS, chart_names, charts, write_charts
from callmark.types import Call, Conversation, Message, Tool
from tests.conftest import Cli
from tests.rows import assistant, call, result, row, user, write_rows

ALL = ["turns", "calls", "turns-calls", "tools", "transitions", "roles", "combinations", "lengths"]


def conversation(*names: str, text: str = "hello") -> Conversation:
    messages = [Message("user", text), *(Message("assistant", "", (Call(name),)) for name in names)]
    return Conversation("1", tuple(messages), tuple(map(Tool, names)))


def values(chart: Any) -> list[dict[str, Any]]:
    """Return the rows that a chart was drawn from, in order."""
    spec = chart.to_dict()
    found = spec.get("data", {}).get("values")
    return found if found is not None else next(iter(spec["datasets"].values()))


def test_every_chart_is_written_in_every_format(tmp_path: Path) -> None:
    written = write_charts([("one", callmark.stats([conversation("a", "b"), conversation("a")]))], str(tmp_path / "new"))
    assert [path.name for path in written] == [f"{name}.{ending}" for name in ALL for ending in FORMATS]
    for path in written:
        match path.name.partition(".")[2]:
            case "svg":
                assert ElementTree.parse(path).getroot().tag.endswith("svg")
            case "png":
                assert path.read_bytes().startswith(b"\x89PNG")
            case _:
                assert json.loads(path.read_text())["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_charts_show_the_counts() -> None:
    drawn = charts([("one", callmark.stats([conversation("a", "b"), conversation("a"), conversation("a"), conversation(text="x" * 40)]))])
    assert [(one["label"], one["count"]) for one in values(drawn["calls"])] == [("0", 1), ("1", 2), ("2", 1)]
    assert [(one["label"], one["count"]) for one in values(drawn["turns"])] == [("1", 1), ("2", 2), ("3", 1)]
    assert [(one["label"], one["count"]) for one in values(drawn["tools"])] == [("a", 3), ("b", 1)]
    assert [(one["label"], one["count"]) for one in values(drawn["combinations"])] == [("a", 2), ("a, b", 1)]
    assert [(one["before"], one["after"], one["count"]) for one in values(drawn["transitions"])] == [("a", "b", 1)]
    assert [(one["turns"], one["calls"], one["count"]) for one in values(drawn["turns-calls"])] == [(1, 0, 1), (2, 1, 2), (3, 2, 1)]
    assert [(one["role"], one["label"], one["count"]) for one in values(drawn["lengths"])] == [("user", "4", 3), ("user", "32", 1)]
    assert [(one["label"], one["count"]) for one in values(drawn["roles"])] == [("assistant", 4), ("user", 4)]


def test_several_files_are_compared_by_shares() -> None:
    drawn = charts(
        [
            ("train", callmark.stats([conversation("a"), conversation("a"), conversation("b"), conversation("a", "a")])),
            ("valid", callmark.stats([conversation("a")])),
        ]
    )
    shares = {(one["file"], one["label"]): one["share"] for one in values(drawn["calls"])}
    assert shares == {("train", "1"): 0.75, ("train", "2"): 0.25, ("valid", "1"): 1.0, ("valid", "2"): 0.0}
    assert '"share"' in json.dumps(drawn["calls"].to_dict()["encoding"])


def test_many_lengths_become_ranges_and_many_tools_are_cut() -> None:
    drawn = charts([("one", callmark.stats([conversation(*(f"tool{number:03}" for number in range(count))) for count in range(100)]))])
    labels = [one["label"] for one in values(drawn["calls"])]
    assert labels[:2] == ["0–3", "4–7"]
    assert sum(one["count"] for one in values(drawn["calls"])) == 100
    assert len(values(drawn["tools"])) == 30
    assert drawn["tools"].to_dict()["title"] == {"text": "Calls by tool", "subtitle": "top 30 of 99"}


def test_titles_name_what_is_counted() -> None:
    drawn = charts([("one", callmark.stats([conversation("a", "b"), conversation("a")]))])
    titles = {name: chart.to_dict()["title"] for name, chart in drawn.items()}
    assert titles == {
        "turns": "Messages per conversation",
        "calls": "Tool calls per conversation",
        "turns-calls": "Messages and tool calls per conversation",
        "tools": "Calls by tool",
        "transitions": {"text": "Transitions between tool calls", "subtitle": "row: call · column: next call"},
        "roles": "Messages by role",
        "combinations": "Tool combinations",
        "lengths": "Message length by role",
    }


def test_data_without_calls_has_no_charts_of_calls() -> None:
    assert list(charts([("one", callmark.stats([conversation()]))])) == ["turns", "roles", "lengths"]


@pytest.mark.parametrize("name", ["</text><script>x</script>", "datum.x", "a\x1b[31m\x00b", "\u202ename", "x" * 100_000, "a.b[0]'\"\\"])
def test_hostile_name_is_drawn_as_text(name: str, tmp_path: Path) -> None:
    written = write_charts(
        [(name, callmark.stats([conversation(name, "plain")])), ("other", callmark.stats([conversation("plain")]))], str(tmp_path)
    )
    for path in written:
        if path.suffix == ".svg":
            tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(path).getroot().iter()}
            assert tags <= {"svg", "g", "path", "text", "rect", "line", "defs", "clipPath", "style", "title", "tspan"}, path
            assert path.stat().st_size < 300_000


def test_chart_names_are_file_names_unless_they_repeat() -> None:
    assert chart_names(["data/train.jsonl", "data/valid.jsonl.gz"]) == ["train", "valid"]
    assert chart_names(["a/train.jsonl", "b/train.jsonl"]) == ["a/train.jsonl", "b/train.jsonl"]
    assert chart_names(["-"]) == ["-"]


def test_missing_altair_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="charts require Altair and vl-convert") as caught:
        charts([("one", callmark.stats([conversation("a")]))])
    assert caught.value.hint == "Install both with: pip install 'callmark[charts]'"


def test_folder_that_cannot_be_written_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="file cannot be written: file is a file, not a folder"):
        write_charts([("one", callmark.stats([conversation("a")]))], str(tmp_path / "file"))
    with pytest.raises(BadInput, match="the chart folder is empty; expected a folder name"):
        write_charts([("one", callmark.stats([conversation("a")]))], "")


def test_interrupted_chart_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import altair

    def interrupted(chart: object, path: str, **_: object) -> None:
        Path(path).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(altair.TopLevelMixin, "save", interrupted)
    (tmp_path / "turns.svg").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_charts([("one", callmark.stats([conversation("a")]))], str(tmp_path))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("turns.svg", "old")]


def test_stats_writes_charts_and_says_where(cli: Cli, tmp_path: Path) -> None:
    conversation_row = row(user("hi"), assistant(call("a")), result("{}"), assistant(call("b")))
    train, valid = (
        write_rows(tmp_path / "train.jsonl", conversation_row, conversation_row),
        write_rows(tmp_path / "valid.jsonl", conversation_row),
    )
    done = cli("stats", train, valid, "--charts", tmp_path / "charts")
    assert done.status == 0
    assert done.out.endswith(f"Wrote charts to {tmp_path}/charts: {', '.join(ALL)} (each as svg, png, vl.json)\n")
    assert {one["file"] for one in json.loads((tmp_path / "charts" / "tools.vl.json").read_text())["data"]["values"]} == {"train", "valid"}


def test_stats_says_what_to_install_before_reading(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    done = cli("stats", "nowhere.jsonl", "--charts", "charts")
    assert (done.status, done.out) == (2, "")
    assert done.err == "callmark: charts require Altair and vl-convert.\nInstall both with: pip install 'callmark[charts]'\n"


def test_tool_sets_with_a_common_prefix_stay_separate() -> None:
    common = [f"a_long_name_of_a_tool_{number}" for number in range(6)]
    drawn = charts([("one", callmark.stats([conversation(*common, last) for last in ("x", "y", "z")]))])
    assert len({one["label"] for one in values(drawn["combinations"])}) == 3


def test_long_names_are_shortened_in_the_middle_until_they_differ() -> None:
    tools = [f"TicketManagementPlugin-create_a_support_ticket_for_the_department_of_{name}" for name in ("operations", "recruiting")]
    middle = [f"{'a' * 40}{letter}{'b' * 40}" for letter in "xy"]
    files = [f"runs-of-an-experiment-with-a-long-name-checkpoint-{step}" for step in (400, 800)]
    drawn = charts([(file, callmark.stats([conversation(*tools, *middle)])) for file in files])
    labels = {one["label"] for one in values(drawn["tools"])}
    assert len(labels) == 4
    assert sum("…" in label for label in labels) == 2
    assert labels >= set(middle)  # they differ in the middle only
    assert {one["file"] for one in values(drawn["tools"])} == {f"runs-of-an-experimen…name-checkpoint-{step}" for step in (400, 800)}
    assert len({one["after"] for one in values(drawn["transitions"])}) == 3
