"""List the tools of an MCP server, of Python functions, of an OpenAPI file, or of a dataset."""

from collections.abc import Sequence
from pathlib import Path

from callmark.api.datasets import DatasetSource, open_dataset
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.child_environment import pass_on
from callmark.models.keys import Keys
from callmark.runs.event_loop import run_sync
from callmark.simulation.openapi import is_openapi, read_openapi
from callmark.simulation.tool_lists.read import is_tool_list, read_tool_definitions
from callmark.simulation.toolboxes import find_provider, open_tools
from callmark.types import Tool

_CONVERT_HINT = "Convert the dataset first: callmark convert FILE -o OUT --to openai --from FORMAT."


def tools(source: DatasetSource, *, env: Sequence[str] = ()) -> tuple[Tool, ...]:
    """List the tools of a source.

        callmark.tools("mcp:python server.py")

    Args:
        source: `mcp:COMMAND`, `mcp:URL`, `python:MODULE`, an OpenAPI file, a JSON list of tools, or a dataset, whose tools are collected
            from all rows.
        env: Names of environment variables that programs get (`mcp:COMMAND`), in addition to the path, home folder and locale.

    Returns:
        The tools. If rows of a dataset define the same name differently, the first definition is returned.

    Raises:
        BadInput: The source has no tools, a server does not start, or a file or row cannot be read.
    """
    if not isinstance(source, str | Path):
        return _dataset_tools(source)
    spec = str(source)
    if find_provider(spec) is not None or (":" in spec and not Path(spec).exists()):
        return _source_tools(spec, env)
    if spec.endswith(".py"):
        raise BadInput(f"{spec}: expected a tool source, got a Python file", f"Pass python:{Path(spec).stem} to list its functions.")
    if is_openapi(spec):
        return read_openapi(spec)
    return read_tool_definitions(spec) if is_tool_list(spec) else _dataset_tools(spec)


def _source_tools(spec: str, env: Sequence[str]) -> tuple[Tool, ...]:
    keys = Keys.here()
    pass_on(env, keys)
    opened = open_tools([spec], keys=keys)
    found: list[Tool] = []

    async def list_tools() -> None:
        async with opened:
            found.extend(opened.tools)

    run_sync(list_tools)
    return tuple(found)


def _dataset_tools(source: DatasetSource) -> tuple[Tool, ...]:
    found: dict[str, Tool] = {}
    try:
        with open_dataset(source) as dataset:
            for row in dataset:
                for tool in row.tools:
                    found.setdefault(tool.name, tool)
    except BadInput as error:
        if "--from" in error.hint:  # `callmark tools` has no --from
            raise BadInput(str(error), _CONVERT_HINT) from None
        raise
    if not found:
        raise BadInput(f"{scrub(dataset.name)}: no row has tools")
    return tuple(found.values())
