"""Tool sources of simulated conversations, by spec: `mcp:COMMAND`, `mcp:URL`, `python:module`, `recorded:FILE`, `openapi:FILE`, or a kind
that an installed package offers.
"""

from collections.abc import Sequence

from callmark import registry
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys, mask_address
from callmark.simulation.session import ToolSource
from callmark.simulation.toolboxes.joined import JoinedToolSource
from callmark.simulation.toolboxes.provider import CALL_TIMEOUT, ToolboxProvider, ToolboxSettings
from callmark.wording import did_you_mean

__all__ = ["ToolboxProvider", "ToolboxSettings", "find_provider", "open_tools"]


def open_tools(specs: Sequence[str], *, timeout: float = CALL_TIMEOUT, keys: Keys | None = None) -> ToolSource:
    """Return one source, not yet entered, for the tools of all specs.

    A spec that cannot be used and an empty list raise `BadInput`; two tools of one name do so on entering. `timeout` is how many seconds a
    call may take. `keys` are kept out of every message; those of the environment where none are given.
    """
    if not specs:
        raise BadInput("no tools are named", _hint())
    if not timeout > 0:
        raise BadInput(f"the time-out of a tool call is {timeout:g} seconds, more than 0 was expected")
    settings = ToolboxSettings(timeout, Keys.here() if keys is None else keys)
    sources = [_open(spec.strip(), settings) for spec in specs]
    return sources[0] if len(sources) == 1 else JoinedToolSource(sources)


def find_provider(spec: str) -> ToolboxProvider | None:
    """Return the provider that a spec names, or None."""
    name = spec.strip().partition(":")[0]
    return registry.find("toolboxes", name) if registry.is_known("toolboxes", name) else None


def _open(spec: str, settings: ToolboxSettings) -> ToolSource:
    name, colon, text = spec.partition(":")
    keys, text = settings.keys, text.strip()
    provider = find_provider(spec)
    if provider is not None:
        if not text:
            raise BadInput(f"{name}{colon} alone names no tools, {provider.example} was expected")
        try:
            return provider.open(text, settings)
        except BadInput as error:  # the error of a module that fails to import may contain a key
            raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None
    if name in ("http", "https"):
        raise BadInput(f"{mask_address(spec, keys)} is an address, a tool server's has mcp: before it: mcp:http://localhost:8000/mcp")
    known = registry.names("toolboxes")
    if not colon:
        raise BadInput(f"{mask_address(spec, keys) or 'an empty text'} names no tools{did_you_mean(name, known)}", _hint())
    raise BadInput(f"there is no kind of tools called {scrub(keys.hide(name))!r}{did_you_mean(name, known)}", _hint())


def _hint() -> str:
    providers: list[ToolboxProvider] = list(registry.built_in("toolboxes"))
    return f"Tools are named {', '.join(provider.example for provider in providers)} or mcp:http://localhost:8000/mcp."
