"""`callmark convert`: convert a dataset to another format."""

import sys

import click

from callmark.cli.dataset_options import (
    DATASET,
    OUT_FILE,
    DatasetOptions,
    dataset_options,
    print_stderr,
    refuse_rejects_alone,
    refuse_same_file,
)
from callmark.cli.help import Command, argument, option
from callmark.wording import pluralize


@click.command(
    "convert",
    cls=Command,
    examples=(
        "callmark convert train.jsonl -o train.anthropic.jsonl --to anthropic",
        "callmark convert sharegpt.jsonl.zst -o train.jsonl --to openai --skip-bad",
        "callmark convert traces.jsonl -o drafts.jsonl --to scenarios",
    ),
)
@argument("file", metavar="FILE", text=DATASET)
@option(
    "--to",
    "target",
    group="Output",
    metavar="FORMAT",
    completes="TARGET",
    required=True,
    help="Output format: openai, sharegpt, anthropic, deepfabric or scenarios.",
)
@option(
    "-o",
    "--out",
    group="Output",
    metavar="FILE",
    required=True,
    help=OUT_FILE,
)
@option("--json", "as_json", group="Output", is_flag=True, help="Print the counts as JSON.")
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file; [tools] read_only is used to draft scenarios.")
@dataset_options(rejects="Save rows that cannot be read or converted to FILE, with the reason for each (needs --skip-bad).")
def command(file: str, out: str, target: str, as_json: bool, config: str | None, options: DatasetOptions) -> None:
    """Convert a dataset to another format.

    Every call, call ID and tool result is preserved. Fields that the target format does not support are dropped and reported. Rows that are
    already in the target format are copied unchanged.

    With --to scenarios, each conversation becomes a draft scenario, with the user's messages as instructions and the state-changing
    calls as expected calls.
    """
    from callmark.api.datasets import check_target_format, convert

    check_target_format(target)
    refuse_rejects_alone(options)
    refuse_same_file(file=file, out=out, rejects=options.rejects)
    with options.reader() as reader:
        dataset = reader.open(file)
        rewrite = options.tools is not None
        result = convert(dataset, to=target, out=out, rewrite=rewrite, skip_bad=options.skip_bad, rejects=reader.rejects, config=config)
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        counts = {"to": result.to, "rows": result.rows, "written": result.written, "unwritten": result.unwritten, **result.counts}
        click.echo(msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts}), err=out == "-")
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.safety import escape_breaks
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, result.rows)
    parts = [pluralize(result.written, "row"), pluralize(result.counts["calls"], "call"), pluralize(result.counts["results"], "result")]
    written_to = escape_breaks(out) if out != "-" else "standard output"
    console.print(f"{' · '.join(parts)} → {written_to}, {result.title}", style="bold", soft_wrap=True)
    for note in result.notes:
        console.print(f"  {escape_breaks(note)}", style="dim", soft_wrap=True)
    if result.unwritten:
        was = "was" if result.unwritten == 1 else "were"
        saved = f"saved to {escape_breaks(options.rejects)}" if options.rejects else "--rejects FILE saves the skipped rows"
        print_stderr(
            f"callmark: {pluralize(result.unwritten, 'row')} could not be converted to {result.title} and {was} skipped ({saved})."
        )
