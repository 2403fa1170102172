"""The folder that a model is run into: a new one, or that of a run to resume.

A dataset or a setting that shapes predictions, and is not what it was when the run started, raises `BadInput` with what changed.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.journal import Journal
from callmark.runs.manifest import Manifest, SimulationSettings
from callmark.runs.store import CASES, PREDICTIONS, RUN, TOOLS, RunFolder, create_run_folder, is_run

_PREDICTION_SETTINGS = ("model", "temperature", "tool_choice", "params", "tools_in_prompt", "trailing_assistant", "parse", "base_url")


def open_run_folder(
    out: str, name: str | None, default: str, *, resume: bool, hide: Callable[[bytes], bytes]
) -> tuple[RunFolder, bool, Journal]:
    """Return the folder of a run, whether it is new, and its journal: from here on no other process can write to it."""
    existing = RunFolder(Path(out, name)) if name is not None and Path(out, name).is_dir() else None
    if existing is None or not (resume or is_run(str(existing.path))):
        folder = create_run_folder(out, name, default=default)
    elif resume:
        _refuse_other_folder(existing)
        folder = existing
    else:
        raise BadInput(f"there is a run in {existing} already", "--resume goes on with it; or choose another --name.")
    journal = Journal(folder.file(PREDICTIONS), hide=hide)
    return folder, not is_run(str(folder.path)), journal


def refuse_changed_run(folder: RunFolder, before: Manifest, now: Manifest) -> None:
    """Refuse to resume a run whose new predictions would not belong together with those it has."""
    if before.model_run is None or now.model_run is None:
        raise BadInput(f"{folder} was made of a file of predictions: there is no model to go on asking")
    values = [(name, getattr(before.model_run.model, name), getattr(now.model_run.model, name)) for name in _PREDICTION_SETTINGS]
    values += [("trials", before.model_run.trials, now.model_run.trials), ("limit", before.dataset.limit, now.dataset.limit)]
    if before.model_run.simulation or now.model_run.simulation:
        old, new = (msgspec.to_builtins(info.simulation or SimulationSettings()) for info in (before.model_run, now.model_run))
        values += [(name, old.get(name), new.get(name)) for name in SimulationSettings.__struct_fields__]
    for name, old_value, new_value in values:
        if old_value != new_value:
            raise BadInput(
                f"{folder} was begun with {name} {_word(old_value)}, now it is {_word(new_value)}: the answers would not belong together",
                "Leave it as it was, or choose another --name.",
            )
    for what, old_digest, new_digest in (
        (before.dataset.name, before.dataset.digest, now.dataset.digest),
        ("the file of tools", before.dataset.tools_digest, now.dataset.tools_digest),
    ):
        if old_digest != new_digest:
            raise BadInput(f"{what} has changed since {folder} was begun: the answers would not belong together", "Choose another --name.")


def _refuse_other_folder(folder: RunFolder) -> None:
    """Refuse a folder that is not a run, unless a process left it behind that was killed before it had sent anything."""
    if is_run(str(folder.path)):
        return
    files = {file.name.partition(".partial-")[0]: file for file in folder.path.iterdir()}
    predictions = files.get(PREDICTIONS)
    is_leftover = predictions is not None and predictions.stat().st_size == 0 and files.keys() <= {PREDICTIONS, CASES, TOOLS, RUN}
    if files and not is_leftover:
        raise BadInput(f"{folder} is no run that could be gone on with: there is no {RUN} in it", "Choose another --name.")


def _word(value: object) -> str:
    return "not given" if value in (None, "", {}) else scrub(msgspec.json.encode(value).decode())
