"""Synthesis: rounds, files, reproducibility. The expert of `notes_world` makes configured mistakes."""

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
from callmark.synthesis.options import SynthesisOptions
from callmark.synthesis.quality_filter import QualityFilter
from callmark.synthesis.report import SynthesisReport
from callmark.synthesis.rounds import round_size
from callmark.synthesis.scenario_world import ScenarioWorld
from callmark.synthesis.synthesize import synthesize
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


def run_synthesis(world: Any, number: int, *, out: str = "data", budget: Budget | None = None, **more: Any) -> SynthesisReport:
    return synthesize(SynthesisOptions(world, number, out, **more), Keys(), budget=budget)


class MockedNotesWorld(NotesWorld):
    mocked = True


def files(out: str) -> dict[str, bytes]:
    return {name: Path(out, name).read_bytes() for name in FILES}


def test_rows_have_messages_and_tools_and_nothing_else() -> None:
    report = run_synthesis(NotesWorld(), 10)
    train, valid = lines("data/train.jsonl"), lines("data/valid.jsonl")
    assert (report.simulated, report.accepted, report.missing, len(train), len(valid)) == (10, 10, 0, 8, 2)
    for row in train + valid:
        assert list(row) == ["messages", "tools"]
        assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
        assert row["messages"][0]["content"] == NotesWorld.policy
        assert [tool["function"]["name"] for tool in row["tools"]] == ["add_note", "transfer"]
    assert lint([*callmark.load("data/train.jsonl"), *callmark.load("data/valid.jsonl")]).summary == {"unused_tool": 1}
    assert Path("data/rejected.jsonl").read_bytes() == b""


def test_report_names_the_plan_of_every_row() -> None:
    run_synthesis(NotesWorld({2: "twice"}), 10)
    summary = json.loads(Path("data/synth.json").read_text())
    for part in ("train", "valid"):
        rows = lines(f"data/{part}.jsonl")
        titles = [json.loads(row["messages"][2]["tool_calls"][0]["function"]["arguments"])["title"] for row in rows]
        assert [f"n{int(plan.removeprefix('add-'))}" for plan in summary[part]] == titles
    plans = [row for row in callmark.load("data/plans.jsonl") if isinstance(row, Case)]
    assert [plan.id for plan in plans] == [f"add-{number:04}" for number in range(11)]
    assert sorted([*summary["train"], *summary["valid"]]) == [plan.id for plan in plans if plan.id != "add-0002"]


@pytest.mark.parametrize(
    "mistake, codes",
    [
        ("twice", {"end_state", "policy"}),
        ("other note", {"end_state"}),
        ("nothing", {"end_state"}),
        ("hallucinates", {"hallucinated_value", "end_state"}),
        ("misspells", {"schema_violation", "end_state"}),
        ("transfers", {"transfer"}),
        ("never ends", {"ending"}),
        ("says nothing", {"empty_assistant"}),
    ],
)
def test_flawed_conversation_is_rejected_and_replaced(mistake: str, codes: set[str]) -> None:
    world = NotesWorld({1: mistake})
    report = run_synthesis(world, 4)
    assert (report.accepted, report.simulated, report.rejected, report.missing) == (4, 6, 1, 0)
    assert set(report.reasons) == codes
    for count in report.reasons.values():
        assert (count.count, count.line, count.plan) == (1, 1, "add-0001")
    (row,) = lines("data/rejected.jsonl")
    assert list(row) == ["plan", "reasons", "messages", "tools"]
    assert (row["plan"], {reason["code"] for reason in row["reasons"]}) == ("add-0001", codes)
    assert row["reasons"][0]["sentence"] == report.reasons[row["reasons"][0]["code"]].sentence
    assert world.requests == [(4, 0), (2, 4)]  # three of four are accepted, so two plans for one missing conversation
    assert [line["id"] for line in lines("data/plans.jsonl")] == [f"add-{number:04}" for number in range(5)]


def test_missing_count_is_reported_after_three_rounds() -> None:
    report = run_synthesis(NotesWorld(dict.fromkeys(range(100), "other note")), 3)
    assert (report.accepted, report.missing, report.exhausted) == (0, 3, False)
    assert report.simulated == 9
    assert Path("data/train.jsonl").read_bytes() == Path("data/valid.jsonl").read_bytes() == b""


