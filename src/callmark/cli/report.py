"""`callmark report`: write runs as an HTML page."""

import click

from callmark.cli.dataset_options import print_warning
from callmark.cli.help import Command, option
from callmark.cli.run_folders import runs_argument


@click.command(
    "report",
    cls=Command,
    examples=(
        "callmark report runs/base",
        "callmark report runs/base runs/tuned -o report.html",
        "callmark report runs/* --history -o history.html",
    ),
)
@runs_argument("Run folders. Several runs are compared with the first.")
@option(
    "-o",
    "--out",
    group="Output",
    metavar="FILE",
    show_default="report.html in the first run folder",
    help="Output file, or - for standard output.",
)
@option("--history", group="Output", is_flag=True, help="Chart the runs over time, with a leaderboard, instead of their cases.")
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON: the path, the size, and what was left out.")
def command(runs: tuple[str, ...], out: str | None, history: bool, as_json: bool) -> None:
    """Write a self-contained HTML report on one or more runs.

    The page is one file with metrics, charts, every case, and what changed between runs. It contains up to 20 MB of conversations, worst
    cases first.
    """
    from callmark.api.runs import report
    from callmark.reporting.safety import escape_breaks

    written = report(runs, out=out, history=history)
    for warning in written.warnings:
        print_warning(escape_breaks(warning))
    if as_json:
        import msgspec

        record = {"report": written.path, "bytes": written.size, "left_out": written.left_out}
        click.echo(msgspec.json.encode(record), err=written.path == "-")
    elif written.path != "-":
        click.echo(f"{escape_breaks(written.path)}   {written.size / 1e6:,.1f} MB")
        left_out, total = written.left_out["conversations"], written.left_out["all_conversations"]
        if left_out:
            click.echo(
                f"{left_out:,} of {total:,} conversations did not fit (those of the best cases); the table has every case, "
                "and callmark view shows every conversation."
            )
