"""Cases graded one after the other, by the same evaluators and rules; each grade as a record that can be written down.

An error (SPEC's word for what is not the model's doing) has no numbers: it is kept with its text, and no mean counts it.
"""

from collections import Counter

import msgspec
from msgspec import Struct, to_builtins

from callmark.calls.pairing import fast_equal
from callmark.calls.provenance import DERIVED, Sources, plainly_stand
from callmark.calls.rules import apply, match_rules
from callmark.calls.schema import Schemas, plainly_fits
from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.grading.attempt import Attempt
from callmark.grading.evaluator import BY_CALLS, Settings, build_evaluators
from callmark.grading.evaluators.schema import SchemaEvaluator
from callmark.grading.faults import hallucinated_values, notes
from callmark.grading.grade import Grade, best_attempt, measure
from callmark.types import Call, Case, Fault, Metrics, Note, Prediction, Tool, Usage

_RUNS = (True, True, True)  # what the evaluator schema says of a call that could run
_MOST_SAME = 10_000  # names are endless where models make them up
_ONE_RIGHT = ((0, 0, True),)

_encode = msgspec.json.Encoder().encode


class GradeRecord(Struct, frozen=True, gc=False, omit_defaults=True):
    """A grade as it is written down, with what tables are made by: the conversation and the message that the case was cut from, the
    kind of scenario, the group, the characters of its prompt, the names that were expected and made, and which were paired and whether
    their arguments all agree. Of a whole conversation: why it ended, how often the user spoke, and how many calls no
    result was recorded for.
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
    usage: Usage | None = None
    prompt: int | None = None
    ending: str = ""
    turns: int | None = None
    misses: int = 0


_decode = msgspec.json.Decoder(GradeRecord).decode


def grade_line(grade: GradeRecord) -> bytes:
    """The grade as JSON."""
    try:
        return _encode(grade)
    except (OverflowError, ValueError, RecursionError):  # a value in a fault that only Python's own JSON writes
        return dump(to_builtins(grade)).encode()


def read_grade(line: bytes) -> GradeRecord:
    """The grade of such a line; anything else raises msgspec's errors."""
    return _decode(line)


