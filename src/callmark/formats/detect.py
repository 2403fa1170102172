"""Find a format by name, by file extension, or from the first row of a file."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

import msgspec
from msgspec import Raw

from callmark import registry
from callmark.errors import BadInput
from callmark.formats.format import Format
from callmark.formats.json_fields import describe_keys

_COMPRESSED = (".gz", ".zst")
_COMMON_EXTENSIONS = (".jsonl", ".json", ".ndjson", ".txt")  # extensions shared by all formats

# Every row of a format has at least one of its keys, and so has a container of such rows. Importing all formats takes a tenth of a second,
# so these are imported only for rows that can be theirs; a format that is not listed, for every row.
_KEYS: dict[str, tuple[str, ...]] = {
    "sharegpt": ("conversations",),
    "scenarios": ("expected_function_calls",),
    "tau-bench": ("traj",),
    "tau2-tasks": ("user_scenario",),
    "anthropic": ("messages",),
    "deepfabric": ("tool_context", "agent_context", "final_answer"),
    "by-reference": ("tools", "conversation", "source"),
    "hermes": ("messages",),
    "xlam": ("answers",),
    "toolace": ("conversations",),
    "glaive": ("chat",),
    "when2call": ("messages", "correct_answer"),
    "when2call-preference": ("chosen_response",),
    "hammerbench": ("multiple_tools", "single_tool"),
    "prompt-completion": ("completion",),
    "preference": ("chosen",),
    "openai-preference": ("preferred_output",),
    "reference-answers": ("item", "expected_tool_calls", "reference_tool_calls", "ground_truth", "reference_answer"),
    "hosted-evaluation": ("sample",),
    "responses": ("messages", "items", "input", "output"),
    "gemini": ("contents",),
    "bedrock": ("messages",),
    "langchain": ("messages", "inputs"),
    "vercel-ai": ("messages",),
    "inspect-ai": ("eval", "epoch", "samples"),
    "pydantic-ai": ("messages",),
    "tau2-simulations": ("task_id", "simulations"),
    "adk-evalsets": ("eval_id", "evalId", "eval_cases", "evalCases"),
    "bfcl": ("question",),
    "bfcl-results": ("result",),
    "otlp": ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs"),
    "otel-spans": ("context.span_id", "context", "data", "spans"),
    "langfuse": ("parentObservationId", "parent_observation_id", "observations", "data"),
    "langsmith": ("run_type", "runs", "data"),
    "agents-traces": ("object", "data"),
    "atif": ("schema_version",),
}
_LIST = frozenset({"messages"})  # the keys of a row that was a list of anything

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


@cache
def find_format(name: str) -> Format:
    """Return the format with this name. An unknown name raises `BadInput` with the closest match."""
    found: Format = registry.find("formats", name)
    return found


def detect_format(row: bytes) -> Format:
    """Return the format of a row. If none is detected, raise `BadInput` with the keys that were found.

    Formats of installed packages are tried after the built-in ones.
    """
    fields = _decode_fields(row)
    found = _most_confident(possible_formats(frozenset(fields)), fields) or _most_confident(installed_formats(), fields)
    if found is not None:
        return found
    raise BadInput(
        f"unknown format: expected the key messages, conversations or expected_function_calls, got {describe_keys(fields)}",
        f"Pass --from to choose a format: {', '.join(registry.names('formats'))}.",
    )


def format_by_extension(path: str) -> Format | None:
    """Return the format that a file extension belongs to; None for a common or unknown extension."""
    for ending in _COMPRESSED:
        path = path.removesuffix(ending)
    if path.endswith(_COMMON_EXTENSIONS) or "." not in path.rpartition("/")[2]:
        return None
    formats = (*built_in_formats(), *installed_formats())
    return next((one for one in formats if one.extensions and path.endswith(one.extensions)), None)


def split_container(row: bytes) -> Sequence[bytes | Raw] | None:
    """Return the rows in an object that holds rows, such as a log; None for a row."""
    if not row.startswith(b"{"):
        return None
    try:
        fields = _decode_fields(row)
    except (ValueError, RecursionError):  # reading it says why
        return None
    possible = possible_formats(frozenset(fields))
    rows = split_by(possible, row)
    if rows is not None or _may_be_row(possible, fields):  # looking for installed packages takes time
        return rows
    return split_by(installed_formats(), row)


def _may_be_row(formats: Sequence[Format], fields: Mapping[str, Raw]) -> bool:
    try:
        return _most_confident(formats, fields) is not None
    except (ValueError, RecursionError):  # reading it says why
        return True


def split_by(formats: Iterable[Format], row: bytes) -> Sequence[bytes | Raw] | None:
    """Return the rows in an object that one of the formats knows as a container of rows; None for any other object."""
    for candidate in formats:
        if candidate.split is not None and (rows := candidate.split(row)) is not None:
            return rows
    return None


@lru_cache(256)
def possible_formats(keys: frozenset[str]) -> tuple[Format, ...]:
    """Return the built-in formats that a row with these keys may be in, in registry order."""
    return tuple(
        find_format(name) for name in registry.BUILT_IN["formats"] if keys == _LIST or name not in _KEYS or not keys.isdisjoint(_KEYS[name])
    )


@cache
def built_in_formats() -> tuple[Format, ...]:
    """Return the built-in formats, in registry order."""
    return tuple(registry.built_in("formats"))


@cache
def installed_formats() -> tuple[Format, ...]:
    """Return the formats of installed packages, sorted by name."""
    return tuple(registry.installed("formats"))


def _most_confident(formats: Iterable[Format], fields: Mapping[str, Raw]) -> Format | None:
    """Return the most confident format, the first one on a tie; None if none recognizes the fields."""
    best: Format | None = None
    best_confidence = 0.0
    for candidate in formats:
        confidence = float(candidate.detect(fields))
        if confidence > best_confidence:
            best, best_confidence = candidate, confidence
    return best
