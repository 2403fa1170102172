"""What to know about a run before its numbers are read, what it used, and the commands to try next."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from callmark import registry
from callmark.analysis.numbers import format_seconds
from callmark.analysis.summary import UsageSummary
from callmark.calls.text import AUTO
from callmark.formats.matching import PredictionsInfo
from callmark.reporting.safety import escape_breaks, one_line, short_name
from callmark.runs.manifest import Manifest, ModelRunInfo
from callmark.wording import pluralize

MIN_SECONDS_SHOWN = 0.001  # shorter latencies mean nothing: no request was sent
_MAX_NAME = 60
_MANY_TEXTS = 20  # text predictions, of which at least one should contain a call
_DEFAULT_FOLDER = "runs"  # of `callmark view`


def run_notices(info: Manifest) -> Iterator[str]:
    """Yield what a reader should know about how the run was made, one line each."""
    predictions = info.predictions
    if info.model_run is not None:
        yield from _model_run_notices(info.model_run)
    if info.dataset.expanded:
        yield f"{short_name(info.dataset.name, _MAX_NAME)} contains conversations, which were expanded into decision points"
    if info.dataset.patch:
        yield "Graded with corrections to expected calls (patch.jsonl)"
    if info.dataset.repaired_rows:
        yield f"Lone surrogates were escaped in {pluralize(info.dataset.repaired_rows, 'row')}"
    if info.dataset.skipped:
        skipped = pluralize(len(info.dataset.skipped), info.dataset.kind.removesuffix("s"))
        yield f"{skipped} skipped, because the tools do not accept the expected calls, or the simulated user cannot play them"
    if info.dataset.unknown_parts:
        yield f"Content parts of unknown types, kept as they are: {counted_names(info.dataset.unknown_parts)}"
    if predictions.in_order:
        yield "Predictions matched to cases in order"
    if predictions.texts.parsed:
        yield f"{pluralize(predictions.texts.parsed, 'prediction')} parsed from text, {predictions.texts.with_calls:,} with a tool call"
    for marker, count in predictions.texts.unrecognized.items():
        counted = "counted as an error" if count == 1 else "counted as errors"
        yield f"{pluralize(count, 'prediction')} in an unrecognized tool-call format, {counted}: {one_line(marker, _MAX_NAME)}"
    if predictions.unmatched:
        first = short_name(predictions.first_unmatched, _MAX_NAME)
        yield f"{pluralize(predictions.unmatched, 'prediction')} ignored: no matching case (the first: {first})"
    if predictions.repeated:
        duplicates = pluralize(predictions.repeated, "duplicate prediction")
        yield f"{duplicates} ignored: for each case, the first prediction that is not an error counts"
    for rule, tools in info.unused_rules.items():
        yield f"Rule {one_line(rule, _MAX_NAME)} can never be violated: no tool matches {one_line(tools, _MAX_NAME)}"
    if info.unchecked_replies:
        yield f"{pluralize(info.unchecked_replies, 'case')} with reply checks, which were not evaluated: add the evaluator reply (-e)"
    for pattern, touched in info.match_counts.items():
        yield f"Match rule {one_line(pattern, _MAX_NAME)} applied to {pluralize(touched, 'argument')}"


def no_calls_notice(info: PredictionsInfo) -> str:
    """Return the sentence for 20 or more text predictions without any call, with the marker that most of them contain; else empty."""
    texts = info.texts
    if texts.parsed < _MANY_TEXTS or texts.with_calls:
        return ""
    said = f"{short_name(info.name, _MAX_NAME)}: {texts.parsed:,} text predictions, no tool call found in any of them."
    if not texts.unrecognized:
        return f"{said} They contain no marker of a known format either: check that they are the unchanged output of the model."
    marker, count = max(texts.unrecognized.items(), key=lambda item: item[1])
    said = f"{said} {count:,} contain {one_line(marker, _MAX_NAME)}"
    if info.parse in (None, AUTO):
        return f"{said}, which callmark does not parse."
    better = next((found.name for found in registry.built_in("text_formats") if marker.endswith(f"({found.title})")), "")
    return f"{said}, but --parse {info.parse} was given: drop it{f', or pass --parse {better}' if better else ''}."


def counted_names(counts: Mapping[str, int]) -> str:
    """Return `sticker (3), poll (1)`, the most frequent first."""
    return ", ".join(f"{one_line(name, _MAX_NAME)} ({count:,})" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _model_run_notices(model_run: ModelRunInfo) -> Iterator[str]:
    if model_run.stop_reason:
        yield f"Stopped: {one_line(model_run.stop_reason, 200)}"
    if model_run.decided:
        yield one_line(model_run.decided, 300)
    if model_run.simulation is not None and not model_run.simulation.tools:
        yield "Without --tools, the agent executes its own calls and callmark only records them"
    if model_run.trials > 1:
        yield f"{model_run.trials} trials per {'scenario' if model_run.simulation else 'case'}"
    if model_run.cache_hits:
        yield f"{pluralize(model_run.cache_hits, 'cache hit')} (--no-cache ignores the cache)"
    if model_run.trailing_dropped:
        prompts = pluralize(model_run.trailing_dropped, "prompt")
        yield f"{prompts} ended with assistant text, which was dropped (--trailing-assistant keep sends it)"


def usage_line(usage: UsageSummary, unit: str = "prediction") -> str:
    """Return latency, tokens, cost and retries, as far as they were measured. `unit` is what one latency is of."""
    parts = []
    if usage.median_seconds >= MIN_SECONDS_SHOWN:
        median, slow = format_seconds(usage.median_seconds), format_seconds(usage.p95_seconds)
        parts.append(f"{median} per {unit} (median), p95 {slow}")
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} input tokens, {usage.output_tokens:,} output tokens")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:,.4g}")
    if usage.retries:
        parts.append("1 retry" if usage.retries == 1 else f"{usage.retries:,} retries")
    return " · ".join(parts)


def show_next(console: Console, folders: Sequence[str]) -> None:
    """Print where the runs were saved, and the commands that show them."""
    quoted = [shlex.quote(folder) for folder in folders]
    parent = os.path.dirname(folders[0].rstrip("/")) or "."
    view = "callmark view" if parent == _DEFAULT_FOLDER else f"callmark view {shlex.quote(parent)}"
    saved = Text("Saved to ")
    for index, folder in enumerate(folders):
        saved.append("" if not index else " and " if index == len(folders) - 1 else ", ")
        saved.append(escape_breaks(folder), style="bold")
    saved.append(".  " if len(folders) == 1 else "\n")
    saved.append(f"Next: `callmark report {escape_breaks(' '.join(quoted))}` or `{escape_breaks(view)}`")
    console.print(saved, soft_wrap=True)
