"""`callmark expand`: cut conversations into decision points."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.types import Case
from callmark.wording import pluralize

if TYPE_CHECKING:
    from callmark.data.expand import Parallel


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
@dataset_options()
def command(
    file: str,
    out: str,
    parallel: "Parallel",
    abstain: bool,
    wrap: Literal["item"] | None,
    as_json: bool,
    options: DatasetOptions,
) -> None:
    """Make every tool call its own test: the messages before it, and the call that should come next. The same input, the same bytes.

    \b
    callmark expand valid.jsonl -o eval.jsonl
    callmark expand valid.jsonl -o eval.jsonl --abstain --parallel together --wrap item
    """
    from callmark.api.datasets import expand, write

    refuse_rejects_alone(options)
    refuse_same_file(file=file, out=out, rejects=options.rejects)
    counts = {"conversations": 0, "decision_points": 0, "abstentions": 0, "end_in_assistant": 0, "malformed": 0}
    with options.reader() as reader, reader.open(file) as dataset:
        counts["decision_points"] = write(_count(expand(dataset, parallel=parallel, abstain=abstain), counts), out, wrap=wrap)
    counts["conversations"] = dataset.good_rows
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        click.echo(msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts}), err=out == "-")
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.safety import escape_controls
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, counts["conversations"])
    target = escape_controls(out) if out != "-" else "standard output"
    console.print(f"{pluralize(counts['decision_points'], 'decision point')} → {target}", style="bold", soft_wrap=True)
    for key, note in _NOTES.items():
        if counts[key]:
            console.print(f"  {counts[key]:,} {note}", style="dim")
    if not counts["decision_points"]:
        console.print("  no conversation in it calls a tool; --abstain makes records of turns that call nothing", style="dim")


def _count(cases: Iterable[Case], counts: dict[str, int]) -> Iterator[Case]:
    """Yield the cases and count what the summary says of them."""
    for case in cases:
        counts["abstentions"] += not case.expected
        counts["end_in_assistant"] += bool(case.messages) and case.messages[-1].role == "assistant"
        counts["malformed"] += any([call.malformed for call in case.expected])  # noqa: C419 - faster than a generator
        yield case


_NOTES = {
    "abstentions": "expect no call",
    "end_in_assistant": "end in an assistant message: what was said in the same turn stays in the history",
    "malformed": "expect a malformed call: callmark lint says which",
}
