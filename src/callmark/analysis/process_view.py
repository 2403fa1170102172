"""A grade as the evaluator `process` counts it: names without case, arguments by `similar`, no ignored functions.

A record contains the pairing by `exact`. The pairs of `process` follow from the names and from which calls are malformed. Whether the
arguments of a pair agree is known if the pair is the same in both; for other pairs, the evaluator's metrics of the whole case decide.
See docs/reference/metrics.md, section 8.
"""

from msgspec import Struct

from callmark.grading.ignored_functions import is_ignored
from callmark.grading.record import GradeRecord


class ProcessView(Struct, frozen=True):
    """The calls that are not ignored, by their index in the record.

    `pairs` are expected and actual calls with whether all arguments agree; `malformed` are actual calls.
    """

    expected: list[int]
    actual: list[int]
    pairs: list[tuple[int, int, bool]]
    malformed: set[int]

    def unpaired_expected(self) -> list[int]:
        """Return the expected calls that are not paired."""
        paired = {expected for expected, _, _ in self.pairs}
        return [index for index in self.expected if index not in paired]

    def unpaired_actual(self) -> list[int]:
        """Return the actual calls that are not paired."""
        paired = {actual for _, actual, _ in self.pairs}
        return [index for index in self.actual if index not in paired]


def process_view(grade: GradeRecord, ignore: tuple[str, ...]) -> ProcessView:
    """Return the grade as `process` counts it. Pairs by `exact` come first, then names that differ in case, the earliest first."""
    expected, actual = (
        [index for index, name in enumerate(names) if not is_ignored(name, ignore)] for names in (grade.expected, grade.actual)
    )
    all_agree = grade.metrics.get("process.args_precision") == grade.metrics.get("process.args_recall") == 1
    wrong = {fault.expected_index for fault in grade.faults if fault.argument is not None and "process" in fault.evaluators}
    malformed = {fault.actual_index for fault in grade.faults if fault.kind == "malformed_call" and fault.actual_index is not None}
    exact = [
        (first, second, all_agree or first not in wrong)
        for first, second, _ in grade.pairs
        if not is_ignored(grade.expected[first], ignore)
    ]
    view = ProcessView(expected, actual, exact, malformed)
    candidates = [index for index in view.unpaired_actual() if index not in malformed]
    candidate_names = {grade.actual[index] for index in candidates}
    for index in view.unpaired_expected():
        name = grade.expected[index]
        same = next((other for other in candidates if grade.actual[other].casefold() == name.casefold()), None)
        if same is not None and name not in candidate_names:  # one of the same spelling would be paired by `exact`, if it could be
            candidates.remove(same)
            view.pairs.append((index, same, all_agree))
    return view
