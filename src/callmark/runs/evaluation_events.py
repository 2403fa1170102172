"""The grades of a run as `gen_ai.evaluation.result` events, as OpenTelemetry's conventions for generative AI define them.

There is one event for each metric that applies to a prediction, with its name, value and, where it has one, label and explanation. An error
is one event for the headline metric, with `error.type`; so is an evaluator that failed, with the name of the evaluator. A case that was cut
from a trace has the trace, or the conversation that the trace names.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from callmark.grading.evaluator import Metric
from callmark.grading.grade import fault_sentence
from callmark.grading.record import GradeRecord
from callmark.runs.run import Run

EVENT = "gen_ai.evaluation.result"
SCOPE = "callmark"
_BATCH = 500  # events of one row
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_MAX_EXPLANATION = 2000  # characters
_PASSED, _FAILED = "pass", "fail"
_CREATED = "%Y-%m-%dT%H-%M"  # as `run.json` has it
_INFO = 9  # severity number
_encode = msgspec.json.Encoder().encode

Attributes = dict[str, str | int | float]


class EvaluationEvent(Struct, frozen=True):
    """An event: its attributes, and the trace (32 hexadecimal digits) that it is about; empty if that is not known."""

    attributes: Attributes
    trace: str = ""


def evaluation_events(run: Run) -> Iterator[EvaluationEvent]:
    """Yield the events of a run, in the order of its grades."""
    for grade in run.grades():
        yield from _events(grade, run)


def run_time(run: Run) -> int:
    """Return when a run was made, in nanoseconds; 0 if that is not known."""
    try:
        return int(datetime.strptime(run.info.created[:16], _CREATED).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0


def otlp_lines(run: Run) -> Iterator[bytes]:
    """Yield requests of log records as OTLP JSON, in the form that the collector's file receiver reads."""
    time = str(run_time(run))
    scope = {"name": SCOPE, "version": run.info.callmark}
    resource = {"attributes": [_pair("service.name", SCOPE)]}
    records = (_record(event, time) for event in evaluation_events(run))
    while batch := list(islice(records, _BATCH)):
        yield _encode({"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": batch}]}]})


def _events(grade: GradeRecord, run: Run) -> Iterator[EvaluationEvent]:
    trace = grade.conversation if grade.conversation is not None and _TRACE_ID.fullmatch(grade.conversation) else ""
    origin: Attributes = {"callmark.run": run.label, "callmark.case.id": grade.case, "callmark.trial": grade.trial}
    if grade.conversation is not None and not trace:
        origin = {"gen_ai.conversation.id": grade.conversation, **origin}
    if grade.error:
        failed = {"gen_ai.evaluation.name": run.headline, "error.type": "prediction_error"}
        yield EvaluationEvent({**failed, "gen_ai.evaluation.explanation": grade.error[:_MAX_EXPLANATION], **origin}, trace)
        return
    for name, value in grade.metrics.items():
        attributes: Attributes = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
        if label := _label(run.info.metrics[name], value):
            attributes["gen_ai.evaluation.score.label"] = label
        if explanation := grade.reasons.get(name) or _explanation(name, grade):
            attributes["gen_ai.evaluation.explanation"] = explanation[:_MAX_EXPLANATION]
        yield EvaluationEvent({**attributes, **origin}, trace)
    for evaluator, error in grade.evaluator_errors.items():
        failed = {"gen_ai.evaluation.name": evaluator, "error.type": "evaluator_error"}
        yield EvaluationEvent({**failed, "gen_ai.evaluation.explanation": error[:_MAX_EXPLANATION], **origin}, trace)


def _label(metric: Metric, value: float) -> str:
    if metric.kind == "rate" and metric.higher_is_better:
        return _PASSED if value == 1 else _FAILED
    return metric.band(value).partition(":")[0]


def _explanation(name: str, grade: GradeRecord) -> str:
    """Return the faults that the evaluator of a metric counts, as sentences."""
    evaluator = name.partition(".")[0]
    return "; ".join(fault_sentence(fault) for fault in grade.faults if evaluator in fault.evaluators)


def _record(event: EvaluationEvent, time: str) -> dict[str, Any]:
    pairs = [_pair(key, value) for key, value in event.attributes.items()]
    trace = {"traceId": event.trace} if event.trace else {}
    return {"timeUnixNano": time, "observedTimeUnixNano": time, "severityNumber": _INFO, "eventName": EVENT, "attributes": pairs, **trace}


def _pair(key: str, value: str | int | float) -> dict[str, Any]:
    if isinstance(value, str):
        return {"key": key, "value": {"stringValue": value}}
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}}
