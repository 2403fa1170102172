"""`callmark.toml`: how to grade where the defaults do not fit, the models, and the gate. Nothing in it is required.

    [evaluators]
    use = ["call", "process", "my_evaluators:Politeness"]

    [evaluators.call]
    threshold = 0.8                     # of call.pass

    [evaluators.schema.weights]         # of schema.overall
    tool_selection = 0.5
    parameter_accuracy = 0.5

    [evaluators.process]
    ignore = ["CommonPlugin-*"]         # functions that do not count
    averaging = "macro"                 # of the argument metrics

    [evaluators.policy]
    rules = "rules.yaml"                # relative to this file

    [evaluators."my_evaluators:Politeness"]
    words = ["please"]                  # keyword arguments of the class

    [match]
    "*.description" = {"$any" = true}

    [models.tuned]                      # callmark run eval.jsonl --model tuned
    model = "vllm:tuned@http://localhost:8000"
    temperature = 0
    price = { input = 0.1, output = 0.4 }      # of a million tokens

    [gate]                              # callmark gate runs/tuned
    min = { "call.score" = 0.9 }
    max_errors = 0

It is read from the current folder, or from the path that `--config` gives. Without a file the defaults hold. An unknown key is refused by
name with the nearest; so is a value that cannot be used.
"""

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from callmark import registry
from callmark.analysis.gate import Gate
from callmark.calls.match_rules import read_match_rules
from callmark.calls.messages import explain_validation_error
from callmark.calls.strict import scrub
from callmark.calls.yaml_text import read_yaml
from callmark.errors import BadInput
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.settings import DEFAULT_EVALUATORS, GradingSettings, find_evaluator, find_source
from callmark.models.model import ModelSettings
from callmark.wording import did_you_mean

FILE_NAME = "callmark.toml"
_KEYS = ("evaluators", "match", "models", "gate")
_SECRETS = ("api_key", "key", "token", "password", "authorization")


class Config(Struct, frozen=True):
    """What `callmark.toml` holds: how to grade, the models by name, the thresholds of the gate."""

    grading: GradingSettings = GradingSettings()
    models: dict[str, ModelSettings] = {}
    gate: Gate = Gate()


def read_grading_settings(path: str | None = None) -> GradingSettings:
    """Return how to grade, as the file says."""
    return read_config(path).grading


def read_config(path: str | None = None) -> Config:
    """Return what the file holds: `path`, else `callmark.toml` of the current folder, else the defaults.

    A file that cannot be read or used raises `BadInput` that names it.
    """
    file = Path(path or FILE_NAME)
    if path is None and not file.is_file():
        return Config()
    name = scrub(str(file))
    text = _read_text(file, name, kind="is not UTF-8 text")
    try:
        tables = tomllib.loads(text)
        _refuse_unknown_keys(tables, _KEYS)
        return Config(
            parse_grading(tables.get("evaluators", {}), tables.get("match", {}), folder=file.parent),
            parse_models(tables.get("models", {})),
            parse_gate(tables.get("gate", {})),
        )
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    except RecursionError:
        raise BadInput(f"{name} nests too deep to be read") from None
    except ValueError as error:  # TOML's own errors, and an integer of more digits than Python reads
        raise BadInput(f"{name} is not TOML: {error}") from None


def parse_grading(evaluators: Any, match: Any, *, folder: Path) -> GradingSettings:
    """Return the settings of the tables `[evaluators]` and `[match]`; `folder` is what paths in them are relative to.

    Options that an evaluator cannot be constructed with raise `BadInput`.
    """
    if not isinstance(evaluators, dict):
        raise BadInput(f"evaluators is {evaluators!r}, a table was expected", 'use = ["call"] in the table [evaluators] selects some.')
    tables = {name: table for name, table in evaluators.items() if name != "use"}
    options: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            known = ("use", *registry.names("evaluators"))
            raise BadInput(f"evaluators: there is no key called {name!r}{did_you_mean(name, known)}", f"The keys are {', '.join(known)}.")
        options[name] = _parse_options(name, _without_dates(table), folder)
    settings = GradingSettings(_parse_use(evaluators["use"]) if "use" in evaluators else DEFAULT_EVALUATORS, options)
    if not isinstance(match, dict):
        raise BadInput(f"match is {match!r}, a table was expected")
    rules = _without_dates(match)
    read_match_rules(rules)
    return msgspec.structs.replace(settings, match=rules)


