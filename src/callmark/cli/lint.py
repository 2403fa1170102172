"""`callmark lint`: what is wrong with a dataset."""

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.errors import BadInput


@click.command(name="lint", short_help="What is wrong with a dataset: each finding with its place and a sentence.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@reading_options()
@click.option("--strict", is_flag=True, help="Exit status 1 when there is an error among the findings.")
@click.option("--all", "every", is_flag=True, help="Print every finding, not the first few of each kind.")
@click.option("--json", "as_json", is_flag=True, help="For machines: rows, summary, findings.")
def command(
    files: tuple[str, ...],
    reading: ReadingOptions,
    strict: bool,
    every: bool,
    as_json: bool,
) -> int:
    """What is wrong with a dataset: malformed calls, unknown tools, arguments against the schema, calls without results, invented
    values, duplicates, the same prompt with different answers. With --skip-bad, rows that cannot be read are findings too.

    \b
    callmark lint train.jsonl
    callmark lint train.jsonl --strict --json
    """
    from callmark.data.lint import Linter

    linter = Linter()
    refuse_rejects_alone(reading)
    for path in files:
        refuse_same_file(file=path, rejects=reading.rejects)
    if files.count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    with reading.reader(on_bad=lambda bad: linter.add_broken(bad.place, bad.reason)) as reader:
        datasets = [reader.open(path) for path in files]
        rows = []
        for dataset in datasets:
            count = 0
            for row in tracked(dataset):
                linter.add(row)
                count += 1
            rows.append(count)
    report = linter.report()
    if as_json:
        import msgspec

        told = [{"file": dataset.name, **dataset.counts()} for dataset in datasets]
        click.echo(msgspec.json.encode({"files": told, **msgspec.to_builtins(report)}))
    else:
        from callmark.reporting.findings import show_findings
        from callmark.reporting.headline import show_head
        from callmark.reporting.terminal import console

        screen = console()
        for dataset, count in zip(datasets, rows, strict=True):
            show_head(screen, dataset, count)
        screen.print()
        show_findings(screen, report, every=every)
    return 1 if strict and report.errors else 0
