"""Synthesis: rounds, files, bytes. The world is `notes_world`, its expert goes wrong where it is told to."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import callmark
from callmark.data.lint import lint
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.worker import Budget
from callmark.synthesis.given import GivenPlans
from callmark.synthesis.keeping import QualityFilter
from callmark.synthesis.rounds import round_size
from callmark.synthesis.synthesis import Order, Synthesized, synthesize
from callmark.types import Case, Tool
from tests.simulation.notes_case import lines
from tests.synthesis.notes_world import TOOLS, NotesWorld

FILES = ("train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "notes", raising=False)
    Path("notes.py").write_text(TOOLS, encoding="utf-8")


def made(world: Any, number: int, *, out: str = "data", budget: Budget | None = None, **more: Any) -> Synthesized:
    return synthesize(Order(world, number, out, **more), Keys(), budget=budget)


def files(out: str) -> dict[str, bytes]:
    return {name: Path(out, name).read_bytes() for name in FILES}


def test_rows_have_messages_and_tools_and_nothing_else() -> None:
    done = made(NotesWorld(), 10)
    train, valid = lines("data/train.jsonl"), lines("data/valid.jsonl")
    assert (done.held, done.kept, done.missing, len(train), len(valid)) == (10, 10, 0, 8, 2)
    for row in train + valid:
        assert list(row) == ["messages", "tools"]
        assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
        assert row["messages"][0]["content"] == NotesWorld.system
        assert [tool["function"]["name"] for tool in row["tools"]] == ["add_note", "transfer"]
    assert lint([*callmark.load("data/train.jsonl"), *callmark.load("data/valid.jsonl")]).summary == {"unused_tool": 1}
    assert Path("data/rejected.jsonl").read_bytes() == b""


def test_which_row_came_of_which_plan_is_known() -> None:
    made(NotesWorld({2: "twice"}), 10)
    about = json.loads(Path("data/synth.json").read_text())
    for side in ("train", "valid"):
        rows = lines(f"data/{side}.jsonl")
        titles = [json.loads(row["messages"][2]["tool_calls"][0]["function"]["arguments"])["title"] for row in rows]
        assert [f"n{int(plan.removeprefix('add-'))}" for plan in about[side]] == titles
    plans = [row for row in callmark.load("data/plans.jsonl") if isinstance(row, Case)]
    assert [plan.id for plan in plans] == [f"add-{number:04}" for number in range(11)]
    assert sorted([*about["train"], *about["valid"]]) == [plan.id for plan in plans if plan.id != "add-0002"]


@pytest.mark.parametrize(
    "wrong, codes",
    [
        ("twice", {"end_state", "policy"}),
        ("other note", {"end_state"}),
        ("nothing", {"end_state"}),
        ("invents", {"hallucinated_value", "end_state"}),
        ("misspells", {"schema_violation", "end_state"}),
        ("hands over", {"transfer"}),
        ("never ends", {"ending"}),
        ("says nothing", {"empty_assistant"}),
    ],
)
def test_what_goes_wrong_is_rejected_and_replaced(wrong: str, codes: set[str]) -> None:
    world = NotesWorld({1: wrong})
    done = made(world, 4)
    assert (done.kept, done.held, done.rejected, done.missing) == (4, 6, 1, 0)
    assert set(done.reasons) == codes
    for one in done.reasons.values():
        assert (one.count, one.line, one.plan) == (1, 1, "add-0001")
    (row,) = lines("data/rejected.jsonl")
    assert list(row) == ["plan", "reasons", "messages", "tools"]
    assert (row["plan"], {reason["code"] for reason in row["reasons"]}) == ("add-0001", codes)
    assert row["reasons"][0]["sentence"] == done.reasons[row["reasons"][0]["code"]].sentence
    assert world.asked == [(4, 0), (2, 4)]  # three of four are kept, so for one that is missing it takes two
    assert [line["id"] for line in lines("data/plans.jsonl")] == [f"add-{number:04}" for number in range(5)]


def test_after_three_rounds_it_is_said_how_many_are_missing() -> None:
    done = made(NotesWorld(dict.fromkeys(range(100), "other note")), 3)
    assert (done.kept, done.missing, done.exhausted) == (0, 3, False)
    assert done.held == 9
    assert Path("data/train.jsonl").read_bytes() == Path("data/valid.jsonl").read_bytes() == b""


def test_plans_that_come_to_an_end_are_told() -> None:
    done = made(NotesWorld({0: "nothing"}, most=3), 3)
    assert (done.kept, done.missing, done.exhausted) == (2, 1, True)


def test_where_not_one_conversation_could_be_held_no_further_plans_are_tried() -> None:
    world = NotesWorld(dict.fromkeys(range(100), "error"))
    done = made(world, 3)
    assert (done.held, done.errors, done.missing) == (0, 3, 3)
    assert world.asked == [(3, 0)]


def test_a_conversation_over_other_tools_than_the_rows_will_name_is_an_error() -> None:
    other = Tool("add_note", "", {"type": "object"})
    done = made(NotesWorld(), 2, listed=(other, Tool("gone", "", {})))
    assert (done.kept, done.errors) == (0, 2)
    assert done.first_error == "the tools are not those that were there at the beginning: gone is gone and transfer is new"


def test_a_plan_that_the_tools_refuse_is_not_kept_though_every_call_was_made() -> None:
    Path("notes.py").write_text(TOOLS.replace('return f"N-{len(self.notes)}"', 'raise ValueError("no more notes")'), encoding="utf-8")
    done = made(NotesWorld(), 2)
    assert (done.kept, list(done.reasons)) == (0, ["refused"])
    assert done.reasons["refused"].sentence.startswith('add_note(title="n0") is refused: ')


def test_an_error_is_no_rejection_and_is_held_again() -> None:
    world = NotesWorld({1: "error", 2: "nothing"})
    done = made(world, 5)
    assert (done.kept, done.errors, done.first_error) == (5, 1, "the clerk fell ill")
    assert list(done.reasons) == ["end_state"]
    world.wrong.pop(1)
    world.held.clear()
    again = made(world, 5, resume=True)
    assert world.held == ["add-0001"]
    assert (again.kept, again.errors) == (5, 0)
    made(NotesWorld({2: "nothing"}), 5, out="undisturbed")
    assert files("data") == files("undisturbed")


def test_the_same_seed_gives_the_same_bytes_in_whatever_order_conversations_end() -> None:
    wrong = {2: "twice", 5: "invents", 12: "never ends"}
    for out, at_once in (("a", 1), ("b", 10), ("c", 3)):
        made(NotesWorld(wrong), 12, out=out, at_once=at_once)
    assert files("a") == files("b") == files("c")
    made(NotesWorld(wrong), 12, out="d", seed=8)
    assert files("d")["plans.jsonl"] != files("a")["plans.jsonl"]


def test_more_can_be_asked_for_later() -> None:
    world = NotesWorld({2: "twice"})
    made(world, 5)
    world.held.clear()
    more = made(world, 8, resume=True)
    assert more.kept == 8
    assert min(world.held) >= "add-0005"
    made(NotesWorld({2: "twice"}), 8, out="at once")
    assert files("data") == files("at once")


def test_what_was_held_is_not_held_again() -> None:
    world = NotesWorld({2: "twice"})
    made(world, 5)
    before = files("data")
    world.held.clear()
    made(world, 5, resume=True)
    assert world.held == []
    assert files("data") == before


def test_a_folder_with_something_in_it_is_left_alone() -> None:
    made(NotesWorld(), 2)
    with pytest.raises(BadInput, match="conversations were made into data already"):
        made(NotesWorld(), 2)
    Path("mine").mkdir()
    Path("mine/train.jsonl").write_text("precious")
    for resume in (False, True):
        with pytest.raises(BadInput, match="there is a train.jsonl in mine already, which was not made here"):
            made(NotesWorld(), 2, out="mine", resume=resume)
    assert Path("mine/train.jsonl").read_text() == "precious"


def test_going_on_with_other_plans_is_refused() -> None:
    made(NotesWorld(), 3)
    with pytest.raises(BadInput, match="the plans are others than those that data was begun with"):
        made(NotesWorld(), 3, seed=8, resume=True)


def test_going_on_with_another_policy_is_refused() -> None:
    made(NotesWorld({1: "nothing"}), 3)
    with pytest.raises(BadInput, match="was begun with system"):
        made(NotesWorld({1: "nothing"}), 3, system="Something else.", resume=True)


def test_the_policy_can_be_replaced() -> None:
    rules = {"rules": [{"id": "none", "says": "Nothing is written.", "never": "add_note"}]}
    done = made(NotesWorld(), 2, system="Do nothing.", rules=rules)
    assert list(done.reasons) == ["policy"]
    assert lines("data/rejected.jsonl")[0]["messages"][0]["content"] == "Do nothing."


def test_where_tools_do_not_tell_their_state_calls_decide() -> None:
    done = made(NotesWorld({1: "other note"}), 3, tools=("python:notes:add_note",))
    assert (done.kept, done.by_calls) == (3, 3)
    assert list(done.reasons) == ["calls"]
    assert done.reasons["calls"].sentence == "planned: add_note; called: add_note"


def test_made_up_results_are_said_in_every_row() -> None:
    world = NotesWorld({1: "nothing"})
    world.made_up = True
    made(world, 4)
    rows = [row for name in FILES[:3] for row in lines(f"data/{name}")]
    assert len(rows) == 5
    assert all(row["results"] == "made up" for row in rows)
    assert len(list(callmark.load("data/train.jsonl"))) == 3


def test_a_budget_ends_it_and_what_there_is_is_written() -> None:
    done = made(NotesWorld(), 5, budget=Budget(most_tokens=0))
    assert (done.kept, done.stopped) == (0, "--max-tokens-total 0 was reached")


def test_coverage_is_that_of_what_is_kept() -> None:
    done = made(NotesWorld({1: "hands over", 2: "invents"}), 6)
    assert done.coverage.tools == {"add_note": 6, "transfer": 0}
    assert done.coverage.parameters == {"add_note": {"title": 6, "text": 0}, "transfer": {}}
    assert sum(done.coverage.branches.values()) == 6
    assert done.coverage.never_taken == ["never"]


def test_plans_can_be_given_and_are_played_by_the_expert_of_their_world() -> None:
    made(NotesWorld(), 4)
    plans = [row for row in callmark.load("data/plans.jsonl") if isinstance(row, Case)]
    made(GivenPlans(plans, "plans.jsonl", world=NotesWorld()), 4, out="again")
    assert files("again") == files("data")


def test_scenarios_without_a_plan_need_an_agent() -> None:
    plans = [structs.replace(plan, data={}) for plan in NotesWorld().plans(2, seed=7)]
    for world in (None, NotesWorld()):
        with pytest.raises(BadInput, match=r"mine.jsonl can be played with an agent only"):
            made(GivenPlans(plans, "mine.jsonl", world=world, tools=NotesWorld.tools), 2)
    assert not Path("data").exists()


def test_a_plan_that_no_tool_can_carry_out_is_refused_before_anything_is_held() -> None:
    world = NotesWorld()
    with pytest.raises(BadInput, match=r"'add-0000'.* expects add_note, which is no tool that there is"):
        made(world, 2, tools=("python:json:dumps",))
    assert not Path("data").exists()


def test_a_user_that_cannot_play_a_plan_is_refused_before_anything_is_held() -> None:
    with pytest.raises(BadInput, match="add-0000 has no script"):
        made(NotesWorld(), 2, user=ModelSettings(model="script"))
    assert not Path("data").exists()


@pytest.mark.parametrize("number, kept, rejected, size", [(10, 0, 0, 10), (10, 8, 2, 3), (10, 0, 10, 10), (10, 1, 9, 10), (10, 5, 0, 5)])
def test_a_round_is_as_large_as_it_takes(number: int, kept: int, rejected: int, size: int) -> None:
    keeper = QualityFilter(number)
    keeper.kept, keeper.rejected = [None] * kept, [None] * rejected  # type: ignore[list-item]
    assert round_size(keeper) == size
