"""`callmark show`: print one conversation."""

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.errors import BadInput
from callmark.types import Case, Conversation
from callmark.wording import pluralize


@click.command(name="show", short_help="One conversation: who spoke, what was called, what came back.")
@click.argument("file", metavar="FILE")
@click.option("--row", "number", type=click.IntRange(min=1), metavar="N", help="The row on line N (item N of an array).")
@click.option("--id", "row_id", metavar="ID", help="The row with this id.")
@click.option("--most-calls", is_flag=True, help="The row with the most calls.")
@click.option("--search", metavar="TEXT", help="The first row in which the text was said or called, in any case.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--markdown", "as_markdown", is_flag=True, help="As Markdown.")
@click.option("--json", "as_json", is_flag=True, help="The row as it stands.")
@dataset_options()
def command(
    file: str,
    number: int | None,
    row_id: str | None,
    most_calls: bool,
    search: str | None,
    full: bool,
    as_markdown: bool,
    as_json: bool,
    options: DatasetOptions,
) -> None:
    """One conversation as it went: who spoke, which tool was called with what, what came back. The first, if nothing else is asked for.

    \b
    callmark show train.jsonl --most-calls
    callmark show train.jsonl --search "#W0005862" --markdown
    """
    if sum((number is not None, row_id is not None, most_calls, search is not None)) > 1:
        raise BadInput("--row, --id, --most-calls and --search each pick a row, only one of them can be given")
    refuse_rejects_alone(options)
    refuse_same_file(file=file, rejects=options.rejects)
    from callmark.reporting.conversation_view import FOLD, contains_text, markdown, show_conversation
    from callmark.reporting.dataset_header import show_dataset_header

    with options.reader() as reader:
        dataset = reader.open(file)
        selected: Conversation | None = None
        rows = matches = 0
        for row in dataset:
            rows += 1
            if most_calls:
                selected = row if selected is None or _count_calls(row) > _count_calls(selected) else selected
            elif search is not None:
                if contains_text(row, search):
                    matches += 1
                    selected = selected or row
            elif (number is None or (row.place and row.place.number == number)) and (row_id is None or row.id == row_id):
                selected = row
                break
    if selected is None:
        if number is not None:
            raise BadInput(f"{file} has no row {number}: it has {pluralize(rows, 'row')}")
        criterion = f"the id {row_id!r}" if row_id is not None else f"{search!r} in it"
        raise BadInput(f"{file}: of {pluralize(rows, 'row')} none has {criterion}", "callmark stats shows what is in a file.")
    if as_json:
        click.echo(selected.original.row.rstrip())
    elif as_markdown:
        click.echo(markdown(selected, fold=None if full else FOLD), nl=False)
    else:
        from callmark.reporting.terminal import make_console

        console = make_console()
        show_dataset_header(
            console,
            dataset,
            1,
            str(selected.place).rpartition(", ")[2],
            f"id {selected.id}",
            f"{pluralize(len(selected.messages), 'message')}, {pluralize(_count_calls(selected), 'call')}",
        )
        console.print()
        show_conversation(console, selected, fold=None if full else FOLD)
    if search is not None and matches > 1:
        print_stderr(f"{matches:,} of {pluralize(rows, 'row')} contain {search!r}; this is the first.")


def _count_calls(row: Conversation) -> int:
    return len(row.expected) if isinstance(row, Case) else len(row.calls)
