"""`callmark convert`: a dataset in another dialect."""

import sys
from typing import TYPE_CHECKING

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say, tracked
from callmark.errors import BadInput, BrokenRow
from callmark.wording import counted, ended

if TYPE_CHECKING:
    from callmark.formats import Dataset
    from callmark.formats.converting import Conversion


@click.command(name="convert", short_help="Write a dataset in another dialect: OpenAI, ShareGPT, Anthropic, DeepFabric.")
@click.argument("file", metavar="IN")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the rows go; .gz and .zst are packed, - is standard output.")
@click.option("--to", "target", metavar="DIALECT", required=True, help="openai, sharegpt, anthropic, deepfabric or scenarios.")
@click.option("--json", "as_json", is_flag=True, help="The counts, for machines.")
@reading_options(rejects="Keep the rows that cannot be read or written in FILE, each with its reason (with --skip-bad).")
def command(file: str, out: str, target: str, as_json: bool, reading: ReadingOptions) -> None:
    """Write a dataset in another dialect. No call, id or result is lost; rows that are in that dialect already stay as they stand.

    \b
    callmark convert train.jsonl -o train.anthropic.jsonl --to anthropic
    callmark convert sharegpt.jsonl.zst -o train.jsonl --to openai --skip-bad --rejects rest.jsonl
    """
    from callmark.formats import Output
    from callmark.formats.converting import Conversion
    from callmark.formats.detect import dialect_called

    dialect = dialect_called(target)
    if dialect.recorded:
        raise BadInput(
            f"{target} is read and not written: it is what another program records", "--to scenarios writes what is asked in it."
        )
    conversion = Conversion(dialect, anew=reading.tools is not None)
    refuse_rejects_alone(reading)
    refuse_same_file(file=file, out=out, rejects=reading.rejects)
    unwritten = 0
    with (
        reading.reader() as reader,
        reader.open(file) as dataset,
        Output(out) as output,
    ):
        for row in tracked(dataset):
            try:
                line = conversion.line(row, dataset.dialect)
            except BadInput as error:
                if not reading.skip_bad:
                    raise BrokenRow(ended(f"{row.place}: {error}"), error.hint) from None
                unwritten += 1
                reader.reject(row, [str(error)])
                continue
            if line is not None:
                output.line(line)
    _tell(conversion, dataset, out, output.lines, unwritten, reading.rejects, as_json=as_json)


def _tell(
    conversion: "Conversion", dataset: "Dataset", out: str, written: int, unwritten: int, rejects: str | None, *, as_json: bool
) -> None:
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        counts = {"to": conversion.target.name, "rows": dataset.good_rows, "written": written, "unwritten": unwritten}
        told = {"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts, **conversion.counts()}
        click.echo(msgspec.json.encode(told), err=out == "-")
        return
    from callmark.reporting.headline import show_head
    from callmark.reporting.safety import safe
    from callmark.reporting.terminal import console

    screen = console(sys.stderr if out == "-" else None)
    show_head(screen, dataset, dataset.good_rows)
    where = safe(out) if out != "-" else "standard output"
    parts = [counted(written, "row"), counted(conversion.calls, "call"), counted(conversion.results, "result")]
    screen.print(f"{' · '.join(parts)} → {where}, {conversion.target.title}", style="bold", soft_wrap=True)
    for note in conversion.notes():
        screen.print(f"  {safe(note)}", style="dim", soft_wrap=True)
    if unwritten:
        kept = f", kept in {safe(rejects)}" if rejects else " (--rejects FILE keeps them)"
        say(f"callmark: {counted(unwritten, 'row')} could not be written as {conversion.target.title}{kept}.")
