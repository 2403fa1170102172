"""`callmark run`: run models on every decision point."""

from typing import TYPE_CHECKING, Any

import click

from callmark.cli.dataset_options import (
    DatasetOptions,
    allow_no_calls_option,
    dataset_options,
    print_warning,
    refuse_rejects_alone,
    refuse_same_file,
)
from callmark.cli.exit_status import WITH_ERRORS, set_status
from callmark.cli.help import Command, argument, option
from callmark.cli.model_options import ModelOptions, env_option, model_options, tag_option
from callmark.cli.numbers import NATURAL_NUMBER, POSITIVE_INTEGER, POSITIVE_NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from callmark.runs.grade import GradeOptions
    from callmark.runs.run import Run


def _list_models(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    """Print the supported and the configured models instead of running anything."""
    if not given or context.resilient_parsing:
        return
    from callmark.config import read_config
    from callmark.models.keys import Keys
    from callmark.models.specs import list_providers, read_spec
    from callmark.reporting.models_view import show_providers
    from callmark.reporting.terminal import make_console

    keys = Keys.here()
    named = {name: read_spec(settings.model, keys).shown for name, settings in read_config().models.items()}
    show_providers(make_console(), list_providers(keys), named)
    context.exit()


@click.command(
    "run",
    cls=Command,
    exit_status={0: "Finished.", 2: "Invalid input.", 3: "Finished with errors, or stopped by a limit.", 130: "Interrupted."},
    examples=(
        "callmark run eval.jsonl --model openai:gpt-4.1-mini --limit 50",
        "callmark run eval.jsonl --model vllm:tuned@http://localhost:8000 --trials 3",
        "callmark run runs/base --resume",
    ),
)
@argument(
    "cases",
    metavar="CASES",
    text="Decision points (from callmark expand) or conversations (cut into decision points), or - for standard input. "
    "With --resume, a run folder.",
)
@option("-m", "--model", "models", group="Model", multiple=True, metavar="MODEL", help="Model, or a name from callmark.toml. Repeatable.")
@option(
    "--list-models",
    group="Model",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_models,
    help="List the supported and configured models, with the keys that are missing.",
)
@model_options()
@env_option("Model", "cmd:COMMAND")
@allow_no_calls_option()
@option("--limit", group="Run", metavar="N", type=POSITIVE_INTEGER, help="Use only the first N decision points.")
@option("--trials", group="Run", metavar="K", type=POSITIVE_INTEGER, show_default="1", help="Run every case K times.")
@option("--resume", group="Run", is_flag=True, help="Resume an interrupted run: request missing predictions and retry errors.")
@option("--no-cache", group="Run", is_flag=True, help="Ignore the response cache.")
@option(
    "--concurrency",
    group="Limits",
    metavar="N",
    type=POSITIVE_INTEGER,
    show_default="16 for hosted APIs and servers, 10 for python: and chatbot:, 8 for cmd:, 4 for ollama:, 1 for local:",
    help="Maximum concurrent requests; reduced while a server is overloaded.",
)
@option("--rpm", group="Limits", metavar="N", type=POSITIVE_NUMBER, help="Maximum requests per minute.")
@option("--timeout", group="Limits", metavar="SECONDS", type=POSITIVE_NUMBER, show_default="120", help="Timeout for one request.")
@option(
    "--retries",
    group="Limits",
    metavar="N",
    type=NATURAL_NUMBER,
    show_default="5",
    help="Maximum retries after a failed request (timeout, HTTP 429 or 5xx, closed connection, invalid body).",
)
@option(
    "--max-cost",
    group="Limits",
    metavar="AMOUNT",
    type=POSITIVE_NUMBER,
    help="Stop at a cost of AMOUNT (needs prices in callmark.toml).",
)
@option("--max-tokens-total", group="Limits", metavar="N", type=POSITIVE_INTEGER, help="Stop after N input and output tokens in total.")
@option(
    "--until-decided",
    group="Limits",
    is_flag=True,
    help="Run conversations in random order, and stop as soon as the difference between two models is statistically significant or, for "
    "one model, every [gate] min threshold is clearly met or missed (sequential test).",
)
@option(
    "--looks",
    group="Limits",
    metavar="N",
    type=POSITIVE_INTEGER,
    show_default="10",
    help="Number of looks planned for --until-decided, including the final one: 2, 3, 4, 5, 8, 10 or 20.",
)
@option(
    "-e",
    "--evaluator",
    "evaluators",
    group="Evaluators",
    multiple=True,
    metavar="EVALUATOR",
    show_default="call, schema, process",
    help="Evaluator: call, schema, process, trajectory, decision, reply, bfcl, or your own as MODULE:NAME. Repeatable.",
)
@option("-o", "--out", group="Output", metavar="DIR", show_default="runs", help="Folder for runs.")
@option("--name", group="Output", metavar="NAME", show_default="model and time", help="Name of the run.")
@tag_option()
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON: for each model, the same as grade --json.")
@dataset_options()
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def command(
    cases: str,
    models: tuple[str, ...],
    no_cache: bool,
    as_json: bool,
    concurrency: int | None,
    rpm: float | None,
    timeout: float | None,
    retries: int | None,
    allow_no_calls: bool,
    options: DatasetOptions,
    model_options: ModelOptions,
    **others: Any,
) -> int:
    """Run models on every decision point and grade their predictions.

    A model receives the messages before a decision point and predicts the next tool call. Each prediction is saved when it arrives, so an
    interrupted run can be resumed. Each model gets its own run folder.

    \b
    Models:
      openai:NAME   azure:DEPLOYMENT   anthropic:NAME   gemini:NAME
      ollama:NAME   vllm:NAME@URL      http://HOST:PORT/v1#NAME
      python:MODULE:FUNCTION           cmd:COMMAND      replay:FILE
      scripted:perfect|hasty|forgetful|chatty           local:[FILE.gguf]
      chatbot:URL
    """
    from callmark.api.running import run
    from callmark.reporting.progress import progress_bars
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    refuse_same_file(file=cases, rejects=options.rejects)
    with options.reader() as reader, progress_bars() as progress:
        grade_options = GradeOptions(1, reader.on_bad, detailed=as_json, allow_no_calls=allow_no_calls)
        runs = run(
            CaseSelection(cases, options.format_name, options.tools),
            models,
            settings=model_options.settings(concurrency=concurrency, rpm=rpm, timeout=timeout, retries=retries),
            cache=not no_cache,
            options=grade_options,
            progress=progress,
            warn=print_warning,
            **others,
        )
    return show_runs(runs, grade_options, as_json=as_json)


def show_runs(runs: "Sequence[Run]", options: "GradeOptions", *, as_json: bool, details: bool = True) -> int:
    """Print the runs, and return the exit status."""
    from callmark.reporting.models_view import show_model_runs
    from callmark.reporting.terminal import make_console

    status = set_status(0 if all(_is_finished(run, options) for run in runs) else WITH_ERRORS)
    if as_json:
        import msgspec

        records = [
            {"run": str(run.folder), "info": run.info, "summary": run.summary(detailed=options.detailed)}
            if run.is_graded
            else {"run": str(run.folder)}
            for run in runs
        ]
        click.echo(msgspec.json.encode(records))
    else:
        show_model_runs(make_console(), runs, options, details=details)
    return status


def _is_finished(run: "Run", options: "GradeOptions") -> bool:
    """Return whether a run is graded, has no errors and was not stopped early."""
    if not run.is_graded or (run.info.model_run and run.info.model_run.stop_reason):
        return False
    summary = run.summary(detailed=options.detailed)
    return not summary.errors and not summary.evaluator_errors
