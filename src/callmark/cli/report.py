"""`callmark report`: runs as one page that opens from disk."""

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
    from pathlib import Path

    from callmark.cli.reading import refuse_same_file
    from callmark.reporting.safety import safe
    from callmark.runs.run import Run
    from callmark.viewer.report import write_report

    found = [Run(path) for path in runs]
    target = out or (found[0].folder.file("report.html") if found else "report.html")
    for run in found:
        for file in run.folder.files():
            refuse_same_file(file=file, out=target)
    left_out = write_report(found, target)
    size = Path(target).stat().st_size if target != "-" else 0
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"report": target, "bytes": size, "left_out": left_out}), err=target == "-")
    elif target != "-":
        click.echo(f"{safe(target)}   {size / 1e6:,.1f} MB")
        if left_out["conversations"]:
            click.echo(
                f"{left_out['conversations']:,} of {left_out['of']:,} conversations did not fit, those of the best cases; "
                "the table has every case, and callmark view shows everything"
            )
