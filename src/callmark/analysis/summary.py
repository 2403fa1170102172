"""What the grades of a run come to: each metric with count, mean and interval; what went wrong, most often first; how each tool fares.

Errors are counted and in none of the numbers. No grades at all give counts of 0 and no metric. Decision points of one conversation, and
the trials of one case, are one cluster.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from callmark.analysis.breakdowns import NO_CALL, bounded, percentiles
from callmark.analysis.clusters import Cluster, ClusterTally
from callmark.analysis.details import Details, DetailTally
from callmark.analysis.intervals import bootstrap, wilson
from callmark.grading.evaluators.process import IGNORED, ProcessEvaluator
from callmark.grading.grader import GradeRecord
from callmark.types import Fault, FaultKind, Usage

RATES = frozenset(
    {
        "call.pass",
        "schema.tool_selection",
        "schema.parameter_accuracy",
        "schema.execution_success",
        "process.reliability",
        "state.reached",
        "policy.kept",
    }
)
SHOWN = ("call.score", "call.pass", "process.reliability", "state.reached", "policy.kept")  # whose interval stands in the terminal
_BY_ARGUMENT = frozenset({"wrong_value", "wrong_type"})


class Estimate(Struct, frozen=True):
    """A mean, of how many grades that have the metric, and its 95 % interval (None where there is none to give)."""

    n: int
    mean: float
    low: float | None = None
    high: float | None = None


class Example(Struct, frozen=True):
    """One thing that a kind of fault happened to, how often, and of wrong values how many were hallucinated or taken from elsewhere."""

    what: str
    count: int
    hallucinated: int = 0
    elsewhere: int = 0


class FaultSummary(Struct, frozen=True):
    """One kind of fault: how often, and what it happened to, most often first."""

    kind: FaultKind
    count: int
    examples: list[Example]


class ToolSummary(Struct, frozen=True):
    """How often a tool was expected, and the mean credit it got: 1 for a call that is right, 0.5 for other arguments, 0 for none."""

    tool: str
    n: int
    score: float


class UsageSummary(Struct, frozen=True):
    """What the answers took, where that was measured: of how many, seconds in the middle and at the slow end, tokens and cost in total."""

    n: int
    median_seconds: float
    slow_seconds: float  # the 95th percentile
    input_tokens: int
    output_tokens: int
    cost: float | None
    asked_again: int


class Summary(Struct, frozen=True):
    """What the grades come to. `right` cases have every call right; in `right_tools` only arguments are wrong. Of whole conversations:
    why they ended, how often a user spoke on average, and how many calls no result was recorded for.
    """

    cases: int
    graded: int
    scored: int
    errors: int
    conversations: int
    right: int
    right_tools: int
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


class Tally:
    """Takes grades one by one. With `counted`, only faults that one of these evaluators counts are told; `detailed` asks for the details, in
    which the functions that `process` ignores, `ignore`, are left out where it alone is told.
    """

    def __init__(self, *, counted: Collection[str] = (), detailed: bool = False, ignore: tuple[str, ...] = IGNORED) -> None:
        self._counted = frozenset(counted)
        self._last_case = ""
        self._cases = self._scored = self._errors = self._right = self._right_tools = 0
        self._clusters = ClusterTally()  # the sums of each metric, and how many they are of
        self._faults: dict[FaultKind, Counter[str]] = defaultdict(Counter)
        self._origins: Counter[tuple[FaultKind, str, str]] = Counter()
        self._tools: dict[str, list[float]] = {}
        self._notes: Counter[str] = Counter()
        self._error_texts: Counter[str] = Counter()
        self._endings: Counter[str] = Counter()
        self._misses = 0
        self._turns = [0, 0]  # of how many conversations, how often the users spoke
        self._seconds: Counter[float] = Counter()  # with three digits that count, so that there are not many
        self._input_tokens = self._output_tokens = self._asked_again = 0
        self._cost: float | None = None
        self._ignores = ProcessEvaluator(ignore).ignores
        self._details = DetailTally(counted=counted, ignore=ignore) if detailed else None

    def add(self, grade: GradeRecord) -> None:
        """Count one grade. Those of one case, its trials, stand together."""
        if grade.case != self._last_case:
            self._last_case = grade.case
            self._cases += 1
        if grade.usage is not None:
            self._add_spent(grade.usage)
        if self._details is not None:
            self._details.add(grade)
        if grade.error:
            self._errors += 1
            self._error_texts[bounded(self._error_texts, grade.error)] += 1
            return
        self._scored += 1
        self._add_metrics(grade)
        self._misses += grade.misses
        if grade.ending:
            self._endings[bounded(self._endings, grade.ending)] += 1
        if grade.turns is not None:
            self._turns = [self._turns[0] + 1, self._turns[1] + grade.turns]
        if grade.faults:
            told = [fault for fault in grade.faults if not self._counted or not self._counted.isdisjoint(fault.evaluators)]
            for fault in told:
                self._add_fault(fault, grade)
            self._add_tools(grade, told)
        else:
            for name in grade.expected or (NO_CALL,):
                self._credit(name, 1.0)
        for note in grade.notes:
            self._notes[note.kind] += 1
        if not grade.faults:
            self._right += 1
        elif all(fault.argument is not None for fault in grade.faults):
            self._right_tools += 1

    def summary(self, *, intervals: Collection[str] | None = None) -> Summary:
        """What the grades come to; `intervals` names the metrics that get one, all of them if not given: they take their time."""
        faults = [
            FaultSummary(kind, counts.total(), [self._example(kind, what, count) for what, count in counts.most_common()])
            for kind, counts in self._faults.items()
        ]
        clusters = self._clusters.clusters()
        shapes = dict.fromkeys(names for cluster in clusters for names, _ in cluster)
        metrics = {name: _estimate(name, clusters, intervals) for name in _in_order(shapes)}
        tools = [ToolSummary(name, int(count), credit / count) for name, (credit, count) in self._tools.items()]
        return Summary(
            self._cases,
            self._scored + self._errors,
            self._scored,
            self._errors,
            clusters.total(),
            self._right,
            self._right_tools,
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
        )

    def _detailed(self, metrics: Mapping[str, Estimate]) -> Details | None:
        if self._details is None:
            return None
        malformed = self._faults["malformed_call"].total() if "malformed_call" in self._faults else 0
        means = {name: found.mean for name, found in metrics.items()}
        return self._details.details(means, graded=self._scored + self._errors, errors=self._errors, malformed=malformed)

    def _add_spent(self, usage: Usage) -> None:
        self._seconds[float(f"{usage.seconds:.3g}")] += 1
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens
        if usage.cost is not None:
            self._cost = usage.cost + (self._cost or 0.0)
        self._asked_again += usage.attempts - 1

    def _usage(self) -> UsageSummary | None:
        if not self._seconds:
            return None
        found = percentiles(self._seconds, (50, 95))
        number = self._seconds.total()
        return UsageSummary(number, found["p50"], found["p95"], self._input_tokens, self._output_tokens, self._cost, self._asked_again)

    def _add_metrics(self, grade: GradeRecord) -> None:
        name = grade.conversation if grade.conversation is not None else f"\0{grade.case}"
        self._clusters.add(name, tuple(grade.metrics), (*grade.metrics.values(), 1.0))

    def _add_tools(self, grade: GradeRecord, faults: Sequence[Fault]) -> None:
        """Each expected call: nothing for one that is wrong as a whole, half where arguments are."""
        earned = {fault.expected_index: 0.5 if fault.argument is not None else 0.0 for fault in faults}
        for index, name in enumerate(grade.expected):
            self._credit(name, earned.get(index, 1.0))
        if not grade.expected:
            self._credit(NO_CALL, float(not faults))

    def _credit(self, tool: str, credit: float) -> None:
        tool = bounded(self._tools, tool)
        known = self._tools.get(tool)
        if known is None:
            self._tools[tool] = [credit, 1]
        else:
            known[0] += credit
            known[1] += 1

    def _add_fault(self, fault: Fault, grade: GradeRecord) -> None:
        expected = grade.expected[fault.expected_index] if fault.expected_index is not None else None
        made = grade.made[fault.actual_index] if fault.actual_index is not None else None
        kind = fault.kind
        if (
            kind == "wrong_tool" and expected and made and self._counted == {"process"}
        ):  # what it ignores was not called instead of anything
            if self._ignores(made):
                kind, made = "missing_call", None
            elif self._ignores(expected):
                kind, expected = "extra_call", None
        if fault.argument is not None:
            what = fault.argument if kind in _BY_ARGUMENT else f"{expected}.{fault.argument}"
        elif kind in ("wrong_tool", "unknown_tool"):
            what = f"{expected} → {made}"
        else:
            what = (made if expected is None else expected) or "(no name)"
        counts = self._faults[kind]
        what = bounded(counts, what)
        counts[what] += 1
        if fault.origin is not None:
            self._origins[kind, what, fault.origin] += 1

    def _example(self, kind: FaultKind, what: str, count: int) -> Example:
        return Example(what, count, self._origins[kind, what, "hallucinated"], self._origins[kind, what, "elsewhere"])


def _estimate(name: str, clusters: Mapping[Cluster, int], intervals: Collection[str] | None) -> Estimate:
    """The mean of a metric over the grades that have it; the grades of a conversation are one cluster, whatever else they have."""
    found: Counter[tuple[float, int]] = Counter()
    for cluster, times in clusters.items():
        having = [(sums[names.index(name)], int(sums[-1])) for names, sums in cluster if name in names]
        if having:
            found[round(sum([total for total, _ in having]), 9), sum([count for _, count in having])] += times
    n = sum([count * times for (_, count), times in found.items()])
    mean = sum([total * times for (total, _), times in found.items()]) / n
    if intervals is not None and name not in intervals:
        return Estimate(n, mean)
    low, high = (wilson if name in RATES else bootstrap)(found) or (None, None)
    return Estimate(n, mean, low, high)


def _in_order(shapes: Iterable[tuple[str, ...]]) -> list[str]:
    """The metrics of all grades, those of an evaluator together, in the order in which they come."""
    names = dict.fromkeys(name for shape in shapes for name in shape)
    evaluators = list(dict.fromkeys(name.partition(".")[0] for name in names))
    return sorted(names, key=lambda name: evaluators.index(name.partition(".")[0]))


def summarise(grades: Iterable[GradeRecord]) -> Summary:
    """What these grades come to, in detail."""
    tally = Tally(detailed=True)
    for grade in grades:
        tally.add(grade)
    return tally.summary()
