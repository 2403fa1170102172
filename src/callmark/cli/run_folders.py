"""The argument RUN...: run folders, often given as `runs/*`, which also names the labels and corrections stored beside the runs."""

import os
from collections.abc import Callable
from typing import Any

import click

from callmark.cli.help import argument


def runs_argument(text: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Return the argument, without the files that the viewer stores beside runs."""
    return argument("runs", metavar="RUN...", nargs=-1, required=required, callback=_without_stored_files, text=text)


def _without_stored_files(context: click.Context, parameter: click.Parameter, runs: tuple[str, ...]) -> tuple[str, ...]:
    from callmark.runs.labels import LABELS
    from callmark.runs.patch import PATCH

    return tuple(run for run in runs if os.path.basename(run) not in (LABELS, PATCH) or os.path.isdir(run))
