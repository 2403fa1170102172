"""`callmark filter`: keep the rows that every rule keeps."""

import sys
from typing import Any

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_same_file
from callmark.wording import pluralize


@click.command(name="filter", short_help="Keep good rows: by sequence, consistency, grounding, size.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the kept rows go, as they stand; - is standard output.")
@click.option("--require", multiple=True, metavar="PATTERN", help="Calls in this order, e.g. 'find_* > get_user(user_id=$result)'.")
@click.option("--forbid", multiple=True, metavar="PATTERN", help="No calls in this order.")
@click.option("--consistent", multiple=True, metavar="ARG", help="Every call that gives ARG gives the same value.")
@click.option("--grounded", is_flag=True, help="No argument value is hallucinated.")
@click.option("--clean", is_flag=True, help="Lint finds no error in the row.")
@click.option("--min-calls", type=click.IntRange(min=0), metavar="N", help="At least N calls.")
@click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="At most N calls.")
@click.option("--min-turns", type=click.IntRange(min=0), metavar="N", help="At least N messages.")
@click.option("--max-turns", type=click.IntRange(min=0), metavar="N", help="At most N messages.")
@click.option("--tool", "tools", multiple=True, metavar="GLOB", help="Calls a tool of that name.")
@click.option("--no-tool", "no_tools", multiple=True, metavar="GLOB", help="Calls no tool of that name.")
@click.option("--json", "as_json", is_flag=True, help="What each rule kept, for machines.")
@dataset_options(rejects="Keep the rows that are not kept, and those that cannot be read, in FILE, each with its reasons.")
def command(file: str, out: str, as_json: bool, options: DatasetOptions, **rules: Any) -> None:
    """Keep the rows that every rule keeps. Prints what each rule keeps alone, and all of them together.

    \b
    A > B                the very next call after the first A is B; A >> B: some later call is B
    name(arg=value)      with that argument; $result is the result of the step before, or its field of that name
    callmark filter train.jsonl -o good.jsonl --grounded --consistent user_id \\
        --require 'find_* > get_user_details(user_id=$result)'
    """
    from callmark.api.datasets import filter as filter_rows

    refuse_same_file(out=out, rejects=options.rejects)
    refuse_same_file(file=file, rejects=options.rejects)
    with options.reader() as reader:
        dataset = reader.open(file)
        counts = filter_rows(dataset, out=out, rejects=reader.rejects, **rules).counts
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        record = {"file": dataset.name, "out": scrub(out), **dataset.counts(), **msgspec.to_builtins(counts)}
        click.echo(msgspec.json.encode(record), err=out == "-")
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.filter_view import show_filter_counts
    from callmark.reporting.safety import escape_controls
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, counts.rows)
    console.print()
    show_filter_counts(console, counts)
    if out != "-":
        console.print()
        rest = f" · {counts.rows - counts.kept:,} → {escape_controls(options.rejects)}" if options.rejects else ""
        console.print(f"{pluralize(counts.kept, 'row')} → {escape_controls(out)}{rest}", soft_wrap=True)
    if not counts.kept:
        print_stderr("callmark: no row is kept.")
