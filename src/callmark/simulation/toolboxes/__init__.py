"""Open the tools of simulated conversations by spec: `mcp:COMMAND`, `mcp:URL`, `python:module`, `recorded:FILE`, `openapi:FILE`,
`tools:FILE`, or a kind from an installed package. A path alone is an OpenAPI file or a list of tools.
"""

import os
from collections.abc import Sequence

from callmark import registry
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys, mask_address
from callmark.models.module_files import suggest_python
from callmark.simulation.openapi import is_openapi
from callmark.simulation.session import ToolSource
from callmark.simulation.toolboxes.joined import JoinedToolSource
from callmark.simulation.toolboxes.provider import CALL_TIMEOUT, ToolboxProvider, ToolboxSettings
from callmark.trust import Action, named_by
from callmark.wording import did_you_mean

__all__ = ["ToolboxProvider", "ToolboxSettings", "complete_spec", "find_provider", "open_tools", "tool_actions"]


def open_tools(
    specs: Sequence[str], *, timeout: float = CALL_TIMEOUT, keys: Keys | None = None, share_server: bool | None = None
) -> ToolSource:
    """Return one source, not yet entered, for the tools of all specs.

    An invalid spec and an empty list raise `BadInput`; duplicate tool names raise it on entering. `timeout` is the limit for a call, in
    seconds. `keys` are hidden in every message (default: the keys in the environment). `share_server` is whether all conversations share
    one server: by default, each has its own, unless the server separates them or changes nothing. Without a server, it raises `BadInput`.
    """
    if not specs:
        raise BadInput("no tools given", _hint())
    if not timeout > 0:
        raise BadInput(f"the timeout of a tool call: expected more than 0 seconds, got {timeout:g}")
    settings = ToolboxSettings(timeout, Keys.here() if keys is None else keys, share_server)
    completed = [complete_spec(spec) for spec in specs]
    sources = [_open(spec, settings) for spec in completed]
    if share_server is not None and not any((provider := find_provider(spec)) and provider.has_server for spec in completed):
        raise BadInput(f"--{'' if share_server else 'no-'}share-server has no effect: none of the tools come from a server")
    return sources[0] if len(sources) == 1 else JoinedToolSource(sources)


def find_provider(spec: str) -> ToolboxProvider | None:
    """Return the provider for a spec, or None."""
    name = spec.strip().partition(":")[0]
    return registry.find("toolboxes", name) if registry.is_known("toolboxes", name) else None


def complete_spec(spec: str) -> str:
    """Return the spec of a path: `openapi:PATH` for an OpenAPI file, `tools:PATH` for any other file; anything else stripped."""
    spec = spec.strip()
    if find_provider(spec) is not None or not os.path.isfile(spec) or spec.endswith(".py"):
        return spec
    return f"openapi:{spec}" if is_openapi(spec) else f"tools:{spec}"


def tool_actions(specs: Sequence[str], keys: Keys, *, source: str) -> list[Action]:
    """Return what opening these tools would run, import or send. `source` is the file or run folder that names them.

    An unknown kind has no actions: opening it raises `BadInput`.
    """
    found: list[Action] = []
    for spec in specs:
        provider, text = find_provider(spec), spec.partition(":")[2].strip()
        if provider is not None:
            found += provider.actions(text, keys) if provider.actions else (Action("run", keys.show_command(spec), exact=spec),)
    return named_by(source, found)


def _open(spec: str, settings: ToolboxSettings) -> ToolSource:
    name, colon, text = spec.partition(":")
    keys, text = settings.keys, text.strip()
    provider = find_provider(spec)
    if provider is not None:
        if not text:
            raise BadInput(f"--tools: expected a source such as {provider.example}, got {f'{name}{colon}'!r}")
        try:
            return provider.open(text, settings)
        except BadInput as error:  # the import error of a module may contain a key
            raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None
    if name in ("http", "https"):
        raise BadInput(
            f"--tools: expected mcp:URL for a tool server, got {mask_address(spec, keys)}", "For example mcp:http://localhost:8000/mcp."
        )
    known = registry.names("toolboxes")
    near = did_you_mean(name, known) or suggest_python(mask_address(spec, keys))
    if not colon and spec.endswith((".json", ".yaml", ".yml")):
        raise BadInput(f"--tools: {mask_address(spec, keys)}: no such file")
    if not colon:
        raise BadInput(f"--tools: expected KIND:SOURCE, got {mask_address(spec, keys)!r}{near}", _hint())
    raise BadInput(f"unknown tool source {scrub(keys.hide(name))!r}{near}", _hint())


def _hint() -> str:
    providers: list[ToolboxProvider] = list(registry.built_in("toolboxes"))
    return f"Examples: {', '.join(provider.example for provider in providers)}, mcp:http://localhost:8000/mcp."
