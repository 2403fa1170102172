"""`callmark export`: write a standalone grader, a batch file, the results or labeled cases of a run, or its notebooks."""

from typing import TYPE_CHECKING

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.help import Command, Group, argument, option
from callmark.cli.model_options import ModelOptions, model_options
from callmark.cli.numbers import POSITIVE_INTEGER

if TYPE_CHECKING:
    from callmark.runs.export_results import TableFormat


@click.group(
    "export",
    cls=Group,
    titles={"Commands": ("results", "cases", "notebook", "batch", "grader")},
    examples=("callmark export results runs/base --to csv", "callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl"),
)
def command() -> None:
    """Export results, labeled cases, notebooks, batch requests or a grader."""


@command.command(cls=Command, examples=("callmark export grader -o grader.py",))
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
def grader(out: str) -> None:
    """Write a standalone grader as one Python file.

    The file defines grade(sample, item) -> float, for services that run a Python grader. It uses only the standard library, and gives the
    same score as the call evaluator. An item that uses $regex raises an error.
    """
    from callmark.api.exporting import export_grader
    from callmark.reporting.safety import escape_breaks

    lines = export_grader(out)
    if out != "-":
        click.echo(f"{lines:,} lines → {escape_breaks(out)}   (grade(sample, item) -> float)")


@command.command(cls=Command, examples=("callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl",))
@argument("cases", metavar="CASES", text="Decision points (from callmark expand) or conversations, or - for standard input.")
@option(
    "-m",
    "--model",
    group="Model",
    metavar="MODEL",
    required=True,
    help="openai:NAME, azure:DEPLOYMENT, vllm:NAME, or a name from callmark.toml.",
)
@model_options(parse=False)
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
@option("--limit", group="Input", metavar="N", type=POSITIVE_INTEGER, help="Use only the first N decision points.")
@dataset_options()
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def batch(
    cases: str, out: str, model: str, limit: int | None, config: str | None, model_options: ModelOptions, options: DatasetOptions
) -> None:
    """Write a request file for the batch API of OpenAI or Azure.

    Each decision point becomes one request, with the ID of its case. To grade the results, run callmark grade CASES --predictions OUTPUT
    --predictions ERRORS.
    """
    from callmark.api.exporting import export_batch
    from callmark.reporting.safety import escape_breaks

    refuse_rejects_alone(options)
    refuse_same_file(file=cases, out=out, rejects=options.rejects)
    with options.reader() as reader:
        count = export_batch(reader.open(cases), model, out, limit=limit, settings=model_options.settings(), config=config)
    if out != "-":
        click.echo(f"{count:,} requests → {escape_breaks(out)}")


@command.command(
    cls=Command, examples=("callmark export results runs/base --to csv", "callmark export results runs/base --to parquet -o base.parquet")
)
@argument("run", metavar="RUN", text="Run folder.")
@option("--to", "form", group="Output", type=click.Choice(["csv", "parquet", "jsonl"]), required=True, help="File format.")
@option("-o", "--out", group="Output", metavar="FILE", show_default="next to the run folder", help="Output file, or - for standard output.")
def results(run: str, form: "TableFormat", out: str | None) -> None:
    """Write the results of a run as a table: CSV, Parquet or JSONL.

    One row per prediction: case, trial, every metric, expected and actual tools, faults, and usage. In CSV, text that a
    spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    from callmark.api.exporting import export, export_path
    from callmark.api.runs import open_run
    from callmark.reporting.safety import escape_breaks
    from callmark.wording import pluralize

    opened = open_run(run)
    target = out or export_path(opened, form)
    count = export(opened, to=form, out=target)
    if target != "-":
        click.echo(f"{pluralize(count, 'row')} → {escape_breaks(target)}")


@command.command(cls=Command, examples=("callmark export notebook runs/base -o notebooks",))
@argument("run", metavar="RUN", text="Run folder.")
@option("-o", "--out", group="Output", metavar="DIR", required=True, help="Output folder; created if it does not exist.")
def notebook(run: str, out: str) -> None:
    """Write two executed notebooks: evaluation and error analysis.

    Writes evaluation.ipynb and error_analysis.ipynb, with tables and charts that work offline. They refer to the run by its path
    relative to DIR, and read it again when they are run. Needs callmark[notebook].
    """
    from callmark.api.exporting import export_notebooks
    from callmark.api.runs import open_run
    from callmark.reporting.safety import escape_breaks

    opened = open_run(run)
    paths = " and ".join(escape_breaks(str(path)) for path in export_notebooks(opened, out))
    click.echo(f"{escape_breaks(opened.label)} → {paths}")


@command.command(
    cls=Command,
    examples=(
        "callmark export cases runs/base --label model -o regressions.jsonl",
        "callmark export cases runs/base --label expectation -o to-correct.jsonl",
    ),
)
@argument("run", metavar="RUN", text="Run folder.")
@option("--label", group="Input", metavar="LABEL", required=True, help="Label of the cases: model, expectation, unclear, or your own.")
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
def cases(run: str, label: str, out: str) -> None:
    """Write the cases that were given a label in callmark view.

    Cases with the label model are a regression set; those with the label expectation have to be corrected. Every command that takes cases
    reads the file.
    """
    from callmark.api.exporting import export_cases
    from callmark.reporting.safety import escape_breaks
    from callmark.wording import pluralize

    count = export_cases(run, label=label, out=out)
    if out != "-":
        click.echo(f"{pluralize(count, 'case')} with the label {escape_breaks(label)} → {escape_breaks(out)}")
