"""Ask the user before something runs that a file names: on a terminal; elsewhere nothing is allowed without `--trust`."""

import sys
from collections.abc import Sequence

import click

from callmark.reporting.safety import one_line
from callmark.trust import Action, Decide, allow_and_remember, remember

TRUST = "--trust"
_MAX_NAME = 300  # characters of the name of a file
_YES = ("y", "yes")


def decision(*, trusted: bool) -> Decide:
    """Return how this command decides: as `--trust` says, or by asking."""
    return allow_and_remember if trusted else _ask


def _ask(source: str, actions: Sequence[Action]) -> bool:
    """Say what a file would do, ask whether it may, and remember the answer if it is yes. Where nobody can answer, it may not."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    click.echo(f"callmark: {one_line(source, _MAX_NAME)} is not trusted. It", err=True)
    for action in actions:
        click.echo(f"  {action}", err=True)
    click.echo("Trust it, now and in future runs? [y/N]", err=True)  # a whole line: progress bars print nothing less
    if sys.stdin.readline().strip().lower() not in _YES:
        return False
    remember(actions)
    return True
