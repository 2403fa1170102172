"""`callmark.toml`: how to grade, where the defaults do not fit, and which models there are. Nothing in it is needed.

    evaluators = ["call", "process", "my_evaluators:politeness"]
    threshold = 0.8                     # of call.pass
    ignore = ["CommonPlugin-*"]         # functions that the evaluator process does not count
    averaging = "macro"                 # of the argument metrics of process
    policy = "rules.yaml"               # of the evaluator policy, from where this file stands

    [weights]                           # of schema.overall
    tool_selection = 0.5
    parameter_accuracy = 0.5

    [match]
    "*.description" = {"$any" = true}

    [models.tuned]                      # callmark run eval.jsonl --model tuned
    model = "vllm:tuned@http://localhost:8000"
    temperature = 0
    price = { input = 0.1, output = 0.4 }      # of a million tokens

    [gate]                              # callmark gate runs/tuned
    min = { "call.score" = 0.9 }
    max_errors = 0

It is read from the current folder, or from where `--config` says. Without a file everything is as it comes. A key that is not known is
refused by name with the nearest; so is a value that cannot be.
"""

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from callmark.analysis.gate import Gate
from callmark.calls.messages import field_problem
from callmark.calls.rules import match_rules
from callmark.calls.strict import scrub
from callmark.calls.yaml_text import read_yaml
from callmark.errors import BadInput
from callmark.grading.evaluator import Settings
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.evaluators.schema import weights
from callmark.models.model import ModelSettings
from callmark.wording import nearest

NAME = "callmark.toml"
_MODELS, _GATE = "models", "gate"
_KEYS = ("api_key", "key", "token", "password", "authorization")


class Config(Struct, frozen=True):
    """How to grade, the models by the names that they were given, and what a run must meet."""

    grading: Settings = Settings()
    models: dict[str, ModelSettings] = {}
    gate: Gate = Gate()


def read_settings(path: str | None = None) -> Settings:
    """How to grade, as the file says it."""
    return read_config(path).grading


def read_config(path: str | None = None) -> Config:
    """What the file says; the file of the current folder, if there is one, where no path is given."""
    file = Path(path or NAME)
    if path is None and not file.is_file():
        return Config()
    name = scrub(str(file))
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8 text") from None
    try:
        given = tomllib.loads(text)
        models, gate = models_of(given.pop(_MODELS, {})), gate_of(given.pop(_GATE, {}))
        if isinstance(given.get("policy"), str):
            given["policy"] = read_policy(str(file.parent / given["policy"]))
        return Config(settings_of(given), models, gate)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    except RecursionError:
        raise BadInput(f"{name} nests too deep to be read") from None
    except ValueError as error:  # TOML's own errors, and an integer of more digits than Python reads
        raise BadInput(f"{name} is not TOML: {error}") from None


def settings_of(given: Mapping[str, Any]) -> Settings:
    """The settings of a table; what is wrong with it raises `BadInput`."""
    known = (*Settings.__struct_fields__, _MODELS, _GATE)
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
    if settings.policy:
        read_rules(settings.policy)
    return settings


def read_policy(path: str) -> dict[str, Any]:
    """What a YAML file of rules holds, once it is known that rules can be read from it; else `BadInput` that names the file."""
    name = scrub(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8") from None
    given = read_yaml(text, name)
    try:
        read_rules(given)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    return dict(given)


def models_of(given: Any) -> dict[str, ModelSettings]:
    """The models of a table of tables; what is wrong with one raises `BadInput` that names it. A key belongs in the environment."""
    if not isinstance(given, dict):
        raise BadInput(f"models is {given!r}, tables were expected", "[models.NAME] begins one.")
    return {name: _model_of(name, table) for name, table in given.items()}


def gate_of(given: Any) -> Gate:
    """The conditions of the table `[gate]`; metrics are known only when a run is at hand."""
    if not isinstance(given, dict):
        raise BadInput(f"gate is {given!r}, a table was expected", "[gate] begins it.")
    known = Gate.__struct_fields__
    for key in given:
        if key not in known:
            raise BadInput(f"gate: there is no key called {key!r}{nearest(key, known)}", f"The keys are {', '.join(known)}.")
    flat = {key: _flat(value) if key in ("min", "max_drop") and isinstance(value, dict) else value for key, value in given.items()}
    try:
        return msgspec.convert(flat, Gate)
    except msgspec.ValidationError as error:
        raise BadInput(f"gate: {field_problem(str(error))}") from None


def _flat(bounds: dict[str, Any]) -> dict[str, Any]:
    """TOML reads `call.score = 0.9` as a table in a table."""
    found: dict[str, Any] = {}
    for name, value in bounds.items():
        found |= {f"{name}.{inner}": bound for inner, bound in _flat(value).items()} if isinstance(value, dict) else {name: value}
    return found


def _model_of(name: str, given: Any) -> ModelSettings:
    where = f"{_MODELS}.{name}"
    if not isinstance(given, dict):
        raise BadInput(f"{where} is {given!r}, a table was expected", f"[{where}] begins one.")
    known = ModelSettings.__struct_fields__
    for key in given:
        if key.lower() in _KEYS:
            raise BadInput(f"{where}.{key}: a key does not belong in a file", 'api_key_env = "NAME" says which variable holds it.')
        if key not in known:
            raise BadInput(f"{where}: there is no key called {key!r}{nearest(key, known)}", f"The keys are {', '.join(known)}.")
    try:
        found = msgspec.convert(_without_dates(given), ModelSettings)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {field_problem(str(error))}") from None
    check_model(found, where)
    return found


def check_model(settings: ModelSettings, where: str) -> None:
    """Refuse settings that no model could be asked with."""
    if not settings.model:
        raise BadInput(f"{where} has no model", 'model = "openai:NAME" says which; callmark run --list-models shows what there is.')
    price = settings.price
    for name, number in (
        *((name, getattr(settings, name)) for name in ("temperature", "rpm", "timeout")),
        *((f"price.{name}", getattr(price, name)) for name in ("input", "output") if price),
    ):
        if number is not None and not isfinite(number):
            raise BadInput(f"{where}: {name} is {number:g}, a finite number was expected")
    for name, least in (("concurrency", 1), ("rpm", 0), ("timeout", 0), ("retries", 0)):
        value = getattr(settings, name)
        if value is not None and (value < least or (value == 0 and name != "retries")):
            raise BadInput(f"{where}: {name} is {value:g}, {'at least 1' if least else 'more than 0'} was expected")
    if settings.price is not None and (settings.price.input < 0 or settings.price.output < 0):
        raise BadInput(f"{where}: a price is below 0")


def _problem(given: Mapping[str, Any], said: str) -> str:
    """What is wrong, with the names and the words that there are."""
    if "averaging" in said:
        return f"averaging is {given.get('averaging')!r}, micro or macro was expected"
    if "weights" in said and isinstance(given.get("weights"), dict):
        for name, value in given["weights"].items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                return f"the weight of {name} is {value!r}, a number was expected"
    return said


def _without_dates(value: Any) -> Any:
    """The value with TOML's own dates and times as text."""
    if isinstance(value, dict):
        return {key: _without_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_dates(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value
