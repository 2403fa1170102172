"""`callmark run`: run models at every decision point."""

from typing import TYPE_CHECKING, Any

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.cli.exit_status import WITH_ERRORS
from callmark.cli.model_options import FiniteNumber, ModelOptions, model_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from callmark.runs.grade import GradeOptions
    from callmark.runs.run import Run

_POSITIVE_INTEGER = click.IntRange(min=1)
_POSITIVE_NUMBER = FiniteNumber(min=0, min_open=True)


def _list_models(context: click.Context, option: click.Parameter, given: bool) -> None:
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


@click.command(name="run", short_help="Ask models at every decision point; record, grade, show.")
@click.argument("cases", metavar="EVAL|RUN")
@click.option("-m", "--model", "models", multiple=True, metavar="SPEC", help="Whom to ask, or a name from callmark.toml. May be repeated.")
@click.option(
    "--list-models", is_flag=True, is_eager=True, expose_value=False, callback=_list_models, help="What is configured; what is missing."
)
@click.option("-o", "--out", metavar="DIR", help="The folder that runs go into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the model's name and the time if not given.")
@click.option("--limit", metavar="N", type=_POSITIVE_INTEGER, help="Ask at the first N decision points only.")
@click.option("--trials", metavar="K", type=_POSITIVE_INTEGER, default=None, help="Ask each question K times; 1 if not given.")
@click.option(
    "--concurrency", metavar="N", type=_POSITIVE_INTEGER, help="Questions at a time; less while a server says that it is too much."
)
@click.option("--rpm", metavar="N", type=_POSITIVE_NUMBER, help="Questions a minute at most.")
@click.option("--timeout", metavar="SECONDS", type=_POSITIVE_NUMBER, help="Of one request; 120 if not given.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="Tries again after a time-out, a 429 or a 5xx; 5 if not given.")
@model_options()
@click.option("--max-cost", metavar="MONEY", type=_POSITIVE_NUMBER, help="Stop when so much is spent (prices are in callmark.toml).")
@click.option("--max-tokens-total", metavar="N", type=_POSITIVE_INTEGER, help="Stop when so many tokens went in and out.")
@click.option("--resume", is_flag=True, help="Go on with a run: ask only for what has no answer yet.")
@click.option("--no-cache", is_flag=True, help="Ask also what was asked and answered before.")
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="call, schema, process, or your own as module:name. May be repeated.",
)
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: what grade --json gives, for each model.")
@dataset_options()
def command(
    cases: str,
    models: tuple[str, ...],
    no_cache: bool,
    as_json: bool,
    concurrency: int | None,
    rpm: float | None,
    timeout: float | None,
    retries: int | None,
    options: DatasetOptions,
    model_options: ModelOptions,
    **others: Any,
) -> int:
    """Ask every model at every decision point: given the talk so far, which call comes next? EVAL: decision points as `expand` makes them,
    or conversations, which are cut on the way. RUN: the folder of a run, with --resume. Exit status 3: finished, but with errors.

    \b
    SPEC: openai:NAME azure:DEPLOYMENT anthropic:NAME gemini:NAME ollama:NAME vllm:NAME@URL http://host:port/v1#NAME
          replay:FILE python:module:function cmd:COMMAND scripted:perfect|hasty|forgetful|chatty local:
    callmark run eval.jsonl --model vllm:base@http://localhost:8000 --model vllm:tuned@http://localhost:8000
    callmark run eval.jsonl --model openai:gpt-4.1-mini --limit 50 --trials 3 --temperature 0.7
    callmark run runs/base --resume
    """
    from callmark.api.running import run
    from callmark.reporting.progress import progress_bars
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    refuse_same_file(file=cases, rejects=options.rejects)
    with options.reader() as reader, progress_bars() as progress:
        grade_options = GradeOptions(1, reader.on_bad, intervals="all" if as_json else "headline", detailed=as_json)
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


def print_warning(sentence: str) -> None:
    """Print a warning on standard error."""
    print_stderr(f"callmark: {sentence}")


def show_runs(runs: "Sequence[Run]", options: "GradeOptions", *, as_json: bool, details: bool = True) -> int:
    """Print the runs, and return the exit status."""
    from callmark.reporting.models_view import show_model_runs
    from callmark.reporting.terminal import make_console

    if as_json:
        import msgspec

        records = [
            {"run": str(run.folder), "info": run.info, "summary": run.summary(detailed=options.detailed, intervals=options.intervals)}
            if run.is_graded
            else {"run": str(run.folder)}
            for run in runs
        ]
        click.echo(msgspec.json.encode(records))
    else:
        show_model_runs(make_console(), runs, options, details=details)
    return 0 if all(_is_finished(run, options) for run in runs) else WITH_ERRORS


def _is_finished(run: "Run", options: "GradeOptions") -> bool:
    """Return whether a run was graded and has neither errors nor a reason why it was stopped."""
    if not run.is_graded or (run.info.model_run and run.info.model_run.stop_reason):
        return False
    summary = run.summary(detailed=options.detailed, intervals=options.intervals)
    return not summary.errors and not summary.evaluator_errors
