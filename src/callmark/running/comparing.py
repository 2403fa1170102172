"""Runs against the first of them, from their folders. Runs of different cases raise `BadInput`, unless what is common is asked for."""

from collections.abc import Sequence

from msgspec import Struct

from callmark.analysis.compare import Comparison, compare_all
from callmark.errors import BadInput
from callmark.running.runs import Run


class Against(Struct, frozen=True):
    """A run against another: what both are called, and what differs. `common` says that their datasets are not the same."""

    first: str
    second: str
    common: bool
    comparison: Comparison


def compared(runs: Sequence[Run], *, common: bool = False, called: Sequence[str] = ()) -> list[Against]:
    """Each run against the first. With `common`, runs of different datasets are paired by the ids that they share. `called` are other names
    for them than their own.
    """
    first = runs[0]
    others = [run for run in runs[1:] if run.info.dataset.digest != first.info.dataset.digest]
    if others and not common:
        raise BadInput(
            f"{first.folder} and {others[0].folder} are runs of different cases ({first.info.dataset.name}, {others[0].info.dataset.name})",
            "--common compares the cases whose ids both have.",
        )
    labels = called or _labels(runs)
    found = compare_all(
        [(label, run.grades()) for label, run in zip(labels, runs, strict=True)], headline=first.headline, counted=first.counted
    )  # fmt: skip
    return [
        Against(labels[0], label, run.info.dataset.digest != first.info.dataset.digest, comparison)
        for (label, comparison), run in zip(found, runs[1:], strict=True)
    ]


def _labels(runs: Sequence[Run]) -> list[str]:
    """What the runs are called: by their own names, or by their folders where two have the same name."""
    names = [run.label for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]
