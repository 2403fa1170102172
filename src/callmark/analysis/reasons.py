"""The reasons that evaluators give for their values: the first few of each metric."""

from msgspec import Struct

from callmark.grading.record import GradeRecord

MAX_EXAMPLES = 5  # of a metric


class Reason(Struct, frozen=True):
    """Why a metric has its value (None: not applicable) for a case in one trial."""

    case: str
    trial: int
    value: float | None
    text: str


class MetricReasons(Struct, frozen=True):
    """The number of reasons of a metric, and the first of them."""

    count: int
    examples: list[Reason]


class ReasonTally:
    """Counts the reasons of grades one by one."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[Reason]] = {}

    def add(self, grade: GradeRecord) -> None:
        """Count the reasons of one grade; most grades have none."""
        for metric, text in grade.reasons.items():
            self._counts[metric] = self._counts.get(metric, 0) + 1
            examples = self._examples.setdefault(metric, [])
            if len(examples) < MAX_EXAMPLES:
                examples.append(Reason(grade.case, grade.trial, grade.metrics.get(metric), text))

    def reasons(self) -> dict[str, MetricReasons]:
        """Return the reasons so far, by full metric name."""
        return {metric: MetricReasons(count, self._examples[metric]) for metric, count in self._counts.items()}
