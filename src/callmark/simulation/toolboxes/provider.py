"""`ToolboxProvider`: a kind of tool source for `--tools NAME:TEXT`."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from callmark.models.keys import Keys
from callmark.simulation.session import ToolSource
from callmark.trust import Action

CALL_TIMEOUT = 30.0  # seconds


class ToolboxSettings(Struct, frozen=True):
    """Settings of every kind of tool source.

    Attributes:
        timeout: Seconds until a call times out.
        keys: The secrets to hide in messages.
        share_server: Whether all conversations share one server; None lets the source decide.
    """

    timeout: float
    keys: Keys
    share_server: bool | None = None


class ToolboxProvider(Struct, frozen=True):
    """A kind of tool source for `--tools NAME:TEXT`. Register your own under the entry point group `callmark.toolboxes`.

    Attributes:
        name: Prefix of its specs.
        open: `open(text, settings)` returns the source, not yet entered, and raises `BadInput` for an invalid text. `text` is the part of
            the spec after the colon, never empty.
        example: A complete spec, for messages.
        help: One-line description.
        answers_any_call: Whether calls that nobody has made before get a result, so that conversations can be planned by making calls.
        world: For tools whose conversations can be planned from their schemas alone: `module:function` of a function that returns their
            `World` for the same text.
        actions: `actions(text, keys)` returns what acts if a file names these tools: the programs that they run, the modules that they
            import, the requests that they send. callmark asks the user first. None: the spec is run, because nothing is known about it.
        has_server: Whether the tools are those of a server, which conversations can share (`--share-server`).
    """

    name: str
    open: Callable[[str, ToolboxSettings], ToolSource]
    example: str
    help: str = ""
    world: str = ""
    actions: Callable[[str, Keys], Sequence[Action]] | None = None
    has_server: bool = False
    answers_any_call: bool = True