def read_policy(path: str) -> dict[str, Any]:
    """Return the content of a YAML file of rules; a file from which no rules can be read raises `BadInput` that names it."""
    name = scrub(path)
    content = read_yaml(_read_text(Path(path), name, kind="is not UTF-8"), name)
    try:
        read_rules(content)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    return dict(content)


def parse_models(tables: Any) -> dict[str, ModelSettings]:
    """Return the models of a table of tables; a problem raises `BadInput` that names the model."""
    if not isinstance(tables, dict):
        raise BadInput(f"models is {tables!r}, tables were expected", "[models.NAME] begins one.")
    return {name: _parse_model(name, table) for name, table in tables.items()}


def parse_gate(table: Any) -> Gate:
    """Return the thresholds of the table `[gate]`; which metrics exist is known only for a run."""
    if not isinstance(table, dict):
        raise BadInput(f"gate is {table!r}, a table was expected", "[gate] begins it.")
    _refuse_unknown_keys(table, Gate.__struct_fields__, where="gate: ")
    flat = {key: _flatten(value) if key in ("min", "max_drop") and isinstance(value, dict) else value for key, value in table.items()}
    try:
        return msgspec.convert(flat, Gate)
    except msgspec.ValidationError as error:
        raise BadInput(f"gate: {explain_validation_error(str(error))}") from None


def check_model(settings: ModelSettings, where: str) -> None:
    """Refuse settings that no model can be run with."""
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


def _parse_use(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list):
        raise BadInput(f"evaluators.use is {'text' if isinstance(names, str) else repr(names)}, a list was expected")
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f"evaluators.use has {name!r}, the name of an evaluator was expected")
    return tuple(names)


def _parse_options(name: str, table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of an evaluator, with the content of files in place of their paths.

    An evaluator that cannot be constructed with them is refused; one of a user's module is not imported before it grades.
    """
    options = dict(table)
    if ":" in name:
        return options
    for option in getattr(find_source(name), "file_options", ()):
        if isinstance(options.get(option), str):
            path = folder / options[option]
            options[option] = read_yaml(_read_text(path, scrub(str(path)), kind="is not UTF-8"), scrub(str(path)))
    find_evaluator(name, options)
    return options


def _read_text(path: Path, name: str, *, kind: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name} {kind}") from None


def _refuse_unknown_keys(table: Mapping[str, Any], known: tuple[str, ...], *, where: str = "") -> None:
    for key in table:
        if key not in known:
            raise BadInput(f"{where}there is no key called {key!r}{did_you_mean(key, known)}", f"The keys are {', '.join(known)}.")


def _flatten(thresholds: dict[str, Any]) -> dict[str, Any]:
    """Return thresholds by full metric name: TOML reads `call.score = 0.9` as a table in a table."""
    found: dict[str, Any] = {}
    for name, value in thresholds.items():
        found |= {f"{name}.{inner}": bound for inner, bound in _flatten(value).items()} if isinstance(value, dict) else {name: value}
    return found


def _parse_model(name: str, table: Any) -> ModelSettings:
    where = f"models.{name}"
    if not isinstance(table, dict):
        raise BadInput(f"{where} is {table!r}, a table was expected", f"[{where}] begins one.")
    for key in table:
        if key.lower() in _SECRETS:
            raise BadInput(f"{where}.{key}: a key does not belong in a file", 'api_key_env = "NAME" says which variable holds it.')
    _refuse_unknown_keys(table, ModelSettings.__struct_fields__, where=f"{where}: ")
    try:
        settings = msgspec.convert(_without_dates(table), ModelSettings)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {explain_validation_error(str(error))}") from None
    check_model(settings, where)
    return settings


def _without_dates(value: Any) -> Any:
    """Return the value with TOML's dates and times as text."""
    if isinstance(value, dict):
        return {key: _without_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_dates(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value
