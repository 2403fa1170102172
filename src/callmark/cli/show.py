"""`callmark show`: print one conversation, or one graded case of a run."""

import click

from callmark.cli.dataset_options import DATASET, DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.cli.help import Command, argument, option
from callmark.cli.numbers import POSITIVE_INTEGER
from callmark.errors import BadInput
from callmark.runs.store import is_run
from callmark.types import Case, Conversation, Place
from callmark.wording import pluralize


@click.command(
    "show",
    cls=Command,
    examples=(
        "callmark show train.jsonl --row 17",
        'callmark show train.jsonl --search "#W0005862" --markdown',
        "callmark show runs/base --case 12:8",
    ),
)
@argument("file", metavar="FILE", text=f"{DATASET} Or a run folder, with --case.")
@option("--row", "number", group="Row", type=POSITIVE_INTEGER, metavar="N", help="Show the row on line N, or item N of a JSON array.")
@option("--id", "row_id", group="Row", metavar="ID", help="Show the row with this ID.")
@option("--most-calls", group="Row", is_flag=True, help="Show the row with the most calls.")
@option("--search", group="Row", metavar="TEXT", help="Show the first row that contains TEXT, ignoring case.")
@option("--case", "case_id", group="Row", metavar="ID", help="For a run, show the graded case with this ID.")
@option("--trial", group="Row", type=POSITIVE_INTEGER, metavar="N", help="For a run, show trial N of the case; the first by default.")
@option("--full", group="Output", is_flag=True, help="Do not shorten long text.")
@option("--markdown", "as_markdown", group="Output", is_flag=True, help="Print Markdown.")
@option("--json", "as_json", group="Output", is_flag=True, help="Print the row as it is in the file.")
@dataset_options()
def command(
    file: str,
    number: int | None,
    row_id: str | None,
    most_calls: bool,
    search: str | None,
    case_id: str | None,
    trial: int | None,
    full: bool,
    as_markdown: bool,
    as_json: bool,
    options: DatasetOptions,
) -> None:
    """Show one row as callmark parses it.

    Shows its format, messages, tool calls and results, expected calls and tools; then what is malformed and why, and which fields of the
    row are not used. Shows the first row of the file unless an option selects another. Long text is shortened.

    For a run, shows a graded case: the conversation, the expected and the actual calls, and each fault.
    """
    if case_id is not None or is_run(file):
        if number is not None or row_id is not None or most_calls or search is not None or as_markdown or options.format_name:
            raise BadInput(f"only --case, --trial, --full and --json can be used with {file}, which is a run")
        _show_case(file, case_id, trial, full=full, as_json=as_json)
        return
    if trial is not None:
        raise BadInput("--trial can be used only with --case")
    if sum((number is not None, row_id is not None, most_calls, search is not None)) > 1:
        raise BadInput("only one of --row, --id, --most-calls and --search can be given: each selects a row")
    refuse_rejects_alone(options)
    refuse_same_file(file=file, rejects=options.rejects)
    from callmark.formats.unused_fields import unused_fields
    from callmark.reporting.conversation_view import FOLD, contains_text, markdown, show_conversation, show_understanding
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
            raise BadInput(f"{file}: no row {number}; the file has {pluralize(rows, 'row')}")
        criterion = f"has the ID {row_id!r}" if row_id is not None else f"contains {search!r}"
        raise BadInput(f"{file}: no row {criterion} ({pluralize(rows, 'row')} read)", "Use --row N to select a row by its line number.")
    place = selected.place or Place("", 1)

    def reread(row: bytes) -> Conversation:
        return dataset.reread(row, place)

    if as_json:
        click.echo(selected.original.row.rstrip())
    elif as_markdown:
        unused = unused_fields(selected.original.row, reread)
        click.echo(markdown(selected, unused, case=dataset.case_of(selected), fold=None if full else FOLD), nl=False)
    else:
        from callmark.reporting.terminal import make_console

        console = make_console()
        show_dataset_header(
            console,
            dataset,
            1,
            str(selected.place).rpartition(", ")[2],
            f"ID {selected.id}",
            f"{pluralize(len(selected.messages), 'message')}, {pluralize(_count_calls(selected), 'call')}",
        )
        console.print()
        show_conversation(console, selected, case=dataset.case_of(selected), fold=None if full else FOLD)
        show_understanding(console, selected, unused_fields(selected.original.row, reread))
    if search is not None and matches > 1:
        print_stderr(f"{matches:,} of {pluralize(rows, 'row')} contain {search!r}; this is the first one.")


def _show_case(run: str, case_id: str | None, trial: int | None, *, full: bool, as_json: bool) -> None:
    if case_id is None:
        raise BadInput(f"{run}: this is a run, but no case ID was given", "Pass --case ID, or pass a dataset.")
    from callmark.api.graded_cases import graded_case

    found = graded_case(run, case_id, trial=(trial or 1) - 1)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(found.to_json()))
        return
    from callmark.reporting.case_view import show_case
    from callmark.reporting.conversation_view import FOLD
    from callmark.reporting.terminal import make_console

    fold = None if full else FOLD
    show_case(
        make_console(), found.grade, found.case, found.prediction, found.messages, found.labels, found.passed, found.problem, fold=fold
    )


def _count_calls(row: Conversation) -> int:
    return len(row.expected) if isinstance(row, Case) else len(row.calls)
