"""The cases that models are asked about: a file, or what comes through a pipe, of which each run keeps a copy.

All of them are read before anything is asked: ids of their own, something to ask, of the kind that is wanted; else `BadInput` is raised.
What a run has of a pipe is not written over when it goes on: it has to be the same again.
"""

import filecmp
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.dataset import digest_of
from callmark.grading.evaluator import Settings
from callmark.runs.store import CASES, TOOLS, DatasetInfo, RunFolder, is_run
from callmark.runs.grade_run import GradeOptions, kept
from callmark.runs.grading import GradingJob, survey


class Cases(Struct, frozen=True):
    """Which cases to ask about: a file, how it is read, the first so many of them, each so many times; `scenarios` or decision points.

    `tools` is a file of tools for rows that have none; or `tools_text` is what would stand in it, and each run keeps a copy.
    """

    path: str
    dialect: str | None = None
    tools: str | None = None
    limit: int | None = None
    trials: int = 1
    scenarios: bool = False
    tools_text: bytes = b""


def read_cases(cases: Cases, folders: Sequence[RunFolder], grading: Settings, how: GradeOptions) -> tuple[GradingJob, DatasetInfo, bool, int]:
    """What there is to ask, what is known of its file, whether it is cut into decision points, and how many there are."""
    first = folders[0]
    if (cases.path, cases.tools).count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    file = _kept(cases.path, first, CASES)
    tools = _kept(cases.tools, first, TOOLS) if cases.tools else None
    for folder in folders[1:]:
        if file != cases.path:
            _copy(file, folder, CASES)
        if tools != cases.tools and tools:
            _copy(tools, folder, TOOLS)
    if cases.tools_text:
        tools = first.file(TOOLS)
        for folder in folders:
            _write(cases.tools_text, folder, TOOLS)
    called = "standard input" if file != cases.path else None
    work = GradingJob(file, grading, {}, False, cases.dialect, tools, how.on_bad is not None, called, cases.limit)
    ended, seen = survey(work, on_bad=how.on_bad)
    name = called or scrub(cases.path)
    if ended.scenarios and not cases.scenarios:
        raise BadInput(f"{name} holds scenarios: a user has to be simulated for them", "callmark simulate does so.")
    if cases.scenarios and not ended.scenarios:
        found = "conversations" if ended.cut else "decision points"
        raise BadInput(f"{name} holds {found}, scenarios were expected", "callmark run asks at decision points.")
    if not seen:
        raise BadInput(f"{name} has no call in it: there is nothing to ask")
    what: Literal["decision points", "scenarios"] = "scenarios" if ended.scenarios else "decision points"
    dataset = DatasetInfo(name, "", ended.digest, ended.dialect, what, ended.cut, mended=ended.mended, limit=cases.limit)
    if tools:
        dataset = structs.replace(dataset, tools=first.from_here(tools), tools_digest=digest_of(tools))
    return work, dataset, ended.cut, len(seen)


def _kept(path: str, folder: RunFolder, name: str) -> str:
    """`kept`, but what a run has of a pipe is not written over: its answers belong to it."""
    copy = folder.file(name)
    if not is_run(str(folder.path)) or not os.path.exists(copy):
        return kept(path, copy)
    again = kept(path, f"{copy}.partial-again")
    if again == path:
        return path
    try:
        _refuse_other(again, copy, folder)
    finally:
        os.unlink(again)
    return copy


def _write(text: bytes, folder: RunFolder, name: str) -> None:
    path = Path(folder.file(name))
    if is_run(str(folder.path)) and path.exists():
        if path.read_bytes() != text:
            raise BadInput(
                f"the tools have changed since {folder} was begun: the answers would not belong together", "Choose another --name."
            )
    else:
        path.write_bytes(text)


def _copy(file: str, folder: RunFolder, name: str) -> None:
    copy = folder.file(name)
    if is_run(str(folder.path)) and os.path.exists(copy):
        _refuse_other(file, copy, folder)
    else:
        shutil.copyfile(file, copy)


def _refuse_other(file: str, copy: str, folder: RunFolder) -> None:
    if not filecmp.cmp(file, copy, shallow=False):
        raise BadInput(
            f"standard input has changed since {folder} was begun: the answers would not belong together", "Choose another --name."
        )
