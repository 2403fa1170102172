"""Resume a run from its folder: its cases, its model and its simulation, as `run.json` has them."""

import os
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from callmark.errors import BadInput
from callmark.models.choice import NamedModel
from callmark.models.keys import HIDDEN
from callmark.runs.manifest import ModelRunInfo, SimulationSettings
from callmark.runs.selection import CaseSelection
from callmark.runs.store import RunFolder


class ResumedRun(Struct, frozen=True):
    """What a run was started with. What is given besides must be the same, which the runner checks."""

    cases: CaseSelection
    model: NamedModel
    out: str
    name: str
    simulation: SimulationSettings | None


def read_resumed_run(
    run: str, cases: CaseSelection, models: Sequence[NamedModel], *, resume: bool, moved: bool, trials: int | None
) -> ResumedRun:
    """Return what a run was started with, overridden by the cases' own format, tools and limit, and by one model where it is given.

    A folder that is no run of a model, more than one model, and a model whose address had a secret in it raise `BadInput`; so does `moved`,
    which says that another folder was given for the run.
    """
    folder = RunFolder(run)
    before = folder.read()
    if not resume:
        raise BadInput(f"{run} is a run: --resume goes on with it", "callmark grade RUN grades one again.")
    if moved:
        raise BadInput(f"{run} is a run, which is resumed in its own folder: -o and --name cannot be given with it")
    model_run = before.model_run
    if model_run is None:
        raise BadInput(f"{run} was made of a file of predictions: there is no model to go on asking")
    if len(models) > 1:
        raise BadInput(f"{run} is the run of one model, {len(models)} were given")
    if model_run.redacted and not models:
        raise BadInput(
            f"{run}: the address of its model had something secret in it, which is not kept",
            f"Give it again with {'--agent' if model_run.simulation else '--model'}.",
        )
    name, model = models[0] if models else (None, model_run.model)
    dataset = before.dataset
    selection = structs.replace(
        cases,
        path=folder.resolve_path(dataset.path),
        format_name=cases.format_name or dataset.format,
        tools=cases.tools or (folder.resolve_path(dataset.tools) if dataset.tools and not model_run.simulation else None),
        limit=dataset.limit if cases.limit is None else cases.limit,
        trials=model_run.trials if trials is None else trials,
    )
    path = folder.path.resolve()
    model = structs.replace(model, price=model.price or model_run.model.price)
    return ResumedRun(selection, (name or model_run.label, model), os.path.relpath(path.parent), path.name, model_run.simulation)


def recorded_agent(run: str, given: Collection[str]) -> list[NamedModel]:
    """Return the agent of a simulation whose recorded settings had a secret in another part, so that the agent itself is as it was.

    Parts with a secret that are not `given` again raise `BadInput`. None for a run that has no secret, or no simulation.
    """
    model_run = RunFolder(run).read().model_run
    if model_run is None or model_run.simulation is None or not model_run.redacted:
        return []
    redacted = [part for part, values in _parts(model_run, model_run.simulation).items() if HIDDEN in str(values)]
    if missing := [f"--{part}" for part in redacted if part not in given]:
        raise BadInput(f"{run}: {' and '.join(missing)} had something secret in it, which is not kept", "Give it again.")
    return [(model_run.label, model_run.model)]


def _parts(model_run: ModelRunInfo, simulation: SimulationSettings) -> dict[str, object]:
    """Return the recorded settings by the option that gives them."""
    return {
        "agent": [model_run.model],
        "user": [simulation.user],
        "judge": [simulation.judge],
        "tools": simulation.tools,
        "system": [simulation.system],
    }
