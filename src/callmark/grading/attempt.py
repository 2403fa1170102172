"""A case and its prediction, as evaluators see them. Pairings are computed once and shared by all evaluators."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from callmark.calls.globs import matches_glob
from callmark.calls.match_budget import MatchBudget
from callmark.calls.pairing import Pair, Pairing, compare_calls, compare_similar, no_schema, pair_calls
from callmark.calls.provenance import fast_hallucinated, values_needing_source
from callmark.calls.schema import Schemas
from callmark.calls.source_index import FEW_VALUES, SourceIndex
from callmark.calls.strict import strings_and_numbers
from callmark.errors import EvaluatorError
from callmark.grading.ignored_functions import is_ignored
from callmark.types import Call, Case, Edges, Message, Prediction, Tool

PairingRule = Literal["exact", "similar"]
T = TypeVar("T")
_NO_CALLS = Pairing((), (), ())


class Execution(NamedTuple):
    """Whether the actual calls could run in place of the expected ones (docs/reference/metrics.md, section 7)."""

    tool_selection: bool
    parameter_accuracy: bool
    execution_success: bool


class Attempt:
    """The input of an evaluator: expected and actual calls with their context. Read-only.

    `schemas` and `earlier_sources` save work if many attempts share tools or the beginning of a conversation. `budget` is for the pairings
    by `exact` of attempts that differ only in the expected calls.

    Attributes:
        expected: The expected calls.
        actual: The actual calls.
        tools: The tools of the case; may be empty.
        messages: The conversation before the calls, or the whole transcript of a simulated conversation; may be empty.
        case: The case; None if only calls are known.
        prediction: The prediction; None if only calls are known.
        dependencies: Pairs of indexes of expected calls: the first must come before the second.
        read_only: Globs of tools that change nothing, in addition to tools whose definition says so.
        ungrounded: Patterns (`tool.argument`) of arguments whose values need no source in the conversation.
    """

    __slots__ = (
        "_budget",
        "_call_messages",
        "_earlier_sources",
        "_exact",
        "_execution",
        "_has_many_values",
        "_is_whole",
        "_pairings",
        "_schemas",
        "_sources",
        "actual",
        "case",
        "dependencies",
        "expected",
        "messages",
        "prediction",
        "read_only",
        "tools",
        "ungrounded",
    )

    def __init__(
        self,
        expected: Sequence[Call],
        actual: Sequence[Call],
        *,
        tools: Sequence[Tool] = (),
        messages: Sequence[Message] = (),
        schemas: Schemas | None = None,
        earlier_sources: SourceIndex | None = None,
        case: Case | None = None,
        prediction: Prediction | None = None,
        budget: MatchBudget | None = None,
        dependencies: Edges = (),
        read_only: tuple[str, ...] = (),
        ungrounded: Sequence[str] = (),
        is_whole: bool = False,
    ) -> None:
        self._is_whole = is_whole
        self.dependencies = dependencies
        self.read_only = read_only
        self.ungrounded = ungrounded
        self.expected = expected
        self.actual = actual
        self.tools = tools
        self.messages = messages
        self.case = case
        self.prediction = prediction
        self._schemas = schemas
        self._earlier_sources = earlier_sources
        self._budget = budget
        self._sources: SourceIndex | None = None
        self._has_many_values: bool | None = None
        self._call_messages: list[int] | None = None
        self._execution: Execution | EvaluatorError | None = None
        self._exact: Pairing | EvaluatorError | None = None
        self._pairings: dict[tuple[PairingRule, tuple[str, ...]], Pairing | EvaluatorError] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the calls are those of a whole conversation, not of one decision point."""
        if self._is_whole or (self.case is not None and self.case.is_scenario):
            return True
        return self.prediction is not None and bool(self.prediction.transcript)

    def pair(self, rule: PairingRule = "exact", ignore: tuple[str, ...] = ()) -> Pairing:
        """Return the best one-to-one pairing of expected and actual calls, computed once per rule and ignore list.

        Args:
            rule: `exact` compares names with case and values exactly; `similar` ignores the case of names and compares values by `similar`.
            ignore: Globs of functions whose calls are ignored on both sides.

        Returns:
            The pairs and the unpaired calls, as indexes into `expected` and `actual`. Malformed calls are never paired.

        Raises:
            EvaluatorError: The matchers of the expected calls need too many checks. The error names the argument.
        """
        if rule != "exact" or ignore:
            pairing = self._pair(rule, ignore)
        elif self._exact is not None:
            pairing = self._exact
        else:
            parameters = self.parameters if self.tools else no_schema
            try:
                pairing = self._exact = pair_calls(self.expected, self.actual, parameters=parameters, budget=self._budget)
            except EvaluatorError as error:
                pairing = self._exact = _without_traceback(error)
        if isinstance(pairing, EvaluatorError):
            raise EvaluatorError(str(pairing))
        return pairing

    @property
    def exact_pairing(self) -> Pairing | None:
        """The pairing by `exact`; None if it cannot be computed, because the matchers of the expected calls need too many checks."""
        try:
            return self.pair()
        except EvaluatorError:
            return None

    def _pair(self, rule: PairingRule, ignore: tuple[str, ...]) -> Pairing | EvaluatorError:
        """Return the pairing or the reason why it cannot be computed, either of them computed once. Not for the pairing by `exact`."""
        if self._pairings is None:
            self._pairings = {}
        pairing = self._pairings.get((rule, ignore))
        if pairing is None:
            pairing = _result_or_error(lambda: self._pair_without(rule, ignore) if ignore else self._pair_similar())
            self._pairings[rule, ignore] = pairing
        return pairing

    @property
    def execution(self) -> Execution:
        """Whether the actual calls could run.

        Each expected call gets a partner: by `exact` (of equally good ones, one that could run); what is left, by name if either call is
        malformed; what is still left, in order. A field is true if it is true for every expected call; without a partner, none is. Further
        actual calls are not checked. With nothing expected and no call, all fields are true; if only one side is empty, all are false.
        Pairing, and comparing arguments if there are no tools, raises `EvaluatorError` if the matchers need too many checks.
        """
        if self._execution is None:
            self._execution = _result_or_error(self._execute)
        if isinstance(self._execution, EvaluatorError):
            raise EvaluatorError(str(self._execution))
        return self._execution

    @property
    def schemas(self) -> Schemas:
        """The tools by name, with their compiled schemas."""
        if self._schemas is None:
            self._schemas = Schemas(self.tools)
        return self._schemas

    @property
    def sources(self) -> SourceIndex:
        """The index of values in the conversation, built on first use."""
        if self._sources is None:
            self._sources = self._earlier_sources.extend(self.messages) if self._earlier_sources else SourceIndex(self.messages)
            if self.has_many_values:
                self._sources.prepare(value for call in self.actual for value in strings_and_numbers(call.arguments))
        return self._sources

    @property
    def has_many_values(self) -> bool:
        """Whether the actual calls have so many values that searching for one after the other would be slow."""
        if self._has_many_values is None:
            self._has_many_values = sum(len(strings_and_numbers(call.arguments)) for call in self.actual) > FEW_VALUES
        return self._has_many_values

    @property
    def built_sources(self) -> SourceIndex | None:
        """The index of values if it was built, to be reused by an attempt that begins with the same messages."""
        return self._sources

    def find_source(self, value: str | int | float, actual_index: int) -> int | None:
        """Return the index of the first message before an actual call that contains the value; None for a hallucinated value."""
        if not self.has_many_values and fast_hallucinated(value, self.messages):
            return None
        return self.sources.find(value, self.message_of(actual_index))

    def values_needing_source(self, call: Call) -> Iterator[tuple[str, str | int | float]]:
        """Yield the path and value of every argument of an actual call, at any depth, that needs a source in the conversation."""
        return values_needing_source(call, self.parameters(call.name), ignore=self.ungrounded)

    def message_of(self, actual_index: int) -> int:
        """Return the index of the message that makes an actual call.

        At a decision point, that is the index after the last message. In a transcript it is one of the messages, and later messages are
        not a source of the call's values.
        """
        transcript = self.prediction.transcript if self.prediction else ()
        if not transcript or self.messages is not transcript:
            return len(self.messages)
        if self._call_messages is None:
            self._call_messages = [index for index, message in enumerate(transcript) for _ in message.calls]
        return self._call_messages[actual_index] if actual_index < len(self._call_messages) else len(transcript)

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Return the parameter schema of a tool by name, ignoring case if there is no exact match; `{}` for an unknown tool."""
        if not self.tools:
            return {}
        schemas = self._schemas or self.schemas
        tool = schemas.by_name.get(name) or schemas.find(name)
        return tool.parameters if tool is not None else {}

    def is_read_only(self, name: str) -> bool:
        """Return whether a tool is known to change nothing. The case of names counts."""
        tool = self.schemas.by_name.get(name) if self.tools else None
        return (tool is not None and tool.read_only) or any(matches_glob(glob, name) for glob in self.read_only)

    def _pair_similar(self) -> Pairing:
        if len(self.expected) == 1 and len(self.actual) == 1 and self.pair().pairs:  # only arguments that differ by `exact` can change
            exact = self.pair().pairs[0].arguments
            similar = compare_similar(exact, self.expected[0].arguments, self.actual[0].arguments)
            return self.pair() if similar is exact else Pairing((Pair(0, 0, similar),), (), ())
        return pair_calls(self.expected, self.actual, rule="similar", ignore_case=True, parameters=self.parameters)

    def _pair_without(self, rule: PairingRule, ignore: tuple[str, ...]) -> Pairing:
        expected = [index for index, call in enumerate(self.expected) if not is_ignored(call.name, ignore)]
        actual = [index for index, call in enumerate(self.actual) if not is_ignored(call.name, ignore)]
        if len(expected) == len(self.expected) and len(actual) == len(self.actual):
            return self.pair(rule)
        if not expected and not actual:
            return _NO_CALLS
        left = pair_calls(
            [self.expected[index] for index in expected],
            [self.actual[index] for index in actual],
            rule=rule,
            ignore_case=rule == "similar",
            parameters=self.parameters,
        )
        return Pairing(
            tuple([Pair(expected[found.expected], actual[found.actual], found.arguments) for found in left.pairs]),
            tuple([expected[index] for index in left.unpaired_expected]),
            tuple([actual[index] for index in left.unpaired_actual]),
            left.limited,
        )

    def _execute(self) -> Execution:
        expected, actual = self.expected, self.actual
        if not expected or not actual:
            both_empty = not expected and not actual
            return Execution(both_empty, both_empty, both_empty)
        if len(actual) < len(expected):
            return Execution(False, False, False)
        partners = ((0, 0),) if len(expected) == len(actual) == 1 else self._partners()
        selected = fits = True
        for one, other in partners:
            name = actual[other].name
            selected = selected and bool(name) and expected[one].name == name
            fits = fits and self._could_run(expected[one], actual[other])
        return Execution(selected, fits, selected and fits)

    def _partners(self) -> list[tuple[int, int]]:
        """Return a partner for each expected call, as indexes. There must be at least as many actual calls."""
        expected, actual = self.expected, self.actual
        pairing = self.pair()
        if self.tools and len(pairing.unpaired_actual) and not all(self.schemas.could_run(actual[pair.actual]) for pair in pairing.pairs):
            pairing = pair_calls(expected, actual, parameters=self.parameters, preferred=self.schemas.could_run)
        partners = [(pair.expected, pair.actual) for pair in pairing.pairs]
        by_name: dict[str, list[int]] = {}  # what is left of a name on both sides has a malformed call, or it would be paired
        for index in reversed(pairing.unpaired_actual):
            by_name.setdefault(actual[index].name, []).append(index)
        alone: list[int] = []
        for index in pairing.unpaired_expected:
            name = expected[index].name
            if name and by_name.get(name):
                partners.append((index, by_name[name].pop()))
            else:
                alone.append(index)
        left = sorted(index for indexes in by_name.values() for index in indexes)
        return partners + list(zip(alone, left, strict=False))

    def _could_run(self, expected: Call, actual: Call) -> bool:
        """Return whether a call fits the schema of its own tool or, without tools, whether its arguments are the expected ones."""
        if actual.malformed:
            return False
        if not self.tools:
            return not expected.malformed and compare_calls(expected, actual).all_agree
        return self.schemas.could_run(actual)


def _result_or_error(compute: Callable[[], T]) -> T | EvaluatorError:
    try:
        return compute()
    except EvaluatorError as error:
        return _without_traceback(error)


def _without_traceback(error: EvaluatorError) -> EvaluatorError:
    """Return the same error without its traceback, which would keep the whole comparison in memory."""
    return EvaluatorError(str(error))
