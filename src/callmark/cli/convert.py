"""`callmark convert`: write a dataset in another format."""

import sys

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.wording import pluralize


@click.command(name="convert", short_help="Write a dataset in another format: OpenAI, ShareGPT, Anthropic, DeepFabric.")
@click.argument("file", metavar="IN")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the rows go; .gz and .zst are packed, - is standard output.")
@click.option("--to", "target", metavar="FORMAT", required=True, help="openai, sharegpt, anthropic, deepfabric or scenarios.")
@click.option("--json", "as_json", is_flag=True, help="The counts, for machines.")
@dataset_options(rejects="Keep the rows that cannot be read or written in FILE, each with its reason (with --skip-bad).")
def command(file: str, out: str, target: str, as_json: bool, options: DatasetOptions) -> None:
    """Write a dataset in another format. No call, id or result is lost; rows that are in that format already stay as they stand.

    \b
    callmark convert train.jsonl -o train.anthropic.jsonl --to anthropic
    callmark convert sharegpt.jsonl.zst -o train.jsonl --to openai --skip-bad --rejects rest.jsonl
    """
    from callmark.api.datasets import check_target_format, convert

    check_target_format(target)
    refuse_rejects_alone(options)
    refuse_same_file(file=file, out=out, rejects=options.rejects)
    with options.reader() as reader:
        dataset = reader.open(file)
        result = convert(dataset, to=target, out=out, rewrite=options.tools is not None, skip_bad=options.skip_bad, rejects=reader.rejects)
    if as_json:
        import msgspec

        from callmark.calls.strict import scrub

        counts = {"to": result.to, "rows": result.rows, "written": result.written, "unwritten": result.unwritten, **result.counts}
        click.echo(msgspec.json.encode({"file": dataset.name, "out": scrub(out), **dataset.counts(), **counts}), err=out == "-")
        return
    from callmark.reporting.dataset_header import show_dataset_header
    from callmark.reporting.safety import escape_controls
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    show_dataset_header(console, dataset, result.rows)
    parts = [pluralize(result.written, "row"), pluralize(result.counts["calls"], "call"), pluralize(result.counts["results"], "result")]
    written_to = escape_controls(out) if out != "-" else "standard output"
    console.print(f"{' · '.join(parts)} → {written_to}, {result.title}", style="bold", soft_wrap=True)
    for note in result.notes:
        console.print(f"  {escape_controls(note)}", style="dim", soft_wrap=True)
    if result.unwritten:
        kept = f", kept in {escape_controls(options.rejects)}" if options.rejects else " (--rejects FILE keeps them)"
        print_stderr(f"callmark: {pluralize(result.unwritten, 'row')} could not be written as {result.title}{kept}.")
