"""`callmark split`: one part for training, one for validation."""

import os
from typing import TYPE_CHECKING

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say, tracked
from callmark.errors import BadInput
from callmark.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from callmark.types import Conversation

TRAIN, VALID = "train.jsonl", "valid.jsonl"


@click.command(name="split", short_help="Divide a dataset for training and validation; near copies stay on one side.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--out", metavar="DIR", required=True, help=f"The folder that {TRAIN} and {VALID} go to.")
@click.option(
    "--valid", type=click.FloatRange(0, 1), default=0.2, show_default=True, metavar="SHARE", help="The share of conversations held out."
)
@click.option("--seed", type=int, default=7, show_default=True, metavar="N", help="Another seed holds out others.")
@click.option("--json", "as_json", is_flag=True, help="Both sides, and what was kept together, for machines.")
@reading_options()
def command(file: str, out: str, valid: float, seed: int, as_json: bool, reading: ReadingOptions) -> None:
    """Divide a dataset into train.jsonl and valid.jsonl, by conversation. Near copies, and decision points of one conversation, stay on one
    side; every set of tools that is called gives its share. Rows stay as they stand. The same rows and seed, the same split.

    \b
    callmark split all.jsonl -o data
    callmark split all.jsonl --valid 0.1 --seed 11 -o data --json
    """
    from callmark.calls.strict import scrub
    from callmark.data.split import split
    from callmark.formats import Output
    from callmark.formats.rows import Rows

    refuse_rejects_alone(reading)
    if file == "-" or (os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file)):
        raise BadInput("a split reads its file twice, and a pipe can be read once", "Save it as a file first.")
    train_path, valid_path = os.path.join(out, TRAIN), os.path.join(out, VALID)
    for path in (train_path, valid_path):
        refuse_same_file(file=file, out=path, rejects=reading.rejects)
    ordinals: list[int] = []
    numbers: list[int] = []
    with reading.reader() as reader, reader.open(file) as dataset:

        def rows() -> "Iterator[Conversation]":
            for row in tracked(dataset):
                ordinals.append(dataset.ordinal)
                numbers.append(row.place.number if row.place else dataset.ordinal + 1)
                yield row

        made = split(rows(), valid=valid, seed=seed)
    goes_to_valid = {ordinals[index] for index in made.valid}
    wanted = {*ordinals}
    with Output(train_path) as train_rows, Output(valid_path) as valid_rows:
        for ordinal, (_, row) in enumerate(Rows(file)):
            if ordinal in wanted:
                (valid_rows if ordinal in goes_to_valid else train_rows).line(row.rstrip())
    if as_json:
        import msgspec

        told = {
            "file": dataset.name,
            **dataset.counts(),
            "seed": seed,
            "train": {"file": scrub(train_path), **msgspec.to_builtins(made.of_train)},
            "valid": {"file": scrub(valid_path), **msgspec.to_builtins(made.of_valid)},
            "together": [[numbers[index] for index in group] for group in made.together],
            "only_train": made.only_train,
            "only_valid": made.only_valid,
        }
        click.echo(msgspec.json.encode(told))
    else:
        from callmark.reporting.headline import show_head
        from callmark.reporting.safety import safe
        from callmark.reporting.split_view import show_split
        from callmark.reporting.terminal import console

        screen = console()
        show_head(screen, dataset, len(ordinals))
        screen.print()
        show_split(screen, made)
        screen.print()
        for path, side in ((train_path, made.train), (valid_path, made.valid)):
            screen.print(f"{counted(len(side), 'row')} → {safe(path)}", soft_wrap=True)
    for name, side, share in ((TRAIN, made.train, 1 - valid), (VALID, made.valid, valid)):
        if not side and share:
            why = "every row is kept together with every other" if len(ordinals) > 1 else "there is one row"
            say(f"callmark: {name} is empty: {why}.")