class Grader:
    """`touched` counts the arguments that each rule of `[match]` has touched so far."""

    def __init__(self, settings: Settings) -> None:
        self.evaluators = build_evaluators(settings)
        self._rules = match_rules(settings.match)
        self._tools: tuple[Tool, ...] = ()
        self._schemas = Schemas(())
        self._sources = Sources()
        # what our evaluators say of a perfect attempt depends on nothing but whether it could run; and of one call against another (or none),
        # on that, the names, and how many arguments agree
        self._schema = next((evaluator for evaluator in self.evaluators if isinstance(evaluator, SchemaEvaluator)), None)
        self._same: dict[object, Metrics] | None = {} if all(type(evaluator) in BY_CALLS for evaluator in self.evaluators) else None
        self.touched: Counter[str] = Counter({rule.pattern: 0 for rule in self._rules})

    @property
    def metrics(self) -> tuple[str, ...]:
        """The flat names of all metrics, in order; a grade may be without those of an evaluator that looks at a whole conversation."""
        return tuple(f"{evaluator.name}.{metric}" for evaluator in self.evaluators for metric in evaluator.metrics)

    def grade(self, case: Case, calls: tuple[Call, ...]) -> Grade:
        """The grade of these calls at that case."""
        return self._grade(self._right(case), case, Prediction(case.id, calls=calls))

    def record(self, case: Case, predictions: list[Prediction]) -> list[GradeRecord]:
        """A record for each prediction; where there is none, one that says so."""
        if not predictions:
            return [_record(case, Prediction(case.id, error="no prediction"), _names(case.expected))]
        right = self._right(case)
        records = []
        for prediction in predictions:
            if prediction.error:
                records.append(_record(case, prediction, _names(case.expected)))
            elif not prediction.transcript and self._is_plainly_right(right, case, prediction.calls):
                records.append(self._plain_record(case, prediction))
            else:
                grade = self._grade(right, case, prediction)
                records.append(
                    _record(
                        case,
                        prediction,
                        _names(right[grade.alternative]),
                        _names(prediction.calls),
                        grade.metrics,
                        tuple([(one.expected, one.actual, one.agrees) for one in grade.pairs]),
                        faults=tuple(grade.faults) if grade.wrong else (),
                        notes=tuple(grade.notes),
                        alternative=grade.alternative,
                    )
                )
                self._sources = grade.sources or self._sources
        return records

    def _right(self, case: Case) -> list[tuple[Call, ...]]:
        """The lists of calls that are right, with the rules applied."""
        right = [case.expected, *case.alternatives]
        if not self._rules:
            return right
        return [apply(self._rules, calls, self.touched, tools=self._schemas_of(case).by_name) for calls in right]

    def _schemas_of(self, case: Case) -> Schemas:
        if case.tools is not self._tools:
            self._tools, self._schemas = case.tools, Schemas(case.tools)
        return self._schemas

    def _grade(self, right: list[tuple[Call, ...]], case: Case, prediction: Prediction) -> Grade:
        schemas = self._schemas_of(case)
        attempt, which = best_attempt(
            right,
            prediction.calls,
            tools=case.tools,
            messages=case.messages or prediction.transcript,
            schemas=schemas,
            earlier=self._sources,
            case=case,
            prediction=prediction,
        )
        try:
            return Grade(attempt, self.evaluators, which, self._measured(attempt))
        except BadInput as error:
            raise BadInput(f"case {case.id}: {error}", error.hint) from error

    def _is_plainly_right(self, right: list[tuple[Call, ...]], case: Case, calls: tuple[Call, ...]) -> bool:
        """Whether it can be told at a glance that one call was expected and made, and that it could run: so it is with most of what a
        good model does. False says nothing.
        """
        if len(right) != 1 or len(right[0]) != 1 or len(calls) != 1 or not self._same or _RUNS not in self._same:
            return False
        wanted, made = right[0][0], calls[0]
        if wanted.name != made.name or made.malformed or wanted.malformed or case.tools is not self._tools:
            return False
        tool = self._schemas.by_name.get(made.name)
        if tool is None:
            return False
        parameters = tool.parameters
        return self._schemas.plainly_right(wanted, made) or (
            fast_equal(wanted.arguments, made.arguments, parameters) and plainly_fits(made.arguments, parameters)
        )

    def _plain_record(self, case: Case, prediction: Prediction) -> GradeRecord:
        """What is written down of a call that is plainly right: there may still be something to note."""
        call = prediction.calls[0]
        noted: tuple[Note, ...] = ()
        violates = bool(self._schemas.violations(call))
        if violates or (case.messages and call.name not in DERIVED and not plainly_stand(call.arguments, case.messages)):
            attempt = Attempt(
                case.expected, prediction.calls, tools=case.tools, messages=case.messages, schemas=self._schemas, earlier=self._sources
            )
            noted = tuple(notes(attempt) if violates else hallucinated_values(attempt, 0))
            self._sources = attempt.sources_if_known or self._sources
        names = (call.name,)
        return _record(case, prediction, names, names, self._same[_RUNS] if self._same else {}, _ONE_RIGHT, notes=noted)

    def _measured(self, attempt: Attempt) -> Metrics:
        """What the evaluators say; once for all attempts of which they must say the same."""
        if self._same is None:
            return measure(attempt, self.evaluators)
        runs = self._schema.holds(attempt) if self._schema else _RUNS
        key = runs if attempt.pairing.perfect else _of_one(attempt, runs)
        if key is None:
            return measure(attempt, self.evaluators)
        if key not in self._same:
            if len(self._same) > _MOST_SAME:
                self._same.clear()
            self._same[key] = measure(attempt, self.evaluators)
        return self._same[key]


def _of_one(attempt: Attempt, runs: tuple[bool, bool, bool]) -> object:
    """What one call against another, or against none, is measured by; None where it is more."""
    if len(attempt.expected) != 1 or len(attempt.actual) > 1:
        return None
    name, other = attempt.expected[0].name, attempt.actual[0].name if attempt.actual else None
    similar = attempt.one_by_similar
    if similar is not None:
        exact = attempt.pairing.pairs[0].arguments
        return runs, name, exact.agree, similar.agree, exact.expected, exact.made, exact.named
    if other is not None and name != other and name.casefold() == other.casefold():
        return None  # the evaluator process takes them for a pair
    return runs, name, other


def _record(
    case: Case,
    prediction: Prediction,
    expected: tuple[str, ...],
    made: tuple[str, ...] = (),
    metrics: Metrics | None = None,
    pairs: tuple[tuple[int, int, bool], ...] = (),
    *,
    faults: tuple[Fault, ...] = (),
    notes: tuple[Note, ...] = (),
    alternative: int = 0,
) -> GradeRecord:
    """What is written down of a case and a prediction: its grade, or, without metrics, its error."""
    source = case.source
    conversation, message = (source.conversation, source.message) if source else (None, None)
    return GradeRecord(
        case.id,
        prediction.trial,
        prediction.error,
        metrics or {},
        expected,
        made,
        pairs,
        faults,
        notes,
        alternative,
        conversation,
        message,
        case.scenario_type,
        case.group,
        prediction.usage,
        sum([len(said.text) for said in case.messages]) or None,
        prediction.ending,
        sum([said.role == "user" for said in prediction.transcript]) if prediction.transcript else None,
        prediction.misses,
    )


def _names(calls: tuple[Call, ...]) -> tuple[str, ...]:
    return tuple([call.name for call in calls])
