"""`callmark split`: split a dataset into training and validation sets."""

import os

import click

from callmark.cli.dataset_options import (
    DATASET_FILE,
    JSON_HELP,
    DatasetOptions,
    dataset_options,
    print_stderr,
    refuse_rejects_alone,
    refuse_same_file,
)
from callmark.cli.help import Command, argument, option
from callmark.cli.numbers import FRACTION, Integer
from callmark.wording import pluralize


@click.command(
    "split", cls=Command, examples=("callmark split all.jsonl -o data", "callmark split all.jsonl -o data --valid 0.1 --seed 11")
)
@argument("file", metavar="FILE", text=f"{DATASET_FILE}.")
@option(
    "--valid",
    group="Split",
    type=FRACTION,
    default=0.2,
    show_default=True,
    metavar="FRACTION",
    help="Fraction of conversations to hold out for validation.",
)
@option("--seed", group="Split", type=Integer(), default=7, show_default=True, metavar="N", help="Random seed.")
@option("-o", "--out", group="Output", metavar="DIR", required=True, help="Folder for train.jsonl and valid.jsonl.")
@option("--json", "as_json", group="Output", is_flag=True, help=JSON_HELP)
@dataset_options()
def command(file: str, out: str, valid: float, seed: int, as_json: bool, options: DatasetOptions) -> None:
    """Split a dataset into training and validation sets.

    Splits by conversation, stratified by the set of tools that are called. Near-duplicates and decision points of the same conversation
    always go to the same side of the split. Rows are written unchanged. The same rows and seed give the same split.
    """
    from callmark.api.datasets import TRAIN, VALID, refuse_pipe, split

    refuse_rejects_alone(options)
    refuse_pipe(file)
    train_path, valid_path = os.path.join(out, TRAIN), os.path.join(out, VALID)
    for path in (train_path, valid_path):
        refuse_same_file(file=file, out=path, rejects=options.rejects)
    with options.reader() as reader:
        dataset = reader.open(file)
        parts = split(dataset, valid=valid, seed=seed, out=out)
    rows = len(parts.numbers)
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        record = {
            "file": dataset.name,
            **dataset.counts(),
            "seed": seed,
            "train": {"file": scrub(train_path), **msgspec.to_builtins(parts.train_summary)},
            "valid": {"file": scrub(valid_path), **msgspec.to_builtins(parts.valid_summary)},
            "kept_together": [[parts.numbers[index] for index in group] for group in parts.kept_together],
            "only_train": parts.only_train,
            "only_valid": parts.only_valid,
        }
        click.echo(msgspec.json.encode(record))
    else:
        from callmark.reporting.dataset_header import show_dataset_header
        from callmark.reporting.safety import escape_breaks
        from callmark.reporting.split_view import show_split
        from callmark.reporting.terminal import make_console

        console = make_console()
        show_dataset_header(console, dataset, rows)
        console.print()
        show_split(console, parts)
        console.print()
        for path, side in ((train_path, parts.train), (valid_path, parts.valid)):
            console.print(f"{pluralize(len(side), 'row')} → {escape_breaks(path)}", soft_wrap=True)
    for name, side, share in ((TRAIN, parts.train, 1 - valid), (VALID, parts.valid, valid)):
        if not side and share:
            why = "all rows belong to one group of near-duplicates" if rows > 1 else "the dataset has only one row"
            print_stderr(f"callmark: {name} is empty: {why}.")
