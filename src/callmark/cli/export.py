"""`callmark export`: write a standalone grader, a batch file, the results of a run, or its notebooks."""

from typing import TYPE_CHECKING

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.model_options import ModelOptions, model_options

if TYPE_CHECKING:
    from callmark.runs.export_results import TableFormat


@click.group(name="export", short_help="Write what others take: the grader, a batch of requests, a run's results or notebooks.")
def command() -> None:
    """Write what others take.

    \b
    callmark export grader -o grader.py
    callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl
    callmark export results runs/base --to csv
    callmark export notebook runs/base -o notebooks
    """


@command.command(short_help="A grader in one Python file, for services that run one; it needs nothing but Python.")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the program goes; - is standard output.")
def grader(out: str) -> None:
    """Write the evaluator `call` as one self-contained file: `grade(sample, item)`, nothing imported but the standard library. It gives
    the same score as callmark on every item; an item that uses $regex is refused by name.

    \b
    callmark export grader -o grader.py
    """
    from callmark.api.exporting import export_grader
    from callmark.reporting.safety import escape_controls

    lines = export_grader(out)
    if out != "-":
        click.echo(f"{lines:,} lines → {escape_controls(out)}   (grade(sample, item) -> float)")


@command.command(short_help="The requests of a run as the file that OpenAI's and Azure's batch APIs take.")
@click.argument("cases", metavar="EVAL")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the requests go; - is standard output.")
@click.option(
    "-m", "--model", metavar="SPEC", required=True, help="openai:NAME, azure:DEPLOYMENT, vllm:NAME, or a name from callmark.toml."
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="The first N decision points only.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@model_options()
@dataset_options()
def batch(
    cases: str, out: str, model: str, limit: int | None, config: str | None, model_options: ModelOptions, options: DatasetOptions
) -> None:
    """Write a request for each decision point, under the id of its case. What comes back is graded with
    `callmark grade EVAL --predictions OUTPUT --predictions ERRORS`.

    \b
    callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl
    """
    from callmark.api.exporting import export_batch
    from callmark.reporting.safety import escape_controls

    refuse_rejects_alone(options)
    refuse_same_file(file=cases, out=out, rejects=options.rejects)
    with options.reader() as reader:
        count = export_batch(reader.open(cases), model, out, limit=limit, settings=model_options.settings(), config=config)
    if out != "-":
        click.echo(f"{count:,} requests → {escape_controls(out)}")


@command.command(short_help="The results of a run as a table: CSV, Parquet or JSONL.")
@click.argument("run", metavar="RUN")
@click.option("--to", "form", type=click.Choice(["csv", "parquet", "jsonl"]), required=True, help="What the table is written as.")
@click.option("-o", "--out", metavar="OUT", help="Where it goes; - is standard output; beside the run if not given.")
def results(run: str, form: "TableFormat", out: str | None) -> None:
    """Write a row for each grade: the case, its trial, every metric, what was expected and made, its faults as words, what it took. In CSV,
    a text that a spreadsheet would take for a formula begins with an apostrophe.

    \b
    callmark export results runs/base --to csv
    callmark export results runs/base --to parquet -o base.parquet
    """
    from callmark.api.exporting import export, export_path
    from callmark.api.runs import open_run
    from callmark.reporting.safety import escape_controls
    from callmark.wording import pluralize

    opened = open_run(run)
    target = out or export_path(opened, form)
    count = export(opened, to=form, out=target)
    if target != "-":
        click.echo(f"{pluralize(count, 'row')} → {escape_controls(target)}")


@command.command(short_help="A run as two notebooks, executed: the evaluation, and what went wrong.")
@click.argument("run", metavar="RUN")
@click.option("-o", "--out", metavar="DIR", required=True, help="The folder they go into; it is made if there is none.")
def notebook(run: str, out: str) -> None:
    """Write evaluation.ipynb (how good is it?) and error_analysis.ipynb (what went wrong?), with tables and charts, which show without
    a network. They find the run as seen from DIR, so that both can be moved together, and read it again when they are run again.

    \b
    pip install 'callmark[notebook]'
    callmark export notebook runs/base -o notebooks
    """
    from callmark.api.exporting import export_notebooks
    from callmark.api.runs import open_run
    from callmark.reporting.safety import escape_controls

    opened = open_run(run)
    paths = " and ".join(escape_controls(str(path)) for path in export_notebooks(opened, out))
    click.echo(f"{escape_controls(opened.label)} → {paths}")
