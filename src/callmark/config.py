"""Read `callmark.toml`: evaluator options, match rules, grounding, named models and agents, and the gate. Every key is optional.

    [evaluators]
    use = ["call", "process", "my_evaluators:Politeness"]

    [evaluators.call]
    threshold = 0.8                     # for call.pass

    [evaluators.schema.weights]         # for schema.overall
    tool_selection = 0.5
    parameter_accuracy = 0.5

    [evaluators.process]
    ignore = ["CommonPlugin-*"]         # functions to ignore
    averaging = "macro"                 # for the argument metrics

    [evaluators.policy]
    rules = "rules.yaml"                # relative to this file

    [evaluators."my_evaluators:Politeness"]
    words = ["please"]                  # keyword arguments for the class

    [reply]                             # checks of the text of every reply
    not_contains = ["as an AI"]
    max_words = 150

    [match]
    "*.description" = {"$any" = true}

    [tools]
    read_only = ["get_*", "search_*"]   # tools that change nothing, for trajectory.redundant

    [grounding]
    ignore = ["*.note"]                 # arguments whose values need no source in the conversation

    [models.tuned]                      # callmark run eval.jsonl --model tuned
    model = "vllm:tuned@http://localhost:8000"
    temperature = 0
    price = { input = 0.1, output = 0.4 }      # per million tokens

    [agents.support]                    # callmark simulate scenarios.jsonl --agent support
    url = "https://bot.example.com/chat"
    api_key_env = "SUPPORT_TOKEN"
    body = { text = "{message}", conversation = "{session}" }
    reply = "/answer/text"
    calls = "/answer/tool_calls"

    [gate]                              # callmark gate runs/tuned
    min = { "call.score" = 0.9 }
    max_errors = 0

It is read from the current folder, or from the path passed as `--config`. Without a file, the defaults apply. Unknown keys and invalid
values raise `BadInput` that names the file, the table and the key.
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
from callmark.calls.argument_patterns import pattern_problem
from callmark.calls.match_rules import read_match_rules
from callmark.calls.messages import explain_validation_error
from callmark.calls.reply_checks import read_reply_checks
from callmark.calls.strict import scrub
from callmark.calls.yaml_text import read_yaml
from callmark.errors import BadInput
from callmark.formats.regular_files import read_at_most, read_regular
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.grading.settings import DEFAULT_EVALUATORS, GradingSettings, find_evaluator, find_source
from callmark.models.endpoint import EndpointSettings, check_endpoint
from callmark.models.model import ModelSettings
from callmark.wording import did_you_mean

FILE_NAME = "callmark.toml"
_KEYS = ("evaluators", "reply", "match", "tools", "grounding", "models", "agents", "gate")
_MAX_BYTES = 50_000_000  # of a file
_AGENT_SETTINGS = ("api_key_env", "price", "concurrency", "rpm", "timeout", "retries")  # of a model that an agent has too
_SECRETS = ("api_key", "key", "token", "password", "authorization")


class Config(Struct, frozen=True):
    """The content of `callmark.toml`: grading settings, models and agents by name, and the thresholds of the gate.

    `found` is the path of a file that was found in the current folder. What it runs, imports or sends needs the user's consent
    (`trust.py`). It is empty for a file that the user named.
    """

    grading: GradingSettings = GradingSettings()
    models: dict[str, ModelSettings] = {}
    gate: Gate = Gate()
    found: str = ""


def read_grading_settings(path: str | None = None) -> GradingSettings:
    """Return the grading settings of the file, or the defaults."""
    return read_config(path).grading


def read_config(path: str | None = None) -> Config:
    """Return the configuration in `path`, or in `callmark.toml` of the current folder, or the defaults if there is no such file.

    A missing `path` and a file with invalid content raise `BadInput` that names the file.
    """
    file = Path(path or FILE_NAME)
    if path is None and not file.is_file():
        return Config()
    name = scrub(str(file))
    text = _read_text(file, name, regular=path is None)
    try:
        tables = tomllib.loads(text)
        _refuse_unknown_keys(tables, _KEYS)
        return Config(
            msgspec.structs.replace(
                _with_reply_checks(
                    parse_grading(tables.get("evaluators", {}), tables.get("match", {}), tables.get("tools", {}), folder=file.parent),
                    tables.get("reply", {}),
                ),
                ungrounded=parse_grounding(tables.get("grounding", {})),
            ),
            _join_models(parse_models(tables.get("models", {})), parse_agents(tables.get("agents", {}))),
            parse_gate(tables.get("gate", {})),
            found="" if path else FILE_NAME,
        )
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    except RecursionError:
        raise BadInput(f"{name}: nested too deeply to read") from None
    except ValueError as error:  # a TOML syntax error, or an integer with more digits than Python parses
        raise BadInput(f"{name}: not valid TOML: {error}") from None


def parse_grading(evaluators: Any, match: Any, tools: Any = None, *, folder: Path) -> GradingSettings:
    """Return the settings of the tables `[evaluators]`, `[match]` and `[tools]`. Paths in them are relative to `folder`.

    Options that an evaluator does not accept raise `BadInput`.
    """
    if not isinstance(evaluators, dict):
        raise BadInput(
            f"evaluators: expected a table, got {evaluators!r}", 'Select evaluators with use = ["call"] in the table [evaluators].'
        )
    tables = {name: table for name, table in evaluators.items() if name != "use"}
    options: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            known = ("use", *registry.names("evaluators"))
            raise BadInput(f"[evaluators]: unknown key {name!r}{did_you_mean(name, known)}", f"Known keys: {', '.join(known)}.")
        options[name] = _parse_options(name, _without_dates(table), folder)
    settings = GradingSettings(_parse_use(evaluators["use"]) if "use" in evaluators else DEFAULT_EVALUATORS, options)
    if not isinstance(match, dict):
        raise BadInput(f"match: expected a table, got {match!r}")
    rules = _without_dates(match)
    try:
        read_match_rules(rules)
    except BadInput as error:
        raise _in_table("[match]", error, "match: ") from None
    return msgspec.structs.replace(settings, match=rules, read_only=_parse_tools({} if tools is None else tools))


def _with_reply_checks(settings: GradingSettings, table: Any) -> GradingSettings:
    """Return the settings with the checks of the table `[reply]`, which are an option of the evaluator `reply`."""
    if not isinstance(table, dict):
        raise BadInput(f"reply: expected a table, got {table!r:.80}", "Start the table with [reply].")
    if not table:
        return settings
    if "checks" in settings.options.get("reply", {}):
        raise BadInput("reply checks are set twice: in [reply] and in [evaluators.reply]", "Keep those in [reply].")
    checks = _without_dates(table)
    try:
        read_reply_checks(checks, "[reply]")
    except BadInput as error:
        raise BadInput(str(error).replace("[reply].", "[reply] ", 1), error.hint) from None
    return settings.with_options("reply", checks=checks)


def parse_grounding(table: Any) -> tuple[str, ...]:
    """Return the patterns of the table `[grounding]`: arguments whose values need no source."""
    if not isinstance(table, dict):
        raise BadInput(f"grounding: expected a table, got {table!r:.80}", "Start the table with [grounding].")
    _refuse_unknown_keys(table, ("ignore",), where="[grounding] ")
    patterns = table.get("ignore", [])
    if not isinstance(patterns, list):
        raise BadInput(f"[grounding] ignore: expected a list of patterns, got {patterns!r:.80}", 'Example: ignore = ["*.note"]')
    for pattern in patterns:
        if problem := pattern_problem(pattern):
            raise BadInput(f"[grounding] ignore: {problem}", "'*.note' matches the argument note of every tool.")
    return tuple(patterns)


def read_policy(path: str) -> dict[str, Any]:
    """Read the rules of the `policy` evaluator from a YAML file.

    Use it to pass a policy to your own code; `grade` and `simulate` take the path of the file as `policy=`.

    Returns:
        The content of the file: a dict whose `rules` is the list of rules.

    Raises:
        BadInput: The file is missing, is not valid YAML, or a rule in it is invalid. The message names the file and the rule.
    """
    name = scrub(path)
    content = read_yaml(_read_text(Path(path), name), name)
    try:
        read_rules(content)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    return dict(content)


def parse_models(tables: Any) -> dict[str, ModelSettings]:
    """Return the models of the tables `[models.NAME]`. Invalid settings raise `BadInput` that names the model."""
    if not isinstance(tables, dict):
        raise BadInput(f"models: expected a table for each model, got {tables!r}", "Start each model with [models.NAME].")
    return {name: _parse_model(name, table) for name, table in tables.items()}


def parse_agents(tables: Any) -> dict[str, ModelSettings]:
    """Return the agents of the tables `[agents.NAME]`. Invalid settings raise `BadInput` that names the agent."""
    if not isinstance(tables, dict):
        raise BadInput(f"agents: expected a table for each agent, got {tables!r}", "Start each agent with [agents.NAME].")
    return {name: _parse_agent(name, table) for name, table in tables.items()}


def parse_gate(table: Any) -> Gate:
    """Return the thresholds of the table `[gate]`. Metric names are checked later, against the metrics of a run."""
    if not isinstance(table, dict):
        raise BadInput(f"gate: expected a table, got {table!r}", "Start the table with [gate].")
    _refuse_unknown_keys(table, Gate.__struct_fields__, where="[gate]: ")
    flat = {key: _flatten(value) if key in ("min", "max_drop") and isinstance(value, dict) else value for key, value in table.items()}
    _check_thresholds(flat)
    try:
        return msgspec.convert(flat, Gate)
    except msgspec.ValidationError as error:
        raise BadInput(f"[gate] {_explain(error)}") from None


def check_model(settings: ModelSettings, where: str) -> None:
    """Raise `BadInput` for settings that no model can be run with. `where` is the table: `[models.tuned]`."""
    if not settings.model:
        raise BadInput(f"{where}: missing key 'model'", 'Add model = "openai:NAME". callmark run --list-models lists the providers.')
    price = settings.price
    for name, number in (
        *((name, getattr(settings, name)) for name in ("temperature", "rpm", "timeout")),
        *((f"price.{name}", getattr(price, name)) for name in ("input", "output") if price),
    ):
        if number is not None and not isfinite(number):
            raise BadInput(f"{where} {name}: expected a finite number, got {number:g}")
    for name, least in (("concurrency", 1), ("rpm", 0), ("timeout", 0), ("retries", 0)):
        value = getattr(settings, name)
        if value is not None and (value < least or (value == 0 and name != "retries")):
            expected = "a number of at least 1" if least else "a number of at least 0" if name == "retries" else "a number above 0"
            raise BadInput(f"{where} {name}: expected {expected}, got {value:g}")
    if price is not None and (price.input < 0 or price.output < 0):
        raise BadInput(f"{where} price: expected a number of at least 0, got {min(price.input, price.output):g}")


def _parse_tools(table: Any) -> tuple[str, ...]:
    """Return the globs of read-only tools."""
    if not isinstance(table, dict):
        raise BadInput(f"tools: expected a table, got {table!r}", 'Start the table with [tools], and set read_only = ["get_*"].')
    _refuse_unknown_keys(table, ("read_only",), where="[tools] ")
    globs = table.get("read_only", [])
    if not isinstance(globs, list) or not all(isinstance(glob, str) for glob in globs):
        raise BadInput(f"[tools] read_only: expected a list of globs, got {globs!r}")
    return tuple(globs)


def _parse_use(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list):
        raise BadInput(f"[evaluators] use: expected a list of names, got {names!r}")
    for name in names:
        if not isinstance(name, str):
            raise BadInput(f"[evaluators] use: expected the name of an evaluator, got {name!r}")
    return tuple(names)


def _parse_options(name: str, table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the options of an evaluator, with paths replaced by the content of the files.

    Options are checked by constructing the evaluator, except for a `module:Name`, which is not imported before it grades.
    """
    options = dict(table)
    if ":" in name:
        return options
    for option in getattr(find_source(name), "file_options", ()):
        if isinstance(options.get(option), str):
            path = folder / options[option]
            options[option] = read_yaml(_read_text(path, scrub(str(path)), regular=True), scrub(str(path)))
    try:
        find_evaluator(name, options)
    except BadInput as error:
        raise _in_table(f"[evaluators.{name}]", error, f"evaluators.{name}: ", f"evaluator {name!r}: ") from None
    return options


