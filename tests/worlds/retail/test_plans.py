"""Plans of the store: the same for the same seed, of every kind, and with calls that the store accepts."""

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
def plans_300(records: Records) -> list[Case]:
    return make_plans(records, 300, seed=7)


def test_plan_depends_only_on_seed_and_index(records: Records, plans_300: list[Case]) -> None:
    assert make_plans(records, 5, seed=7, start=40) == plans_300[40:45]
    assert make_plan(records, 299, seed=7) == plans_300[299]
    assert make_plan(records, 0, seed=8) != plans_300[0]
    assert make_plan(records, 0, seed=7, balance=True).data != plans_300[0].data
    assert make_plans(records, 0, seed=7) == []


def test_three_hundred_plans_cover_exactly_the_declared_branches(plans_300: list[Case]) -> None:
    taken = Counter(branch for case in plans_300 for branch in case.data["plan"]["branches"])
    assert set(taken) == set(BRANCHES)


def test_plan_id_is_kind_and_index(plans_300: list[Case]) -> None:
    assert all(case.id == f"{case.scenario_type.replace(' ', '-')}-{index:04}" for index, case in enumerate(plans_300))


@pytest.mark.parametrize("start", range(0, 300, 60))
@pytest.mark.parametrize("balance", [False, True])
def test_any_sixty_plans_use_every_tool(records: Records, start: int, balance: bool) -> None:
    plans = make_plans(records, 60, seed=7, start=start, balance=balance)
    assert {call.name for case in plans for call in case.expected} == NAMES


def test_kinds_follow_their_weights_and_are_equal_when_balanced(records: Records) -> None:
    size = sum(KIND_WEIGHTS.values())
    assert Counter(case.scenario_type for case in make_plans(records, size, seed=3, start=size)) == Counter(KIND_WEIGHTS)
    balanced = Counter(case.scenario_type for case in make_plans(records, 5 * len(GOAL_KINDS), seed=3, balance=True))
    assert balanced == Counter(dict.fromkeys(GOAL_KINDS, 5))


def test_every_login_method_occurs_by_weight(plans_300: list[Case]) -> None:
    login_counts = Counter(case.data["plan"]["login"] for case in plans_300[: sum(LOGIN_WEIGHTS.values())])
    assert login_counts == Counter(LOGIN_WEIGHTS)


def test_store_accepts_every_expected_call(plans_300: list[Case]) -> None:
    fresh = Store()
    for case in plans_300:
        store = fresh.copy()
        for call in case.expected:
            arguments = call.arguments | ({"summary": "what it is about"} if call.name == tools.TRANSFER else {})
            result = store.call(call.name, arguments)
            assert not result.is_error, (case.id, call, result.text)
        store.close()


def test_mistyped_email_is_invalid_and_never_looked_up(plans_300: list[Case]) -> None:
    mistyped = [case for case in plans_300 if case.data["plan"]["login"] == "mistyped email"]
    assert mistyped
    for case in mistyped:
        assert not EMAIL_ADDRESS.search(case.data["plan"]["mistyped_email"])
        assert case.expected[0].name == tools.FIND_BY_NAME_ZIP


def test_only_the_transfer_summary_accepts_any_value(plans_300: list[Case]) -> None:
    open_calls = {call.name for case in plans_300 for call in case.expected if has_matcher(call.arguments)}
    assert open_calls == {tools.TRANSFER}


def test_transfer_is_the_last_goal(plans_300: list[Case]) -> None:
    for case in plans_300:
        is_transferred = case.data["plan"]["goals"][-1]["outcome"] == "transferred"
        assert [call.name for call in case.expected].count(tools.TRANSFER) == is_transferred
        assert not is_transferred or case.expected[-1].name == tools.TRANSFER


def test_mistyped_order_numbers_do_not_exist(plans_300: list[Case], records: Records) -> None:
    wrong = [goal["wrong_order_id"] for case in plans_300 for goal in case.data["plan"]["goals"] if goal["wrong_order_id"]]
    assert wrong
    assert all(re.fullmatch(r"#W\d{7}", one) and one not in records.orders for one in wrong)


def test_neighboring_plans_use_different_orders(plans_300: list[Case]) -> None:
    login_counts = [case.data["plan"]["goals"][0]["order_id"] for case in plans_300]
    near = [(one, other) for at, one in enumerate(login_counts) for other in login_counts[at + 1 : at + 10] if one]
    assert sum(one == other for one, other in near) < len(near) / 200


def test_plans_are_as_long_and_varied_as_real_conversations(plans_300: list[Case]) -> None:
    sequences = [tuple(call.name for call in case.expected) for case in plans_300]
    assert 4 <= sum(map(len, sequences)) / len(sequences) <= 5
    assert all(len(set(sequences[start : start + 50])) >= 12 for start in range(0, 300, 50))


def test_instructions_are_complete_sentences_with_everything_the_user_knows(plans_300: list[Case]) -> None:
    for case in plans_300:
        plan, text = case.data["plan"], case.instructions
        assert text == write_instructions(plan)
        assert text.endswith(".")
        assert case.completion
        assert not re.search(r"[{}\[\]|<>]|None|  |\bmy\b", text), text
        assert plan["customer"]["first_name"] in text
        assert (plan["customer"]["email"] in text) == (plan["login"] == "email")
        for goal in plan["goals"]:
            assert goal["same_order"] or not goal["order_id"] or (goal["order_id"] in text) == goal["knows_order_id"]
