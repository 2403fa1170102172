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


def child_environment(names: Sequence[str], keys: Keys) -> dict[str, str]:
    """Return the environment of a program. The variables in `names` are passed on and hidden from now on.

    A name that is not one, and a variable that is not set, raise `BadInput` without its value.
    """
    inherited = {name: value for name, value in os.environ.items() if name in INHERITED or name.startswith(_LOCALE)}
    passed_on = {name: _value(name, keys) for name in names}
    return {**inherited, "PYTHONUNBUFFERED": "1", **passed_on}  # otherwise a Python program buffers its output, and loses the last of it


def _value(name: str, keys: Keys) -> str:
    if not _NAME.fullmatch(name):
        shown, equals, _ = name.partition("=")
        raise BadInput(
            f"env: expected the name of an environment variable, got {scrub(keys.hide(shown))!r}{' and a value' if equals else ''}",
            "Set the variable first, then pass its name: values on a command line are visible to others.",
        )
    if not (value := keys.pass_on(name)):
        raise BadInput(f"env: {name} is not set", f"Set it in the environment or in {ENV_FILE}, or do not pass it on.")
    return value
