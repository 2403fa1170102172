"""The data of the page as plain JSON values: a run, a case in one trial, a comparison of runs.

Every number is computed in `analysis`, so the page and the terminal agree. An empty run has no metrics, and neither has an error.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from msgspec import structs, to_builtins

from callmark.analysis.labels import category_label, metric_label, pooled_label
from callmark.analysis.summary import Estimate, Summary
from callmark.analysis.verdict import change_direction, judge, judge_run, power_sentence
from callmark.calls.display import show_expected, show_expected_call
from callmark.calls.matchers import has_matcher, recorded_value
from callmark.calls.strict import dump
from callmark.grading.evaluator import Metric
from callmark.grading.grade import fault_sentence
from callmark.grading.record import GradeRecord
from callmark.grading.settings import counts_faults
from callmark.reporting.compare_view import MAX_RUN
from callmark.reporting.safety import short_names
from callmark.runs.compare import RunComparison, caveats
from callmark.runs.manifest import Manifest
from callmark.runs.run import headline_metric
from callmark.types import Call, Case, EndStates, Fault, Message, Prediction
from callmark.viewer.case_columns import call_code
from callmark.viewer.page_json import page_id, safe_integer
from callmark.wording import mark_heuristic

_MAX_ERROR_TEXTS = 50
_MAX_TOOLS = 200  # of a comparison
_MAX_DISAGREEMENTS = 50
_MAX_CATEGORIES = 20  # of a matrix, on either side


def run_data(
    name: str, info: Manifest, summary: Summary | None, *, names: Mapping[str, Any], trials: int, ready: bool = True, problem: str = ""
) -> dict[str, Any]:
    """Return a run; without a summary, only the contents of its `run.json`."""
    model_run = info.model_run
    details = summary.details if summary else None
    pass_rates = details.trials.pass_rates if details and details.trials else []
    return {
        "name": name,
        "label": info.name,
        "model": model_run.label if model_run else "",
        "created": info.created,
        "status": info.status,
        "ready": ready,
        "problem": problem,
        "case_kind": info.dataset.kind,
        "dataset": _file_name(info.dataset.name),
        "cases": summary.cases if summary else info.cases,
        "conversations": summary.conversations if summary else 0,
        "scored": summary.scored if summary else 0,
        "errors": summary.errors if summary else 0,
        "predictions": model_run.predictions if model_run else info.cases,
        "requests": model_run.requests if model_run else info.cases,
        "trials": max(trials, model_run.trials if model_run else 1),
        "headline": headline_metric(info),
        "counts_faults": counts_faults(info.metrics),
        "metrics": [_metric(metric, info.metrics.get(metric), found) for metric, found in summary.metrics.items()] if summary else [],
        "matrices": _matrices(summary, info.metrics) if summary else [],
        "pooled": _pooled(summary, info.metrics) if summary else [],
        "interpretations": [{"subject": each.subject, "text": each.text, "checks": list(each.checks)} for each in details.interpretations]
        if details
        else [],
        "disagreements": [
            {"count": each.count, "sentence": each.sentence, "cases": list(map(page_id, each.cases))}
            for each in details.disagreements[:_MAX_DISAGREEMENTS]
        ]
        if details
        else [],
        "notes": summary.notes if summary else {},
        "error_texts": dict(list(summary.error_texts.items())[:_MAX_ERROR_TEXTS]) if summary else {},
        "evaluator_errors": to_builtins(summary.evaluator_errors) if summary else {},
        "usage": to_builtins(summary.usage) if summary and summary.usage else None,
        "turns": summary.turns if summary else None,
        "pass_at_k": to_builtins(pass_rates) if len(pass_rates) > 1 else [],
        "verdict": to_builtins(judge_run(summary, headline_metric(info), scenarios=info.dataset.kind == "scenarios")) if summary else None,
        "tags": info.tags,
        "commit": to_builtins(info.git) if info.git else None,
        "version": info.callmark,
        "names": names,
    }


def _file_name(path: str) -> str:
    """Return a file name without its folders, because the page may be shared."""
    return PurePath(path).name or path


def _metric(name: str, definition: Metric | None, estimate: Estimate) -> dict[str, Any]:
    return {
        "name": name,
        "label": _label(name, definition),
        "bounds": definition.bounds if definition else None,
        "higher_is_better": definition.higher_is_better if definition else True,
        "unit": definition.unit if definition else "",
        "heuristic": definition.heuristic if definition else False,
        "mean": estimate.mean,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
    }


def _matrices(summary: Summary, definitions: Mapping[str, Metric]) -> list[dict[str, Any]]:
    """Return, for each evaluator with categories, how often each expected category became which, and the means of its metrics.

    Of more than `_MAX_CATEGORIES`, the first are shown; `left_out` is the number of predictions in the others.
    """
    found = []
    for evaluator, matrix in summary.categories.items():
        expected = list(matrix)[:_MAX_CATEGORIES]
        actual = list(dict.fromkeys(name for counts in matrix.values() for name in sorted(counts)))[:_MAX_CATEGORIES]
        counts = [[matrix[row].get(column, 0) for column in actual] for row in expected]
        found.append(
            {
                "evaluator": evaluator,
                "expected": list(map(category_label, expected)),
                "actual": list(map(category_label, actual)),
                "counts": counts,
                "left_out": sum(sum(row.values()) for row in matrix.values()) - sum(map(sum, counts)),
                "metrics": [
                    {"name": name, "label": metric_label(name, definitions.get(name)), "mean": estimate.mean}
                    for name, estimate in summary.metrics.items()
                    if name.rpartition(".")[0] == evaluator
                ],
            }
        )
    return found


def _pooled(summary: Summary, definitions: Mapping[str, Metric]) -> list[dict[str, Any]]:
    """Return the metrics that are pooled over the run, each with its mean; without those whose denominator is 0."""
    return [
        {
            "name": name,
            "label": pooled_label(name, definitions.get(name)),
            "value": pooled.value,
            "mean": summary.metrics[name].mean if name in summary.metrics else None,
            "part": pooled.numerator,
            "whole": pooled.denominator,
        }
        for name, pooled in summary.pooled.items()
        if pooled.value is not None
    ]


def _label(name: str, definition: Metric | None) -> str:
    return mark_heuristic(definition.label, definition.heuristic) if definition else name


def call_data(call: Call, write: Callable[[Call], str] = str) -> dict[str, Any]:
    """Return a call. A malformed one has its text instead of arguments."""
    return {
        "name": call.name,
        "arguments": None if call.malformed else call.arguments,
        "malformed": call.malformed,
        "text": call.text,
        "code": call_code(call, write),
    }


def expected_call_data(call: Call) -> dict[str, Any]:
    """Return an expected call with its matchers as people wrote them: `shown` has the arguments whose text is not their JSON (`TKT-*`)."""
    call = _without_literals(call)
    return {**call_data(call, show_expected_call), "shown": _shown_values(call.arguments)}


def _expected_by_faults(grade: GradeRecord, index: int) -> dict[str, Any]:
    """Return an expected call as far as the faults name it: the arguments that differ, or the whole call as `code`. Others are unknown."""
    faults = [fault for fault in grade.faults if fault.expected_index == index]
    arguments = {
        fault.argument: fault.expected
        for fault in faults
        if fault.argument is not None and fault.kind not in ("extra_argument", "unknown_argument")
    }
    code = next((fault.expected for fault in faults if fault.argument is None and isinstance(fault.expected, str)), "")
    return {
        "name": grade.expected[index],
        "arguments": arguments,
        "malformed": "",
        "text": "",
        "code": code,
        "shown": _shown_values(arguments),
        "partial": True,
    }


def _shown_values(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that are not shown as their JSON, as text."""
    shown: dict[str, str] = {}
    for name, value in values.items():
        if has_matcher(value):
            with suppress(ValueError, RecursionError):  # a number with more digits than Python writes
                if (text := show_expected(value)) != dump(value):
                    shown[name] = text
    return shown


