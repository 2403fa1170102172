"""`callmark.run`: what the command line does, from Python."""

import asyncio
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from threading import Thread

from msgspec import structs

from callmark.config import read_config
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.source import Cases
from callmark.runs.worker import Budget
from callmark.runs.cache import Cache
from callmark.runs.grade_run import GradedRun
from callmark.runs.runner import ModelRuns, contender


def run(
    cases: str | PathLike[str],
    models: str | ModelSettings | Sequence[str | ModelSettings],
    *,
    trials: int = 1,
    limit: int | None = None,
    evaluators: Sequence[str] | None = None,
    out: str = "runs",
    name: str | None = None,
    resume: bool = False,
    cache: bool = True,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    config: str | None = None,
) -> list[GradedRun]:
    """Ask models at every decision point of a file, record and grade what comes back: for each its folder, what `run.json` says, and the
    summary. A model is a spec, a name from `callmark.toml`, or `ModelSettings`. What cannot work raises `BadInput` before anything is
    asked; a model of which nothing came back at all has no run in the list.
    """
    found = read_config(config)
    grading = structs.replace(found.grading, evaluators=tuple(evaluators)) if evaluators else found.grading
    given = [models] if isinstance(models, str | ModelSettings) else list(models)
    if not given:
        raise BadInput("there is no model to ask")
    keys = Keys.here()
    contenders = [contender(*chosen(model, found.models), keys) for model in given]
    runs = ModelRuns(Cases(fspath(cases), limit=limit, trials=trials), contenders, grading, keys, out=out, name=name, resume=resume)
    run_sync(lambda: runs.ask(cache=Cache() if cache else None, budget=Budget(max_cost, max_tokens_total)))
    return [asked.graded for asked in runs.grade() if asked.graded is not None]


def chosen(model: str | ModelSettings, named: dict[str, ModelSettings]) -> tuple[str | None, ModelSettings]:
    """The name that a model is configured under, None where it is not, and its settings."""
    if isinstance(model, ModelSettings):
        return None, model
    return (model, named[model]) if model in named else (None, ModelSettings(model=model))


def run_sync(ask: Callable[[], None]) -> None:
    """Ask in this thread, or, where it has an event loop running, as a notebook's has, in another."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        ask()
        return
    raised: list[BaseException] = []

    def keep() -> None:
        try:
            ask()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=keep, daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
