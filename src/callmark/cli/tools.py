"""`callmark tools`: print the tools of a server, a Python module, an OpenAPI file or a dataset in OpenAI's format."""

import sys

import click

from callmark.cli.help import Command, argument, option
from callmark.cli.model_options import env_option


@click.command(
    "tools",
    cls=Command,
    examples=("callmark tools 'mcp:python server.py' > tools.json", "callmark tools openapi.yaml", "callmark tools train.jsonl"),
)
@argument(
    "source",
    metavar="SOURCE",
    text="mcp:COMMAND, mcp:URL, python:MODULE, python:MODULE:CLASS, an OpenAPI 3 file, a JSON list of tools, or a dataset.",
)
@env_option("Input", "mcp:COMMAND")
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON on one line.")
def command(source: str, as_json: bool, env: tuple[str, ...]) -> None:
    """Print the tools of a server, module, OpenAPI file or dataset.

    Prints a JSON list in OpenAI format, for the --tools option of commands that read datasets. mcp:COMMAND starts the server.
    """
    import msgspec

    from callmark.api.tools import tools
    from callmark.calls.toolsets import tools_json
    from callmark.wording import pluralize

    found = tools(source, env=env)
    text = tools_json(found)
    click.echo(text if as_json else msgspec.json.format(text, indent=2))
    if sys.stderr.isatty():
        from callmark.reporting.safety import escape_breaks

        click.echo(f"{pluralize(len(found), 'tool')} · {escape_breaks(source)}", err=True)
