"""Whether each case of a run passed, and what went wrong, in sentences: for CI and for tests.

A trial passes if every evaluator with a verdict (a rate, such as `call.pass`) gives 1. A case passes if all of its trials do. A case whose
trials are all errors is an error, and so is one on which an evaluator failed. A case without a verdict is skipped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from callmark.analysis.disagreements import verdict_metrics
from callmark.grading.evaluator import Metric
from callmark.grading.grade import fault_sentence
from callmark.grading.record import GradeRecord
from callmark.types import Fault
from callmark.wording import pluralize

Status = Literal["passed", "failed", "error", "skipped"]
NO_VERDICT = "no evaluator gives a verdict on this case"
_MAX_NOTES = 3  # of a trial, where nothing else explains a verdict


class CaseOutcome(Struct, frozen=True):
    """The outcome of a case over its trials.

    Attributes:
        case: Id of the case.
        status: `passed`, `failed`, `error` or `skipped`.
        problems: What went wrong in the first trial that did not pass, as sentences; empty if all passed.
        trials: Number of trials that are not errors.
        passed: Number of trials that passed.
        seconds: Latency of all trials together.
        scenario_type: Type of the scenario.
        trial: The trial that `problems` are about.
    """

    case: str
    status: Status
    problems: tuple[str, ...] = ()
    trials: int = 1
    passed: int = 1
    seconds: float = 0.0
    scenario_type: str = ""
    trial: int = 0

    @property
    def message(self) -> str:
        """The first problem, and how many more there are; with trials, how many of them failed. Empty for a case that passed."""
        if not self.problems:
            return ""
        more = f" (and {len(self.problems) - 1:,} more)" if len(self.problems) > 1 else ""
        failed = f"{self.trials - self.passed:,} of {self.trials:,} trials failed: " if self.status == "failed" and self.trials > 1 else ""
        return f"{failed}{self.problems[0]}{more}"


def case_outcomes(grades: Iterable[GradeRecord], metrics: Mapping[str, Metric]) -> Iterator[CaseOutcome]:
    """Yield the outcome of each case, in the order of the grades. The grades of a case are consecutive."""
    verdicts = verdict_metrics(metrics)
    for case, trials in groupby(grades, key=attrgetter("case")):
        yield _outcome(case, list(trials), verdicts)


def _outcome(case: str, trials: Sequence[GradeRecord], verdicts: Sequence[str]) -> CaseOutcome:
    shown = first = trials[0]
    seconds = sum(grade.usage.seconds for grade in trials if grade.usage)
    graded = [grade for grade in trials if not grade.error]
    results = [_passed(grade, verdicts) for grade in graded]
    failures = [grade for grade, passed in zip(graded, results, strict=True) if passed is False]
    broken = next((grade for grade in graded if grade.evaluator_errors), None)
    status: Status = "passed"
    problems: tuple[str, ...] = ()
    if failures:
        shown = failures[0]
        status, problems = "failed", tuple(trial_problems(shown, verdicts))
    elif broken is not None:
        status, problems = "error", tuple(f"evaluator {name} failed: {error}" for name, error in broken.evaluator_errors.items())
    elif not graded:
        status, problems = "error", (first.error,)
    elif None in results:
        status, problems = "skipped", (NO_VERDICT,)
    return CaseOutcome(case, status, problems, len(graded), results.count(True), seconds, first.scenario_type, shown.trial)


def _passed(grade: GradeRecord, verdicts: Sequence[str]) -> bool | None:
    """Return whether every verdict on a trial is 1; None if there is none."""
    values = [grade.metrics[name] for name in verdicts if name in grade.metrics]
    return all(value == 1 for value in values) if values else None


def trial_problems(grade: GradeRecord, verdicts: Sequence[str]) -> Iterator[str]:
    """Yield what went wrong in a trial: its faults, then why the verdict of any other evaluator is not 1.

    That is the evaluator's reasons, or its notes (`policy_violation` is a note of `policy`), or the value and the other notes.
    """
    yield from (described_fault(fault, grade.actual) for fault in grade.faults)
    explained = {name for fault in grade.faults for name in fault.evaluators}
    has_notes = True
    for metric in verdicts:
        evaluator = metric.rpartition(".")[0]
        if grade.metrics.get(metric, 1) == 1 or evaluator in explained:
            continue
        reasons = [reason for name, reason in grade.reasons.items() if name.rpartition(".")[0] == evaluator]
        reasons = reasons or [note.sentence for note in grade.notes if note.kind.startswith(f"{evaluator}_")]
        if reasons:
            yield from (f"{evaluator}: {reason}" for reason in reasons)
            continue
        yield f"{metric}: expected 1, got {grade.metrics[metric]:g}"
        if has_notes:
            yield from (note.sentence for note in grade.notes[:_MAX_NOTES])
            has_notes = False


def described_fault(fault: Fault, actual: Sequence[str]) -> str:
    """Return a fault as a sentence that names the tool. `actual` are the names of the actual calls."""
    tool = actual[fault.actual_index] if fault.actual_index is not None else ""
    sentence = fault_sentence(fault, tool)
    return f"{tool}: {sentence}" if tool and fault.argument is not None else sentence


def count_outcomes(outcomes: Iterable[CaseOutcome]) -> str:
    """Return `3 of 40 cases failed, 1 error`, or `40 cases passed`."""
    statuses = [outcome.status for outcome in outcomes]
    failed, errors = statuses.count("failed"), statuses.count("error")
    counted = (
        f"{failed:,} of {pluralize(len(statuses), 'case')} failed" if failed else f"{pluralize(statuses.count('passed'), 'case')} passed"
    )
    return f"{counted}, {pluralize(errors, 'error')}" if errors else counted
