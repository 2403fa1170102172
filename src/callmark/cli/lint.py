"""`callmark lint`: what is wrong with a dataset."""

import os

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.errors import BadInput


@click.command(name="lint", short_help="What is wrong with a dataset: each finding with its place and a sentence.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--train", multiple=True, metavar="FILE", help="Rows for training, instead of FILE; goes with --valid.")
@click.option("--valid", multiple=True, metavar="FILE", help="Rows for validation: each that is, or nearly is, one of --train is an error.")
@reading_options()
@click.option("--strict", is_flag=True, help="Exit status 1 when there is an error among the findings.")
@click.option("--all", "every", is_flag=True, help="Print every finding, not the first few of each kind.")
@click.option("--json", "as_json", is_flag=True, help="For machines: rows, summary, findings.")
def command(
    files: tuple[str, ...],
    train: tuple[str, ...],
    valid: tuple[str, ...],
    reading: ReadingOptions,
    strict: bool,
    every: bool,
    as_json: bool,
) -> int:
    """What is wrong with a dataset: malformed calls, unknown tools, arguments against the schema, calls without results, hallucinated
    values, copies and near copies, the same prompt with different answers. With --skip-bad, rows that cannot be read are findings too.

    \b
    callmark lint train.jsonl
    callmark lint --train train.jsonl --valid valid.jsonl
    callmark lint train.jsonl --strict --json
    """
    from callmark.data.lint import Linter

    linter = Linter()
    refuse_rejects_alone(reading)
    _refuse(files, train, valid)
    paths = [*files, *train, *valid]
    for path in paths:
        refuse_same_file(file=path, rejects=reading.rejects)
    if paths.count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    with reading.reader(on_bad=lambda bad: linter.add_broken(bad.place, bad.reason)) as reader:
        datasets = [reader.open(path) for path in paths]
        rows = []
        for place, dataset in enumerate(datasets):
            count = 0
            for row in tracked(dataset):
                linter.add(row, held_out=place >= len(paths) - len(valid))
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


def _refuse(files: tuple[str, ...], train: tuple[str, ...], valid: tuple[str, ...]) -> None:
    """Either files, or both sides, and no file on both."""
    if not files and not train and not valid:
        raise BadInput("there is no file to look at", "callmark lint FILE, or --train FILE --valid FILE.")
    if bool(train) != bool(valid):
        given, other = ("--train", "--valid") if train else ("--valid", "--train")
        raise BadInput(f"{given} needs {other}: a leak is between the two", "A single file is given without either: callmark lint FILE")
    if files and train:
        raise BadInput(f"{files[0]} is neither --train nor --valid", "Say which it is, or leave both out.")
    trained = {os.path.realpath(path) for path in train if path != "-"}
    for path in valid:
        if path != "-" and os.path.realpath(path) in trained:
            raise BadInput(f"{path} cannot be both --train and --valid")