def test_exhausted_plans_are_reported() -> None:
    report = run_synthesis(NotesWorld({0: "nothing"}, max_plans=3), 3)
    assert (report.accepted, report.missing, report.exhausted) == (2, 1, True)


def test_round_in_which_every_conversation_fails_is_the_last() -> None:
    world = NotesWorld(dict.fromkeys(range(100), "error"))
    report = run_synthesis(world, 3)
    assert (report.simulated, report.errors, report.missing) == (0, 3, 3)
    assert world.requests == [(3, 0)]


def test_conversation_with_other_tools_than_listed_is_an_error() -> None:
    other = Tool("add_note", "", {"type": "object"})
    report = run_synthesis(NotesWorld(), 2, listed_tools=(other, Tool("gone", "", {})))
    assert (report.accepted, report.errors) == (0, 2)
    assert report.first_error == "the tools have changed since the start: gone was removed, transfer was added"


def test_plan_whose_call_returns_an_error_is_rejected_even_if_all_calls_are_made() -> None:
    Path("notes.py").write_text(TOOLS.replace('return f"N-{len(self.notes)}"', 'raise ValueError("no more notes")'), encoding="utf-8")
    report = run_synthesis(NotesWorld(), 2)
    assert (report.accepted, list(report.reasons)) == (0, ["refused"])
    assert report.reasons["refused"].sentence.startswith('add_note(title="n0") returned an error: ')


def test_error_is_not_a_rejection_and_is_retried_on_resume() -> None:
    world = NotesWorld({1: "error", 2: "nothing"})
    report = run_synthesis(world, 5)
    assert (report.accepted, report.errors, report.first_error) == (5, 1, "the agent failed")
    assert list(report.reasons) == ["end_state"]
    world.mistakes.pop(1)
    world.simulated.clear()
    again = run_synthesis(world, 5, resume=True)
    assert world.simulated == ["add-0001"]
    assert (again.accepted, again.errors) == (5, 0)
    run_synthesis(NotesWorld({2: "nothing"}), 5, out="undisturbed")
    assert files("data") == files("undisturbed")


def test_same_seed_gives_same_bytes_at_any_concurrency() -> None:
    mistakes = {2: "twice", 5: "hallucinates", 12: "never ends"}
    for out, concurrency in (("a", 1), ("b", 10), ("c", 3)):
        run_synthesis(NotesWorld(mistakes), 12, out=out, concurrency=concurrency)
    assert files("a") == files("b") == files("c")
    run_synthesis(NotesWorld(mistakes), 12, out="d", seed=8)
    assert files("d")["plans.jsonl"] != files("a")["plans.jsonl"]


def test_resume_with_a_larger_number_equals_one_larger_synthesis() -> None:
    world = NotesWorld({2: "twice"})
    run_synthesis(world, 5)
    world.simulated.clear()
    more = run_synthesis(world, 8, resume=True)
    assert more.accepted == 8
    assert min(world.simulated) >= "add-0005"
    run_synthesis(NotesWorld({2: "twice"}), 8, out="at once")
    assert files("data") == files("at once")


def test_resume_simulates_nothing_twice() -> None:
    world = NotesWorld({2: "twice"})
    run_synthesis(world, 5)
    before = files("data")
    world.simulated.clear()
    run_synthesis(world, 5, resume=True)
    assert world.simulated == []
    assert files("data") == before


def test_existing_output_is_not_overwritten() -> None:
    run_synthesis(NotesWorld(), 2)
    with pytest.raises(BadInput, match="data already contains synthesized data"):
        run_synthesis(NotesWorld(), 2)
    Path("mine").mkdir()
    Path("mine/train.jsonl").write_text("precious")
    for resume in (False, True):
        with pytest.raises(BadInput, match="mine/train.jsonl already exists, and was not written by callmark synth"):
            run_synthesis(NotesWorld(), 2, out="mine", resume=resume)
    assert Path("mine/train.jsonl").read_text() == "precious"


def test_resume_with_other_plans_is_refused() -> None:
    run_synthesis(NotesWorld(), 3)
    with pytest.raises(BadInput, match="data was started with different plans"):
        run_synthesis(NotesWorld(), 3, seed=8, resume=True)


