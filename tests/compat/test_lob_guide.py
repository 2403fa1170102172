"""The code of the LOB evaluation's guide runs with only its imports changed: its row of ground truth, its custom evaluator, its command.

The blocks are read from the guide where it is present (../shared/seeds beside the project). Blocks of the same form, with our own values,
are always run.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from callmark.compat import lob
from callmark.compat.lob import EvaluationService, FunctionCallReliabilityEvaluator
from callmark.formats import load
from callmark.simulation.users.rule_based.tasks import read_tasks
from callmark.types import Case

GUIDE = next(iter((Path(__file__).parents[3] / "shared" / "seeds").glob("004_*.txt")), Path("the guide is not here"))
has_guide = pytest.mark.skipif(not GUIDE.exists(), reason="no guide of the LOB evaluation in ../shared/seeds")
MAKEFILE = Path(__file__).parents[2] / "Makefile"
OUR_ROW = {
    "id": "c1",
    "description": "A ticket with an action item",
    "scenarioType": "create_ticket_and_action_item",
    "task_completion_condition": "The user has confirmed the end of the session",
    "instructions": "You want a ticket for a slow server, and an action item for it.",
    "expected_function_calls": [
        {"functionName": "TicketManagementPlugin-create_support_ticket", "arguments": {"title": "Slow server", "department_code": "IT"}},
        {"functionName": "ActionItemPlugin-create_action_item", "arguments": {"ticket_id": "TKT-*", "title": "Add memory"}},
    ],
}
OUR_EVALUATOR = """
from evaluation.chatbot.evaluators.evaluator import Evaluator

class CustomEvaluator(Evaluator):
    def __call__(self, *, actual_function_calls, expected_function_calls, **kwargs):
        score = self.evaluate(actual_function_calls, expected_function_calls)
        return EvaluatorResult(score=score)

    def evaluate(self, actual_function_calls, expected_function_calls):
        return score
"""


def blocks(language: str) -> list[str]:
    """Return the code blocks of the guide in a language, without the indent of the list that they are in."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


ROWS = [pytest.param(lambda: OUR_ROW, id="ours"), pytest.param(lambda: json.loads(blocks("json")[0]), id="guide", marks=has_guide)]
CODE = [pytest.param(lambda: OUR_EVALUATOR, id="ours"), pytest.param(lambda: blocks("python")[0], id="guide", marks=has_guide)]


@pytest.mark.parametrize("read_row", ROWS)
def test_row_of_ground_truth_is_read_simulated_and_scored(tmp_path: Path, read_row: Any) -> None:
    row = read_row()
    (tmp_path / "ground_truth.json").write_text(json.dumps([row]), encoding="utf-8")
    (case,) = load(tmp_path / "ground_truth.json")
    assert isinstance(case, Case)
    assert [task.goal for task in read_tasks(case)] == ["create a support ticket", "create an action item"]

    def target(*, expected_function_calls: Any, **others: Any) -> dict[str, Any]:
        created, item = json.loads(json.dumps(expected_function_calls))
        item["arguments"]["ticket_id"] = "TKT-0007"
        clarification = {"functionName": "CommonPlugin-ask_clarification", "arguments": {}}
        return {"function_calls": [clarification, {**created, "functionName": created["functionName"].upper()}, item]}

    found = EvaluationService().evaluate(tmp_path / "ground_truth.json", tmp_path / "output", target, [FunctionCallReliabilityEvaluator()])
    assert found.metrics == {"Reliability.score": 1.0}
    assert json.loads((tmp_path / "output" / "evaluation_results.json").read_text(encoding="utf-8")) == found


@pytest.mark.parametrize("read_code", CODE)
def test_custom_evaluator_runs_with_another_import(tmp_path: Path, read_code: Any) -> None:
    imports = "from evaluation.chatbot.evaluators.evaluator import Evaluator"
    code = read_code().replace(imports, "from callmark.compat.lob import Evaluator, EvaluatorResult")
    assert "import Evaluator, EvaluatorResult" in code
    names: dict[str, Any] = {"score": 0.25}  # what the guide leaves to the reader: the value that `evaluate` returns
    exec(code, names)
    (tmp_path / "rows.json").write_text(json.dumps([OUR_ROW]), encoding="utf-8")
    found = EvaluationService().evaluate(
        ground_truth_data_path=tmp_path / "rows.json",
        output_path=tmp_path / "output",
        eval_target=lambda **row: {"function_calls": []},
        evaluators={"Custom": names["CustomEvaluator"]()},
    )
    assert found.metrics == {"Custom.score": 0.25}


@has_guide
def test_commands_and_names_of_the_guide_exist() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    commands = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("make ")]
    assert commands == ["make chatbot-eval"]
    assert all(re.search(rf"^{command.split()[1]}:", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE) for command in commands)
    named = set(re.findall(r"`(FunctionCall\w+Evaluator|EvaluationService)`", text)) | {"Evaluator", "EvaluatorResult"}
    assert len(named) >= 7
    assert named <= set(lob.__all__)
