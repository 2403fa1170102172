"""`callmark tools`: print the tools of a server, of functions, of an OpenAPI file or of a dataset in OpenAI's format."""

import sys

import click


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

    from callmark.api.tools import tools
    from callmark.calls.toolsets import tools_json
    from callmark.wording import pluralize

    found = tools(source)
    text = tools_json(found)
    click.echo(text if as_json else msgspec.json.format(text, indent=2))
    if sys.stderr.isatty():
        from callmark.reporting.safety import escape_controls

        click.echo(f"{pluralize(len(found), 'tool')} · {escape_controls(source)}", err=True)
