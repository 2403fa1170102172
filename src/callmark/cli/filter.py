"""`callmark filter`: keep the rows that every rule keeps."""

import sys
from typing import Any

import click

from callmark.cli.dataset_options import DATASET, OUT_FILE, DatasetOptions, dataset_options, print_stderr, refuse_same_file
from callmark.cli.exit_status import CHECK_FAILED
from callmark.cli.help import Command, argument, option
from callmark.cli.numbers import NATURAL_NUMBER
from callmark.wording import pluralize


@click.command(
    "filter",
    cls=Command,
    exit_status={0: "At least one row was kept.", 1: "No row was kept.", 2: "Invalid input."},
    examples=(
        "callmark filter train.jsonl -o good.jsonl --grounded --clean",
        "callmark filter in.jsonl -o ok.jsonl --require 'find_* > get_user(id=$result)'",
    ),
)
@argument("file", metavar="FILE", text=DATASET)
@option("--require", group="Rules", multiple=True, metavar="PATTERN", help="Keep rows whose calls match PATTERN. Repeatable.")
@option("--forbid", group="Rules", multiple=True, metavar="PATTERN", help="Keep rows whose calls do not match PATTERN. Repeatable.")
@option(
    "--consistent",
    group="Rules",
    multiple=True,
    metavar="ARG",
    help="Keep rows where ARG has the same value in every call that has it. Repeatable.",
)
@option("--grounded", group="Rules", is_flag=True, help="Keep rows without hallucinated argument values.")
@option("--clean", group="Rules", is_flag=True, help="Keep rows without lint errors.")
@option("--min-calls", group="Rules", type=NATURAL_NUMBER, metavar="N", help="Keep rows with at least N calls.")
@option("--max-calls", group="Rules", type=NATURAL_NUMBER, metavar="N", help="Keep rows with at most N calls.")
@option("--min-messages", group="Rules", type=NATURAL_NUMBER, metavar="N", help="Keep rows with at least N messages.")
@option("--max-messages", group="Rules", type=NATURAL_NUMBER, metavar="N", help="Keep rows with at most N messages.")
@option("--tool", "tools", group="Rules", multiple=True, metavar="GLOB", help="Keep rows that call a matching tool. Repeatable.")
@option(
    "--no-tool", "no_tools", group="Rules", multiple=True, metavar="GLOB", help="Keep rows that do not call a matching tool. Repeatable."
)
@option("-o", "--out", group="Output", metavar="FILE", required=True, help=OUT_FILE)
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON: the number of rows that each rule keeps.")
@dataset_options(rejects="Save the rejected rows to FILE, with the reasons; with --skip-bad, also unreadable rows.")
@option(
    "--config",
    metavar="FILE",
    show_default="callmark.toml",
    help="Configuration file; --grounded ignores the arguments listed under [grounding].",
)
def command(file: str, out: str, as_json: bool, options: DatasetOptions, config: str | None, **rules: Any) -> int:
    """Keep the rows that match every rule.

    Rows are written unchanged. Prints how many rows each rule keeps on its own, and how many all rules keep together.

    \b
    Patterns:
      find_*                 a call; * matches any text, ? one character
      get_user(id=7)         a call with this argument
      get_user(id=$result)   the argument equals the result of the previous
                             step, or its field of the same name
      A > B                  the next call after the first A is B
      A >> B                 some call after the first A is B
    """
    from callmark.api.datasets import filter as filter_rows

    refuse_same_file(file=file, out=out, rejects=options.rejects)
    with options.reader() as reader:
        dataset = reader.open(file)
        counts = filter_rows(dataset, out=out, rejects=reader.rejects, config=config, **rules).counts
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        record = {"file": dataset.name, "out": scrub(out), **dataset.counts(), **msgspec.to_builtins(counts)}
        click.echo(msgspec.json.encode(record), err=out == "-")
        return _status(counts.kept)
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.filter_view import show_filter_counts
    from callmark.reporting.safety import escape_breaks
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, counts.rows)
    console.print()
    show_filter_counts(console, counts)
    if out != "-":
        console.print()
        rest = f" · {counts.rows - counts.kept:,} → {escape_breaks(options.rejects)}" if options.rejects else ""
        console.print(f"{pluralize(counts.kept, 'row')} → {escape_breaks(out)}{rest}", soft_wrap=True)
    return _status(counts.kept)


def _status(kept: int) -> int:
    """Return the exit status. That nothing was kept is said on standard error, because the output may be in use by another program."""
    if not kept:
        print_stderr("callmark: no rows were kept.")
    return 0 if kept else CHECK_FAILED
