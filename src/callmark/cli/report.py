"""`callmark report`: write runs as one page that opens from disk."""

import click


@click.command(name="report", short_help="Write runs as one page that opens from disk: charts, every case, what changed.")
@click.argument("runs", metavar="RUN [RUN…]", nargs=-1)
@click.option("-o", "--out", metavar="FILE", help="Where it goes; report.html in the folder of the first run if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: where it is, its size, how many cases and conversations are in it.")
def command(runs: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """One file with no network in it: the numbers with their intervals, charts that filter, every case, and conversations up to 20 MB,
    those of the worst cases first. Several runs are compared with the first.

    \b
    callmark report runs/base
    callmark report runs/base runs/tuned -o report.html
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
                f"{left_out:,} of {total:,} conversations did not fit, those of the best cases; "
                "the table has every case, and callmark view shows everything"
            )
