"""`callmark tools`: the tools of a server, of functions, of an OpenAPI file or of a dataset, as OpenAI takes them."""

import sys
from pathlib import Path

import click

from callmark.errors import BadInput
from callmark.types import Tool


@click.command(name="tools", short_help="The tools of a server, of Python functions, of an OpenAPI file or of a dataset, as JSON.")
@click.argument("source", metavar="SOURCE")
@click.option("--json", "as_json", is_flag=True, help="On one line, for machines.")
def command(source: str, as_json: bool) -> None:
    """The tools of any SOURCE as OpenAI takes them: a JSON list, ready for --tools of the commands that read datasets.

    \b
    callmark tools mcp:'python server.py'            an MCP server, started for it
    callmark tools mcp:http://localhost:8000/mcp     one that is running
    callmark tools python:my_tools                   the functions of a Python module
    callmark tools openapi.yaml                      the operations of an OpenAPI 3 file
    callmark tools train.jsonl                       every tool in a dataset
    """
    import msgspec

    from callmark.calls.toolsets import tools_json
    from callmark.wording import counted

    found, label = _found(source)
    text = tools_json(found)
    click.echo(text if as_json else msgspec.json.format(text, indent=2))
    if sys.stderr.isatty():
        from callmark.reporting.safety import safe

        click.echo(f"{counted(len(found), 'tool')} · {safe(label)}", err=True)


def _found(source: str) -> tuple[tuple[Tool, ...], str]:
    """The tools, and what their source is called."""
    from callmark.simulation.openapi import is_openapi, read_openapi
    from callmark.simulation.toolboxes import EXAMPLES, open_tools

    kind, colon, _ = source.partition(":")
    if kind in EXAMPLES or (colon and not Path(source).exists()):
        import asyncio

        tools = open_tools([source])

        async def listed() -> tuple[Tool, ...]:
            async with tools:
                return tools.tools

        return asyncio.run(listed()), tools.label
    if source.endswith(".py"):
        raise BadInput(f"{source} is a Python file: its functions are named python:{Path(source).stem}")
    return (read_openapi(source) if is_openapi(source) else _of_dataset(source)), source


def _of_dataset(path: str) -> tuple[Tool, ...]:
    """Every tool of every row; of two of one name the first."""
    from callmark.calls.strict import scrub
    from callmark.cli.reading import tracked
    from callmark.formats import load

    found: dict[str, Tool] = {}
    with load(path) as dataset:
        for row in tracked(dataset):
            for tool in row.tools:
                found.setdefault(tool.name, tool)
    if not found:
        raise BadInput(f"{scrub(path)} has no tools in any of its rows")
    return tuple(found.values())
