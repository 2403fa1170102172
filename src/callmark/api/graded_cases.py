"""One graded case of a run, with everything that explains its grade."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from callmark.api.runs import RunSource, open_run
from callmark.errors import BadInput
from callmark.formats.predictions import Predictions
from callmark.grading.grade import fault_sentence
from callmark.grading.record import GradeRecord
from callmark.runs.labels import LABELS, Label, file_beside, read_labels
from callmark.runs.run import Run
from callmark.runs.store import PREDICTIONS
from callmark.types import Case, Message, Prediction
from callmark.viewer.case_columns import pass_metric
from callmark.viewer.run_cases import RunCases
from callmark.wording import did_you_mean


class GradedCase(Struct, frozen=True):
    """A graded case.

    Attributes:
        grade: Its grade in one trial.
        case: The case with its messages and expected calls; None if the dataset is missing or has changed.
        prediction: What the model returned; None for an error.
        messages: The conversation: the prompt, or the transcript of a simulated conversation.
        labels: What people said of the case in `view`.
        passed: Whether the trial passed, as the page says it; None for an error, and if no metric says so.
        problem: Why the case cannot be shown; empty if it can.
    """

    grade: GradeRecord
    case: Case | None
    prediction: Prediction | None
    messages: tuple[Message, ...]
    labels: Sequence[Label]
    passed: bool | None
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the grade with the sentences of its faults, the calls, and the labels as plain values."""
        return {
            **msgspec.to_builtins(self.grade),
            "passed": self.passed,
            "sentences": [fault_sentence(fault, _tool(self.grade, fault.actual_index)) for fault in self.grade.faults],
            "expected_calls": [msgspec.to_builtins(call) for call in self.case.expected] if self.case else None,
            "actual_calls": [msgspec.to_builtins(call) for call in self.prediction.calls] if self.prediction else None,
            "labels": msgspec.to_builtins(self.labels),
            "problem": self.problem,
        }


def graded_case(run: RunSource, case: str, *, trial: int = 0) -> GradedCase:
    """Return one graded case of a run.

        callmark.graded_case("runs/base", "12:8").grade.faults

    Args:
        run: A `Run`, or the path of its folder.
        case: Id of the case.
        trial: Number of the trial, starting at 0.

    Raises:
        BadInput: The folder is not a graded run, or the run has no such case or trial.
    """
    opened = open_run(run)
    grade, known, trials = None, [], 0
    for each in opened.grades():
        if each.case == case:
            trials += 1
            grade = each if each.trial == trial else grade
        known.append(each.case)
    if grade is None:
        if trials:
            raise BadInput(f"{opened.folder}: case {case!r} has no trial {trial + 1}; it has {trials:,}")
        raise BadInput(f"{opened.folder}: no case with the ID {case!r}{did_you_mean(case, known)}")
    cases = RunCases(opened.folder, opened.info)
    notice = cases.notice
    found = None if notice else cases.find(grade.case, grade.conversation, 0)
    prediction = None
    if not grade.error:
        rows = (row.prediction for _, row in Predictions(opened.folder.inside(PREDICTIONS), regular=True))
        prediction = next((each for each in rows if (each.case, each.trial, bool(each.error)) == (case, trial, False)), None)
    messages: tuple[Message, ...] = ()
    if prediction is not None and prediction.transcript:
        messages = prediction.transcript
    elif found is not None:
        whole, placed = found
        messages = whole.messages[: placed.prompt_length or 0] + placed.prompt_tail
    labels = read_labels(file_beside(opened.folder.path, LABELS)).of_dataset(opened.info.dataset.digest)
    return GradedCase(
        grade, found[1].case if found else None, prediction, messages, list(labels.get(case, {}).values()), _passed(opened, grade), notice
    )


def _passed(run: Run, grade: GradeRecord) -> bool | None:
    metric = pass_metric(run.info.metrics, run.headline)
    if grade.error:
        return None
    value = float(not grade.faults) if metric is None else grade.metrics.get(metric)
    return None if value is None else value == 1


def _tool(grade: GradeRecord, index: int | None) -> str:
    return grade.actual[index] if index is not None and index < len(grade.actual) else ""
