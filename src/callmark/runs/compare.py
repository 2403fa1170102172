"""Compare runs with a baseline, the first of them."""

from collections.abc import Sequence
from os import PathLike

from msgspec import Struct

from callmark.analysis.compare import Comparison, compare_all
from callmark.errors import BadInput
from callmark.runs.manifest import resume_command
from callmark.runs.run import Run
from callmark.wording import pluralize


class RunComparison(Struct, frozen=True):
    """The comparison of a run with the baseline.

    Attributes:
        first: Label of the baseline.
        second: Label of the run.
        common: Whether the datasets differ, so that only cases with ids in both are compared.
        differing_settings: Grading settings that differ.
        unshared_metrics: Metrics that only one of the runs has.
        comparison: The differences, with intervals and p-values, and the cases that were fixed or broken.
        lower_is_better: Metrics for which lower values are better.
    """

    first: str
    second: str
    common: bool
    differing_settings: list[str]
    unshared_metrics: list[str]
    comparison: Comparison
    lower_is_better: list[str] = []


def compare(*runs: str | PathLike[str] | Run, common: bool = False) -> list[RunComparison]:
    """Compare runs with the first one, which is the baseline.

        (result,) = callmark.compare("runs/base", "runs/tuned")
        print(result.comparison.metrics["call.score"])

    Args:
        *runs: Two or more runs: `Run` objects, or paths of their folders.
        common: Compare runs of different datasets, on the cases whose ids both have.

    Returns:
        One comparison for each run after the first.

    Raises:
        BadInput: Fewer than two runs, the same run twice, a folder that is not a graded run, or runs with different cases and `common` is
            not set.
    """
    return compare_runs([run if isinstance(run, Run) else Run(run) for run in runs], common=common)


def compare_runs(runs: Sequence[Run], *, common: bool = False, labels: Sequence[str] = ()) -> list[RunComparison]:
    """Compare each run with the first. With `common`, runs of different datasets are compared on the case ids that both have. `labels`
    override the labels of the runs.
    """
    if len(runs) < 2:
        raise BadInput(f"expected at least two runs to compare, got {len(runs)}")
    first = runs[0]
    _refuse_same_run(runs)
    if not common:
        for run in runs[1:]:
            refuse_other_cases(first, run, "To compare the cases whose IDs are in both runs, pass --common.")
    _refuse_only_errors(runs)
    labels = labels or _labels(runs)
    grades = [(label, run.grades()) for label, run in zip(labels, runs, strict=True)]
    definitions = {name: metric for run in runs for name, metric in run.info.metrics.items()}
    lower_is_better = [name for name, metric in definitions.items() if not metric.higher_is_better]
    comparisons = compare_all(grades, headline=first.headline, definitions=definitions)
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


def caveats(against: RunComparison, first: str, second: str) -> list[str]:
    """Return what limits the comparison of two runs with these names: other datasets, settings or metrics, and cases that are left out."""
    comparison = against.comparison
    lines = []
    if against.common:
        lines.append("Different datasets: cases are matched by ID")
    if against.differing_settings:
        patch = " --patch FILE" if "patch" in against.differing_settings else ""
        settings = ", ".join(against.differing_settings)
        lines.append(f"Graded with different settings ({settings}): to grade a run again: callmark grade RUN{patch}")
    if against.unshared_metrics:
        lines.append(f"Measured in one run only: {', '.join(against.unshared_metrics)}")
    for name, only, errors in (
        (first, comparison.only_first, comparison.errors_first),
        (second, comparison.only_second, comparison.errors_second),
    ):
        if only:
            lines.append(f"{pluralize(only, 'case')} only in {name}, excluded")
        if errors:
            lines.append(f"{pluralize(errors, 'error')} in {name}, excluded")
    return lines


def refuse_other_cases(first: Run, run: Run, hint: str) -> None:
    """Raise `BadInput` if two runs have different cases."""
    if sentence := other_cases(first, run):
        raise BadInput(sentence, hint)


def other_cases(first: Run, run: Run) -> str:
    """Return how the datasets of two runs differ; empty if they are the same."""
    if not _has_other_cases(run, first):
        return ""
    name, other = first.info.dataset.name, run.info.dataset.name
    if name == other:
        return f"{first.folder} and {run.folder} used different versions of {name}"
    return f"{first.folder} and {run.folder} were run on different datasets ({name}, {other})"


def _refuse_only_errors(runs: Sequence[Run]) -> None:
    """Raise `BadInput` for a run without a scored case, with the command that retries its errors."""
    for run in runs:
        summary = run.stored_summary()
        if summary is not None and summary.errors and summary.errors == summary.graded:
            hint = f"Retry them with: {resume_command(run.info, str(run.folder))}" if run.info.model_run else "Check the predictions file."
            raise BadInput(f"{run.folder}: every case is an error", hint)


def _refuse_same_run(runs: Sequence[Run]) -> None:
    paths = set()
    for run in runs:
        path = run.folder.path.resolve()
        if path in paths:
            raise BadInput(f"{run.folder} was given twice", "Pass each run once.")
        paths.add(path)


def _has_other_cases(run: Run, first: Run) -> bool:
    return run.info.dataset.digest != first.info.dataset.digest


def _differing_settings(first: Run, run: Run) -> list[str]:
    """Return the settings that affect metrics of both runs. An evaluator that only one run has is not among them."""
    patch = ["patch"] if first.info.dataset.patch != run.info.dataset.patch else []
    return [name for name in first.info.grading.differences(run.info.grading) if name != "evaluators"] + patch


def _unshared_metrics(first: Run, run: Run) -> list[str]:
    ours, theirs = first.info.metrics, run.info.metrics
    return [name for name in dict.fromkeys((*ours, *theirs)) if name not in ours or name not in theirs]


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return the labels of the runs, or their folders if two labels are equal."""
    labels = [run.label for run in runs]
    return labels if len(set(labels)) == len(labels) else [str(run.folder) for run in runs]
