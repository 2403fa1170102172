"""`callmark split`: divide a dataset for training and validation."""

import os

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.wording import pluralize


@click.command(name="split", short_help="Divide a dataset for training and validation; near-duplicates stay on one side.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--out", metavar="DIR", required=True, help="The folder that train.jsonl and valid.jsonl go to.")
@click.option(
    "--valid", type=click.FloatRange(0, 1), default=0.2, show_default=True, metavar="SHARE", help="The share of conversations held out."
)
@click.option("--seed", type=int, default=7, show_default=True, metavar="N", help="Another seed holds out others.")
@click.option("--json", "as_json", is_flag=True, help="Both sides, and what was kept together, for machines.")
@dataset_options()
def command(file: str, out: str, valid: float, seed: int, as_json: bool, options: DatasetOptions) -> None:
    """Divide a dataset into train.jsonl and valid.jsonl, by conversation. Near copies, and decision points of one conversation, stay on one
    side; every set of tools that is called gives its share. Rows stay as they stand. The same rows and seed, the same split.

    \b
    callmark split all.jsonl -o data
    callmark split all.jsonl --valid 0.1 --seed 11 -o data --json
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
        from callmark.reporting.safety import escape_controls
        from callmark.reporting.split_view import show_split
        from callmark.reporting.terminal import make_console

        console = make_console()
        show_dataset_header(console, dataset, rows)
        console.print()
        show_split(console, parts)
        console.print()
        for path, side in ((train_path, parts.train), (valid_path, parts.valid)):
            console.print(f"{pluralize(len(side), 'row')} → {escape_controls(path)}", soft_wrap=True)
    for name, side, share in ((TRAIN, parts.train, 1 - valid), (VALID, parts.valid, valid)):
        if not side and share:
            why = "every row is kept together with every other" if rows > 1 else "there is one row"
            print_stderr(f"callmark: {name} is empty: {why}.")
