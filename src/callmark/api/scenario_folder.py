"""Read a folder of scenario files as the scenarios of one run.

Every JSON and JSONL file of the folder is read, in the order of their names; other files and folders are not. The id of a scenario begins
with the name of its file, so that files can be added and ids repeat between files. Templates of the LOB evaluation are filled from the
CSV files of the folder.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from callmark.api.scenarios import synth_scenarios
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import BadRow, Dataset
from callmark.formats.scenarios import write
from callmark.runs.store import is_run
from callmark.simulation.scenario_templates import is_lob_template
from callmark.types import Case, Place
from callmark.wording import pluralize

EXTENSIONS = tuple(f"{suffix}{packed}" for suffix in (".json", ".jsonl", ".ndjson") for packed in ("", ".gz", ".zst"))
_TABLE = ".csv"
_TEMPLATE_KEY = b'"user_instructions"'
_MAX_TEMPLATES = 1 << 20  # bytes of a template file; a larger file holds scenarios


class ScenarioFolder(Struct, frozen=True):
    """The scenarios of a folder as JSONL, each with its file, and sentences about what was left out."""

    content: bytes
    notices: tuple[str, ...] = ()


def read_scenario_folder(path: str, *, format_name: str | None = None, on_bad: Callable[[BadRow], None] | None = None) -> ScenarioFolder:
    """Return the scenarios of all files in a folder.

    A file that cannot be read, or that has no scenarios, raises `BadInput` that names all such files. With `on_bad`, they are left out and
    named in the notices, and rows that cannot be read are passed to it. A folder without any scenario raises `BadInput`.
    """
    names = sorted(entry.name for entry in os.scandir(path) if entry.is_file() and entry.name.lower().endswith(EXTENSIONS))
    names = [name for name in names if not name.startswith(".")]
    folder = scrub(path)
    if not names:
        raise BadInput(f"{folder}: no scenario files found: expected a JSON or JSONL file, or the folder of a run", _runs_hint(path))
    lines: list[bytes] = []
    broken: dict[str, str] = {}
    for name in names:
        try:
            cases = _read_file(path, name, format_name, on_bad)
            lines += [_line(case, name, number) for number, case in enumerate(cases, 1)]
        except BadInput as error:
            broken[name] = str(error).removeprefix(f"{scrub(os.path.join(path, name))}").lstrip(":, ")
    if broken and on_bad is None:
        listed = "".join(f"\n{scrub(name)}: {reason}" for name, reason in broken.items())
        were = f"{len(broken)} of {pluralize(len(names), 'file')} cannot be used"
        them = "it" if len(broken) == 1 else "them"
        raise BadInput(f"{folder}: {were}:{listed}", f"Correct or remove {them}, or pass --skip-bad to leave {them} out.")
    if not lines:
        raise BadInput(f"{folder}: none of its {pluralize(len(names), 'file')} has a scenario that can be read")
    notices = [f"skipped {scrub(name)}: {reason}" for name, reason in broken.items()]
    return ScenarioFolder(b"".join(line + b"\n" for line in lines), (*notices, *_others(path, names)))


def is_scenario_folder(path: str) -> bool:
    """Return whether a path is a folder that is not a run."""
    return os.path.isdir(path) and not is_run(path)


def _read_file(path: str, name: str, format_name: str | None, on_bad: Callable[[BadRow], None] | None) -> list[Case]:
    """Return the scenarios of one file. Its bad rows are passed on only if the file is used."""
    file = os.path.join(path, name)
    if _has_templates(file):
        return synth_scenarios(templates=file).scenarios
    bad: list[BadRow] = []
    cases: list[Case] = []
    with Dataset(file, format_name=format_name, on_bad=None if on_bad is None else bad.append, cases=True) as dataset:
        for row in dataset:
            if not isinstance(row, Case) or not row.is_scenario:
                raise BadInput(f"expected scenarios, got {dataset.row_kind} ({dataset.format.title})")
            cases.append(row)
    if on_bad is not None:
        for each in bad:
            on_bad(each)
    return cases


def _line(case: Case, name: str, number: int) -> bytes:
    place = structs.replace(case.place, file=name) if case.place is not None else Place(name, number, "item")
    return write(structs.replace(case, id=f"{name}/{case.id}", file=name, place=place))


def _has_templates(file: str) -> bool:
    """Return whether a file holds templates of the LOB evaluation. A file that is not JSON has none; reading it reports why."""
    try:
        if os.path.getsize(file) > _MAX_TEMPLATES:
            return False
        text = Path(file).read_bytes()
        return _TEMPLATE_KEY in text and is_lob_template(msgspec.json.decode(text, type=list[object])[0])
    except (OSError, ValueError, IndexError, RecursionError, msgspec.MsgspecError):
        return False


def _others(path: str, names: list[str]) -> list[str]:
    """Return a sentence about the files and folders that are not read; CSV files are, if there are templates."""
    others = [
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in os.scandir(path)
        if entry.name not in names and not entry.name.startswith(".") and not entry.name.lower().endswith(_TABLE)
    ]
    shown = ", ".join(scrub(name) for name in sorted(others)[:5]) + (", …" if len(others) > 5 else "")
    return [f"not read in {scrub(path)}, because it is neither JSON nor JSONL: {shown}."] if others else []


def _runs_hint(path: str) -> str:
    run = next((entry.name for entry in sorted(os.scandir(path), key=lambda entry: entry.name) if is_run(entry.path)), None)
    return f"To resume a run, pass its own folder: {scrub(os.path.join(path, run))} --resume" if run is not None else ""