def message_data(message: Message) -> dict[str, Any]:
    """Return a message with its calls."""
    return {
        "role": message.role,
        "text": message.text,
        "calls": [call_data(call) for call in message.calls],
        "tool_call_id": message.tool_call_id,
        "name": message.name,
    }


def case_data(run: str, grade: GradeRecord, case: Case | None, prediction: Prediction | None, *, problem: str = "") -> dict[str, Any]:
    """Return a case in one trial, without its conversation.

    If the dataset is missing, `case` is None, and of the expected calls only their names and what the faults say about them is known.
    Without a prediction, only the names of the actual calls are known.
    """
    accepted = [case.expected, *case.alternatives] if case else []
    if grade.alternative < len(accepted):
        expected = [expected_call_data(call) for call in accepted.pop(grade.alternative)]
    else:
        expected = [_expected_by_faults(grade, index) for index in range(len(grade.expected))]
    actual = prediction.calls if prediction else tuple(map(_named_call, grade.actual))
    usage = grade.usage
    return {
        "id": page_id(grade.case),
        "trial": safe_integer(grade.trial),
        "run": run,
        "problem": problem,
        "instructions": case.instructions if case else "",
        "completion": case.completion if case else "",
        "description": case.description if case else "",
        "scenario_type": grade.scenario_type,
        "file": grade.file,
        "group": grade.group,
        "text": prediction.text if prediction else "",
        "thinking": prediction.thinking if prediction else "",
        "error": grade.error,
        "ending": grade.ending,
        "finish_reason": prediction.finish_reason if prediction else "",
        "usage": to_builtins(usage) if usage else None,
        "expected": expected,
        "alternatives": [[expected_call_data(call) for call in calls] for calls in accepted],
        "actual": [call_data(call) for call in actual],
        "pairs": grade.pairs,
        "alternative": grade.alternative,
        "metrics": grade.metrics,
        "reasons": grade.reasons,
        "evaluator_errors": grade.evaluator_errors,
        "faults": [{**to_builtins(fault), "sentence": fault_sentence(fault, _called_tool(grade, fault))} for fault in grade.faults],
        "notes": [
            {"kind": note.kind, "sentence": note.sentence, "argument": note.argument, "message": note.message} for note in grade.notes
        ],
        "states": _states(prediction.states) if prediction and prediction.states else None,
    }


