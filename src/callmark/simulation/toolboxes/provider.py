"""`ToolboxProvider`: a kind of tool source that `--tools NAME:TEXT` can name."""

from collections.abc import Callable

from msgspec import Struct

from callmark.models.keys import Keys
from callmark.simulation.session import ToolSource

CALL_TIMEOUT = 30.0  # seconds


class ToolboxSettings(Struct, frozen=True):
    """What every kind of tool source is given: seconds that a call may take, and the secrets that no message may show."""

    timeout: float
    keys: Keys


class ToolboxProvider(Struct, frozen=True):
    """A kind of tool source. `open(text, settings)` returns the source, not yet entered; it raises `BadInput` for a text it cannot use.

    `text` is what follows the colon of the spec, never empty. `example` is a whole spec. `world` is `module:function` of a function that
    returns the `World` of such tools from the same text, for tools whose conversations can be planned from their schemas alone. An
    installed package offers its own kind under the entry point `callmark.toolboxes`.
    """

    name: str
    open: Callable[[str, ToolboxSettings], ToolSource]
    example: str
    help: str = ""
    world: str = ""
