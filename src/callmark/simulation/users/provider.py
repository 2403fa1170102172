"""`UserProvider`: a kind of simulated user for `--user NAME[:OPTIONS]`."""

from collections.abc import Callable

from msgspec import Struct

from callmark.simulation.session import User


class UserProvider(Struct, frozen=True):
    """A kind of simulated user for `--user NAME[:OPTIONS]`. Register your own under the entry point group `callmark.users`.

    Attributes:
        name: Prefix of its specs.
        open: `open(options, seed)` returns the user, and raises `BadInput` for invalid options. `options` is the text after the colon; None
            without a colon. The same seed gives the same users.
        help: One-line description.
        examples: Complete specs, for messages.
    """

    name: str
    open: Callable[[str | None, int], User]
    help: str = ""
    examples: tuple[str, ...] = ()
