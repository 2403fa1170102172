"""`callmark lint`: find errors in a dataset."""

import os

import click

from callmark.cli.dataset_options import (
    DATASET,
    JSON_HELP,
    DatasetOptions,
    dataset_options,
    refuse_rejects_alone,
    refuse_repeated_stdin,
    refuse_same_file,
)
from callmark.cli.exit_status import CHECK_FAILED, set_status
from callmark.cli.help import Command, argument, option
from callmark.errors import BadInput


@click.command(
    "lint",
    cls=Command,
    exit_status={0: "No errors, or --strict is not given.", 1: "There are errors, and --strict is given.", 2: "Invalid input."},
    examples=("callmark lint train.jsonl --strict", "callmark lint --train train.jsonl --valid valid.jsonl"),
)
@argument("files", nargs=-1, metavar="[FILE...]", text=DATASET)
@option("--train", group="Input", multiple=True, metavar="FILE", help="Training data, in place of FILE (needs --valid). Repeatable.")
@option(
    "--valid",
    group="Input",
    multiple=True,
    metavar="FILE",
    help="Validation data; rows that duplicate or nearly duplicate a training row are errors. Repeatable.",
)
@option("--all", "show_all", group="Output", is_flag=True, help="Print every finding, not just the first few of each kind.")
@option("--strict", group="Output", is_flag=True, help="Exit with status 1 if there are errors.")
@option("--json", "as_json", group="Output", is_flag=True, help=JSON_HELP)
@dataset_options()
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def command(
    files: tuple[str, ...],
    train: tuple[str, ...],
    valid: tuple[str, ...],
    options: DatasetOptions,
    strict: bool,
    show_all: bool,
    as_json: bool,
    config: str | None,
) -> int:
    """Find problems in a dataset.

    Reports malformed calls, unknown tools, arguments that violate the schema, calls without results, hallucinated values, duplicates and
    near-duplicates, and identical prompts with different expected calls. With --train and --valid, also reports leakage between
    the two. With --skip-bad, also reports rows that cannot be read. Arguments listed under [grounding] in callmark.toml are
    not checked for hallucinated values.
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
        report = lint(datasets, valid=held_out, config=config)
    status = set_status(CHECK_FAILED if strict and report.errors else 0)
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
    return status


def _check_files(files: tuple[str, ...], train: tuple[str, ...], valid: tuple[str, ...]) -> None:
    """Raise `BadInput` unless either files are given, or --train and --valid with different files."""
    if not files and not train and not valid:
        raise BadInput("no file given", "Run callmark lint FILE, or callmark lint --train FILE --valid FILE.")
    if bool(train) != bool(valid):
        given, other = ("--train", "--valid") if train else ("--valid", "--train")
        raise BadInput(f"{given} needs {other}: lint looks for leakage between the two", "To check a single file: callmark lint FILE")
    if files and train:
        raise BadInput(f"{files[0]}: cannot be combined with --train and --valid", "Pass it with --train or --valid, or omit both options.")
    train_files = {os.path.realpath(path) for path in train if path != "-"}
    for path in valid:
        if path != "-" and os.path.realpath(path) in train_files:
            raise BadInput(f"{path} cannot be both --train and --valid")
