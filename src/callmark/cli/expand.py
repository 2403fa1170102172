"""`callmark expand`: cut conversations into decision points."""

import sys
from typing import cast

import click

from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.wording import counted


@click.command(name="expand", short_help="Cut conversations into decision points: given the talk so far, which call comes next?")
@click.argument("file", metavar="FILE")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the decision points go; - is standard output.")
@click.option(
    "--parallel",
    type=click.Choice(["apart", "together"]),
    default="apart",
    show_default=True,
    help="Several calls in one message: a record each, with the earlier ones in its history, or one that expects them all.",
)
@click.option("--abstain", is_flag=True, help="Add a record for each assistant turn that rightly calls nothing.")
@click.option("--wrap", type=click.Choice(["item"]), help="Nest each record under 'item'.")
@click.option("--json", "as_json", is_flag=True, help="The counts, for machines.")
@reading_options()
def command(
    file: str,
    out: str,
    parallel: str,
    abstain: bool,
    wrap: str | None,
    as_json: bool,
    reading: ReadingOptions,
) -> None:
    """Make every tool call its own test: the messages before it, and the call that should come next. The same input, the same bytes.

    \b
    callmark expand valid.jsonl -o eval.jsonl
    callmark expand valid.jsonl -o eval.jsonl --abstain --parallel together --wrap item
    """
    from callmark.calls.strict import scrub
    from callmark.data.expand import Parallel, expand
    from callmark.formats import Output
    from callmark.formats.openai import write

    counts = {"conversations": 0, "decision_points": 0, "abstentions": 0, "end_in_assistant": 0, "malformed": 0}
    refuse_rejects_alone(reading)
    refuse_same_file(file=file, out=out, rejects=reading.rejects)
    with (
        reading.reader() as reader,
        reader.open(file) as dataset,
        Output(out) as output,
    ):
        for case in expand(tracked(dataset), parallel=cast("Parallel", parallel), abstain=abstain):
            line = write(case)
            output.line(b'{"item":' + line + b"}" if wrap else line)
            counts["abstentions"] += not case.expected
            counts["end_in_assistant"] += bool(case.messages) and case.messages[-1].role == "assistant"
            counts["malformed"] += any([call.malformed for call in case.expected])  # noqa: C419 - faster than a generator
    counts["conversations"], counts["decision_points"] = dataset.good_rows, output.lines
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts}), err=out == "-")
        return
    from callmark.reporting.headline import show_head
    from callmark.reporting.safety import safe
    from callmark.reporting.terminal import console

    screen = console(sys.stderr if out == "-" else None)
    show_head(screen, dataset, counts["conversations"])
    screen.print(
        f"{counted(output.lines, 'decision point')} → {safe(out) if out != '-' else 'standard output'}", style="bold", soft_wrap=True
    )
    for key, sentence in _NOTES.items():
        if counts[key]:
            screen.print(f"  {counts[key]:,} {sentence}", style="dim")
    if not output.lines:
        screen.print("  no conversation in it calls a tool; --abstain makes records of turns that call nothing", style="dim")


_NOTES = {
    "abstentions": "expect no call",
    "end_in_assistant": "end in an assistant message: what was said in the same turn stays in the history",
    "malformed": "expect a malformed call: callmark lint says which",
}
