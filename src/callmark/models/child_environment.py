"""The environment of programs that callmark starts: little of its own, and the variables that the user names.

A program gets the path, the home folder, the user, the terminal type, the locale, the time zone and the folder for temporary files. API
keys and everything else are passed on only by name (`--env NAME`, `env = ["NAME"]` in a model's table of `callmark.toml`). A virtual
environment needs no variable: its Python is found by the path.
"""

import os
import re
from collections.abc import Sequence

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import ENV_FILE, Keys

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_LOCALE = "LC_"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_variable(name: str) -> bool:
    """Return whether a text is the name of a variable."""
    return _NAME.fullmatch(name) is not None


def pass_on(names: Sequence[str], keys: Keys) -> None:
    """Pass variables on to every program that is started with these keys; their values are hidden from now on.

    A name that is not one, and a variable that is not set, raise `BadInput` without its value.
    """
    keys.passed_on.update({name: _value(name, keys, "--env") for name in names})


def child_environment(names: Sequence[str], keys: Keys) -> dict[str, str]:
    """Return the environment of a program; it alone gets the variables in `names`. Raises `BadInput` as `pass_on` does."""
    inherited = {name: value for name, value in os.environ.items() if name in INHERITED or name.startswith(_LOCALE)}
    own = {name: _value(name, keys) for name in names}
    return {**inherited, "PYTHONUNBUFFERED": "1", **keys.passed_on, **own}  # otherwise a Python program buffers its output


def _value(name: str, keys: Keys, option: str = "env") -> str:
    if not is_variable(name):
        shown, equals, _ = name.partition("=")
        raise BadInput(
            f"{option}: expected the name of an environment variable, got {scrub(keys.hide(shown))!r}{' and a value' if equals else ''}",
            "Set the variable first, then pass only its name: other users can read the command line.",
        )
    if not (value := keys.reveal(name)):
        raise BadInput(f"{option}: {name} is not set", f"Set it in the environment or in {ENV_FILE}, or do not pass it.")
    return value