def _in_table(table: str, error: BadInput, *prefixes: str) -> BadInput:
    """Return the error with the name of its table in place of one of the prefixes."""
    sentence = str(error)
    for prefix in prefixes:
        sentence = sentence.removeprefix(prefix)
    colon = ":" if sentence.startswith(("the evaluator ", "unknown ")) else ""
    return BadInput(f"{table}{colon} {sentence}", error.hint)


def _read_text(path: Path, name: str, *, regular: bool = False) -> str:
    """Return the text of a file. With `regular`, for a path that the user did not name, a pipe or a device raises `BadInput`."""
    try:
        if regular:
            return read_regular(str(path), name, most=_MAX_BYTES).decode()
        with path.open("rb") as file:
            return read_at_most(file, name, most=_MAX_BYTES).decode()
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file") from None
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name}: not valid UTF-8") from None
    except ValueError:  # a null byte
        raise BadInput(f"expected the path of a file, got {name!r}") from None


def _refuse_unknown_keys(table: Mapping[str, Any], known: tuple[str, ...], *, where: str = "") -> None:
    for key in table:
        if key not in known:
            raise BadInput(f"{where}unknown key {key!r}{did_you_mean(key, known)}", f"Known keys: {', '.join(known)}.")


def _check_thresholds(gate: Mapping[str, Any]) -> None:
    """Raise `BadInput` for thresholds that are not numbers, with the name of the metric, which msgspec does not report."""
    for key in ("min", "max_drop"):
        thresholds = gate.get(key, {})
        if not isinstance(thresholds, dict):
            raise BadInput(f"[gate] {key}: expected a table of METRIC = NUMBER, got {thresholds!r}")
        for metric, threshold in thresholds.items():
            if not isinstance(threshold, int | float) or isinstance(threshold, bool):
                raise BadInput(f"[gate] {key}: {metric}: expected a number, got {threshold!r}")
    errors = gate.get("max_errors", 0)
    if not isinstance(errors, int) or isinstance(errors, bool):
        raise BadInput(f"[gate] max_errors: expected an integer, got {errors!r}")


