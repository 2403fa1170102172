"""`callmark compare`: compare runs with the first of them."""

import click

from callmark.cli.help import Command, option
from callmark.cli.run_folders import runs_argument


@click.command(
    "compare",
    cls=Command,
    examples=("callmark compare runs/base runs/tuned", "callmark compare runs/base runs/a runs/b --details"),
)
@runs_argument("Run folders, at least two. The first is the baseline.")
@option("--common", group="Input", is_flag=True, help="Compare runs on different datasets, using the cases whose IDs are in both runs.")
@option(
    "--details", group="Output", is_flag=True, help="Add every metric, the faults that differ, and the fixed and broken cases and tools."
)
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON, with every metric and every fixed and broken case.")
def command(runs: tuple[str, ...], common: bool, details: bool, as_json: bool) -> None:
    """Compare runs: which one is better, by how much, and what broke.

    Compares each run with the first, case by case, on the cases that both have. Prints the difference with its 95% confidence interval and
    p-value, the number of fixed and broken cases, and how many cases are needed to detect a small difference.
    """
    from callmark.reporting.compare_view import show_comparisons
    from callmark.reporting.terminal import make_console
    from callmark.runs.compare import compare

    comparisons = compare(*runs, common=common)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(comparisons))
    else:
        show_comparisons(make_console(), comparisons, details=details)
