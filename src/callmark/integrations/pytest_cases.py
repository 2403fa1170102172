"""The cases of a file for pytest: `callmark.cases`, which gives `pytest.mark.parametrize` one case per test."""

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from callmark.errors import BadInput
from callmark.reporting.safety import escape_log_commands
from callmark.runs.source import CaseSource, refuse_repeated
from callmark.types import Case, Place
from callmark.wording import shorten_middle

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

_MAX_ID = 200  # characters


def cases(
    path: str | PathLike[str], *, format_name: str | None = None, tools: str | PathLike[str] | None = None, limit: int | None = None
) -> "Sequence[ParameterSet]":
    """Read the cases of a file as parameters of a pytest test, named by their ids.

        @pytest.mark.parametrize("case", callmark.cases("eval.jsonl"))
        def test_agent(case):
            callmark.assert_calls(my_agent(case.messages[-1].text), case)

    Args:
        path: Decision points, scenarios, or conversations, which are expanded.
        format_name: Name of the format; detected by default.
        tools: File with the tools of rows that have none.
        limit: Number of cases, starting from the first.

    Returns:
        A list for `pytest.mark.parametrize`: one `Case` per test.

    Raises:
        BadInput: The file is missing or empty, a row cannot be read, two cases have the same id, or pytest is not installed.
    """
    try:
        import pytest
    except ImportError:
        raise BadInput("pytest is not installed", "Run pip install pytest, or read the file with callmark.load.") from None
    found = read_cases(fspath(path), format_name=format_name, tools=tools, limit=limit)
    return [pytest.param(case, id=readable_id(case.id)) for case in found]


def readable_id(case: str) -> str:
    """Return the id of a case as part of a test's name: without commands of CI logs, and shortened if it is very long.

    pytest escapes control characters and non-ASCII letters, and numbers ids that are equal.
    """
    return escape_log_commands(shorten_middle(case, _MAX_ID))


def read_cases(
    path: str, *, format_name: str | None = None, tools: str | PathLike[str] | None = None, limit: int | None = None
) -> list[Case]:
    """Return the cases of a file in order. Two with the same id raise `BadInput`, and so does a file without cases."""
    places: dict[str, Place | None] = {}
    found: list[Case] = []
    with CaseSource(path, format_name=format_name, tools=None if tools is None else fspath(tools), limit=limit) as source:
        for placed in source.read().first_cases():
            refuse_repeated(placed.case.id, placed.case.place, places)
            places[placed.case.id] = placed.case.place
            found.append(placed.case)
    if not found:
        raise BadInput(f"{path}: no cases found: none of its conversations has a tool call")
    return found
