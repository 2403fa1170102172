"""The cases to run models on or to grade predictions against: a path, a dataset or a list."""

from collections.abc import Callable, Iterable
from os import PathLike, fspath

from msgspec import structs

from callmark.api.datasets import DatasetSource, open_dataset
from callmark.api.unchanged import unchanged_lines
from callmark.formats import BadRow, Dataset
from callmark.runs.grade import GradeOptions
from callmark.runs.selection import CaseSelection
from callmark.types import Conversation

CaseInput = DatasetSource | CaseSelection


def select_cases(cases: CaseInput, *, limit: int | None = None, trials: int | None = None, scenarios: bool = False) -> CaseSelection:
    """Return the selection of cases. A list is serialized to JSONL, and each run stores a copy."""
    selection = cases if isinstance(cases, CaseSelection) else _selection(cases)
    return structs.replace(
        selection,
        limit=selection.limit if limit is None else limit,
        trials=selection.trials if trials is None else trials,
        scenarios=scenarios,
    )


def with_bad_rows(options: GradeOptions | None, cases: CaseInput) -> GradeOptions:
    """Return the options, with the dataset's handler for bad rows if the options have none."""
    options = options or GradeOptions()
    on_bad: Callable[[BadRow], None] | None = cases.on_bad if isinstance(cases, Dataset) else None
    return structs.replace(options, on_bad=options.on_bad or on_bad)


def _selection(cases: DatasetSource) -> CaseSelection:
    if isinstance(cases, str | PathLike):
        return CaseSelection(fspath(cases))
    dataset = open_dataset(cases)
    if dataset.path:
        return CaseSelection(dataset.path, dataset.format.name, tools_content=dataset.default_tools)
    return CaseSelection("", content=_content(dataset))


def _content(rows: Iterable[Conversation]) -> bytes:
    return b"".join(line + b"\n" for line in unchanged_lines(rows))
