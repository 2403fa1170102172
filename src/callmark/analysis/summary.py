"""The summary of a run's grades: each metric with count, mean and interval; faults, most frequent first; tools, weakest first.

Errors are counted and excluded from all metrics; evaluator errors are excluded from the metrics of their evaluator. Without grades, counts
are 0 and there is no metric. Decision points of one conversation, and the trials of one case, are one cluster.

The grades of a large dataset can be counted in parts (`summary_parts.py`).
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from callmark.analysis.bootstrap import bootstrap
from callmark.analysis.breakdowns import NO_CALL, NO_NAME, bounded, percentiles
from callmark.analysis.clusters import Cluster, ClusterTally, from_bytes
from callmark.analysis.details import Details, DetailTally
from callmark.analysis.exact_sums import PairSum, from_units, to_units
from callmark.analysis.files import FileSummary, FileTally
from callmark.analysis.interpretations import Score
from callmark.analysis.intervals import mean_interval
from callmark.grading.evaluator import UNIT, Metric
from callmark.grading.record import GradeRecord
from callmark.types import Fault, FaultKind, FaultOrigin, Usage

if TYPE_CHECKING:
    from callmark.analysis.summary_parts import SummaryStatistics

_BY_ARGUMENT = frozenset({"wrong_value", "wrong_type"})


class Estimate(Struct, frozen=True):
    """The mean over the n grades that have the metric, and its 95% interval (None if there is none)."""

    n: int
    mean: float
    low: float | None = None
    high: float | None = None


class FaultExample(Struct, frozen=True):
    """A tool or argument with a kind of fault, how often, and how many wrong values were hallucinated, copied from elsewhere or
    the expected ones in another format.

    For a wrong or unknown tool, `name` is `expected → actual`; in a whole conversation, an unknown tool is an extra call.
    """

    name: str
    count: int
    hallucinated: int = 0
    elsewhere: int = 0
    format: int = 0


class FaultSummary(Struct, frozen=True):
    """One kind of fault: how often it occurs, and the tools or arguments that have it, most frequent first."""

    kind: FaultKind
    count: int
    examples: list[FaultExample]


class ToolSummary(Struct, frozen=True):
    """How often a tool was expected, and its mean credit: 1 for a correct call, 0.5 for other arguments, 0 for none."""

    tool: str
    n: int
    score: float


class UsageSummary(Struct, frozen=True):
    """The usage of the n predictions for which it was measured: latency (median and 95th percentile), tokens and cost in total."""

    n: int
    median_seconds: float
    p95_seconds: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    retries: int


class EvaluatorErrors(Struct, frozen=True):
    """How often an evaluator failed, and the first example: the case and the error."""

    count: int
    case: str
    error: str


class PooledMetric(Struct, frozen=True):
    """A metric pooled over all cases: the sums of its numerators and denominators, and their ratio (None if the denominator is 0)."""

    numerator: float
    denominator: float
    value: float | None


class Summary(Struct, frozen=True):
    """The summary of a run's grades.

    Attributes:
        cases: Number of cases.
        graded: Number of predictions: those scored, errors, and those with only evaluator errors.
        scored: Number of predictions that are scored.
        errors: Number of errors, which are excluded from scores.
        conversations: Number of conversations that the cases were cut from, errors included.
        correct: Number of predictions in which every call is correct.
        correct_tools_only: Number of predictions with the right tools and wrong arguments.
        metrics: Mean, interval and count of each metric, by full name.
        faults: The faults by kind, most frequent first.
        tools: The expected tools, with their mean credit.
        notes: Number of notes by kind.
        error_texts: Number of errors by message.
        usage: Tokens, cost and latency; None if not measured.
        details: The detailed breakdowns; None if they were not computed.
        endings: For simulated conversations, their number by ending; those that are errors only if they have one.
        turns: For simulated conversations, the mean number of user turns.
        misses: Number of calls without a recorded result.
        evaluator_errors: Errors of evaluators, by evaluator.
        pooled: Metrics pooled over all predictions, by full name.
        categories: For each evaluator that returns categories, the counts by expected and actual category.
        scored_conversations: Number of conversations with a scored case: those that the intervals are over.
        by_file: For scenarios from a folder, the counts and means of each file, which add up to those of the run.
    """

    cases: int
    graded: int
    scored: int
    errors: int
    conversations: int
    correct: int
    correct_tools_only: int
    metrics: dict[str, Estimate]
    faults: list[FaultSummary]
    tools: list[ToolSummary]
    notes: dict[str, int]
    error_texts: dict[str, int]
    usage: UsageSummary | None = None
    details: Details | None = None
    endings: dict[str, int] = {}
    turns: float | None = None
    misses: int = 0
    evaluator_errors: dict[str, EvaluatorErrors] = {}
    pooled: dict[str, PooledMetric] = {}
    categories: dict[str, dict[str, dict[str, int]]] = {}  # by evaluator: expected category, actual category, count
    scored_conversations: int = 0
    by_file: list[FileSummary] = []


class Tally:
    """Counts grades one by one, by the definitions of their metrics.

    `detailed` adds the details. With `process_ignore`, the functions that `process` ignores, they count calls as `process` does.
    """

    _new_clusters: Callable[[], ClusterTally] = ClusterTally
    _bounded = staticmethod(bounded)

    def __init__(
        self,
        metrics: Mapping[str, Metric] | None = None,
        *,
        detailed: bool = False,
        process_ignore: tuple[str, ...] | None = None,
    ) -> None:
        self._definitions = metrics or {}
        self._last_case = ""
        self._cases = self._graded = self._scored = self._errors = self._correct = self._correct_tools_only = 0
        self._clusters = self._new_clusters()  # the sums of each metric, and their counts
        self._last_conversation: str | None = None
        self._conversation_hashes = array("q")  # of each stretch of grades of one conversation
        self._faults: dict[FaultKind, Counter[str]] = defaultdict(Counter)
        self._origins: Counter[tuple[FaultKind, str, str]] = Counter()
        self._tools: dict[str, list[float]] = {}
        self._notes: Counter[str] = Counter()
        self._error_texts: Counter[str] = Counter()
        self._endings: Counter[str] = Counter()
        self._misses = 0
        self._turns = [0, 0]  # conversations, user turns in all of them
        self._seconds: Counter[float] = Counter()  # to three significant digits, so that there are few distinct values
        self._input_tokens = self._output_tokens = self._retries = 0
        self._cost: int | None = None  # in units
        self._details = DetailTally(self._definitions, process_ignore=process_ignore) if detailed else None
        self._evaluator_errors: dict[str, EvaluatorErrors] = {}
        self._pooled: dict[str, PairSum] = {}
        self._categories: dict[str, dict[str, Counter[str]]] = {}
        self._files = FileTally()

    def add(self, grade: GradeRecord) -> None:
        """Count one grade. The trials of a case are consecutive."""
        if grade.case != self._last_case:
            self._last_case = grade.case
            self._cases += 1
            conversation = _conversation_of(grade)
            if conversation != self._last_conversation:
                self._last_conversation = conversation
                self._conversation_hashes.append(self._clusters.hash(conversation))
        if grade.usage is not None:
            self._add_usage(grade.usage)
        scored = is_scored(grade)
        if grade.ending and (grade.error or scored):
            self._endings[self._bounded(self._endings, grade.ending)] += 1
        if grade.error:
            self._errors += 1
            self._error_texts[self._bounded(self._error_texts, grade.error)] += 1
        if grade.evaluator_errors:
            self._add_evaluator_errors(grade)
        self._graded += 1
        if grade.file:
            self._files.add(grade, is_scored=scored)
        if self._details is not None and (grade.error or scored):
            self._details.add(grade)
        if not scored:
            return
        self._scored += 1
        self._add_metrics(grade)
        self._misses += grade.misses
        if grade.turns is not None:
            self._turns = [self._turns[0] + 1, self._turns[1] + grade.turns]
        if grade.faults:
            for fault in grade.faults:
                self._add_fault(fault, grade)
            self._add_tools(grade)
        else:
            for name in grade.expected or (NO_CALL,):
                self._credit(name, 1.0)
        for note in grade.notes:
            self._notes[note.kind] += 1
        whole = [fault.argument is None for fault in grade.faults if fault.kind != "wrong_order"]  # which is not about a call
        if not whole:
            self._correct += 1
        elif True not in whole:
            self._correct_tools_only += 1

    def extend(self, part: "SummaryStatistics") -> None:
        """Count the grades of the next part. A tally with details cannot be extended, and the trials of a case are in one part."""
        assert self._details is None
        self._cases += part.cases
        self._graded += part.graded
        self._scored += part.scored
        self._errors += part.errors
        self._correct += part.correct
        self._correct_tools_only += part.correct_tools_only
        self._clusters.extend(part.clusters)
        self._conversation_hashes += from_bytes(part.conversations)
        names: dict[tuple[FaultKind, str], str] = {}
        for kind, faults in part.faults.items():
            for name, count in faults:
                names[kind, name] = bounded(self._faults[kind], name)
                self._faults[kind][names[kind, name]] += count
        for kind, name, origin, count in part.origins:
            self._origins[kind, names[kind, name], origin] += count
        for tool, credit, times in part.tools:
            known = self._tools.setdefault(bounded(self._tools, tool), [0.0, 0])
            known[0] += credit
            known[1] += times
        _count_all(self._notes, part.notes)
        for counts, found in ((self._error_texts, part.error_texts), (self._endings, part.endings)):
            for name, count in found:
                counts[bounded(counts, name)] += count
        self._misses += part.misses
        self._turns = [self._turns[0] + part.turns[0], self._turns[1] + part.turns[1]]
        self._seconds.update(dict(part.seconds))
        self._input_tokens += part.input_tokens
        self._output_tokens += part.output_tokens
        self._retries += part.retries
        if part.cost is not None:
            self._cost = int(part.cost) + (self._cost or 0)
        for evaluator, errors in part.evaluator_errors.items():
            first = self._evaluator_errors.get(evaluator, EvaluatorErrors(0, errors.case, errors.error))
            self._evaluator_errors[evaluator] = EvaluatorErrors(first.count + errors.count, first.case, first.error)
        for metric, numerator, denominator in part.pooled:
            before = self._pooled[metric].units() if metric in self._pooled else (0, 0)
            self._pooled[metric] = PairSum(before[0] + int(numerator), before[1] + int(denominator))
        for evaluator, rows in part.categories.items():
            matrix = self._categories.setdefault(evaluator, {})
            for expected, actual in rows:
                row = matrix.setdefault(bounded(matrix, expected), Counter())
                for name, count in actual:
                    row[bounded(row, name)] += count

    def summary(self) -> Summary:
        """Return the summary of the grades so far."""
        faults = [
            FaultSummary(kind, counts.total(), [self._example(kind, name, count) for name, count in counts.most_common()])
            for kind, counts in self._faults.items()
        ]
        clusters = self._clusters.clusters()
        metric_sets = dict.fromkeys(names for cluster in clusters for names, _ in cluster)
        names = _in_order(metric_sets)
        metrics = {name: self._estimate(name, clusters) for name in names}
        tools = [ToolSummary(name, int(count), credit / count) for name, (credit, count) in self._tools.items()]
        return Summary(
            self._cases,
            self._graded,
            self._scored,
            self._errors,
            len(set(self._conversation_hashes)),
            self._correct,
            self._correct_tools_only,
            metrics,
            sorted(faults, key=lambda fault: (-fault.count, fault.kind)),
            sorted(tools, key=lambda tool: (tool.score, -tool.n, tool.tool)),
            dict(self._notes.most_common()),
            dict(self._error_texts.most_common()),
            self._usage(),
            self._detailed(metrics),
            dict(self._endings.most_common()),
            self._turns[1] / self._turns[0] if self._turns[0] else None,
            self._misses,
            dict(self._evaluator_errors),
            {name: _pooled_metric(*pairs.sums()) for name, pairs in self._pooled.items()},
            {
                evaluator: {expected: dict(actual.most_common()) for expected, actual in sorted(matrix.items())}
                for evaluator, matrix in self._categories.items()
            },
            clusters.total(),
            self._files.files(),
        )

    def _estimate(self, name: str, clusters: Mapping[Cluster, int]) -> Estimate:
        """Return the mean of a metric over the grades that have it; the grades of a conversation are one cluster."""
        sums_and_counts: Counter[tuple[float, int]] = Counter()
        for cluster, times in clusters.items():
            having = [(sums[names.index(name)], int(sums[-1])) for names, sums in cluster if name in names]
            if having:
                sums_and_counts[round(sum([total for total, _ in having]), 9), sum([count for _, count in having])] += times
        n = sum([count * times for (_, count), times in sums_and_counts.items()])
        mean = sum([total * times for (total, _), times in sums_and_counts.items()]) / n
        bounded = name not in self._definitions or self._definitions[name].bounds == UNIT
        low, high = (mean_interval if bounded else bootstrap)(sums_and_counts) or (None, None)
        return Estimate(n, mean, low, high)

    def _detailed(self, metrics: Mapping[str, Estimate]) -> Details | None:
        if self._details is None:
            return None
        malformed = self._faults["malformed_call"].total() if "malformed_call" in self._faults else 0
        scores = {name: Score(found.mean, found.low, found.high) for name, found in metrics.items()}
        return self._details.details(scores, self._definitions, scored=self._scored, malformed=malformed)

    def _add_usage(self, usage: Usage) -> None:
        self._seconds[float(f"{usage.seconds:.3g}")] += 1
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens
        if usage.cost is not None:
            self._cost = to_units(usage.cost) + (self._cost or 0)
        self._retries += usage.attempts - 1

    def _usage(self) -> UsageSummary | None:
        if not self._seconds:
            return None
        latency = percentiles(self._seconds, (50, 95))
        number = self._seconds.total()
        cost = None if self._cost is None else from_units(self._cost)
        return UsageSummary(number, latency["p50"], latency["p95"], self._input_tokens, self._output_tokens, cost, self._retries)

    def _add_metrics(self, grade: GradeRecord) -> None:
        self._clusters.add(_conversation_of(grade), tuple(grade.metrics), (*grade.metrics.values(), 1.0))
        for metric, pair in grade.pooled.items():
            sums = self._pooled.get(metric)
            if sums is None:
                sums = self._pooled[metric] = PairSum()
            sums.add(pair)
        for evaluator, (expected, actual) in grade.categories.items():
            matrix = self._categories.setdefault(evaluator, {})
            row = matrix.setdefault(self._bounded(matrix, expected), Counter())
            row[self._bounded(row, actual)] += 1

    def _add_evaluator_errors(self, grade: GradeRecord) -> None:
        for evaluator, error in grade.evaluator_errors.items():
            first = self._evaluator_errors.get(evaluator, EvaluatorErrors(0, grade.case, error))
            self._evaluator_errors[evaluator] = EvaluatorErrors(first.count + 1, first.case, first.error)

    def _add_tools(self, grade: GradeRecord) -> None:
        """Credit each expected call: 0 if it is wrong as a whole, 0.5 if only arguments are wrong, else 1."""
        credit = {fault.expected_index: 0.5 if fault.argument is not None else 0.0 for fault in grade.faults}
        for index, name in enumerate(grade.expected):
            self._credit(name, credit.get(index, 1.0))
        if not grade.expected:
            self._credit(NO_CALL, float(not grade.faults))

    def _credit(self, tool: str, credit: float) -> None:
        tool = self._bounded(self._tools, tool)
        known = self._tools.get(tool)
        if known is None:
            self._tools[tool] = [credit, 1]
        else:
            known[0] += credit
            known[1] += 1

    def _add_fault(self, fault: Fault, grade: GradeRecord) -> None:
        expected = grade.expected[fault.expected_index] if fault.expected_index is not None else None
        actual = grade.actual[fault.actual_index] if fault.actual_index is not None else None
        kind = fault.kind
        if fault.argument is not None:
            name = fault.argument if kind in _BY_ARGUMENT else f"{expected}.{fault.argument}"
        elif kind in ("wrong_tool", "unknown_tool") and expected is not None:
            name = f"{expected} → {actual}"
        elif kind == "wrong_order":
            name = str(fault.actual)
        else:
            name = (actual if expected is None else expected) or NO_NAME
        counts = self._faults[kind]
        name = self._bounded(counts, name)
        counts[name] += 1
        if fault.origin is not None:
            self._origins[kind, name, fault.origin] += 1

    def _example(self, kind: FaultKind, name: str, count: int) -> FaultExample:
        origins: tuple[FaultOrigin, ...] = ("hallucinated", "elsewhere", "format")
        return FaultExample(name, count, *[self._origins[kind, name, origin] for origin in origins])


def _count_all(counts: "Counter[str]", found: Iterable[tuple[str, int]]) -> None:
    for name, count in found:
        counts[name] += count


def _pooled_metric(numerator: float, denominator: float) -> PooledMetric:
    return PooledMetric(numerator, denominator, numerator / denominator if denominator else None)


def _conversation_of(grade: GradeRecord) -> str:
    """Return the conversation of a grade; a case without one is its own."""
    return grade.conversation if grade.conversation is not None else f"\0{grade.case}"


def is_scored(grade: GradeRecord) -> bool:
    """Return whether a grade has scores: it is not an error, and not all of its evaluators failed."""
    return not grade.error and bool(grade.metrics or not grade.evaluator_errors)


def _in_order(metric_sets: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the metrics of all grades, those of an evaluator together, in order of appearance."""
    names = dict.fromkeys(name for metrics in metric_sets for name in metrics)
    evaluators = list(dict.fromkeys(name.partition(".")[0] for name in names))
    return sorted(names, key=lambda name: evaluators.index(name.partition(".")[0]))
