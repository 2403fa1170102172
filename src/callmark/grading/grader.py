"""Cases graded one after the other, by the same suites and rules; each grade as a record that can be written down.

An error (SPEC's word for what is not the model's doing) has no numbers: it is kept with its text, and no mean counts it.
"""

from collections import Counter

from msgspec import Struct

from callmark.calls.rules import apply, match_rules
from callmark.errors import BadInput
from callmark.grading.attempt import tools_by_name
from callmark.grading.grade import Grade, best_attempt
from callmark.grading.suites import Settings, suites_of
from callmark.types import Call, Case, Fault, Metrics, Note, Prediction, Tool


class Graded(Struct, frozen=True, gc=False, omit_defaults=True):
    """A grade as it is written down, with what tables are made by: the conversation and the message that the case was cut from, the
    kind of scenario, the group, the names that were expected and made, and which were paired and whether their arguments all agree.
    """

    case: str
    trial: int = 0
    error: str = ""
    metrics: Metrics = {}
    expected: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    pairs: tuple[tuple[int, int, bool], ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[Note, ...] = ()
    alternative: int = 0
    conversation: str | None = None
    message: int | None = None
    scenario_type: str = ""
    group: str | None = None


class Grader:
    """`touched` counts the arguments that each rule of `[match]` has touched so far."""

    def __init__(self, settings: Settings) -> None:
        self.suites = suites_of(settings)
        self._rules = match_rules(settings.match)
        self._tools: tuple[Tool, ...] = ()
        self._by_name: dict[str, Tool] = {}
        self.touched: Counter[str] = Counter({rule.pattern: 0 for rule in self._rules})

    @property
    def metrics(self) -> tuple[str, ...]:
        """The flat names of all metrics, in order."""
        return tuple(f"{suite.name}.{metric}" for suite in self.suites for metric in suite.metrics)

    def grade(self, case: Case, calls: tuple[Call, ...]) -> Grade:
        """The grade of these calls at that case."""
        return self._grade(self._right(case), case, calls)

    def record(self, case: Case, predictions: list[Prediction]) -> list[Graded]:
        """A record for each prediction; where there is none, one that says so."""
        source = case.source
        conversation, message = (source.conversation, source.message) if source else (None, None)

        def error(trial: int, text: str) -> Graded:
            names = tuple([call.name for call in case.expected])
            return Graded(case.id, trial, text, {}, names, (), (), (), (), 0, conversation, message, case.scenario_type, case.group)

        if not predictions:
            return [error(0, "no prediction")]
        right = self._right(case)
        records = []
        for prediction in predictions:
            if prediction.error:
                records.append(error(prediction.trial, prediction.error))
                continue
            grade = self._grade(right, case, prediction.calls)
            records.append(
                Graded(
                    case.id,
                    prediction.trial,
                    "",
                    grade.metrics,
                    tuple([call.name for call in right[grade.alternative]]),
                    tuple([call.name for call in prediction.calls]),
                    tuple([(one.expected, one.actual, one.agrees) for one in grade.pairs]),
                    tuple(grade.faults) if grade.wrong else (),
                    tuple(grade.notes),
                    grade.alternative,
                    conversation,
                    message,
                    case.scenario_type,
                    case.group,
                )
            )
        return records

    def _right(self, case: Case) -> list[tuple[Call, ...]]:
        """The lists of calls that are right, with the rules applied."""
        right = [case.expected, *case.alternatives]
        return [apply(self._rules, calls, self.touched) for calls in right] if self._rules else right

    def _grade(self, right: list[tuple[Call, ...]], case: Case, calls: tuple[Call, ...]) -> Grade:
        if case.tools is not self._tools:
            self._tools, self._by_name = case.tools, tools_by_name(case.tools)
        attempt, which = best_attempt(right, calls, tools=case.tools, messages=case.messages, by_name=self._by_name)
        try:
            return Grade(attempt, self.suites, which)
        except BadInput as error:
            raise BadInput(f"case {case.id}: {error}", error.hint) from error
