"""Compare runs with the first of them. Fewer than two runs, the same run twice, and runs of different cases, unless their common cases are
asked for, raise `BadInput`.
"""

from collections.abc import Sequence
from os import PathLike

from msgspec import Struct

from callmark.analysis.compare import Comparison, compare_all
from callmark.errors import BadInput
from callmark.runs.run import Run


class RunComparison(Struct, frozen=True):
    """The comparison of two runs, by their labels. `common`: their datasets differ, so only cases whose ids both have are compared.

    `differing_settings` are settings that both were not graded by alike, `unshared_metrics` the metrics that only one of them has,
    `lower_is_better` the metrics whose lower values are better.
    """

    first: str
    second: str
    common: bool
    differing_settings: list[str]
    unshared_metrics: list[str]
    comparison: Comparison
    lower_is_better: list[str] = []


def compare(*runs: str | PathLike[str] | Run, common: bool = False) -> list[RunComparison]:
    """Return the comparison of each run, a folder or a `Run`, with the first."""
    return compare_runs([run if isinstance(run, Run) else Run(run) for run in runs], common=common)


def compare_runs(runs: Sequence[Run], *, common: bool = False, labels: Sequence[str] = ()) -> list[RunComparison]:
    """Return the comparison of each run with the first. With `common`, runs of different datasets are paired by the ids that both have.
    `labels` replace the runs' own.
    """
    if len(runs) < 2:
        raise BadInput(f"{'1 run' if runs else 'no run'} was given, two or more were expected")
    first = runs[0]
    _refuse_same_run(runs)
    unlike = [run for run in runs[1:] if _has_other_cases(run, first)]
    if unlike and not common:
        raise BadInput(
            f"{first.folder} and {unlike[0].folder} are runs of different cases ({first.info.dataset.name}, {unlike[0].info.dataset.name})",
            "callmark compare --common compares the cases whose ids both have.",
        )
    labels = labels or _labels(runs)
    grades = [(label, run.grades()) for label, run in zip(labels, runs, strict=True)]
    definitions = {name: metric for run in runs for name, metric in run.info.metrics.items()}
    lower_is_better = [name for name, metric in definitions.items() if not metric.higher_is_better]
    comparisons = compare_all(grades, headline=first.headline, fault_evaluators=first.fault_evaluators)
    return [
        RunComparison(
            labels[0],
            label,
            _has_other_cases(run, first),
            _differing_settings(first, run),
            _unshared_metrics(first, run),
            comparison,
            lower_is_better,
        )
        for (label, comparison), run in zip(comparisons, runs[1:], strict=True)
    ]


def _refuse_same_run(runs: Sequence[Run]) -> None:
    paths = set()
    for run in runs:
        path = run.folder.path.resolve()
        if path in paths:
            raise BadInput(f"{run.folder} is given twice: a run does not differ from itself")
        paths.add(path)


def _has_other_cases(run: Run, first: Run) -> bool:
    return run.info.dataset.digest != first.info.dataset.digest


def _differing_settings(first: Run, run: Run) -> list[str]:
    """Return the settings that change what a number of both means; an evaluator that only one of them has does not."""
    return [name for name in first.info.grading.differences(run.info.grading) if name != "evaluators"]


def _unshared_metrics(first: Run, run: Run) -> list[str]:
    ours, theirs = first.info.metrics, run.info.metrics
    return [name for name in dict.fromkeys((*ours, *theirs)) if name not in ours or name not in theirs]


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return the runs' own labels, or their folders where two have the same label."""
    labels = [run.label for run in runs]
    return labels if len(set(labels)) == len(labels) else [str(run.folder) for run in runs]
