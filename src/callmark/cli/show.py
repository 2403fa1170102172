"""`callmark show`: one conversation from beginning to end."""

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say, tracked
from callmark.errors import BadInput
from callmark.types import Case, Conversation
from callmark.wording import counted


@click.command(name="show", short_help="One conversation: who spoke, what was called, what came back.")
@click.argument("file", metavar="FILE")
@click.option("--row", "number", type=click.IntRange(min=1), metavar="N", help="The row on line N (item N of an array).")
@click.option("--id", "row_id", metavar="ID", help="The row with this id.")
@click.option("--most-calls", is_flag=True, help="The row with the most calls.")
@click.option("--search", metavar="TEXT", help="The first row in which the text was said or called, in any case.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--markdown", "as_markdown", is_flag=True, help="As Markdown.")
@click.option("--json", "as_json", is_flag=True, help="The row as it stands.")
@reading_options()
def command(
    file: str,
    number: int | None,
    row_id: str | None,
    most_calls: bool,
    search: str | None,
    full: bool,
    as_markdown: bool,
    as_json: bool,
    reading: ReadingOptions,
) -> None:
    """One conversation as it went: who spoke, which tool was called with what, what came back. The first, if nothing else is asked for.

    \b
    callmark show train.jsonl --most-calls
    callmark show train.jsonl --search "#W0005862" --markdown
    """
    if sum((number is not None, row_id is not None, most_calls, search is not None)) > 1:
        raise BadInput("--row, --id, --most-calls and --search each pick a row, only one of them can be given")
    refuse_rejects_alone(reading)
    refuse_same_file(file=file, rejects=reading.rejects)
    from callmark.reporting.flow import FOLD, found_in, markdown, show_flow
    from callmark.reporting.headline import show_head

    with reading.reader() as reader:
        dataset = reader.open(file)
        picked: Conversation | None = None
        rows = hits = 0
        for row in tracked(dataset):
            rows += 1
            if most_calls:
                picked = row if picked is None or _calls(row) > _calls(picked) else picked
            elif search is not None:
                if found_in(row, search):
                    hits += 1
                    picked = picked or row
            elif (number is None or (row.place and row.place.number == number)) and (row_id is None or row.id == row_id):
                picked = row
                break
    if picked is None:
        if number is not None:
            raise BadInput(f"{file} has no row {number}: it has {counted(rows, 'row')}")
        wanted = f"the id {row_id!r}" if row_id is not None else f"{search!r} in it"
        raise BadInput(f"{file}: of {counted(rows, 'row')} none has {wanted}", "callmark stats shows what is in a file.")
    if as_json:
        click.echo(picked.original.row.rstrip())
    elif as_markdown:
        click.echo(markdown(picked, fold=None if full else FOLD), nl=False)
    else:
        from callmark.reporting.terminal import console

        screen = console()
        calls = _calls(picked)
        show_head(
            screen,
            dataset,
            1,
            str(picked.place).rpartition(", ")[2],
            f"id {picked.id}",
            f"{counted(len(picked.messages), 'message')}, {counted(calls, 'call')}",
        )
        screen.print()
        show_flow(screen, picked, fold=None if full else FOLD)
    if search is not None and hits > 1:
        say(f"{hits:,} of {counted(rows, 'row')} contain {search!r}; this is the first.")


def _calls(row: Conversation) -> int:
    return len(row.expected) if isinstance(row, Case) else len(row.calls)
