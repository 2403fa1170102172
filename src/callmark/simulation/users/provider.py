"""`UserProvider`: a kind of simulated user that `--user NAME[:OPTIONS]` can name."""

from collections.abc import Callable

from msgspec import Struct

from callmark.simulation.session import User


class UserProvider(Struct, frozen=True):
    """A kind of user. `open(options, seed)` returns the user; it raises `BadInput` for options that it does not accept.

    `options` is the text after the colon, None where there is no colon. The same seed gives the same users. `examples` are specs for
    messages. An installed package offers its own under the entry point `callmark.users`.
    """

    name: str
    open: Callable[[str | None, int], User]
    help: str = ""
    examples: tuple[str, ...] = ()
