"""Send grades to OpenTelemetry: as a file of OTLP JSON, or through the SDK of the program."""

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from callmark.api.runs import RunSource, open_run, refuse_run_file
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.runs.evaluation_events import EVENT, SCOPE, evaluation_events, otlp_lines, run_time

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider


def export_otel(run: RunSource, out: str | PathLike[str]) -> int:
    """Write the grades of a run as OpenTelemetry events, in a file that the collector's file receiver reads.

        callmark.export_otel("runs/base", "base.otlp.jsonl")

    Each line is an OTLP request with log records named `gen_ai.evaluation.result`: one for each metric of each prediction. A run without
    grades gives an empty file.

    Args:
        run: A `Run`, or the path of its folder.
        out: Output file; `-` is standard output.

    Returns:
        The number of lines.

    Raises:
        BadInput: The folder is not a graded run, or `out` is a file of the run.
        StorageError: The file cannot be written.
    """
    opened = open_run(run)
    refuse_run_file(opened, fspath(out))
    return write_lines(fspath(out), otlp_lines(opened))


def emit_otel(run: RunSource, logger_provider: "LoggerProvider | None" = None) -> int:
    """Emit the grades of a run as OpenTelemetry events, through a logger provider of the SDK.

        callmark.emit_otel("runs/base")     # through the global logger provider

    Each event is named `gen_ai.evaluation.result` and has the attributes `gen_ai.evaluation.name`, `.score.value`, `.score.label` and
    `.explanation`. If a case was cut from a trace, its events carry the trace ID or conversation ID.

    Args:
        run: A `Run`, or the path of its folder.
        logger_provider: The provider; by default the global one, which does nothing until the program sets it up.

    Returns:
        The number of events.

    Raises:
        BadInput: The folder is not a graded run, or opentelemetry-api is not installed (`pip install 'callmark[otel]'`).
    """
    try:
        from opentelemetry import _logs, trace
        from opentelemetry.context import Context
    except ImportError:
        raise BadInput("OpenTelemetry is not installed", "Run pip install 'callmark[otel]', or use callmark export otel.") from None
    opened = open_run(run)
    provider: Any = logger_provider or _logs.get_logger_provider()
    logger = provider.get_logger(SCOPE, opened.info.callmark)
    time, count = run_time(opened), 0
    for event in evaluation_events(opened):
        about = trace.SpanContext(int(event.trace or "0", 16), 0, is_remote=True)
        logger.emit(
            _logs.LogRecord(
                timestamp=time or None,
                context=trace.set_span_in_context(trace.NonRecordingSpan(about), Context()),
                severity_number=_logs.SeverityNumber.INFO,
                attributes=event.attributes,
                event_name=EVENT,
            )
        )
        count += 1
    return count
