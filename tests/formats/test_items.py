"""Datasets that are in memory: lists of dicts, conversations and cases."""

import json
from pathlib import Path

import pytest

import callmark
from callmark.errors import BadInput
from callmark.formats import load, write
from callmark.formats.dataset import BadRow, Dataset
from tests.rows import WEATHER, assistant, call, row, user, write_rows

ROW = row(user("Bonn?"), assistant(call("get_weather", {"city": "Bonn"})), tools=[WEATHER], id="a")
SHAREGPT = {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello."}]}


def test_dicts_are_read_like_rows_of_a_file(tmp_path: Path) -> None:
    (from_list,) = load([ROW])
    (from_file,) = load(write_rows(tmp_path / "x.jsonl", ROW))
    assert (from_list.id, from_list.messages, from_list.tools) == (from_file.id, from_file.messages, from_file.tools)
    assert str(from_list.place) == "item 1"


def test_the_format_of_dicts_is_detected() -> None:
    dataset = load([SHAREGPT, SHAREGPT])
    assert dataset.format.name == "sharegpt"
    assert [conversation.id for conversation in dataset] == ["1", "2"]
    assert [conversation.id for conversation in dataset] == ["1", "2"], "a list can be read again"


def test_conversations_are_returned_as_they_are() -> None:
    (conversation,) = load([ROW])
    made = callmark.Conversation("m", conversation.messages, conversation.tools)
    first, second, third = load([conversation, made, ROW])
    assert first is conversation
    assert (second.id, second.messages, str(second.place)) == ("m", made.messages, "item 2")
    assert third.id == "a"
    assert load([made]).format.name == "openai"


def test_an_iterator_of_rows_can_be_read_again() -> None:
    dataset = load(iter([ROW]))
    assert len(list(dataset)) == len(list(dataset)) == 1


def test_a_dataset_is_returned_as_it_is() -> None:
    dataset = load([ROW])
    assert load(dataset) is dataset


def test_a_bad_item_is_named_by_its_number() -> None:
    with pytest.raises(BadInput, match=r"^item 2: messages: expected a list of messages, got a number\.$"):
        list(load([ROW, {"messages": 5}]))
    with pytest.raises(
        BadInput, match="^item 1: unknown format: expected the key messages, conversations or expected_function_calls, got the key prompt"
    ):
        load([{"prompt": "x"}])
    with pytest.raises(BadInput, match="^item 1: cannot be converted to JSON: "):
        load([{"messages": {1, 2}}])
    with pytest.raises(BadInput, match="^item 1: "):
        list(load([{**ROW, "score": float("nan")}]))


def test_bad_items_can_be_skipped() -> None:
    bad: list[BadRow] = []
    dataset = Dataset([{"messages": 5}, ROW], on_bad=bad.append)
    assert [conversation.id for conversation in dataset] == ["a"]
    assert [str(one.place) for one in bad] == ["item 1"]


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(BadInput, match="^the dataset is empty$"):
        load([])


def test_lone_surrogates_in_dicts_are_repaired() -> None:
    dataset = load([row(user("x\ud800"), id="s")])
    (conversation,) = dataset
    assert (conversation.messages[0].text, dataset.repaired_rows) == ("x\\ud800", 1)


def test_every_function_on_datasets_takes_dicts(tmp_path: Path) -> None:
    assert callmark.stats([ROW, ROW]).tool_calls.mean == 1
    assert not callmark.lint([ROW]).findings
    (point,) = callmark.expand([ROW])
    assert [str(expected) for expected in point.expected] == ['get_weather(city="Bonn")']


def test_dicts_are_written(tmp_path: Path) -> None:
    (conversation,) = load([ROW])
    assert write([ROW, conversation], tmp_path / "x.jsonl", format_name="sharegpt") == 2
    first, second = (json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines())
    assert first == second
    assert first["id"] == "a"
    assert write([], tmp_path / "y.jsonl") == 0
    with pytest.raises(BadInput, match="^item 1: unknown format"):
        write([{"prompt": "x"}], tmp_path / "y.jsonl")
