"""`callmark stats`: what is in a dataset."""

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.errors import BadInput
from callmark.wording import counted


@click.command(name="stats", short_help="What is in a dataset: lengths, tools, sequences, arguments.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@reading_options()
@click.option("--json", "as_json", is_flag=True, help="For machines; a list where there are several files.")
def command(files: tuple[str, ...], reading: ReadingOptions, as_json: bool) -> None:
    """What is in a dataset: turns and calls as a table, then roles, tools, sequences and arguments. Several files stand side by side.

    \b
    callmark stats train.jsonl valid.jsonl
    callmark stats train.jsonl --json
    """
    from callmark.data.stats import stats

    refuse_rejects_alone(reading)
    for path in files:
        refuse_same_file(file=path, rejects=reading.rejects)
    if files.count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    with reading.reader() as reader:
        datasets = [reader.open(path) for path in files]
        results = [(dataset, stats(tracked(dataset))) for dataset in datasets]
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
