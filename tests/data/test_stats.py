import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.data.describe import describe
from callmark.data.stats import StatsTally
from callmark.types import Call, Case, Conversation, Message, Tool
from tests.rows import conversation, tool_call

TOOLS = (Tool("a", "", {"properties": {"x": {}, "y": {}}, "required": ["x"]}), Tool("unused"))


def calling(*calls: Call) -> Message:
    return Message("assistant", "", calls)


ROWS = [
    Conversation("1", (Message("user", "hi"), calling(tool_call("a", x=1)), calling(tool_call("b"), tool_call("a", x=1, z=2))), TOOLS),
    Conversation("2", (Message("user", "hi"), Message("assistant", "hello")), TOOLS),
    Conversation("3", (calling(Call("a", {}, None, "truncated JSON", "{")),), TOOLS),
]


def test_everything_is_counted() -> None:
    counted = callmark.stats(ROWS)
    assert counted.conversations == 3
    assert (counted.num_turns.total, counted.num_turns.max) == (6, 3)
    assert (counted.tool_calls.total, counted.tool_calls.min, counted.tool_calls.max) == (4, 0, 3)
    assert counted.tools == {"a": 3, "b": 1}
    assert counted.roles == {"assistant": 4, "user": 2}
    assert counted.never_called == ["unused"]
    assert counted.not_listed == ["b"]
    assert counted.malformed_calls == 1
    assert counted.first_call == {"a": 2}
    assert counted.last_call == {"a": 2}
    assert counted.calls_per_message == {1: 2, 2: 1}
    assert counted.follows == {"a": {"b": 1}, "b": {"a": 1}}
    assert [(one.tools, one.count) for one in counted.tool_sets] == [(["a"], 1), (["a", "b"], 1)]
    arguments = counted.arguments["a"]
    assert (arguments["x"].given, arguments["x"].required) == (2, True)
    assert arguments["x"].share == pytest.approx(2 / 3)
    assert (arguments["y"].given, arguments["y"].required) == (0, False)
    assert (arguments["z"].given, arguments["z"].required) == (1, None)


def test_statistics_have_an_html_repr() -> None:
    shown = callmark.stats(ROWS)._repr_html_()
    assert "<tr><th>mean</th><td>2</td><td>1.333</td></tr>" in shown
    assert "<tr><th>75%</th>" in shown


def test_expected_calls_of_a_case_are_counted() -> None:
    counted = callmark.stats([Case("1", (Message("user", "hi"), calling(tool_call("old"))), expected=(tool_call("new"),))])
    assert counted.tools == {"new": 1}
    assert counted.num_turns.mean == 2


def test_flushing_often_gives_the_same_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = callmark.stats(ROWS * 50)
    monkeypatch.setattr("callmark.data.stats._MAX_PENDING", 2)
    assert callmark.stats(ROWS * 50) == whole


def test_a_tally_can_be_read_more_than_once() -> None:
    tally = StatsTally()
    tally.add(ROWS[0])
    assert tally.stats() == tally.stats()
    tally.add(ROWS[1])
    assert tally.stats().conversations == 2


@pytest.mark.laws
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_the_table_is_what_pandas_describes(values: list[int]) -> None:
    import pandas as pd

    theirs = pd.Series(values).describe()
    counts = {value: values.count(value) for value in values}
    ours = describe(counts)
    assert [ours.count, ours.mean, ours.min, ours.q25, ours.q50, ours.q75, ours.max] == pytest.approx(
        [theirs[key] for key in ("count", "mean", "min", "25%", "50%", "75%", "max")]
    )
    if len(values) > 1:
        assert ours.std == pytest.approx(theirs["std"], abs=1e-9)
    else:
        assert ours.std is None


def test_a_conversation_without_messages_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"messages": []}) + "\n")
    assert callmark.stats(callmark.load(path)).num_turns.max == 0
    assert callmark.stats([conversation()]).tool_calls.total == 0
