"""Arguments that no schema allows, for every argument of every tool: refused immediately, and the database stays unchanged."""

from time import process_time
from typing import Any

import pytest

from callmark.worlds.retail import tools
from callmark.worlds.retail.store.store import Store
from tests.worlds.retail.store_calls import ADDRESS, call_tool, calls_of_every_tool, find_order, refusal_sentence

MEGABYTE = "x" * 1_000_000
DEEP: list[Any] = []
for _ in range(50_000):
    DEEP = [DEEP]
HOSTILE = {
    "a number": 7,
    "a truth": True,
    "nothing": None,
    "an object": {"order_id": "#W1234567"},
    "a list": [1, 2],
    "an empty list": [],
    "a list of lists": DEEP,
    "half a character": "\ud800",
    "half a character in a list": ["\udfff"],
    "an empty text": " \n",
    "a megabyte": MEGABYTE,
    "a list with a megabyte": [MEGABYTE],
    "a long list": ["1008292230"] * 100_000,
    "not a number": float("nan"),
}
SQL = ("' or 1=1 --", "x'; drop table orders; --", '"; delete from users', "%", "\x00")
NAMES = [tool.name for tool in tools.TOOLS]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_argument_is_refused_and_changes_nothing(store: Store, hostile: str) -> None:
    for tool, good in calls_of_every_tool(store):
        for key in good:
            if (key, hostile) == ("address2", "an empty text"):
                continue  # an address may have no second line
            begin = process_time()
            sentence = refusal_sentence(store, tool, {**good, key: HOSTILE[hostile]})
            assert process_time() - begin < 0.5
            assert "expected" in sentence or "missing" in sentence
            sentence.encode()


@pytest.mark.parametrize("text", SQL)
def test_sql_in_an_id_matches_nothing(store: Store, text: str) -> None:
    for tool, good in calls_of_every_tool(store):
        for key in good:
            if key != "summary" and (key not in ADDRESS or tool == tools.FIND_BY_NAME_ZIP):
                refusal_sentence(store, tool, {**good, key: [text] if isinstance(good[key], list) else text})


@pytest.mark.parametrize("text", SQL)
def test_sql_in_an_address_is_stored_as_text(store: Store, text: str) -> None:
    order = find_order(store, "pending")
    before = store.state()
    told = call_tool(store, tools.MODIFY_ORDER_ADDRESS, {"order_id": order["order_id"], **ADDRESS, "city": text})
    assert told["address"]["city"] == text
    before["orders"][order["order_id"]]["address"] = {**ADDRESS, "city": text}
    assert store.state() == before


@pytest.mark.parametrize("tool", NAMES)
def test_missing_and_unknown_arguments_are_refused(store: Store, tool: str) -> None:
    good = dict(calls_of_every_tool(store))[tool]
    assert "is not an argument of" in refusal_sentence(store, tool, {**good, "colour": "red"})
    assert "is not an argument of" in refusal_sentence(store, tool, {**good, MEGABYTE: "red"})
    for key in good:
        assert f"{key} is missing" in refusal_sentence(store, tool, {other: value for other, value in good.items() if other != key})


def test_unknown_tool_is_refused_by_any_name(store: Store) -> None:
    for name in ("", "__init__", "copy", "close", "state", "_write", MEGABYTE, "\ud800", "CALCULATE"):
        assert "there is no tool" in refusal_sentence(store, name, {})
