"""What an evaluator looks at: what was expected, what was made, the tools and the talk so far; the pairing is worked out once for all evaluators."""

from collections.abc import Mapping, Sequence
from typing import Any

from callmark.calls.pairing import Comparison, Pairing, by_similar, no_schema, pair
from callmark.calls.provenance import Sources, plainly_nowhere
from callmark.calls.schema import Schemas
from callmark.types import Call, Case, Message, Prediction, Tool


class Attempt:
    """One case and what came back for it. Nothing in it changes. `case` and `prediction` are None where only calls are at hand."""

    __slots__ = (
        "_earlier",
        "_pairing",
        "_schemas",
        "_similar",
        "_sources",
        "actual",
        "case",
        "expected",
        "messages",
        "prediction",
        "runs",
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
        earlier: Sources | None = None,
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
        self._earlier = earlier
        self._sources: Sources | None = None
        self.runs: tuple[bool, bool, bool] | None = None  # what the evaluator schema found, once it did
        self._pairing: Pairing | None = None
        self._similar: Comparison | None = None

    @property
    def schemas(self) -> Schemas:
        """The tools by name; who grades many attempts with the same tools hands it over."""
        if self._schemas is None:
            self._schemas = Schemas(self.tools)
        return self._schemas

    @property
    def sources(self) -> Sources:
        """Where a value may have come from; `earlier`, those of another attempt, spares work where the talk began in the same way."""
        if self._sources is None:
            self._sources = self._earlier.extended(self.messages) if self._earlier else Sources(self.messages)
        return self._sources

    def source_of(self, value: str | int | float, actual: int) -> int | None:
        """The first message before that call in which a value stands; None where it stands in none."""
        if plainly_nowhere(value, self.messages):
            return None
        found = self.sources.find(value)
        return found if found is None or found < self.stands(actual) else None

    def stands(self, actual: int) -> int:
        """The message that a call stands in: of a whole conversation, what comes after it is no source of it. Else the one to come."""
        transcript = self.prediction.transcript if self.prediction else ()
        if not transcript or self.messages is not transcript:
            return len(self.messages)
        before = 0
        for index, message in enumerate(transcript):
            before += len(message.calls)
            if actual < before:
                return index
        return len(transcript)

    @property
    def sources_if_known(self) -> Sources | None:
        return self._sources

    @property
    def pairing(self) -> Pairing:
        """The pairing by `exact`, names with case: what the evaluators `call` and `schema` and the faults go by."""
        if self._pairing is None:
            self._pairing = pair(self.expected, self.actual, parameters=self.parameters if self.tools else no_schema)
        return self._pairing

    @property
    def one_by_similar(self) -> Comparison | None:
        """How the arguments of the one pair there can be compare by `similar`; None where there may be other pairs."""
        if len(self.expected) != 1 or len(self.actual) != 1 or not self.pairing.pairs:
            return None
        if self._similar is None:
            self._similar = by_similar(self.pairing.pairs[0].arguments, self.expected[0].arguments, self.actual[0].arguments)
        return self._similar

    def parameters(self, name: str) -> Mapping[str, Any]:
        """The schema of the tool of that name, in any case if there is none in this one; `{}` where none is known."""
        if not self.tools:
            return {}
        found = self.schemas.by_name.get(name)
        if found is None:
            folded = name.casefold()
            found = next((tool for tool in self.schemas.by_name.values() if tool.name.casefold() == folded), None)
        return found.parameters if found is not None else {}
