"""Where the tools of a simulated conversation come from, by spec.

mcp:COMMAND …     a server over standard input and output       mcp:http://host:port/mcp     one over HTTP
python:module     the public functions of a module              python:module:name,name      some of them, or a class
recorded:FILE     results that were recorded in a dataset of conversations
openapi:FILE      the operations of an OpenAPI 3 file, with results that are made up from the schemas of their answers
"""

from collections.abc import Sequence

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys, masked
from callmark.simulation.toolboxes.joined import JoinedTools, ListedTools
from callmark.wording import nearest

__all__ = ["EXAMPLES", "ListedTools", "open_tools"]

PATIENCE = 30.0  # seconds that a call may take
EXAMPLES = {"mcp": "mcp:'python server.py'", "python": "python:my_tools", "recorded": "recorded:train.jsonl", "openapi": "openapi:api.yaml"}
_HINT = f"Tools are named {', '.join(EXAMPLES.values())} or mcp:http://localhost:8000/mcp."


def open_tools(specs: Sequence[str], *, timeout: float = PATIENCE, keys: Keys | None = None) -> ListedTools:
    """The tools of all the specs as one source, not yet entered.

    A spec that cannot be used raises `BadInput`, as does an empty list; two tools of one name do on entering. `timeout` is how many
    seconds a call may take. `keys` are those that are kept out of every message; the environment's where none are given.
    """
    if not specs:
        raise BadInput("no tools are named", _HINT)
    if not timeout > 0:
        raise BadInput(f"the time-out of a tool call is {timeout:g} seconds, more than 0 was expected")
    keys = Keys.here() if keys is None else keys
    sources = [_opened(spec.strip(), timeout, keys) for spec in specs]
    return sources[0] if len(sources) == 1 else JoinedTools(sources)


def _opened(spec: str, timeout: float, keys: Keys) -> ListedTools:
    kind, colon, rest = spec.partition(":")
    rest = rest.strip()
    if kind in EXAMPLES and not rest:
        raise BadInput(f"{kind}{colon} alone names no tools, {EXAMPLES[kind]} was expected")
    try:
        match kind:
            case "mcp":
                from callmark.simulation.toolboxes.mcp import McpTools

                return McpTools(rest, timeout=timeout, keys=keys)
            case "python":
                from callmark.simulation.toolboxes.functions import FunctionTools

                return FunctionTools(rest, timeout=timeout)
            case "recorded":
                from callmark.simulation.toolboxes.recorded import RecordedTools

                return RecordedTools(rest)
            case "openapi":
                from callmark.simulation.toolboxes.mock_api import MockApiTools

                return MockApiTools(rest)
    except BadInput as error:  # what a module raised while it was imported may have a key in it
        raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None
    if kind in ("http", "https"):
        raise BadInput(f"{masked(spec, keys)} is an address, a tool server's has mcp: before it: mcp:http://localhost:8000/mcp")
    if not colon:
        raise BadInput(f"{masked(spec, keys) or 'an empty text'} names no tools{nearest(kind, EXAMPLES)}", _HINT)
    raise BadInput(f"there is no kind of tools called {scrub(keys.hide(kind))!r}{nearest(kind, EXAMPLES)}", _HINT)
