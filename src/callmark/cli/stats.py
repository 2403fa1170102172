"""`callmark stats`: what is in a dataset."""

import sys

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.errors import BadInput
from callmark.wording import counted


@click.command(name="stats", short_help="What is in a dataset: lengths, tools, sequences, arguments.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@reading_options()
@click.option("--charts", metavar="DIR", help="Draw charts into DIR, each as SVG, PNG and Vega-Lite (needs the extra [charts]).")
@click.option("--json", "as_json", is_flag=True, help="For machines; a list where there are several files.")
def command(files: tuple[str, ...], reading: ReadingOptions, charts: str | None, as_json: bool) -> None:
    """What is in a dataset: turns and calls as a table, then roles, tools, sequences and arguments. Several files stand side by side.

    \b
    callmark stats train.jsonl valid.jsonl
    callmark stats train.jsonl --json
    callmark stats train.jsonl valid.jsonl --charts charts
    """
    from callmark.data.stats import stats

    if charts is not None:
        from callmark.reporting.charts import FORMATS, chart_names, refuse_without_altair, write_charts

        refuse_without_altair()

    refuse_rejects_alone(reading)
    for path in files:
        refuse_same_file(file=path, rejects=reading.rejects)
    if files.count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    with reading.reader() as reader:
        datasets = [reader.open(path) for path in files]
        results = [(dataset, stats(tracked(dataset))) for dataset in datasets]
    drawn = []
    if charts is not None:
        from callmark.reporting.terminal import console

        with console(sys.stderr).status("drawing charts …"):  # on a terminal; it takes seconds
            drawn = write_charts(list(zip(chart_names(files), [one for _, one in results], strict=True)), charts)
    if as_json:
        import msgspec

        told = [{"file": dataset.name, **dataset.counts(), **msgspec.to_builtins(one, str_keys=True)} for dataset, one in results]
        click.echo(msgspec.json.encode(told[0] if len(told) == 1 else told))
        return
    from callmark.reporting.headline import show_head
    from callmark.reporting.stats_view import show_stats
    from callmark.reporting.terminal import console

    screen = console()
    for dataset, one in results:
        show_head(screen, dataset, one.conversations, f"{counted(len(one.tools), 'tool')} called")
    screen.print()
    show_stats(screen, [(dataset.name, one) for dataset, one in results])
    if drawn:
        from callmark.reporting.safety import safe

        screen.print()
        names = ", ".join(path.stem for path in drawn if path.suffix == ".svg")
        screen.print(f"charts in {safe(charts or '')}: {names} (each as {', '.join(FORMATS)})", soft_wrap=True)
