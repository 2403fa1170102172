"""`callmark expand`: cut conversations into decision points."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import click

from callmark.cli.dataset_options import DATASET, OUT_FILE, DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.help import Command, argument, option
from callmark.types import Case
from callmark.wording import pluralize

if TYPE_CHECKING:
    from callmark.data.expand import Parallel


@click.command(
    "expand",
    cls=Command,
    examples=("callmark expand valid.jsonl -o eval.jsonl", "callmark expand valid.jsonl -o eval.jsonl --abstain --parallel together"),
)
@argument("file", metavar="FILE", text=DATASET)
@option(
    "--parallel",
    group="Cases",
    type=click.Choice(["apart", "together"]),
    default="apart",
    show_default=True,
    help="Several calls in one message: one case per call, with the earlier calls in its history, or one case that expects all of them.",
)
@option("--abstain", group="Cases", is_flag=True, help="Add a case for each assistant turn without a call; it expects no call.")
@option("-o", "--out", group="Output", metavar="FILE", required=True, help=OUT_FILE)
@option("--wrap", group="Output", type=click.Choice(["item"]), help="Nest each case under the key 'item'.")
@option("--json", "as_json", group="Output", is_flag=True, help="Print the counts as JSON.")
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
    """Cut conversations into decision points.

    Every tool call becomes a case: the messages before it, and the call that is expected next. The same input gives the same output.
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
        console.print("  No conversation calls a tool. --abstain adds cases that expect no call.", style="dim")


def _count(cases: Iterable[Case], counts: dict[str, int]) -> Iterator[Case]:
    """Yield the cases, and count what the summary reports."""
    for case in cases:
        counts["abstentions"] += not case.expected
        counts["end_in_assistant"] += bool(case.messages) and case.messages[-1].role == "assistant"
        counts["malformed"] += any([call.malformed for call in case.expected])  # noqa: C419 - faster than a generator
        yield case


_NOTES = {
    "abstentions": "expect no call",
    "end_in_assistant": "end in an assistant message: text before a call in the same turn stays in the history",
    "malformed": "expect a malformed call: callmark lint lists them",
}
