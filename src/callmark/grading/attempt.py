"""A case and its prediction, as evaluators see them. Pairings are computed once and shared by all evaluators."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from callmark.calls.pairing import Pair, Pairing, compare_arguments, compare_similar, no_schema, pair_calls
from callmark.calls.provenance import SourceIndex, fast_hallucinated
from callmark.calls.schema import Schemas
from callmark.grading.ignored_functions import is_ignored
from callmark.types import Call, Case, Message, Prediction, Tool

PairingRule = Literal["exact", "similar"]
_NO_CALLS = Pairing((), (), ())


class Execution(NamedTuple):
    """Whether the actual calls could run in place of the expected ones (docs/reference/metrics.md, section 7)."""

    tool_selection: bool
    parameter_accuracy: bool
    execution_success: bool


class Attempt:
    """The input of an evaluator: expected and actual calls with their context. Read-only.

    `schemas` and `earlier_sources` save work if many attempts share tools or the beginning of a conversation.

    Attributes:
        expected: The expected calls.
        actual: The actual calls.
        tools: The tools of the case; may be empty.
        messages: The conversation before the calls, or the whole transcript of a simulated conversation; may be empty.
        case: The case; None if only calls are known.
        prediction: The prediction; None if only calls are known.
    """

    __slots__ = (
        "_earlier_sources",
        "_exact",
        "_execution",
        "_pairings",
        "_schemas",
        "_sources",
        "actual",
        "case",
        "expected",
        "messages",
        "prediction",
        "tools",
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
    ) -> None:
        self.expected = expected
        self.actual = actual
        self.tools = tools
        self.messages = messages
        self.case = case
        self.prediction = prediction
        self._schemas = schemas
        self._earlier_sources = earlier_sources
        self._sources: SourceIndex | None = None
        self._execution: Execution | None = None
        self._exact: Pairing | None = None
        self._pairings: dict[tuple[PairingRule, tuple[str, ...]], Pairing] | None = None

    def pair(self, rule: PairingRule = "exact", ignore: tuple[str, ...] = ()) -> Pairing:
        """Return the best one-to-one pairing of expected and actual calls, computed once per rule and ignore list.

        Args:
            rule: `exact` compares names with case and values exactly; `similar` ignores the case of names and compares values by `similar`.
            ignore: Globs of functions whose calls are ignored on both sides.

        Returns:
            The pairs and the unpaired calls, as indexes into `expected` and `actual`. Malformed calls are never paired.
        """
        if rule == "exact" and not ignore:
            if self._exact is None:
                self._exact = pair_calls(self.expected, self.actual, parameters=self.parameters if self.tools else no_schema)
            return self._exact
        if self._pairings is None:
            self._pairings = {}
        pairing = self._pairings.get((rule, ignore))
        if pairing is None:
            pairing = self._pair_without(rule, ignore) if ignore else self._pair_similar()
            self._pairings[rule, ignore] = pairing
        return pairing

    @property
    def execution(self) -> Execution:
        """Whether the actual calls could run.

        A single expected call is compared with the first actual call. Several expected calls are paired, and a field is true if it is true
        for every pair. With nothing expected and no call, all fields are true; if only one side is empty, all are false.
        """
        if self._execution is None:
            self._execution = self._execute()
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
        return self._sources

    @property
    def built_sources(self) -> SourceIndex | None:
        """The index of values if it was built, to be reused by an attempt that begins with the same messages."""
        return self._sources

    def find_source(self, value: str | int | float, actual_index: int) -> int | None:
        """Return the index of the first message before an actual call that contains the value; None for a hallucinated value."""
        if fast_hallucinated(value, self.messages):
            return None
        found = self.sources.find(value)
        return found if found is None or found < self.message_of(actual_index) else None

    def message_of(self, actual_index: int) -> int:
        """Return the index of the message that makes an actual call.

        At a decision point, that is the index after the last message. In a transcript it is one of the messages, and later messages are
        not a source of the call's values.
        """
        transcript = self.prediction.transcript if self.prediction else ()
        if not transcript or self.messages is not transcript:
            return len(self.messages)
        calls_before = 0
        for index, message in enumerate(transcript):
            calls_before += len(message.calls)
            if actual_index < calls_before:
                return index
        return len(transcript)

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Return the parameter schema of a tool by name, ignoring case if there is no exact match; `{}` for an unknown tool."""
        if not self.tools:
            return {}
        tool = self.schemas.by_name.get(name)
        if tool is None:
            folded = name.casefold()
            tool = next((tool for tool in self.schemas.by_name.values() if tool.name.casefold() == folded), None)
        return tool.parameters if tool is not None else {}

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
        )

    def _execute(self) -> Execution:
        expected, actual = self.expected, self.actual
        if not expected or not actual:
            both_empty = not expected and not actual
            return Execution(both_empty, both_empty, both_empty)
        if len(expected) == 1:
            selected = bool(actual[0].name) and expected[0].name == actual[0].name
            fits = self._could_run(expected[0], actual[0])
            return Execution(selected, fits, selected and fits)
        pairing = self.pair()
        if pairing.unpaired_expected:
            return Execution(False, False, False)
        fits = all(self._could_run(expected[found.expected], actual[found.actual]) for found in pairing.pairs)
        return Execution(True, fits, fits)

    def _could_run(self, expected: Call, actual: Call) -> bool:
        """Return whether a call fits the schema of its own tool or, without tools, whether its arguments are the expected ones."""
        if actual.malformed:
            return False
        if not self.tools:
            return not expected.malformed and compare_arguments(expected.arguments, actual.arguments).all_agree
        return self.schemas.could_run(actual)
