"""`callmark report`: write runs as an HTML page."""

import click

from callmark.cli.help import Command, argument, option


@click.command(
    "report",
    cls=Command,
    examples=("callmark report runs/base", "callmark report runs/base runs/tuned -o report.html"),
)
@argument("runs", metavar="RUN...", nargs=-1, text="Run folders. Several runs are compared with the first.")
@option(
    "-o",
    "--out",
    group="Output",
    metavar="FILE",
    show_default="report.html in the first run folder",
    help="Output file, or - for standard output.",
)
@option("--json", "as_json", group="Output", is_flag=True, help="Print the path, the size and what was left out as JSON.")
def command(runs: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Write runs as an HTML page that works offline.

    The page is one file with metrics, charts, every case, what changed between runs, and conversations up to 20 MB, those of the worst
    cases first.
    """
    from callmark.api.runs import report
    from callmark.reporting.safety import escape_controls

    written = report(runs, out=out)
    if as_json:
        import msgspec

        record = {"report": written.path, "bytes": written.size, "left_out": written.left_out}
        click.echo(msgspec.json.encode(record), err=written.path == "-")
    elif written.path != "-":
        click.echo(f"{escape_controls(written.path)}   {written.size / 1e6:,.1f} MB")
        left_out, total = written.left_out["conversations"], written.left_out["all_conversations"]
        if left_out:
            click.echo(
                f"{left_out:,} of {total:,} conversations did not fit (those of the best cases); the table has every case, "
                "and callmark view shows every conversation."
            )
