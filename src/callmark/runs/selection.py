"""The cases of a run: a file, or data from a pipe or from memory, of which each run stores a copy.

All cases are read before any request is sent. Duplicate ids, no cases, and cases of the wrong kind raise `BadInput`.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import BadRow
from callmark.formats.dataset import file_digest
from callmark.runs.inputs import STANDARD_INPUT, store_content, store_input
from callmark.runs.manifest import DatasetInfo
from callmark.runs.sample import Sample
from callmark.runs.source import CaseSource
from callmark.runs.store import CASES, TOOLS, RunFolder
from callmark.types import Case

IN_MEMORY = "cases in memory"


class CaseSelection(Struct, frozen=True):
    """The cases to run: a file and how to read it, the number of cases (starting from the first), and the number of trials.

    `scenarios` means that scenarios are expected instead of decision points. Cases in memory are in `content`, as JSONL, instead of a file.
    `tools` is a file of tools for rows that have none, and `tools_content` its content if they are in memory. Each run stores a copy of
    both. `sample` limits the cases to those of some conversations. `name` is the name of cases in memory in messages. `skipped` are the ids
    of cases that are left out, because they could not be run when the run was started.
    """

    path: str
    format_name: str | None = None
    tools: str | None = None
    limit: int | None = None
    trials: int = 1
    scenarios: bool = False
    tools_content: bytes = b""
    content: bytes | None = None
    sample: Sample | None = None
    name: str = IN_MEMORY
    skipped: tuple[str, ...] = ()


class SelectedCases(Struct, frozen=True):
    """The source of the cases, the entry for `run.json` (relative to the first run folder), and the number of cases, once counted."""

    source: CaseSource
    dataset: DatasetInfo
    count: int = 0

    def dataset_of(self, folder: RunFolder) -> DatasetInfo:
        """Return the entry for the `run.json` of a folder. If the run has a copy of the cases, the path is that of the copy."""
        path = folder.file(CASES) if self.dataset.path == CASES else self.source.path
        return structs.replace(self.dataset, path=folder.relative_path(path))


def open_cases(selection: CaseSelection, folders: Sequence[RunFolder], *, skip_bad: bool) -> SelectedCases:
    """Open the cases, and copy inputs that can only be read once to the folders."""
    if (selection.path, selection.tools).count("-") > 1:
        raise BadInput("standard input (-) is given twice, but it can only be read once")
    if selection.content is not None:
        path, name = store_content(selection.content, folders, CASES, what="the cases"), selection.name
    else:
        path = store_input(selection.path, folders, CASES)
        name = STANDARD_INPUT if path != selection.path else scrub(selection.path)
    tools = store_input(selection.tools, folders, TOOLS) if selection.tools else None
    if selection.tools_content:
        tools = store_content(selection.tools_content, folders, TOOLS, what="the tools")
    dataset = DatasetInfo(name, folders[0].relative_path(path), limit=selection.limit, sample=selection.sample)
    if tools:
        dataset = structs.replace(dataset, tools=folders[0].relative_path(tools), tools_digest=file_digest(tools))
    own_name = name if path != selection.path else None
    source = CaseSource(
        path,
        format_name=selection.format_name,
        tools=tools,
        skip_bad=skip_bad,
        name=own_name,
        limit=selection.limit,
        sample=selection.sample,
        skipped=selection.skipped,
    )
    return SelectedCases(source, dataset)


def survey_cases(
    selection: CaseSelection,
    folders: Sequence[RunFolder],
    *,
    on_bad: Callable[[BadRow], None] | None = None,
    check: Callable[[Case], None] | None = None,
    allow_no_calls: bool = False,
) -> SelectedCases:
    """Open the cases and read them once. `check` may raise for a case that cannot be run. Bad rows, and cases that cannot be run, are
    passed to `on_bad` and left out; without it, they raise `BadInput`. A file without calls raises `BadInput`, unless it has scenarios or
    `allow_no_calls` is set.
    """
    opened = open_cases(selection, folders, skip_bad=on_bad is not None)
    source, name = opened.source, opened.dataset.name
    try:
        if source.row_kind == "scenarios" and not selection.scenarios:
            raise BadInput(f"{name}: expected decision points or conversations, got scenarios", "Use callmark simulate for scenarios.")
        if selection.scenarios and source.row_kind != "scenarios":
            raise BadInput(f"{name}: expected scenarios, got {source.row_kind}", "Use callmark run for decision points and conversations.")
        survey = source.survey(on_bad=on_bad, check=check)
        if not selection.scenarios and not allow_no_calls:
            source.refuse_without_calls(survey.totals)
        if not survey.cases:
            if source.skipped:
                raise BadInput(f"{name}: none of its {source.case_kind} can be run")
            raise BadInput(f"{name}: no decision points, because no conversation contains a tool call")
    except BaseException:
        source.close()
        raise
    dataset = structs.replace(
        opened.dataset,
        digest=survey.totals.digest,
        format=source.format.name,
        kind=source.case_kind,
        expanded=source.expanded,
        repaired_rows=survey.totals.repaired_rows,
        unknown_parts=dict(survey.totals.unknown_parts),
        skipped=source.skipped,
    )
    return SelectedCases(source, dataset, survey.cases)
