"""Counting the grades of a large dataset in parts: each by a `PartTally`, whose statistics `Tally.extend` then adds in order.

The summary is the same to the bit as without parts. The statistics are small, and can be stored or sent: sums by conversation, and counts.
A part without grades adds nothing.
"""

from msgspec import Struct

from callmark.analysis.clusters import ClusterStatistics, PartClusterTally, to_bytes
from callmark.analysis.summary import EvaluatorErrors, Tally
from callmark.types import FaultKind


class SummaryStatistics(Struct, frozen=True):
    """What a part of the grades adds to the summary of the grades before it. Names are in order of appearance.

    Attributes:
        cases: Number of cases; `graded` to `correct_tools_only` are those of `Summary`.
        clusters: Sums of the metrics by conversation.
        conversations: Hashes of the conversations, as 64-bit integers.
        faults: For each kind, the tools or arguments that have it and how often.
        origins: For each kind, tool or argument and origin of wrong values: how often.
        tools: For each expected tool, its credit and how often it was expected.
        seconds: Latencies, and how often each occurs.
        cost: Total cost in units of `exact_sums`, as a decimal number; None if no cost is known.
        pooled: For each pooled metric, the sums of its numerators and denominators, likewise.
    """

    cases: int = 0
    graded: int = 0
    scored: int = 0
    errors: int = 0
    correct: int = 0
    correct_tools_only: int = 0
    clusters: ClusterStatistics = ClusterStatistics()
    conversations: bytes = b""
    faults: dict[FaultKind, list[tuple[str, int]]] = {}
    origins: list[tuple[FaultKind, str, str, int]] = []
    tools: list[tuple[str, float, float]] = []
    notes: list[tuple[str, int]] = []
    error_texts: list[tuple[str, int]] = []
    endings: list[tuple[str, int]] = []
    misses: int = 0
    turns: tuple[int, int] = (0, 0)
    seconds: list[tuple[float, int]] = []
    input_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    cost: str | None = None
    evaluator_errors: dict[str, EvaluatorErrors] = {}
    pooled: list[tuple[str, str, str]] = []
    categories: dict[str, list[tuple[str, list[tuple[str, int]]]]] = {}


class PartTally(Tally):
    """Counts the grades of one part. It keeps all names, because which ones are too many is decided over all parts."""

    _new_clusters = PartClusterTally
    _bounded = staticmethod(lambda known, name: name)

    def statistics(self) -> SummaryStatistics:
        """Return what the grades so far add to those of the parts before. Numbers by file are not part of it."""
        assert isinstance(self._clusters, PartClusterTally)
        return SummaryStatistics(
            self._cases,
            self._graded,
            self._scored,
            self._errors,
            self._correct,
            self._correct_tools_only,
            self._clusters.statistics(),
            to_bytes(self._conversation_hashes),
            {kind: list(counts.items()) for kind, counts in self._faults.items()},
            [(*key, count) for key, count in self._origins.items()],
            [(tool, credit, count) for tool, (credit, count) in self._tools.items()],
            list(self._notes.items()),
            list(self._error_texts.items()),
            list(self._endings.items()),
            self._misses,
            (self._turns[0], self._turns[1]),
            list(self._seconds.items()),
            self._input_tokens,
            self._output_tokens,
            self._retries,
            None if self._cost is None else str(self._cost),
            dict(self._evaluator_errors),
            [(metric, str(pairs.units()[0]), str(pairs.units()[1])) for metric, pairs in self._pooled.items()],
            {
                evaluator: [(expected, list(actual.items())) for expected, actual in matrix.items()]
                for evaluator, matrix in self._categories.items()
            },
        )
