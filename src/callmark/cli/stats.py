"""`callmark stats`: describe a dataset."""

import sys

import click

from callmark.cli.dataset_options import (
    DATASET,
    DatasetOptions,
    dataset_options,
    refuse_rejects_alone,
    refuse_repeated_stdin,
    refuse_same_file,
)
from callmark.cli.help import Command, argument, option
from callmark.wording import pluralize


@click.command(
    "stats",
    cls=Command,
    examples=("callmark stats train.jsonl valid.jsonl", "callmark stats train.jsonl --charts charts"),
)
@argument("files", nargs=-1, required=True, metavar="FILE...", text=DATASET)
@option("--charts", group="Output", metavar="DIR", help="Write charts to DIR as SVG, PNG and Vega-Lite (needs callmark[charts]).")
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON: one object, or a list for several files.")
@dataset_options()
def command(files: tuple[str, ...], options: DatasetOptions, charts: str | None, as_json: bool) -> None:
    """Describe a dataset: lengths, tools, sequences, arguments.

    Prints messages and calls per conversation as a table, followed by roles, tools, call sequences and arguments. Several files are shown
    side by side.
    """
    from callmark.api.datasets import stats

    if charts is not None:
        from callmark.reporting.charts import FORMATS, chart_names, require_altair, write_charts

        require_altair()

    refuse_rejects_alone(options)
    for path in files:
        refuse_same_file(file=path, rejects=options.rejects)
    refuse_repeated_stdin(files)
    with options.reader() as reader:
        results = [(dataset, stats(dataset)) for dataset in [reader.open(path) for path in files]]
    chart_files = []
    if charts is not None:
        from callmark.reporting.terminal import make_console

        with make_console(sys.stderr).status("writing charts …"):  # on a terminal; it takes seconds
            chart_files = write_charts(list(zip(chart_names(files), [result for _, result in results], strict=True)), charts)
    if as_json:
        import msgspec

        records = [{"file": dataset.name, **dataset.counts(), **msgspec.to_builtins(result, str_keys=True)} for dataset, result in results]
        click.echo(msgspec.json.encode(records[0] if len(records) == 1 else records))
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.stats_view import show_stats
    from callmark.reporting.terminal import make_console

    console = make_console()
    for dataset, result in results:
        show_dataset_header(console, dataset, result.conversations, f"{pluralize(len(result.tools), 'tool')} called")
    console.print()
    show_stats(console, [(dataset.name, result) for dataset, result in results])
    if chart_files:
        from callmark.reporting.safety import escape_breaks

        console.print()
        names = ", ".join(path.stem for path in chart_files if path.suffix == ".svg")
        console.print(f"Wrote charts to {escape_breaks(charts or '')}: {names} (each as {', '.join(FORMATS)})", soft_wrap=True)
