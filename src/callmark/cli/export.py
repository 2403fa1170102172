"""`callmark export`: write a standalone grader, a batch file, results, labeled cases, notebooks or events of a run, or training data."""

from typing import TYPE_CHECKING

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.help import Command, Group, argument, option
from callmark.cli.model_options import ModelOptions, model_options
from callmark.cli.numbers import POSITIVE_INTEGER, Integer
from callmark.cli.run_folders import runs_argument

if TYPE_CHECKING:
    from callmark.runs.export_results import TableFormat
    from callmark.training_data.export import TrainingKind
    from callmark.training_data.targets import TrainingFormat

_KIND_HELP = "Training data: correct calls (sft), preference pairs (dpo), or a set of test cases that failed (regression)."


@click.group(
    "export",
    cls=Group,
    titles={"Commands": ("results", "cases", "notebook", "otel", "training", "batch", "grader")},
    examples=("callmark export results runs/base --to csv", "callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl"),
)
def command() -> None:
    """Export results, labeled cases, notebooks, OpenTelemetry events, training data, batch requests or a grader."""


@command.command(cls=Command, examples=("callmark export grader -o grader.py", "callmark export grader --json -o grader.json"))
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
@option("--json", "as_json", group="Output", is_flag=True, help="Write the JSON of a Python grader for the APIs of OpenAI and Azure.")
def grader(out: str, as_json: bool) -> None:
    """Write a standalone grader as one Python file.

    The file defines grade(sample, item) -> float, for services that run a Python grader. It uses only the standard library, and gives the
    same score as the call evaluator. An item that uses $regex raises an error.
    """
    from callmark.api.exporting import export_grader
    from callmark.reporting.safety import escape_breaks

    lines = export_grader(out, as_json=as_json)
    if out != "-":
        what = "Python grader, as JSON" if as_json else f"{lines:,} lines"
        click.echo(f"{what} → {escape_breaks(out)}   (grade(sample, item) -> float)")


@command.command(
    cls=Command,
    examples=(
        "callmark export training runs/base --as sft --test eval.jsonl -o sft.jsonl",
        "callmark export training runs/base --as dpo --test eval.jsonl -o dpo.jsonl",
        "callmark export training runs/base --as regression -o failed.jsonl",
    ),
)
@runs_argument("Run folders, on the same cases.", required=True)
@option("--as", "kind", group="Output", type=click.Choice(["sft", "dpo", "regression"]), required=True, help=_KIND_HELP)
@option(
    "--to",
    "form",
    group="Output",
    type=click.Choice(["openai", "trl", "sharegpt"]),
    default="openai",
    show_default=True,
    help="Format of sft and dpo rows.",
)
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
@option(
    "--test",
    group="Test data",
    metavar="FILE",
    help="Evaluation file. Rows that are in it, nearly duplicate one of its cases, or come from one of its conversations are left out.",
)
@option(
    "--allow-test",
    group="Test data",
    is_flag=True,
    help="Allow training data from the cases of the runs; do not use them as a test set afterward.",
)
@option("--limit", group="Rows", metavar="N", type=POSITIVE_INTEGER, help="At most N rows, balanced over tools and kinds of faults.")
@option("--seed", group="Rows", metavar="N", type=Integer(), default=7, show_default=True, help="Random seed for --limit.")
@option("--json", "as_json", group="Output", is_flag=True, help="Print the counts as JSON.")
def training(
    runs: tuple[str, ...],
    kind: "TrainingKind",
    form: "TrainingFormat",
    out: str,
    test: str | None,
    allow_test: bool,
    limit: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write training data from the failures of runs.

    sft has the correct call at each failed decision point. dpo has preference pairs: the expected call paired with the model's output
    and, for runs with several trials, the best attempt paired with the worst. regression has the cases that failed in any run or trial, as
    test cases.

    For sft and dpo, near-duplicates are removed, and runs on the evaluation file itself are rejected. A regression set is for testing, so
    --test cannot be used with it.
    """
    from callmark.api.exporting import export_training

    refuse_same_file(file=test, out=out)
    report = export_training(runs, out, kind=kind, to=form, test=test, allow_test=allow_test, limit=limit, seed=seed)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"out": out, **msgspec.to_builtins(report)}), err=out == "-")
        return
    import sys

    from callmark.reporting.terminal import make_console
    from callmark.reporting.training_view import show_training

    show_training(make_console(sys.stderr if out == "-" else None), report, out)


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


@command.command(cls=Command, examples=("callmark export otel runs/base -o base.otlp.jsonl",))
@argument("run", metavar="RUN", text="Run folder.")
@option("-o", "--out", group="Output", metavar="FILE", required=True, help="Output file, or - for standard output.")
def otel(run: str, out: str) -> None:
    """Write the grades of a run as OpenTelemetry events (OTLP JSON).

    One gen_ai.evaluation.result event per prediction and metric, in requests that the collector's file receiver reads. If a case was
    cut from a trace, its events carry the trace ID or conversation ID.
    """
    from callmark.api.runs import open_run
    from callmark.api.telemetry import export_otel
    from callmark.reporting.safety import escape_breaks
    from callmark.runs.evaluation_events import evaluation_events
    from callmark.wording import pluralize

    opened = open_run(run)
    export_otel(opened, out)
    if out != "-":
        events = sum(1 for _ in evaluation_events(opened))
        click.echo(f"{pluralize(events, 'event')} → {escape_breaks(out)}")


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

    Cases with the label model are a regression set; for those labeled expectation, the expected calls need correcting. Every command
    that takes cases reads the file.
    """
    from callmark.api.exporting import export_cases
    from callmark.reporting.safety import escape_breaks
    from callmark.wording import pluralize

    count = export_cases(run, label=label, out=out)
    if out != "-":
        click.echo(f"{pluralize(count, 'case')} with the label {escape_breaks(label)} → {escape_breaks(out)}")
