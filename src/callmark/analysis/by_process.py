"""A grade as the evaluator `process` sees it (docs/metrics.md, 8): names in any case, arguments by `similar`, without ignored functions.

What is written down of a grade goes by `exact`. Which calls `process` pairs follows from their names and from which of them are malformed.
Of arguments it does only where the pair is the same: else they count as right where the evaluator's own numbers say so of the whole case.
"""

from msgspec import Struct

from callmark.grading.evaluators.process import ProcessEvaluator
from callmark.grading.grader import GradeRecord


class ByProcess(Struct, frozen=True):
    """The calls that are not ignored, by their places in the grade; `pairs` of these, expected and made, with whether all arguments agree;
    and which of those made are `malformed`.
    """

    expected: list[int]
    made: list[int]
    pairs: list[tuple[int, int, bool]]
    malformed: set[int]

    def left_expected(self) -> list[int]:
        paired = {expected for expected, _, _ in self.pairs}
        return [place for place in self.expected if place not in paired]

    def left_made(self) -> list[int]:
        paired = {made for _, made, _ in self.pairs}
        return [place for place in self.made if place not in paired]


def by_process(grade: GradeRecord, evaluator: ProcessEvaluator) -> ByProcess:
    """The grade as that evaluator sees it. Pairs by `exact` come first, then those of names that differ in case, the earliest first."""
    expected, made = ([place for place, name in enumerate(names) if not evaluator.ignores(name)] for names in (grade.expected, grade.made))
    all_right = grade.metrics.get("process.args_precision") == grade.metrics.get("process.args_recall") == 1
    wrong = {fault.expected_index for fault in grade.faults if fault.argument is not None and "process" in fault.evaluators}
    malformed = {fault.actual_index for fault in grade.faults if fault.kind == "malformed_call" and fault.actual_index is not None}
    exact = [(one, other, all_right or one not in wrong) for one, other, _ in grade.pairs if not evaluator.ignores(grade.expected[one])]
    found = ByProcess(expected, made, exact, malformed)
    left = [place for place in found.left_made() if place not in malformed]
    names = {grade.made[place] for place in left}
    for place in found.left_expected():
        name = grade.expected[place]
        same = next((other for other in left if grade.made[other].casefold() == name.casefold()), None)
        if same is not None and name not in names:  # in the same case both would be paired, if what was expected could be read
            left.remove(same)
            found.pairs.append((place, same, all_right))
    return found
