"""The runs of a folder over time: what the chart, the leaderboard and the filters of the history need of each run.

Numbers come from the stored summaries. pass^k over all trials is read from the grades, as far as a request has time; then it is kept.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from msgspec import to_builtins

from callmark.analysis.summary import Summary
from callmark.analysis.trials import summarize_trials
from callmark.errors import BadInput
from callmark.runs.manifest import Manifest
from callmark.runs.run import Run, headline_metric
from callmark.viewer.case_columns import pass_metric
from callmark.viewer.page_json import MAX_ID, truncate

MAX_METRICS = 40  # of a run
MAX_TAGS = 40


def history_entry(name: str, info: Manifest, summary: Summary | None) -> dict[str, Any]:
    """Return a run for the history. Numbers that are not known are None."""
    model_run, usage = info.model_run, summary.usage if summary else None
    return {
        "name": truncate(name, MAX_ID),
        "label": truncate(model_run.label if model_run else info.name, MAX_ID),
        "model": truncate(model_run.label, MAX_ID) if model_run else "",
        "created": truncate(info.created, MAX_ID),
        "dataset": truncate(PurePath(info.dataset.name).name or info.dataset.name, MAX_ID),
        "digest": truncate(info.dataset.digest, MAX_ID),
        "patch": truncate(info.dataset.patch, MAX_ID),
        "status": info.status,
        "version": truncate(info.callmark, MAX_ID),
        "tags": {truncate(key, MAX_ID): truncate(value, MAX_ID) for key, value in list(info.tags.items())[:MAX_TAGS]},
        "commit": to_builtins(info.git) if info.git else None,
        "headline": headline_metric(info),
        "metrics": {
            truncate(metric, MAX_ID): [estimate.mean, estimate.low, estimate.high]
            for metric, estimate in list(summary.metrics.items())[:MAX_METRICS]
        }
        if summary
        else {},
        "cases": summary.cases if summary else info.cases,
        "scored": summary.scored if summary else None,
        "errors": summary.errors if summary else None,
        "trials": model_run.trials if model_run else 1,
        "pass_rate": None,
        "cost": 1000 * usage.cost / usage.n if usage and usage.cost is not None and usage.n else None,
        "seconds": usage.median_seconds if usage and usage.median_seconds >= 0.001 else None,
    }


def pass_rate(run: Run) -> list[float | None] | None:
    """Return pass^k of a run over all its trials, with its interval, or None if it has no trials or no metric that passes."""
    metric = pass_metric(run.info.metrics, run.headline)
    if metric is None:
        return None
    rates = summarize_trials(run.grades(), metric=metric).pass_rates
    if len(rates) < 2:
        return None
    low, high = rates[-1].every_interval or (None, None)
    return [rates[-1].every, low, high]


class PassRates:
    """pass^k of runs with several trials, read once until their files change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[float | None] | None]] = {}

    def add(self, entries: Sequence[dict[str, Any]], paths: Mapping[str, Path], stamp: Callable[[Path], object], seconds: float) -> bool:
        """Add the rates to the entries; return whether all of them are known. Reading goes on for that many seconds."""
        deadline = time.monotonic() + seconds
        complete = True
        for entry in entries:
            path = paths.get(entry["name"])
            if entry["trials"] < 2 or path is None or entry["scored"] is None:
                continue
            known = self._known.get(entry["name"])
            current = stamp(path)
            if known is None or known[0] != current:
                if time.monotonic() > deadline:
                    complete = False
                    continue
                rate = None
                with suppress(BadInput, OSError):
                    rate = pass_rate(Run(path))
                known = self._known[entry["name"]] = current, rate
            entry["pass_rate"] = known[1]
        return complete


def history_of(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Any]:
    """Return the history of runs that are read completely, for a report."""
    entries = []
    for run, name in zip(runs, names, strict=True):
        entry = history_entry(name, run.info, run.summary(detailed=False))
        entries.append({**entry, "pass_rate": pass_rate(run) if entry["trials"] > 1 else None})
    return {"runs": entries, "ready": True}
