"""Runs against the first of them, from their folders. Fewer than two, the same one twice, and runs of different cases, unless what is
common is asked for, raise `BadInput`.
"""

from collections.abc import Sequence
from os import PathLike

from msgspec import Struct

from callmark.analysis.compare import Comparison, compare_all
from callmark.errors import BadInput
from callmark.runs.run import Run


class Against(Struct, frozen=True):
    """A run against another: what both are called, and what differs. `common` says that their datasets are not the same; `settings` are
    those that they were graded by differently, and `unmatched` the metrics that only one of them has.
    """

    first: str
    second: str
    common: bool
    settings: list[str]
    unmatched: list[str]
    comparison: Comparison


def compare(*runs: str | PathLike[str] | Run, common: bool = False) -> list[Against]:
    """Each run, a folder or a `Run`, against the first."""
    return compared([run if isinstance(run, Run) else Run(run) for run in runs], common=common)


def compared(runs: Sequence[Run], *, common: bool = False, called: Sequence[str] = ()) -> list[Against]:
    """Each run against the first. With `common`, runs of different datasets are paired by the ids that they share. `called` are other names
    for them than their own.
    """
    if len(runs) < 2:
        raise BadInput(f"{'1 run' if runs else 'no run'} was given, two or more were expected")
    first = runs[0]
    _refuse_twice(runs)
    others = [run for run in runs[1:] if _other_cases(run, first)]
    if others and not common:
        raise BadInput(
            f"{first.folder} and {others[0].folder} are runs of different cases ({first.info.dataset.name}, {others[0].info.dataset.name})",
            "callmark compare --common compares the cases whose ids both have.",
        )
    labels = called or _labels(runs)
    found = compare_all(
        [(label, run.grades()) for label, run in zip(labels, runs, strict=True)], headline=first.headline, counted=first.counted
    )  # fmt: skip
    return [
        Against(labels[0], label, _other_cases(run, first), _other_settings(first, run), _unmatched(first, run), comparison)
        for (label, comparison), run in zip(found, runs[1:], strict=True)
    ]


def _refuse_twice(runs: Sequence[Run]) -> None:
    seen = set()
    for run in runs:
        where = run.folder.path.resolve()
        if where in seen:
            raise BadInput(f"{run.folder} is given twice: a run does not differ from itself")
        seen.add(where)


def _other_cases(run: Run, first: Run) -> bool:
    return run.info.dataset.digest != first.info.dataset.digest


def _other_settings(first: Run, run: Run) -> list[str]:
    """Those that change what a number of both means; of the evaluators, what only one has is no such thing."""
    one, other = first.info.settings, run.info.settings
    return [name for name in one.__struct_fields__ if name != "evaluators" and getattr(one, name) != getattr(other, name)]


def _unmatched(first: Run, run: Run) -> list[str]:
    one, other = first.info.metrics, run.info.metrics
    return [name for name in dict.fromkeys((*one, *other)) if name not in one or name not in other]


def _labels(runs: Sequence[Run]) -> list[str]:
    """What the runs are called: by their own names, or by their folders where two have the same name."""
    names = [run.label for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]
