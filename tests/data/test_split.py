"""A split: a partition, by conversation, near-duplicates on one side, each set of tools in its share."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callmark
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.data.split import split
from callmark.types import Call, Case, Conversation, Message, Source

WORDS = [f"word{number}" for number in range(2000)]


def talk(number: int, *tools: str, changed: str = "", name: str | None = None) -> Conversation:
    """A conversation of its own about `number`; with `changed`, a near copy of it."""
    said = random.Random(number).sample(WORDS, 60)
    said[30] = changed or said[30]
    calls = tuple(Call(tool, {"number": number}) for tool in tools)
    return Conversation(name or f"{number}{changed}", (Message("user", " ".join(said)), Message("assistant", "", calls)))


def points(number: int, *tools: str) -> list[Case]:
    """The decision points of a conversation, each tool in a message of its own."""
    whole = talk(number)
    messages = (whole.messages[0], *(Message("assistant", "", (Call(tool, {"number": number}, "c"),)) for tool in tools))
    return list(callmark.expand([Conversation(whole.id, messages)]))


def sides(rows: list[Conversation], **options: float) -> list[str]:
    made = split(rows, **options)  # type: ignore[arg-type]  # valid and seed, as a table of cases gives them
    assert sorted((*made.train, *made.valid)) == list(range(len(rows)))
    return ["valid" if index in set(made.valid) else "train" for index in range(len(rows))]


@pytest.mark.parametrize("valid, expected", [(0, 0), (0.001, 1), (0.2, 10), (0.25, 13), (0.5, 25), (0.99, 49), (1, 50)])
def test_the_share_is_of_conversations(valid: float, expected: int) -> None:
    assert sides([talk(number) for number in range(50)], valid=valid).count("valid") == expected


@pytest.mark.parametrize(
    "number, valid, expected",
    [(0, 0.2, []), (1, 0.2, ["train"]), (1, 0.5, ["valid"]), (1, 0.8, ["valid"]), (1, 0, ["train"]), (1, 1, ["valid"])],
)
def test_empty_and_single_row_datasets(number: int, valid: float, expected: list[str]) -> None:
    assert sides([talk(one) for one in range(number)], valid=valid) == expected


@pytest.mark.parametrize("valid", [-0.1, 1.1, float("nan")])
def test_share_outside_0_to_1_is_rejected(valid: float) -> None:
    with pytest.raises(callmark.BadInput, match="valid: expected a number from 0 to 1, got "):
        split([talk(1)], valid=valid)


@pytest.mark.parametrize("seed", range(20))
def test_near_duplicates_are_on_one_side(seed: int) -> None:
    rows = [talk(number, changed=changed) for number in range(20) for changed in ("", "other", "another")[: 1 + number % 3]]
    random.Random(seed).shuffle(rows)
    made = split(rows, valid=0.3, seed=seed)
    train, valid = ({rows[index].messages[0].text.split()[0] for index in side} for side in (made.train, made.valid))
    assert valid
    assert not valid & train
    assert len(made.kept_together) == 13
    assert made.valid_summary.conversations == round(0.3 * len(rows))


def test_a_chain_of_near_duplicates_is_one_group() -> None:
    said = WORDS[:100]
    chain = [Conversation(f"c{step}", (Message("user", " ".join([*said[step * 8 :], *WORDS[200 : 200 + step * 8]])),)) for step in range(6)]
    copies = NearDuplicateIndex()
    copies.add(sketch(chain[0]))
    assert copies.add(sketch(chain[-1])) is None  # the ends have little in common
    assert split([*chain, *map(talk, range(6))]).kept_together == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("valid, side", [(0.2, "train"), (0.8, "valid")])
def test_rows_that_are_all_near_duplicates_stay_on_one_side(valid: float, side: str) -> None:
    assert set(sides([talk(1, changed=f"x{number}") for number in range(10)], valid=valid)) == {side}


def test_two_groups_are_on_two_sides() -> None:
    rows = [talk(number, changed=f"x{copy}") for number in (1, 2) for copy in range(5)]
    given = sides(rows, valid=0.1)
    assert {*given[:5]} != {*given[5:]}
    assert len({*given[:5]}) == len({*given[5:]}) == 1


def test_decision_points_of_one_conversation_stay_together() -> None:
    rows = [point for number in range(10) for point in points(number, "find", "get", "change")]
    made = split(random.Random(1).sample(rows, len(rows)), valid=0.3)
    assert (made.valid_summary.conversations, made.valid_summary.rows, made.valid_summary.calls) == (3, 9, 9)
    assert not made.kept_together


def test_conversations_that_share_a_decision_point_stay_together() -> None:
    first, second = points(1, "find", "get", "change"), points(2, "find", "get")
    shared = Case("x", first[0].messages, expected=first[0].expected, source=Source("2", 9))
    assert split([*first, *second, shared, *points(3, "find")]).kept_together == [[0, 1, 2, 3, 4, 5]]


def test_decision_points_without_calls_do_not_relate_conversations() -> None:
    greeting = Message("user", "hello there, good morning to you")
    rows: list[Conversation] = [Case(f"{number}:1", (greeting,), source=Source(str(number), 1)) for number in range(10)]
    made = split(rows, valid=0.2)
    assert not made.kept_together
    assert made.valid_summary.conversations == 2


def test_rows_with_one_id_and_cases_of_one_group_stay_together() -> None:
    rows: list[Conversation] = [talk(number, name=f"task {number % 5}") for number in range(10)]
    assert (made := split(rows, valid=0.4)).valid_summary.conversations == 2
    assert {index % 5 for index in made.valid}.isdisjoint(index % 5 for index in made.train)
    cases: list[Conversation] = [
        Case(str(number), instructions=talk(number).messages[0].text, group=f"g{number % 2}") for number in range(10)
    ]
    assert split(cases).kept_together == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


@pytest.mark.parametrize(
    "sizes, valid, expected",
    [
        ({"a": 10, "b": 10}, 0.2, {"a": 2, "b": 2}),
        ({"a": 50, "b": 30, "c": 20}, 0.1, {"a": 5, "b": 3, "c": 2}),
        ({"a": 7, "b": 2, "c": 1}, 0.3, {"a": 2, "b": 1}),  # 2.1, .6, .3
        ({"a": 9, "b": 1}, 0.2, {"a": 2}),  # 1.8, .2
        ({"a": 1, "b": 1, "c": 8}, 0.5, {"c": 4, "one of a and b": 1}),
    ],
)
def test_each_set_of_tools_gives_its_share(sizes: dict[str, int], valid: float, expected: dict[str, int]) -> None:
    tools = [tool for tool, count in sizes.items() for _ in range(count)]
    for seed in range(5):
        made = split([talk(number, tool) for number, tool in enumerate(tools)], valid=valid, seed=seed)
        given = dict(made.valid_summary.tools)
        if "one of a and b" in expected:
            assert given.pop("a", 0) + given.pop("b", 0) == 1
        assert given == {name: count for name, count in expected.items() if name in sizes}


def test_tool_sets_on_one_side_only_are_listed() -> None:
    tools = [*["a"] * 10, "b", "b", "c"]
    made = split([talk(number, tool, "find") for number, tool in enumerate(tools)], valid=0.1)
    assert made.valid_summary.tools == {"a": 1, "find": 1}
    assert [(one.tools, one.count) for one in made.only_train] == [(["b", "find"], 2), (["c", "find"], 1)]
    assert made.only_valid == []


def test_another_seed_gives_another_split() -> None:
    rows = [talk(number) for number in range(30)]
    assert len({split(rows, seed=seed).valid for seed in range(5)}) == 5


kinds = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(["", "x", "y"]), st.sets(st.sampled_from(["find", "get", "change"]))), max_size=14
)


@given(kinds, st.floats(0, 1), st.integers(0, 3), st.randoms(use_true_random=False))
@pytest.mark.laws
def test_a_split_is_a_partition_that_keeps_near_duplicates_together_in_any_order(
    given_rows: list[tuple[int, str, set[str]]], valid: float, seed: int, order: random.Random
) -> None:
    rows = [talk(number, *sorted(tools), changed=changed, name=f"{place}") for place, (number, changed, tools) in enumerate(given_rows)]
    one = sides(rows, valid=valid, seed=seed)
    assert one == sides(rows, valid=valid, seed=seed)
    for first, second in combinations(range(len(rows)), 2):
        copies = NearDuplicateIndex()
        copies.add(sketch(rows[first]))
        if copies.add(sketch(rows[second])) is not None:
            assert one[first] == one[second]
    places = list(range(len(rows)))
    order.shuffle(places)
    other = sides([rows[place] for place in places], valid=valid, seed=seed)
    assert {place: other[at] for at, place in enumerate(places)} == dict(enumerate(one))
