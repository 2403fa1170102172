"""Grade cases one by one with the same evaluators and match rules."""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from callmark.calls.globs import matches_glob
from callmark.calls.match_rules import apply_match_rules, read_match_rules
from callmark.calls.pairing import fast_equal
from callmark.calls.provenance import fast_grounded
from callmark.calls.schema import Schemas, fast_fits
from callmark.calls.source_index import SourceIndex, common_beginning
from callmark.grading.attempt import Attempt
from callmark.grading.evaluate import CombinedResult
from callmark.grading.evaluator import Evaluator, Metric
from callmark.grading.faults import find_notes, hallucinated_values
from callmark.grading.grade import Grade, best_attempt
from callmark.grading.record import GradeRecord
from callmark.grading.settings import GradingSettings, build_evaluators
from callmark.types import Call, Case, Fault, Message, Note, Prediction, Tool

_SHORT_PROMPT = 100  # messages that are counted again for every case
_ONE_AGREEING_PAIR = ((0, 0, True),)


class Grader:
    """Grades predictions with the evaluators and match rules of the settings.

    `matched` counts the arguments that each match rule has applied to so far, and `unchecked_replies` the cases with checks of the reply
    if the evaluator `reply` is not selected. `unused_rules` are the policy rules that can never be violated, because no case has had a tool
    that they are about, with its glob; empty where no tools are known.
    """

    def __init__(self, settings: GradingSettings) -> None:
        self.evaluators = build_evaluators(settings)
        self._rules = read_match_rules(settings.match)
        self._read_only = settings.read_only
        self._ungrounded = settings.ungrounded
        self._tools: tuple[Tool, ...] = ()
        self._schemas = Schemas(())
        self._sources = SourceIndex()
        self._last_prompt: tuple[tuple[Message, ...], int] = ((), 0)  # and its characters
        self.matched: Counter[str] = Counter({rule.pattern: 0 for rule in self._rules})
        self._unused = _tool_patterns(self.evaluators.evaluators)  # rules about tools that no case has had yet
        self._has_tools = False
        self._checks_replies = any(evaluator.name == "reply" for evaluator in self.evaluators.evaluators)
        self.unchecked_replies = 0

    @property
    def metrics(self) -> dict[str, Metric]:
        """The declared metrics by full name, in order. A grade has only the applicable ones."""
        return self.evaluators.metrics

    @property
    def unused_rules(self) -> dict[str, str]:
        return {rule: " or ".join(globs) for rule, globs in self._unused.items()} if self._has_tools else {}

    def grade(self, case: Case, prediction: Prediction) -> Grade:
        """Grade a prediction, which is not an error, for that case."""
        return self._grade(self._expected(case), case, prediction)

    def record(self, case: Case, predictions: list[Prediction]) -> list[GradeRecord]:
        """Return a record for each prediction; without predictions, one record with the error `no prediction`."""
        if case.reply is not None and not self._checks_replies:
            self.unchecked_replies += 1
        if not predictions:
            return [self._record(case, Prediction(case.id, error="no prediction"), _names(case.expected))]
        expected = self._expected(case)
        records = []
        for prediction in predictions:
            if prediction.error:
                records.append(self._record(case, prediction, _names(case.expected)))
            elif not prediction.transcript and self._is_plainly_correct(expected, case, prediction.calls):
                records.append(self._record_correct(case, prediction))
            else:
                grade = self._grade(expected, case, prediction)
                records.append(
                    self._record(
                        case,
                        prediction,
                        _names(expected[grade.alternative]),
                        _names(prediction.calls),
                        grade.result,
                        tuple([(pair.expected, pair.actual, pair.agrees) for pair in grade.pairs]),
                        faults=tuple(grade.faults),
                        notes=tuple(grade.notes),
                        alternative=grade.alternative,
                    )
                )
                self._sources = grade.built_sources or self._sources
        return records

    def _expected(self, case: Case) -> list[tuple[Call, ...]]:
        """Return the lists of correct calls, with the match rules applied."""
        expected = [case.expected, *case.alternatives]
        if not self._rules:
            return expected
        return [apply_match_rules(self._rules, calls, self.matched, tools=self._schemas_of(case).by_name) for calls in expected]

    def _schemas_of(self, case: Case) -> Schemas:
        if case.tools is not self._tools:
            self._tools, self._schemas = case.tools, Schemas(case.tools)
            self._has_tools = self._has_tools or bool(case.tools)
            self._unused = {
                rule: globs
                for rule, globs in self._unused.items()
                if not any(matches_glob(glob, tool.name) for glob in globs for tool in case.tools)
            }
        return self._schemas

    def _grade(self, expected: list[tuple[Call, ...]], case: Case, prediction: Prediction) -> Grade:
        attempt, alternative = best_attempt(
            expected,
            prediction.calls,
            tools=case.tools,
            messages=case.messages or prediction.transcript,
            schemas=self._schemas_of(case),
            earlier_sources=self._sources,
            case=case,
            prediction=prediction,
            dependencies=case.dependencies,
            read_only=self._read_only,
            ungrounded=self._ungrounded,
        )
        return Grade(attempt, self.evaluators.fault_counting, self.evaluators.evaluate(attempt), alternative)

    def _is_plainly_correct(self, expected: list[tuple[Call, ...]], case: Case, calls: tuple[Call, ...]) -> bool:
        """Return True if a quick check shows that the only expected call was made and could run, which is most of what a good model does.

        False requires a full comparison.
        """
        if len(expected) != 1 or len(expected[0]) != 1 or len(calls) != 1:
            return False
        expected_call, actual_call = expected[0][0], calls[0]
        if expected_call.name not in self.evaluators.correct_results:
            return False
        if expected_call.name != actual_call.name or actual_call.malformed or expected_call.malformed or case.tools is not self._tools:
            return False
        tool = self._schemas.by_name.get(actual_call.name)
        if tool is None:
            return False
        parameters = tool.parameters
        return self._schemas.fast_correct(expected_call, actual_call) or (
            fast_equal(expected_call.arguments, actual_call.arguments, parameters) and fast_fits(actual_call.arguments, parameters)
        )

    def _record_correct(self, case: Case, prediction: Prediction) -> GradeRecord:
        """Return the record of a plainly correct call, which may still have notes."""
        call = prediction.calls[0]
        notes: tuple[Note, ...] = ()
        violates = bool(self._schemas.violations(call))
        if violates or (case.messages and not fast_grounded(call.arguments, case.messages)):
            attempt = Attempt(
                case.expected,
                prediction.calls,
                tools=case.tools,
                messages=case.messages,
                schemas=self._schemas,
                earlier_sources=self._sources,
                ungrounded=self._ungrounded,
            )
            notes = tuple(find_notes(attempt) if violates else hallucinated_values(attempt, 0))
            self._sources = attempt.built_sources or self._sources
        names = (call.name,)
        result = self.evaluators.correct_results[call.name]
        return self._record(case, prediction, names, names, result, _ONE_AGREEING_PAIR, notes=notes + result.notes)

    def _record(
        self,
        case: Case,
        prediction: Prediction,
        expected: tuple[str, ...],
        actual: tuple[str, ...] = (),
        result: CombinedResult | None = None,
        pairs: tuple[tuple[int, int, bool], ...] = (),
        *,
        faults: tuple[Fault, ...] = (),
        notes: tuple[Note, ...] = (),
        alternative: int = 0,
    ) -> GradeRecord:
        """Return the record of a prediction: its grade or, without a result, its error."""
        source = case.source
        conversation, message = (source.conversation, source.message) if source else (None, None)
        record = GradeRecord(
            case.id,
            prediction.trial,
            prediction.error,
            {} if result is None else result.metrics,
            expected,
            actual,
            pairs,
            faults,
            notes,
            alternative,
            conversation,
            message,
            case.scenario_type,
            case.group,
            prediction.usage,
            self._prompt_characters(case.messages) or None,
            prediction.ending,
            sum([each.role == "user" for each in prediction.transcript]) if prediction.transcript else None,
            prediction.misses,
            {} if result is None else result.reasons,
            {} if result is None else result.pooled,
            file=case.file,
        )
        if result is None or not (result.categories or result.errors):
            return record
        return replace(record, categories=result.categories, evaluator_errors=result.errors)

    def _prompt_characters(self, messages: tuple[Message, ...]) -> int:
        """Return the length of a prompt. Long ones mostly continue the last one, of which they share the beginning."""
        if len(messages) <= _SHORT_PROMPT:
            return sum([len(message.text) for message in messages])
        before, characters = self._last_prompt
        shared = common_beginning(before, messages)
        characters += sum([len(message.text) for message in messages[shared:]]) - sum([len(message.text) for message in before[shared:]])
        self._last_prompt = messages, characters
        return characters


def _tool_patterns(evaluators: Sequence[Evaluator]) -> dict[str, tuple[str, ...]]:
    """Return the globs of the tools that rules are about, by rule, of all evaluators that have such rules."""
    found: dict[str, tuple[str, ...]] = {}
    for evaluator in evaluators:
        if hasattr(evaluator, "tool_patterns"):
            found |= evaluator.tool_patterns()
    return found


def _names(calls: tuple[Call, ...]) -> tuple[str, ...]:
    return tuple([call.name for call in calls])