def _called_tool(grade: GradeRecord, fault: Fault) -> str:
    """Return the name of the tool that a fault is about; empty if it is about no actual call."""
    return grade.actual[fault.actual_index] if fault.actual_index is not None and fault.actual_index < len(grade.actual) else ""


def _states(states: EndStates) -> dict[str, Any]:
    """Return the state changes; `shown` has the expected values whose text is not their JSON, by `table / key / column`."""
    values = {
        f"{table} / {key} / {column}": value
        for table, rows in states.expected.items()
        for key, row in rows.items()
        for column, value in (row or {}).items()
    }
    return {"reached": states.reached, "expected": states.expected, "shown": _shown_values(values), "unknown": states.unknown}


def _named_call(name: str) -> Call:
    return Call(name, {}, None, "arguments not known")


def _without_literals(call: Call) -> Call:
    """Return the call without the `$literal` wrappers of values that are not matchers."""
    return call if call.malformed else structs.replace(call, arguments=recorded_value(call.arguments))


def comparison_data(names: Sequence[str], comparisons: Sequence[RunComparison], definitions: Mapping[str, Metric]) -> dict[str, Any]:
    """Return runs compared with the first of them. `definitions` has the metrics of all runs."""
    each = [(against.second, against.comparison) for against in comparisons]
    lower_is_better = {metric for against in comparisons for metric in against.lower_is_better}
    metrics = dict.fromkeys(name for _, comparison in each for name in comparison.metrics)
    needed = max((comparison.cases_needed for _, comparison in each if comparison.cases_needed is not None), default=None)
    return {
        "runs": list(names),
        "cases": max(comparison.cases for _, comparison in each),
        "conversations": max(comparison.conversations for _, comparison in each),
        "verdicts": {run: _verdict(against, names[0], run) for run, against in zip(names[1:], comparisons, strict=True)},
        "metrics": [
            {
                "name": metric,
                "label": _label(metric, definitions.get(metric)),
                "changes": [
                    {
                        "run": run,
                        "before": change.before,
                        "after": change.after,
                        "difference": change.difference,
                        "low": change.low,
                        "high": change.high,
                        "p": change.p,
                        "direction": change_direction(change, lower_is_better=metric in lower_is_better),
                    }
                    for run, comparison in each
                    if (change := comparison.metrics.get(metric)) is not None
                ],
            }
            for metric in metrics
        ],
        "fixed": {run: len(comparison.fixed) for run, comparison in each},
        "broken": {run: len(comparison.broken) for run, comparison in each},
        "both_correct": {run: comparison.both_correct for run, comparison in each},
        "both_wrong": {run: comparison.both_wrong for run, comparison in each},
        "faults": [
            {"run": run, "kind": fault.kind, "before": fault.before, "after": fault.after, "p": fault.p, "within_noise": fault.within_noise}
            for run, comparison in each
            for fault in comparison.faults
        ],
        "tools": [{"run": run, **to_builtins(tool)} for run, comparison in each for tool in comparison.tools[:_MAX_TOOLS]],
        "cases_needed": "" if needed is None else power_sentence(needed),
    }


def _verdict(against: RunComparison, first: str, second: str) -> dict[str, Any]:
    """Return the verdict on a run, in the sentence that the terminal prints, and what limits it."""
    short_first, short_second = short_names([first, second], MAX_RUN)
    verdict = judge(against.comparison, short_first, short_second, lower_is_better=against.lower_is_better)
    return {
        "outcome": verdict.outcome,
        "sentence": verdict.sentence,
        "scope": verdict.scope,
        "caveats": caveats(against, short_first, short_second),
    }


def run_list_entry(
    name: str, info: Manifest, headline: Estimate | None, *, scored: int | None, errors: int | None, predictions: int
) -> dict[str, Any]:
    """Return a run for the list of runs. Numbers that are not known yet are None."""
    model_run = info.model_run
    metric = headline_metric(info)
    return {
        "name": name,
        "label": info.name,
        "model": model_run.label if model_run else "",
        "created": info.created,
        "case_kind": info.dataset.kind,
        "cases": info.cases or (model_run.requests // model_run.trials if model_run else 0),
        "scored": scored,
        "errors": errors,
        "status": info.status,
        "headline": None if headline is None else _metric(metric, info.metrics.get(metric), headline),
        "dataset": _file_name(info.dataset.name),
        "predictions": predictions,
        "requests": model_run.requests if model_run else info.cases,
    }
