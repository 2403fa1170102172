"""`callmark run`: models asked at every decision point."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from callmark.cli.asking import AskingOptions, Finite, Named, asking_options
from callmark.cli.grade import OUT, WITH_ERRORS
from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, say
from callmark.errors import BadInput

if TYPE_CHECKING:
    from callmark.models.keys import Keys
    from callmark.models.model import ModelSettings
    from callmark.runs.cache import Cache
    from callmark.runs.runner import Asked, ModelRuns
    from callmark.runs.source import Cases
    from callmark.runs.store import SimulatedInfo
    from callmark.runs.worker import Budget

_POSITIVE = click.IntRange(min=1)
_MORE_THAN_NOTHING = Finite(min=0, min_open=True)


def _list_models(context: click.Context, option: click.Parameter, given: bool) -> None:
    """What there is to ask, shown instead of running anything."""
    if not given or context.resilient_parsing:
        return
    from callmark.config import read_config
    from callmark.models.keys import Keys
    from callmark.models.specs import providers, read_spec
    from callmark.reporting.models_view import show_providers
    from callmark.reporting.terminal import console

    keys = Keys.here()
    named = {name: read_spec(settings.model, keys).shown for name, settings in read_config().models.items()}
    show_providers(console(), providers(keys), named)
    context.exit()


@click.command(name="run", short_help="Ask models at every decision point; record, grade, show.")
@click.argument("cases", metavar="EVAL|RUN")
@click.option("-m", "--model", "models", multiple=True, metavar="SPEC", help="Whom to ask, or a name from callmark.toml. May be repeated.")
@click.option(
    "--list-models", is_flag=True, is_eager=True, expose_value=False, callback=_list_models, help="What is configured; what is missing."
)
@click.option("-o", "--out", metavar="DIR", help="The folder that runs go into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the model's name and the time if not given.")
@click.option("--limit", metavar="N", type=_POSITIVE, help="Ask at the first N decision points only.")
@click.option("--trials", metavar="K", type=_POSITIVE, default=None, help="Ask each question K times; 1 if not given.")
@click.option("--concurrency", metavar="N", type=_POSITIVE, help="Questions at a time; less while a server says that it is too much.")
@click.option("--rpm", metavar="N", type=_MORE_THAN_NOTHING, help="Questions a minute at most.")
@click.option("--timeout", metavar="SECONDS", type=_MORE_THAN_NOTHING, help="Of one request; 120 if not given.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="Tries again after a time-out, a 429 or a 5xx; 5 if not given.")
@asking_options()
@click.option("--max-cost", metavar="MONEY", type=_MORE_THAN_NOTHING, help="Stop when so much is spent (prices are in callmark.toml).")
@click.option("--max-tokens-total", metavar="N", type=_POSITIVE, help="Stop when so many tokens went in and out.")
@click.option("--resume", is_flag=True, help="Go on with a run: ask only for what has no answer yet.")
@click.option("--no-cache", is_flag=True, help="Ask also what was asked and answered before.")
@click.option(
    "--evaluator", "evaluators", multiple=True, metavar="NAME", help="call, schema, process, or your own as module:name. May be repeated."
)
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: what grade --json gives, for each model.")
@reading_options()
def command(
    cases: str,
    models: tuple[str, ...],
    out: str | None,
    name: str | None,
    limit: int | None,
    trials: int | None,
    max_cost: float | None,
    max_tokens_total: int | None,
    resume: bool,
    no_cache: bool,
    evaluators: tuple[str, ...],
    config: str | None,
    as_json: bool,
    reading: ReadingOptions,
    asking: AskingOptions,
    **pace: Any,
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
    from msgspec import structs

    from callmark.analysis.summary import SHOWN
    from callmark.config import read_config
    from callmark.models.keys import Keys
    from callmark.runs.grade_run import GradeOptions
    from callmark.runs.runner import ModelRuns, contender
    from callmark.runs.source import Cases
    from callmark.runs.worker import Budget

    refuse_rejects_alone(reading)
    refuse_same_file(file=cases, rejects=reading.rejects)
    settings = read_config(config)
    grading = structs.replace(settings.grading, evaluators=evaluators) if evaluators else settings.grading
    keys = Keys.here()
    which = Cases(cases, reading.dialect, reading.tools, limit, trials or 1)
    chosen = [asking.model(word, settings.models, **pace) for word in models]
    if os.path.isdir(cases):
        which, chosen, out, name, simulated = begun(cases, which, chosen, trials=trials, resume=resume, given=(out, name))
        if simulated:
            raise BadInput(f"{cases} has simulated conversations", f"callmark simulate {cases} --resume goes on with it.")
        chosen = [(label, asking.over(model, **pace)) for label, model in chosen]
    if not chosen:
        raise BadInput("--model is missing: who should be asked?", "callmark run --list-models shows what there is.")
    if max_cost is not None:
        refuse_unpriced([model for _, model in chosen], keys)
    with reading.reader() as reader:
        how = GradeOptions(1, reader.on_bad, intervals=None if as_json else SHOWN, detailed=as_json)
        contenders = [contender(label, model, keys) for label, model in chosen]
        runs = ModelRuns(which, contenders, grading, keys, out=out or OUT, name=name, resume=resume, how=how)
        asked = asked_and_graded(runs, None if no_cache else opened_cache(keys), Budget(max_cost, max_tokens_total))
    return shown(asked, as_json=as_json)


def refuse_unpriced(models: "Sequence[ModelSettings]", keys: "Keys") -> None:
    """A limit of what may be spent means nothing for a model that has no price."""
    if unpriced := [model.model for model in models if model.price is None]:
        raise BadInput(
            f"--max-cost needs a price, and {keys.hide(unpriced[0])} has none",
            "Give one in callmark.toml: [models.NAME] price = { input = 0.15, output = 0.6 } for a million tokens.",
        )


def opened_cache(keys: "Keys") -> "Cache":
    """What remembers answers; where it cannot, that is said."""
    from callmark.runs.cache import Cache

    cache = Cache()
    if cache.problem:
        say(f"callmark: {keys.hide(cache.problem)}.")
    return cache


def asked_and_graded(runs: "ModelRuns", cache: "Cache | None", budget: "Budget") -> "list[Asked]":
    """Ask what has no answer yet, with a progress bar, and grade what came back. Ctrl-C says how to go on."""
    from callmark.reporting.progress import watching

    try:
        with watching() as watch:
            runs.ask(cache=cache, budget=budget, watch=watch)
    except KeyboardInterrupt:
        _say_how_to_go_on(runs)
        raise
    return runs.grade()


def begun(
    run: str,
    which: "Cases",
    chosen: "Sequence[Named]",
    *,
    trials: int | None,
    resume: bool,
    given: tuple[str | None, str | None],
) -> "tuple[Cases, list[Named], str, str, SimulatedInfo | None]":
    """What a run that was begun was about; whatever is given besides must be the same, which is seen to when it goes on."""
    from msgspec import structs

    from callmark.runs.source import Cases
    from callmark.runs.store import RunFolder

    folder = RunFolder(run)
    before = folder.read()
    if not resume:
        raise BadInput(f"{run} is a run: --resume goes on with it", "callmark grade RUN grades one again.")
    if any(given):
        raise BadInput(f"{run} is a run that is gone on with where it stands: -o and --name cannot be given with it")
    if before.asked is None:
        raise BadInput(f"{run} was made of a file of predictions: there is no model to go on asking")
    if len(chosen) > 1:
        raise BadInput(f"{run} is the run of one model, {len(chosen)} were given")
    if before.asked.secret and not chosen:
        raise BadInput(
            f"{run}: the address of its model had something secret in it, which is not kept",
            f"Give it again with {'--agent' if before.asked.simulated else '--model'}.",
        )
    asked = before.asked
    label, model = chosen[0] if chosen else (None, asked.model)
    dataset = before.dataset
    cases = Cases(
        folder.to_here(dataset.path),
        which.dialect or dataset.dialect,
        which.tools or (folder.to_here(dataset.tools) if dataset.tools and not asked.simulated else None),
        dataset.limit if which.limit is None else which.limit,
        asked.trials if trials is None else trials,
        which.scenarios,
    )
    path = folder.path.resolve()
    model = structs.replace(model, price=model.price or asked.model.price)
    return cases, [(label or asked.label, model)], os.path.relpath(path.parent), path.name, asked.simulated


def _say_how_to_go_on(runs: "ModelRuns") -> None:
    """What is kept of runs that were interrupted, and the command that goes on with each."""
    from callmark.reporting.safety import one_line
    from callmark.runs.store import command_of
    from callmark.wording import counted

    for run in runs.runs:
        asked = run.info.asked
        if asked is not None and run.info.status != "complete":
            what = "conversation" if asked.simulated else "answer"
            say(f"callmark: {asked.answers:,} of {counted(asked.questions, what)} kept. To go on:")
            say(f"{command_of(run.info)} {one_line(str(run.folder), 200)} --resume")


def shown(asked: "list[Asked]", *, as_json: bool, details: bool = True) -> int:
    """Show what came of it; the exit status."""
    from callmark.reporting.models_view import show_asked
    from callmark.reporting.terminal import console

    if as_json:
        import msgspec

        click.echo(
            msgspec.json.encode(
                [
                    {"run": str(one.folder), "info": one.graded.info, "summary": one.graded.summary}
                    if one.graded
                    else {"run": str(one.folder)}
                    for one in asked
                ]
            )
        )
    else:
        show_asked(console(), asked, details=details)
    finished = all(one.graded and not one.graded.summary.errors and not one.info.stopped for one in asked)
    return 0 if finished else WITH_ERRORS