def _flatten(thresholds: dict[str, Any]) -> dict[str, Any]:
    """Return thresholds by full metric name: TOML parses `call.score = 0.9` as a table inside a table."""
    found: dict[str, Any] = {}
    for name, value in thresholds.items():
        found |= {f"{name}.{inner}": bound for inner, bound in _flatten(value).items()} if isinstance(value, dict) else {name: value}
    return found


def _parse_model(name: str, table: Any) -> ModelSettings:
    where = f"[models.{name}]"
    if not isinstance(table, dict):
        raise BadInput(f"[models] {name}: expected a table, got {table!r}", f"Start the table with {where}.")
    _refuse_keys(table, where)
    _refuse_unknown_keys(table, tuple(name for name in ModelSettings.__struct_fields__ if name != "endpoint"), where=f"{where}: ")
    try:
        settings = msgspec.convert(_without_dates(table), ModelSettings)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where} {_explain(error)}") from None
    check_model(settings, where)
    return settings


def _parse_agent(name: str, table: Any) -> ModelSettings:
    where = f"[agents.{name}]"
    if not isinstance(table, dict):
        raise BadInput(f"[agents] {name}: expected a table, got {table!r}", f"Start the table with {where}.")
    _refuse_keys(table, where)
    _refuse_unknown_keys(table, ("url", *EndpointSettings.__struct_fields__, *_AGENT_SETTINGS), where=f"{where}: ")
    url = table.get("url")
    if not isinstance(url, str) or not url.strip():
        raise BadInput(f"{where}: missing key 'url'" if url is None else f"{where} url: expected a URL, got {url!r:.80}")
    plain = _without_dates(table)
    try:
        endpoint = msgspec.convert({key: plain[key] for key in plain if key in EndpointSettings.__struct_fields__}, EndpointSettings)
        settings = msgspec.convert({key: plain[key] for key in plain if key in _AGENT_SETTINGS}, ModelSettings)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where} {_explain(error)}") from None
    try:
        check_endpoint(url, endpoint)
    except BadInput as error:
        raise BadInput(f"{where} {error}", error.hint) from None
    settings = msgspec.structs.replace(settings, model=f"chatbot:{url.strip()}", endpoint=endpoint)
    check_model(settings, where)
    return settings


def _join_models(models: dict[str, ModelSettings], agents: dict[str, ModelSettings]) -> dict[str, ModelSettings]:
    """Return both by name; one name for two raises `BadInput`."""
    for name in agents:
        if name in models:
            raise BadInput(f"[agents.{name}]: [models.{name}] has the same name", "Rename one of them.")
    return {**models, **agents}


def _refuse_keys(table: Mapping[str, Any], where: str) -> None:
    """Raise `BadInput` for a key of a service in place of the name of its variable."""
    for key in table:
        if key.lower() in _SECRETS:
            raise BadInput(
                f"{where} {key}: API keys do not belong in this file",
                'Set api_key_env = "NAME" to the name of the environment variable that holds the key.',
            )


def _explain(error: msgspec.ValidationError) -> str:
    """Return what is wrong with a value, in the words of TOML: what JSON calls an object is a table."""
    return explain_validation_error(str(error)).replace("an object", "a table").replace("a list", "an array")


def _without_dates(value: Any) -> Any:
    """Return the value with TOML dates and times as ISO strings."""
    if isinstance(value, dict):
        return {key: _without_dates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_dates(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value
