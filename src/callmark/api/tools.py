"""The tools of a server, of Python functions, of an OpenAPI file or of a dataset."""

from pathlib import Path

from callmark.api.datasets import DatasetSource, open_dataset
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.runs.event_loop import run_sync
from callmark.simulation.openapi import is_openapi, read_openapi
from callmark.simulation.toolboxes import find_provider, open_tools
from callmark.types import Tool


def tools(source: DatasetSource) -> tuple[Tool, ...]:
    """Return the tools of a source: `mcp:COMMAND`, `mcp:URL`, `python:module`, an OpenAPI file, or a dataset (every tool of every row).

    Of several tools with one name in a dataset, the first is returned. A source without any tool raises `BadInput`.
    """
    if not isinstance(source, str | Path):
        return _dataset_tools(source)
    spec = str(source)
    if find_provider(spec) is not None or (":" in spec and not Path(spec).exists()):
        return _source_tools(spec)
    if spec.endswith(".py"):
        raise BadInput(f"{spec} is a Python file: its functions are named python:{Path(spec).stem}")
    return read_openapi(spec) if is_openapi(spec) else _dataset_tools(spec)


def _source_tools(spec: str) -> tuple[Tool, ...]:
    opened = open_tools([spec])
    found: list[Tool] = []

    async def list_tools() -> None:
        async with opened:
            found.extend(opened.tools)

    run_sync(list_tools)
    return tuple(found)


def _dataset_tools(source: DatasetSource) -> tuple[Tool, ...]:
    found: dict[str, Tool] = {}
    with open_dataset(source) as dataset:
        for row in dataset:
            for tool in row.tools:
                found.setdefault(tool.name, tool)
    if not found:
        raise BadInput(f"{scrub(dataset.name)} has no tools in any of its rows")
    return tuple(found.values())
