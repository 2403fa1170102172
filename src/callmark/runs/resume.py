"""The folder of a model's run: a new one, or that of a run to resume.

A dataset that changed since the run was started raises `BadInput`, and so does a setting that affects predictions.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.inputs import input_changed
from callmark.runs.journal import Journal
from callmark.runs.manifest import Manifest, SimulationSettings
from callmark.runs.store import CASES, PREDICTIONS, RUN, TOOLS, RunFolder, create_run_folder, is_run
from callmark.types import Prediction

_PREDICTION_SETTINGS = ("model", "temperature", "tool_choice", "params", "tools_in_prompt", "trailing_assistant", "parse", "base_url")
_OPTIONS = {"params": "--param", "base_url": "base_url"}  # of settings whose option has another name, or none


def open_run_folder(
    out: str, name: str | None, default: str, *, resume: bool, redact: Callable[[Prediction], Prediction]
) -> tuple[RunFolder, bool, Journal]:
    """Return the folder of a run, whether it is new, and its journal, which locks the folder against other processes."""
    existing = RunFolder(Path(out, name)) if name is not None and Path(out, name).is_dir() else None
    if existing is None or not (resume or is_run(str(existing.path))):
        folder = create_run_folder(out, name, default=default)
    elif resume:
        _refuse_other_folder(existing)
        folder = existing
    else:
        raise BadInput(f"{existing}: already exists", "Pass --resume to resume the run, or choose another --name.")
    journal = Journal(folder.file(PREDICTIONS), redact=redact)
    return folder, not is_run(str(folder.path)), journal


def refuse_changed_run(folder: RunFolder, before: Manifest, now: Manifest) -> None:
    """Raise `BadInput` if the cases or settings changed, so that new predictions would not be comparable with the existing ones."""
    if before.model_run is None or now.model_run is None:
        raise BadInput(f"{folder}: cannot be resumed, because it was graded from a predictions file and has no model")
    values = [(name, getattr(before.model_run.model, name), getattr(now.model_run.model, name)) for name in _PREDICTION_SETTINGS]
    values += [("trials", before.model_run.trials, now.model_run.trials), ("limit", before.dataset.limit, now.dataset.limit)]
    if before.model_run.simulation or now.model_run.simulation:
        old, new = (msgspec.to_builtins(info.simulation or SimulationSettings()) for info in (before.model_run, now.model_run))
        values += [(name, old.get(name), new.get(name)) for name in SimulationSettings.__struct_fields__]
    for name, old_value, new_value in values:
        if old_value != new_value:
            option = _OPTIONS.get(name) or f"--{name.replace('_', '-')}"
            if name == "model" and before.model_run.simulation:
                option = "--agent"
            raise BadInput(
                f"{folder}: {option}: the run was started {_with(old_value)}, got {_word(new_value)}",
                "Resume with the same options as before, or start a new run with another --name.",
            )
    for what, old_digest, new_digest in (
        (before.dataset.name, before.dataset.digest, now.dataset.digest),
        ("the tools file", before.dataset.tools_digest, now.dataset.tools_digest),
    ):
        if old_digest != new_digest:
            raise input_changed(what, folder)


def _refuse_other_folder(folder: RunFolder) -> None:
    """Raise `BadInput` for a folder that is not a run, unless it was left by a process that was killed before its first request."""
    if is_run(str(folder.path)):
        return
    files = {file.name.partition(".partial-")[0]: file for file in folder.path.iterdir()}
    predictions = files.get(PREDICTIONS)
    is_leftover = predictions is not None and predictions.stat().st_size == 0 and files.keys() <= {PREDICTIONS, CASES, TOOLS, RUN}
    if files and not is_leftover:
        raise BadInput(f"{folder}: not a run that can be resumed: {RUN} is missing", "Choose another --name.")


def _with(value: object) -> str:
    return "without it" if value in (None, "", {}) else f"with {_word(value)}"


def _word(value: object) -> str:
    return "none" if value in (None, "", {}) else scrub(msgspec.json.encode(value).decode())
