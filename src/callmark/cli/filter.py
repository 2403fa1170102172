"""`callmark filter`: keep the rows that every rule keeps."""

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_same_file, say, tracked
from callmark.errors import BadInput
from callmark.wording import counted


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
@click.option("--tool", multiple=True, metavar="GLOB", help="Calls a tool of that name.")
@click.option("--no-tool", multiple=True, metavar="GLOB", help="Calls no tool of that name.")
@click.option("--json", "as_json", is_flag=True, help="What each rule kept, for machines.")
@reading_options(rejects="Keep the rows that are not kept, and those that cannot be read, in FILE, each with its reasons.")
def command(
    file: str,
    out: str,
    require: tuple[str, ...],
    forbid: tuple[str, ...],
    consistent: tuple[str, ...],
    grounded: bool,
    clean: bool,
    min_calls: int | None,
    max_calls: int | None,
    min_turns: int | None,
    max_turns: int | None,
    tool: tuple[str, ...],
    no_tool: tuple[str, ...],
    as_json: bool,
    reading: ReadingOptions,
) -> None:
    """Keep the rows that every rule keeps. Prints what each rule keeps alone, and all of them together.

    \b
    A > B                the very next call after the first A is B; A >> B: some later call is B
    name(arg=value)      with that argument; $result is the result of the step before, or its field of that name
    callmark filter train.jsonl -o good.jsonl --grounded --consistent user_id \\
        --require 'find_* > get_user_details(user_id=$result)'
    """
    from callmark.calls.strict import scrub
    from callmark.data import filter as rules
    from callmark.formats import Output

    wanted = [
        *map(rules.require, require),
        *map(rules.forbid, forbid),
        *map(rules.consistent, consistent),
        *([rules.grounded()] if grounded else []),
        *([rules.clean()] if clean else []),
        *rules.calls_between(min_calls, max_calls),
        *rules.turns_between(min_turns, max_turns),
        *map(rules.uses_tool, tool),
        *map(rules.avoids_tool, no_tool),
    ]
    if not wanted:
        raise BadInput("no rule was given, so every row would be kept", "callmark filter --help lists the rules.")
    refuse_same_file(out=out, rejects=reading.rejects)
    refuse_same_file(file=file, rejects=reading.rejects)
    kept = rules.Kept(0, {}, 0)
    with (
        reading.reader() as reader,
        reader.open(file) as dataset,
        Output(out) as output,
    ):
        for row, failed, kept in rules.judge(tracked(dataset), wanted):  # noqa: B007 - the last counts are shown below
            if failed:
                reader.reject(row, failed)
            else:
                output.line(row.original.row.rstrip())
    if as_json:
        import msgspec

        told = msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **msgspec.to_builtins(kept)})
        click.echo(told, err=out == "-")
        return
    import sys

    from callmark.reporting.filter_view import show_kept
    from callmark.reporting.headline import show_head
    from callmark.reporting.safety import safe
    from callmark.reporting.terminal import console

    screen = console(sys.stderr if out == "-" else None)
    show_head(screen, dataset, kept.rows)
    screen.print()
    show_kept(screen, kept)
    if out != "-":
        screen.print()
        rest = f" · {kept.rows - kept.together:,} → {safe(reading.rejects)}" if reading.rejects else ""
        screen.print(f"{counted(kept.together, 'row')} → {safe(out)}{rest}", soft_wrap=True)
    if not kept.together:
        say("callmark: no row is kept.")
