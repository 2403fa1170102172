"""`callmark lint`: find errors in a dataset."""

import os

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_repeated_stdin, refuse_same_file
from callmark.cli.exit_status import CHECK_FAILED
from callmark.errors import BadInput


@click.command(name="lint", short_help="What is wrong with a dataset: each finding with its place and a sentence.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--train", multiple=True, metavar="FILE", help="Rows for training, instead of FILE; goes with --valid.")
@click.option("--valid", multiple=True, metavar="FILE", help="Rows for validation: each that is, or nearly is, one of --train is an error.")
@dataset_options()
@click.option("--strict", is_flag=True, help="Exit status 1 when there is an error among the findings.")
@click.option("--all", "show_all", is_flag=True, help="Print every finding, not the first few of each kind.")
@click.option("--json", "as_json", is_flag=True, help="For machines: rows, summary, findings.")
def command(
    files: tuple[str, ...],
    train: tuple[str, ...],
    valid: tuple[str, ...],
    options: DatasetOptions,
    strict: bool,
    show_all: bool,
    as_json: bool,
) -> int:
    """What is wrong with a dataset: malformed calls, unknown tools, arguments against the schema, calls without results, hallucinated
    values, copies and near-duplicates, the same prompt with different answers. With --skip-bad, rows that cannot be read are findings too.

    \b
    callmark lint train.jsonl
    callmark lint --train train.jsonl --valid valid.jsonl
    callmark lint train.jsonl --strict --json
    """
    from callmark.api.datasets import lint

    refuse_rejects_alone(options)
    _check_files(files, train, valid)
    for path in (*files, *train, *valid):
        refuse_same_file(file=path, rejects=options.rejects)
    refuse_repeated_stdin((*files, *train, *valid))
    with options.reader() as reader:
        datasets = [reader.open(path) for path in files or train]
        held_out = [reader.open(path) for path in valid]
        report = lint(datasets, valid=held_out)
    if as_json:
        import msgspec

        records = [{"file": dataset.name, **dataset.counts()} for dataset in (*datasets, *held_out)]
        click.echo(msgspec.json.encode({"files": records, **msgspec.to_builtins(report)}))
    else:
        from callmark.reporting.dataset_header import show_dataset_header
        from callmark.reporting.lint_view import show_findings
        from callmark.reporting.terminal import make_console

        console = make_console()
        for dataset in (*datasets, *held_out):
            show_dataset_header(console, dataset, dataset.good_rows)
        console.print()
        show_findings(console, report, every=show_all)
    return CHECK_FAILED if strict and report.errors else 0


def _check_files(files: tuple[str, ...], train: tuple[str, ...], valid: tuple[str, ...]) -> None:
    """Raise `BadInput` unless either files or both sides are given, with no file on both sides."""
    if not files and not train and not valid:
        raise BadInput("there is no file to look at", "callmark lint FILE, or --train FILE --valid FILE.")
    if bool(train) != bool(valid):
        given, other = ("--train", "--valid") if train else ("--valid", "--train")
        raise BadInput(f"{given} needs {other}: a leak is between the two", "A single file is given without either: callmark lint FILE")
    if files and train:
        raise BadInput(f"{files[0]} is neither --train nor --valid", "Say which it is, or leave both out.")
    train_files = {os.path.realpath(path) for path in train if path != "-"}
    for path in valid:
        if path != "-" and os.path.realpath(path) in train_files:
            raise BadInput(f"{path} cannot be both --train and --valid")
