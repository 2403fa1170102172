"""The cases that models are run on: a file, or what comes through a pipe or from memory, of which each run keeps a copy.

All of them are read before anything is sent: two of one id, none at all, or cases of another kind than expected raise `BadInput`.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import BadRow
from callmark.formats.dataset import file_digest
from callmark.runs.inputs import STANDARD_INPUT, store_content, store_input
from callmark.runs.manifest import DatasetInfo
from callmark.runs.source import CaseSource
from callmark.runs.store import CASES, TOOLS, RunFolder
from callmark.types import Case

IN_MEMORY = "cases in memory"


class CaseSelection(Struct, frozen=True):
    """The cases to run: a file and how it is read, how many of them, from the first on, and how many trials each gets; `scenarios`, else
    decision points.

    `content` stands for the file where the cases are in memory, as JSONL; `tools` is a file of tools for rows that have none, and
    `tools_content` stands for it. Each run keeps a copy of both.
    """

    path: str
    format_name: str | None = None
    tools: str | None = None
    limit: int | None = None
    trials: int = 1
    scenarios: bool = False
    tools_content: bytes = b""
    content: bytes | None = None


class SelectedCases(Struct, frozen=True):
    """The source of the cases, what `run.json` says of their file (seen from the first run), and their number, once they were counted."""

    source: CaseSource
    dataset: DatasetInfo
    count: int = 0

    def dataset_of(self, folder: RunFolder) -> DatasetInfo:
        """Return what the `run.json` of a folder says of the file: where that run has a copy, its path is the copy's."""
        path = folder.file(CASES) if self.dataset.path == CASES else self.source.path
        return structs.replace(self.dataset, path=folder.relative_path(path))


def open_cases(selection: CaseSelection, folders: Sequence[RunFolder], *, skip_bad: bool) -> SelectedCases:
    """Open the cases, and store what can be read only once in the folders."""
    if (selection.path, selection.tools).count("-") > 1:
        raise BadInput("standard input can be read once, it stands there twice")
    if selection.content is not None:
        path, name = store_content(selection.content, folders, CASES, what="the cases have"), IN_MEMORY
    else:
        path = store_input(selection.path, folders, CASES)
        name = STANDARD_INPUT if path != selection.path else scrub(selection.path)
    tools = store_input(selection.tools, folders, TOOLS) if selection.tools else None
    if selection.tools_content:
        tools = store_content(selection.tools_content, folders, TOOLS, what="the tools have")
    dataset = DatasetInfo(name, folders[0].relative_path(path), limit=selection.limit)
    if tools:
        dataset = structs.replace(dataset, tools=folders[0].relative_path(tools), tools_digest=file_digest(tools))
    own_name = name if path != selection.path else None
    source = CaseSource(
        path, format_name=selection.format_name, tools=tools, skip_bad=skip_bad, name=own_name, limit=selection.limit
    )  # fmt: skip
    return SelectedCases(source, dataset)


def survey_cases(
    selection: CaseSelection,
    folders: Sequence[RunFolder],
    *,
    on_bad: Callable[[BadRow], None] | None = None,
    check: Callable[[Case], None] | None = None,
) -> SelectedCases:
    """Open the cases and read them once; `check` may raise for a case that cannot be run. Rows that cannot be read go to `on_bad`; without
    it they raise `BadInput`.
    """
    opened = open_cases(selection, folders, skip_bad=on_bad is not None)
    source, name = opened.source, opened.dataset.name
    try:
        if source.row_kind == "scenarios" and not selection.scenarios:
            raise BadInput(f"{name} holds scenarios: a user has to be simulated for them", "callmark simulate does so.")
        if selection.scenarios and source.row_kind != "scenarios":
            raise BadInput(f"{name} holds {source.row_kind}, scenarios were expected", "callmark run asks at decision points.")
        survey = source.survey(on_bad=on_bad, check=check)
        if not survey.cases:
            raise BadInput(f"{name} has no call in it: there is nothing to ask")
    except BaseException:
        source.close()
        raise
    dataset = structs.replace(
        opened.dataset,
        digest=survey.digest,
        format=source.format.name,
        kind=source.case_kind,
        expanded=source.expanded,
        repaired_rows=survey.repaired_rows,
    )
    return SelectedCases(source, dataset, survey.cases)
