"""Resume a run from its folder: its cases, its model and its simulation settings, as stored in `run.json`."""

import os
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from callmark.errors import BadInput
from callmark.models.choice import NamedModel
from callmark.models.redaction import HIDDEN
from callmark.runs.manifest import ModelRunInfo, SimulationSettings, recorded_env
from callmark.runs.selection import CaseSelection
from callmark.runs.store import RunFolder


class ResumedRun(Struct, frozen=True):
    """The settings of a run to resume. The runner checks that settings passed explicitly are the same."""

    cases: CaseSelection
    model: NamedModel
    out: str
    name: str
    simulation: SimulationSettings | None


def read_resumed_run(
    run: str,
    cases: CaseSelection,
    models: Sequence[NamedModel],
    *,
    resume: bool,
    moved: bool,
    trials: int | None,
    env: Collection[str] = (),
) -> ResumedRun:
    """Return the settings of a run, overridden by the format, tools and limit of `cases`, and by a model if one is given.

    A folder that is not the run of a model, more than one model, and a model whose address or headers contained a secret raise `BadInput`.
    So do `moved`: another folder was given for the run; and variables that programs of the run got, if `env` does not name them.
    """
    folder = RunFolder(run)
    before = folder.read()
    if not resume:
        raise BadInput(f"{run} is an existing run: pass --resume to resume it", f"To grade it again: callmark grade {run}")
    if moved:
        raise BadInput(f"{run}: a run is resumed in its own folder, so -o and --name cannot be used")
    model_run = before.model_run
    if model_run is None:
        raise BadInput(f"{run}: cannot be resumed, because it was graded from a predictions file and has no model")
    if len(models) > 1:
        raise BadInput(f"{run}: expected one model to resume the run with, got {len(models)}")
    if model_run.redacted and not models:
        raise BadInput(
            f"{run}: the URL or a header of its model contained a secret, which is not stored",
            f"Pass it again with {'--agent' if model_run.simulation else '--model'}.",
        )
    named_here = {*env, *(name for _, model in models for name in model.env)}
    if missing := [name for name in recorded_env(model_run) if name not in named_here]:
        raise BadInput(
            f"{run}: its programs got {' and '.join(missing)} from the environment, which a run does not store",
            f"Pass {'it' if len(missing) == 1 else 'them'} again: {' '.join(f'--env {name}' for name in missing)}",
        )
    name, model = models[0] if models else (None, model_run.model)
    dataset = before.dataset
    selection = structs.replace(
        cases,
        path=folder.input_path(dataset.path, "dataset.path"),
        format_name=cases.format_name or dataset.format,
        tools=cases.tools or (folder.input_path(dataset.tools, "dataset.tools") if dataset.tools and not model_run.simulation else None),
        limit=dataset.limit if cases.limit is None else cases.limit,
        trials=model_run.trials if trials is None else trials,
        sample=dataset.sample,
        skipped=dataset.skipped,
    )
    path = folder.path.resolve()
    model = structs.replace(model, price=model.price or model_run.model.price)
    return ResumedRun(selection, (name or model_run.label, model), os.path.relpath(path.parent), path.name, model_run.simulation)


def recorded_agent(run: str, given: Collection[str]) -> list[NamedModel]:
    """Return the recorded agent of a simulation whose other settings contained a secret.

    Settings with a secret that are not `given` again raise `BadInput`. The list is empty for a run without secrets, or without a
    simulation.
    """
    model_run = RunFolder(run).read().model_run
    if model_run is None or model_run.simulation is None or not model_run.redacted:
        return []
    redacted = [part for part, values in _parts(model_run, model_run.simulation).items() if HIDDEN in str(values)]
    if missing := [f"--{part}" for part in redacted if part not in given]:
        again = "it" if len(missing) == 1 else "them"
        raise BadInput(f"{run}: {' and '.join(missing)} contained a secret, which is not stored", f"Pass {again} again.")
    return [(model_run.label, model_run.model)]


def _parts(model_run: ModelRunInfo, simulation: SimulationSettings) -> dict[str, object]:
    """Return the recorded settings by command line option."""
    return {
        "agent": [model_run.model],
        "user": [simulation.user],
        "judge": [simulation.judge],
        "tools": simulation.tools,
        "system": [simulation.system],
    }
