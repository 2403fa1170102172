"""`callmark.toml`: how to grade, where the defaults do not fit. Nothing in it is needed.

    suites = ["call", "process", "my_suites:politeness"]
    threshold = 0.8                     # of call.pass
    ignore = ["CommonPlugin-*"]         # functions that the suite process does not count
    averaging = "macro"                 # of the argument metrics of process

    [weights]                           # of schema.overall
    tool_selection = 0.5
    parameter_accuracy = 0.5

    [match]
    "*.description" = {"$any" = true}

It is read from the current folder, or from where `--config` says. Without a file everything is as it comes. A key that is not known is
refused by name with the nearest; so is a value that cannot be.
"""

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import msgspec

from callmark.calls.messages import field_problem
from callmark.calls.rules import match_rules
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.grading.schema import weights
from callmark.grading.suites import Settings
from callmark.wording import nearest

NAME = "callmark.toml"


def read_settings(path: str | None = None) -> Settings:
    """What the file says; the file of the current folder, if there is one, where no path is given."""
    file = Path(path or NAME)
    if path is None and not file.is_file():
        return Settings()
    name = scrub(str(file))
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8 text") from None
    try:
        return settings_of(tomllib.loads(text))
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    except RecursionError:
        raise BadInput(f"{name} nests too deep to be read") from None
    except ValueError as error:  # TOML's own errors, and an integer of more digits than Python reads
        raise BadInput(f"{name} is not TOML: {error}") from None


def settings_of(given: Mapping[str, Any]) -> Settings:
    """The settings of a table; what is wrong with it raises `BadInput`."""
    known = Settings.__struct_fields__
    for key in given:
        if key not in known:
            raise BadInput(f"there is no key called {key!r}{nearest(key, known)}", f"The keys are {', '.join(known)}.")
    try:
        settings = msgspec.convert(_without_dates(given), Settings)
    except msgspec.ValidationError as error:
        raise BadInput(_problem(given, field_problem(str(error)))) from None
    if not 0 <= settings.threshold <= 1:
        raise BadInput(f"threshold is {settings.threshold:g}, a number from 0 to 1 was expected")
    weights(settings.weights)
    match_rules(settings.match)
    return settings


def _problem(given: Mapping[str, Any], said: str) -> str:
    """What is wrong, with the names and the words that there are."""
    if "averaging" in said:
        return f"averaging is {given.get('averaging')!r}, micro or macro was expected"
    if "weights" in said and isinstance(given.get("weights"), dict):
        for name, value in given["weights"].items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"the weight of {name} is {value!r}, a number was expected"
    return said.replace(", float was expected", ", a number was expected")


def _without_dates(value: Any) -> Any:
    """The value with TOML's own dates and times as text."""
    if isinstance(value, dict):
        return {key: _without_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_dates(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value
