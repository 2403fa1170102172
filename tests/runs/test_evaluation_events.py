"""Grades as OpenTelemetry events: read back from the SDK and from a file, with the attribute names of the registered conventions."""

import json
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

import callmark
from callmark.grading.record import GradeRecord
from callmark.types import Fault
from tests.conftest import Cli
from tests.graded_runs import failed, make_run, right, wrong

REGISTERED: Any = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with a correct prediction, a wrong one of a trace, an error, and an evaluator that failed."""
    fault = Fault("wrong_value", 0, 0, "city", "Bonn", "Berlin", ("call",), "hallucinated")
    of_trace = structs.replace(wrong("c2"), conversation=TRACE, faults=(fault,), actual=("f",))
    broken = GradeRecord("c4", conversation="chat-7", evaluator_errors={"mine": "ZeroDivisionError"})
    return make_run(tmp_path / "runs" / "r", [right("c1"), of_trace, failed("c3"), broken])


def emitted(run: Path) -> list[Any]:
    exporter: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    count = callmark.emit_otel(run, provider)
    records = [data.log_record for data in exporter.get_finished_logs()]
    assert len(records) == count > 0
    return records


def test_emitted_events_are_read_back_with_the_registered_names(run: Path) -> None:
    records = emitted(run)
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    by_case = {(record.attributes["callmark.case.id"], record.attributes[REGISTERED.GEN_AI_EVALUATION_NAME]): record for record in records}
    first, second = by_case["c1", "call.score"], by_case["c2", "call.score"]
    assert first.attributes[REGISTERED.GEN_AI_EVALUATION_SCORE_VALUE] == 1.0
    assert by_case["c1", "call.pass"].attributes[REGISTERED.GEN_AI_EVALUATION_SCORE_LABEL] == "pass"
    assert by_case["c2", "call.pass"].attributes[REGISTERED.GEN_AI_EVALUATION_SCORE_LABEL] == "fail"
    assert second.attributes[REGISTERED.GEN_AI_EVALUATION_EXPLANATION] == 'city: expected "Bonn", got "Berlin" (hallucinated)'
    assert (second.trace_id, first.trace_id) == (int(TRACE, 16), 0)
    assert by_case["c4", "mine"].attributes[REGISTERED.GEN_AI_CONVERSATION_ID] == "chat-7"


def test_every_name_outside_of_callmark_is_a_registered_one(run: Path) -> None:
    registered = {value for name, value in vars(REGISTERED).items() if name.startswith("GEN_AI_")} | {"error.type"}
    names = {name for record in emitted(run) for name in record.attributes if not name.startswith("callmark.")}
    assert names <= registered


def test_events_have_the_time_of_the_run(run: Path) -> None:
    assert {record.timestamp for record in emitted(run)} == {int(datetime(2026, 1, 1).timestamp()) * 10**9}


def test_an_error_is_an_event_without_a_score(run: Path) -> None:
    [error] = [record for record in emitted(run) if record.attributes["callmark.case.id"] == "c3"]
    assert error.attributes["error.type"] == "prediction_error"
    assert error.attributes[REGISTERED.GEN_AI_EVALUATION_NAME] == "call.score"
    assert REGISTERED.GEN_AI_EVALUATION_SCORE_VALUE not in error.attributes


def test_the_file_has_the_same_events(run: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("export", "otel", run, "-o", tmp_path / "events.jsonl")
    assert done.status == 0, done.err
    requests = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    records = [record for request in requests for record in request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
    assert f"{len(records)} events" in done.out
    written = [
        {pair["key"]: int(value) if key == "intValue" else value for pair in record["attributes"] for key, value in pair["value"].items()}
        for record in records
    ]
    assert written == [dict(record.attributes) for record in emitted(run)]
    assert [record.get("traceId", "") for record in records] == [
        f"{record.trace_id:032x}" if record.trace_id else "" for record in emitted(run)
    ]


def test_the_output_cannot_be_a_file_of_the_run(run: Path, cli: Cli) -> None:
    done = cli("export", "otel", run, "-o", run / "grades.jsonl")
    assert done.status == 2
