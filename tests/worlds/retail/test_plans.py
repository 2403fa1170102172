"""Plans of the store: the same for the same seed, of every kind, and such that the store takes every call."""

import re
from collections import Counter

import pytest

from callmark.calls.matchers import has_matcher
from callmark.types import Case
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert.slot_matching import EMAIL_ADDRESS
from callmark.worlds.retail.plans.generator import BRANCHES, GOAL_KINDS, KIND_WEIGHTS, LOGIN_WEIGHTS, make_plan, make_plans
from callmark.worlds.retail.plans.instructions import write_instructions
from callmark.worlds.retail.store.records import Records, read_records
from callmark.worlds.retail.store.store import Store

NAMES = {tool.name for tool in tools.TOOLS}


@pytest.fixture(scope="module")
def records() -> Records:
    store = Store()
    found = read_records(store)
    store.close()
    return found


@pytest.fixture(scope="module")
def three_hundred(records: Records) -> list[Case]:
    return make_plans(records, 300, seed=7)


def test_a_plan_depends_on_its_seed_and_index_alone(records: Records, three_hundred: list[Case]) -> None:
    assert make_plans(records, 5, seed=7, start=40) == three_hundred[40:45]
    assert make_plan(records, 299, seed=7) == three_hundred[299]
    assert make_plan(records, 0, seed=8) != three_hundred[0]
    assert make_plan(records, 0, seed=7, balance=True).data != three_hundred[0].data
    assert make_plans(records, 0, seed=7) == []


def test_three_hundred_plans_take_every_branch_and_no_other(three_hundred: list[Case]) -> None:
    taken = Counter(branch for case in three_hundred for branch in case.data["plan"]["branches"])
    assert set(taken) == set(BRANCHES)


def test_ids_are_kind_and_index(three_hundred: list[Case]) -> None:
    assert all(case.id == f"{case.scenario_type.replace(' ', '-')}-{index:04}" for index, case in enumerate(three_hundred))


@pytest.mark.parametrize("start", range(0, 300, 60))
@pytest.mark.parametrize("balance", [False, True])
def test_every_sixty_plans_use_every_tool(records: Records, start: int, balance: bool) -> None:
    some = make_plans(records, 60, seed=7, start=start, balance=balance)
    assert {call.name for case in some for call in case.expected} == NAMES


def test_kinds_come_in_their_proportions_and_balanced_ones_equally_often(records: Records) -> None:
    size = sum(KIND_WEIGHTS.values())
    assert Counter(case.scenario_type for case in make_plans(records, size, seed=3, start=size)) == Counter(KIND_WEIGHTS)
    balanced = Counter(case.scenario_type for case in make_plans(records, 5 * len(GOAL_KINDS), seed=3, balance=True))
    assert balanced == Counter(dict.fromkeys(GOAL_KINDS, 5))


def test_people_log_in_in_every_way(three_hundred: list[Case]) -> None:
    first = Counter(case.data["plan"]["login"] for case in three_hundred[: sum(LOGIN_WEIGHTS.values())])
    assert first == Counter(LOGIN_WEIGHTS)


def test_the_store_takes_every_expected_call(three_hundred: list[Case]) -> None:
    fresh = Store()
    for case in three_hundred:
        store = fresh.copy()
        for call in case.expected:
            arguments = call.arguments | ({"summary": "what it is about"} if call.name == tools.TRANSFER else {})
            answer = store.call(call.name, arguments)
            assert not answer.is_error, (case.id, call, answer.text)
        store.close()


def test_a_mistyped_email_is_none_so_that_nobody_is_looked_for_in_vain(three_hundred: list[Case]) -> None:
    mistyped = [case for case in three_hundred if case.data["plan"]["login"] == "mistyped email"]
    assert mistyped
    for case in mistyped:
        assert not EMAIL_ADDRESS.search(case.data["plan"]["mistyped_email"])
        assert case.expected[0].name == tools.FIND_BY_NAME_ZIP


def test_only_the_summary_for_a_colleague_is_left_open(three_hundred: list[Case]) -> None:
    open_calls = {call.name for case in three_hundred for call in case.expected if has_matcher(call.arguments)}
    assert open_calls == {tools.TRANSFER}


def test_a_transfer_is_the_end(three_hundred: list[Case]) -> None:
    for case in three_hundred:
        ends = case.data["plan"]["goals"][-1]["outcome"] == "transferred"
        assert [call.name for call in case.expected].count(tools.TRANSFER) == ends
        assert not ends or case.expected[-1].name == tools.TRANSFER


def test_wrong_order_numbers_are_nobodys(three_hundred: list[Case], records: Records) -> None:
    wrong = [goal["wrong_order_id"] for case in three_hundred for goal in case.data["plan"]["goals"] if goal["wrong_order_id"]]
    assert wrong
    assert all(re.fullmatch(r"#W\d{7}", one) and one not in records.orders for one in wrong)


def test_neighbours_are_about_different_orders(three_hundred: list[Case]) -> None:
    first = [case.data["plan"]["goals"][0]["order_id"] for case in three_hundred]
    near = [(one, other) for at, one in enumerate(first) for other in first[at + 1 : at + 10] if one]
    assert sum(one == other for one, other in near) < len(near) / 200


def test_plans_are_as_long_as_real_conversations_and_as_varied(three_hundred: list[Case]) -> None:
    sequences = [tuple(call.name for call in case.expected) for case in three_hundred]
    assert 4 <= sum(map(len, sequences)) / len(sequences) <= 5
    assert all(len(set(sequences[start : start + 50])) >= 12 for start in range(0, 300, 50))


def test_instructions_are_whole_sentences_with_everything_that_the_customer_knows(three_hundred: list[Case]) -> None:
    for case in three_hundred:
        about, text = case.data["plan"], case.instructions
        assert text == write_instructions(about)
        assert text.endswith(".")
        assert case.completion
        assert not re.search(r"[{}\[\]|<>]|None|  |\bmy\b", text), text
        assert about["customer"]["first_name"] in text
        assert (about["customer"]["email"] in text) == (about["login"] == "email")
        for goal in about["goals"]:
            assert goal["same_order"] or not goal["order_id"] or (goal["order_id"] in text) == goal["knows_order_id"]
