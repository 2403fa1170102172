"""`callmark expand`: cut conversations into decision points."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

import click

from callmark.cli.dataset_options import (
    DATASET,
    OUT_FILE,
    DatasetOptions,
    allow_no_calls_option,
    dataset_options,
    patch_option,
    print_warning,
    refuse_rejects_alone,
    refuse_same_file,
)
from callmark.cli.help import Command, argument, option
from callmark.errors import BadInput
from callmark.wording import pluralize

if TYPE_CHECKING:
    from callmark.calls.history import Histories
    from callmark.data.expand import Parallel
    from callmark.formats import Dataset
    from callmark.types import Case


@click.command(
    "expand",
    cls=Command,
    examples=(
        "callmark expand valid.jsonl -o eval.jsonl",
        "callmark expand valid.jsonl -o eval.jsonl --abstain --parallel together",
        "callmark expand long.jsonl -o eval.jsonl --by-reference",
    ),
)
@argument("file", metavar="FILE", text=DATASET)
@option(
    "--parallel",
    group="Cases",
    type=click.Choice(["separate", "together"]),
    default="separate",
    show_default=True,
    help="If a message has several calls: one case per call, with the earlier calls in its history, or one case that expects all of them.",
)
@option("--abstain", group="Cases", is_flag=True, help="Also write a case for each assistant turn without a call; it expects no call.")
@allow_no_calls_option()
@patch_option()
@option("-o", "--out", group="Output", metavar="FILE", required=True, help=OUT_FILE)
@option("--wrap", group="Output", type=click.Choice(["item"]), help="Nest each case under the key 'item'.")
@option("--by-reference", group="Output", is_flag=True, help="Write each conversation once, and cases that refer to it.")
@option("--inline", group="Output", is_flag=True, help="Convert a FILE written with --by-reference back into self-contained cases.")
@option("--yes", group="Output", is_flag=True, help="Write the output even if it is more than 20 times the size of FILE.")
@option("--json", "as_json", group="Output", is_flag=True, help="Print the counts as JSON.")
@dataset_options()
def command(
    file: str,
    out: str,
    parallel: "Parallel",
    abstain: bool,
    allow_no_calls: bool,
    patch: str | None,
    wrap: Literal["item"] | None,
    by_reference: bool,
    inline: bool,
    yes: bool,
    as_json: bool,
    options: DatasetOptions,
) -> None:
    """Cut conversations into decision points.

    Every tool call becomes a test case: the messages before it are the input, and the call is the expected output. The same input gives
    the same output file.
    """
    from callmark.api.datasets import write
    from callmark.api.expanding import PatchedPoints, inline_sizes, points, readable_twice, refuse_growth
    from callmark.calls.strict import scrub

    refuse_rejects_alone(options)
    refuse_same_file(file=file, out=out, rejects=options.rejects)
    if patch:
        refuse_same_file(file=patch, out=out, rejects=options.rejects)
    _refuse_conflicts(by_reference=by_reference, inline=inline, wrap=wrap, cuts=abstain or parallel != "separate")
    counts = {"conversations": 0, "decision_points": 0, "abstentions": 0, "end_in_assistant": 0, "malformed": 0}
    with ExitStack() as stack:
        checked = not (yes or by_reference)
        path = stack.enter_context(readable_twice(file)) if checked else file
        reader = stack.enter_context(options.reader())
        name = "standard input" if file == "-" else scrub(file)
        dataset = stack.enter_context(reader.open(path, name=name))
        _refuse_wrong_format(dataset, inline=inline)
        if checked:
            sizes = inline_sizes(dataset, parallel=parallel, abstain=abstain, wrap=wrap)
            refuse_growth(sizes, dataset.name, by_reference=inline)
        found = _count(points(dataset, parallel=parallel, abstain=abstain), counts)
        corrections = PatchedPoints(patch, by_reference=by_reference, warn=print_warning) if patch else None
        complete: Iterable[Case] = (
            corrections.apply((point, histories.complete) for point, histories in found)
            if corrections
            else (point if by_reference else histories.complete(point) for point, histories in found)
        )
        cases = complete if allow_no_calls else _refuse_without_calls(complete, dataset)
        counts["decision_points"] = write(cases, out, wrap=wrap, by_reference=by_reference)
    counts["conversations"] = counts["conversations"] if inline else dataset.good_rows
    if corrections:
        counts["corrected"] = corrections.count
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts}), err=out == "-")
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.safety import escape_breaks
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, dataset.good_rows)
    target = escape_breaks(out) if out != "-" else "standard output"
    console.print(f"{pluralize(counts['decision_points'], 'decision point')} → {target}", style="bold", soft_wrap=True)
    for key, note in _NOTES.items():
        if counts.get(key):
            console.print(f"  {counts[key]:,} {note[counts[key] > 1]}", style="dim")
    if not counts["decision_points"]:
        console.print(f"  {_NO_TURNS if abstain else _NO_CALLS}", style="dim")


def _refuse_conflicts(*, by_reference: bool, inline: bool, wrap: str | None, cuts: bool) -> None:
    if by_reference and inline:
        raise BadInput("--by-reference and --inline cannot be combined")
    if by_reference and wrap:
        raise BadInput("--wrap cannot be used with --by-reference: only callmark reads cases by reference")
    if inline and cuts:
        raise BadInput("--parallel and --abstain cannot be used with --inline: the cases are already cut")


def _refuse_without_calls(cases: "Iterable[Case]", dataset: "Dataset") -> "Iterator[Case]":
    """Yield the cases, and raise `BadInput` at their end if no call was found: then nothing is written."""
    from callmark.formats.dataset import no_calls_error

    yield from cases
    if not dataset.has_calls:
        raise no_calls_error(dataset.name, dataset.good_rows, dataset.row_kind, dataset.format.title)


def _refuse_wrong_format(dataset: "Dataset", *, inline: bool) -> None:
    is_by_reference = dataset.format.define is not None
    if inline and not is_by_reference:
        raise BadInput(f"--inline: expected a file that was written with --by-reference, got {dataset.name} ({dataset.format.title})")
    if is_by_reference and not inline:
        raise BadInput(
            f"{dataset.name}: expected conversations to cut into decision points, got {dataset.format.title}",
            "Pass --inline to write them with their messages.",
        )


def _count(found: "Iterable[tuple[Case, Histories]]", counts: dict[str, int]) -> "Iterator[tuple[Case, Histories]]":
    """Yield the decision points, and count what the summary reports."""
    last: object = None
    for point, histories in found:
        assert point.source is not None
        counts["conversations"] += histories is not last
        counts["abstentions"] += not point.expected
        counts["end_in_assistant"] += histories.ends_in_assistant(point.source.message, point.source.call)
        counts["malformed"] += any([call.malformed for call in point.expected])  # noqa: C419 - faster than a generator
        last = histories
        yield point, histories


_NO_CALLS = "No conversation calls a tool. --abstain adds cases that expect no call."
_NO_TURNS = "No conversation has an assistant turn to test."
_NOTES = {  # for one decision point, for several
    "corrected": ("has corrected expected calls", "have corrected expected calls"),
    "abstentions": ("expects no call", "expect no call"),
    "end_in_assistant": (
        "prompt ends with assistant text from the same turn as the expected call",
        "prompts end with assistant text from the same turn as the expected call",
    ),
    "malformed": ("expects a malformed call (callmark lint lists it)", "expect a malformed call (callmark lint lists them)"),
}