def test_resume_with_another_policy_is_refused() -> None:
    run_synthesis(NotesWorld({1: "nothing"}), 3)
    with pytest.raises(BadInput, match='data/runs/round-1: --system: the run was started with .*, got "Something else."'):
        run_synthesis(NotesWorld({1: "nothing"}), 3, policy="Something else.", resume=True)


def test_policy_can_be_replaced() -> None:
    rules = {"rules": [{"id": "none", "says": "Nothing is written.", "never": "add_note"}]}
    report = run_synthesis(NotesWorld(), 2, policy="Do nothing.", rules=rules)
    assert list(report.reasons) == ["policy"]
    assert lines("data/rejected.jsonl")[0]["messages"][0]["content"] == "Do nothing."


def test_calls_decide_where_tools_report_no_state() -> None:
    report = run_synthesis(NotesWorld({1: "other note"}), 3, tools=("python:notes:add_note",))
    assert (report.accepted, report.judged_by_calls) == (3, 3)
    assert list(report.reasons) == ["calls"]
    assert report.reasons["calls"].sentence == "planned: add_note; called: add_note"


def test_mocked_results_are_marked_in_every_row() -> None:
    run_synthesis(MockedNotesWorld({1: "nothing"}), 4)
    rows = [row for name in FILES[:3] for row in lines(f"data/{name}")]
    assert len(rows) == 5
    assert all(row["results"] == "mocked" for row in rows)
    assert len(list(callmark.load("data/train.jsonl"))) == 3


def test_exhausted_budget_stops_and_writes_finished_conversations() -> None:
    report = run_synthesis(NotesWorld(), 5, budget=Budget(max_tokens=0))
    assert (report.accepted, report.stopped) == (0, "--max-tokens-total 0 was reached")


def test_coverage_counts_accepted_conversations() -> None:
    report = run_synthesis(NotesWorld({1: "transfers", 2: "hallucinates"}), 6)
    assert report.coverage.tools == {"add_note": 6, "transfer": 0}
    assert report.coverage.parameters == {"add_note": {"title": 6, "text": 0}, "transfer": {}}
    assert sum(report.coverage.branches.values()) == 6
    assert report.coverage.never_taken == ["never"]


def test_expert_of_the_world_follows_given_plans() -> None:
    run_synthesis(NotesWorld(), 4)
    plans = [row for row in callmark.load("data/plans.jsonl") if isinstance(row, Case)]
    run_synthesis(ScenarioWorld(plans, "plans.jsonl", world=NotesWorld()), 4, out="again")
    assert files("again") == files("data")


def test_scenarios_without_a_plan_need_an_agent() -> None:
    plans = [structs.replace(plan, data={}) for plan in NotesWorld().plans(2, seed=7)]
    for world in (None, NotesWorld()):
        with pytest.raises(BadInput, match=r"mine.jsonl has no plans for an expert, so an agent is required"):
            run_synthesis(ScenarioWorld(plans, "mine.jsonl", world=world, tools=NotesWorld.tools), 2)
    assert not Path("data").exists()


def test_plan_with_unknown_tool_is_refused_before_anything_is_simulated() -> None:
    world = NotesWorld()
    with pytest.raises(
        BadInput, match=r"'add-0000' cannot be simulated because it expects add_note, which is not one of the available tools"
    ):
        run_synthesis(world, 2, tools=("python:json:dumps",))
    assert not Path("data").exists()


def test_plan_that_the_user_cannot_simulate_is_refused_before_anything_is_simulated() -> None:
    class EmptyScripts(NotesWorld):
        def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
            return [structs.replace(plan, data={**plan.data, "script": []}) for plan in super().plans(number, seed=seed, start=start)]

    with pytest.raises(BadInput, match="scenario 'add-0000': data.script: expected a list of non-empty lines"):
        run_synthesis(EmptyScripts(), 2, user=ModelSettings(model="script"))
    assert not Path("data").exists()


@pytest.mark.parametrize(
    "number, accepted, rejected, size", [(10, 0, 0, 10), (10, 8, 2, 3), (10, 0, 10, 10), (10, 1, 9, 10), (10, 5, 0, 5)]
)
def test_round_size_follows_the_acceptance_rate(number: int, accepted: int, rejected: int, size: int) -> None:
    quality_filter = QualityFilter(number)
    quality_filter.accepted, quality_filter.rejected = [None] * accepted, [None] * rejected  # type: ignore[list-item]
    assert round_size(quality_filter) == size
