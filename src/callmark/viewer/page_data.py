"""What the page is told, as plain values for JSON: a run, a case in one trial, runs compared.

Numbers are those of the terminal: nothing is worked out here that `analysis` does. An empty run has no metrics; an error has no numbers.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec import structs, to_builtins

from callmark.analysis.differences import SMALL
from callmark.analysis.summary import Estimate, Summary
from callmark.calls.matchers import recorded
from callmark.grading.grade import sentence
from callmark.grading.grader import GradeRecord
from callmark.runs.compare import Against
from callmark.runs.run import headline_of
from callmark.runs.store import RunInfo
from callmark.types import Call, Case, Message, Prediction
from callmark.viewer.page_json import exact, shown_id

_MOST_TEXTS = 50  # texts of errors, kinds of endings
_MOST_TOOLS = 200  # in a comparison
_LABELS = {
    "call.score": "call score",
    "call.pass": "pass",
    "schema.tool_selection": "tool selection",
    "schema.parameter_accuracy": "parameters",
    "schema.execution_success": "execution",
    "schema.overall": "schema overall",
    "process.args_precision": "argument precision",
    "process.args_recall": "argument recall",
    "state.reached": "end state reached",
    "state.precision": "state precision",
    "state.recall": "state recall",
    "policy.kept": "policy kept",
    "policy.rules": "rules kept",
}


def label(metric: str) -> str:
    """A metric in words: `tool selection`, `recall`; those of an evaluator of one's own with the name of the evaluator."""
    evaluator, _, name = metric.rpartition(".")
    plain = name.replace("_", " ")
    return _LABELS.get(metric) or (plain if evaluator in ("process", "effort", "recorded") else f"{evaluator} {plain}".strip())


def run_data(
    name: str, info: RunInfo, summary: Summary | None, *, names: Mapping[str, Any], trials: int, ready: bool = True, problem: str = ""
) -> dict[str, Any]:
    """A run. Without a summary, what its `run.json` says."""
    asked = info.asked
    details = summary.details if summary else None
    tried = details.trials if details else None
    return {
        "name": name,
        "label": info.name,
        "model": asked.label if asked else "",
        "made": info.made,
        "status": info.status,
        "ready": ready,
        "problem": problem,
        "stopped": asked.stopped if asked else "",
        "what": info.dataset.what,
        "dataset": _file_name(info.dataset.name),
        "cases": summary.cases if summary else info.cases,
        "conversations": summary.conversations if summary else 0,
        "scored": summary.scored if summary else 0,
        "errors": summary.errors if summary else 0,
        "right": summary.right if summary else 0,
        "right_tools": summary.right_tools if summary else 0,
        "answers": asked.answers if asked else info.cases,
        "questions": asked.questions if asked else info.cases,
        "trials": max(trials, asked.trials if asked else 1),
        "headline": headline_of(info),
        "metrics": [_metric(metric, found) for metric, found in summary.metrics.items()] if summary else [],
        "readings": [to_builtins(one) for one in details.readings] if details else [],
        "notes": summary.notes if summary else {},
        "error_texts": _first(summary.error_texts) if summary else {},
        "usage": to_builtins(summary.usage) if summary and summary.usage else None,
        "endings": _first(summary.endings) if summary else {},
        "turns": summary.turns if summary else None,
        "passes": [{"k": one.k, "any": one.any, "every": one.every} for one in tried.passes] if tried and len(tried.passes) > 1 else [],
        "names": names,
    }


def _file_name(path: str) -> str:
    """A file without its folders: a page is shown to others."""
    return PurePath(path).name or path


def _metric(name: str, found: Estimate) -> dict[str, Any]:
    return {"name": name, "label": label(name), "mean": found.mean, "low": found.low, "high": found.high, "n": found.n}


def _first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(list(counts.items())[:_MOST_TEXTS])


def call_data(call: Call) -> dict[str, Any]:
    """A call. One that cannot be read has no arguments, but its text."""
    return {
        "name": call.name,
        "arguments": None if call.malformed else call.arguments,
        "malformed": call.malformed,
        "text": call.text,
        "code": _code(call),
    }


def _code(call: Call) -> str:
    try:
        return str(call)
    except (ValueError, RecursionError):  # a number of more digits than Python writes
        return f"{call.name}(…)"


def message_data(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "text": message.text,
        "calls": [call_data(call) for call in message.calls],
        "tool_call_id": message.tool_call_id,
        "name": message.name,
    }


def case_data(run: str, grade: GradeRecord, case: Case | None, prediction: Prediction | None, *, problem: str = "") -> dict[str, Any]:
    """A case in one trial, without its conversation. Where its dataset is gone, `case` is None and what was expected is known by name only;
    the same for what was made, without a prediction.
    """
    answers = [tuple(map(_as_recorded, calls)) for calls in (case.expected, *case.alternatives)] if case else []
    if grade.alternative < len(answers):
        counted = answers.pop(grade.alternative)
    else:
        counted = tuple(Call(name, {}, None, "arguments not known") for name in grade.expected)
    states = prediction.states if prediction else None
    usage = grade.usage
    return {
        "id": shown_id(grade.case),
        "trial": exact(grade.trial),
        "run": run,
        "problem": problem,
        "instructions": case.instructions if case else "",
        "completion": case.completion if case else "",
        "description": case.description if case else "",
        "type": grade.scenario_type,
        "group": grade.group,
        "text": prediction.text if prediction else "",
        "thinking": prediction.thinking if prediction else "",
        "error": grade.error,
        "ending": grade.ending,
        "finish": prediction.finish if prediction else "",
        "seconds": usage.seconds if usage else None,
        "tokens": [usage.input_tokens, usage.output_tokens] if usage and usage.input_tokens + usage.output_tokens else None,
        "expected": [call_data(call) for call in counted],
        "alternatives": [[call_data(call) for call in calls] for calls in answers],
        "made": [call_data(call) for call in prediction.calls]
        if prediction
        else [call_data(Call(name, {}, None, "arguments not known")) for name in grade.made],
        "pairs": grade.pairs,
        "alternative": grade.alternative,
        "metrics": grade.metrics,
        "faults": [{**to_builtins(fault), "sentence": sentence(fault)} for fault in grade.faults],
        "notes": [
            {"kind": note.kind, "sentence": note.sentence, "argument": note.argument, "message": note.message} for note in grade.notes
        ],
        "states": {"reached": states.reached, "expected": states.expected, "unknown": states.unknown} if states else None,
    }


def _as_recorded(call: Call) -> Call:
    """The call without the wrapping that says that a value is no matcher."""
    return call if call.malformed else structs.replace(call, arguments=recorded(call.arguments))


def comparison_data(names: Sequence[str], found: Sequence[Against]) -> dict[str, Any]:
    """Runs against the first of them."""
    each = [(one.second, one.comparison) for one in found]
    metrics = dict.fromkeys(name for _, one in each for name in one.metrics)
    needed = max((one.needed for _, one in each if one.needed is not None), default=None)
    small = f"{SMALL:g}".lstrip("0")
    return {
        "runs": list(names),
        "cases": max(one.cases for _, one in each),
        "conversations": max(one.conversations for _, one in each),
        "warnings": [warning for one in found for warning in _warnings(one)],
        "metrics": [
            {
                "name": metric,
                "label": label(metric),
                "of": [
                    {
                        "run": run,
                        "before": change.before,
                        "after": change.after,
                        "difference": change.difference,
                        "low": change.low,
                        "high": change.high,
                        "p": change.p,
                        "within_noise": change.noise,
                    }
                    for run, one in each
                    if (change := one.metrics.get(metric)) is not None
                ],
            }
            for metric in metrics
        ],
        "fixed": {run: len(one.fixed) for run, one in each},
        "broken": {run: len(one.broken) for run, one in each},
        "both_right": {run: one.both_right for run, one in each},
        "both_wrong": {run: one.both_wrong for run, one in each},
        "faults": [
            {"run": run, "kind": fault.kind, "before": fault.before, "after": fault.after, "p": fault.p, "within_noise": fault.noise}
            for run, one in each
            for fault in one.faults
        ],
        "tools": [{"run": run, **to_builtins(tool)} for run, one in each for tool in one.tools[:_MOST_TOOLS]],
        "needed": "" if needed is None else f"A difference of {small} would need about {float(f'{needed:.2g}'):,.0f} cases to be seen.",
    }


def _warnings(one: Against) -> list[str]:
    said = []
    if one.common:
        said.append(f"{one.first} and {one.second} are runs of different cases: they are paired by their ids")
    if one.settings:
        said.append(f"{one.first} and {one.second} were graded by other settings ({', '.join(one.settings)})")
    if one.unmatched:
        said.append(f"only one of {one.first} and {one.second} was graded by {', '.join(one.unmatched)}")
    return said


def listed(name: str, info: RunInfo, headline: Estimate | None, *, scored: int | None, errors: int | None, answers: int) -> dict[str, Any]:
    """A run in the list of runs."""
    asked = info.asked
    return {
        "name": name,
        "label": info.name,
        "model": asked.label if asked else "",
        "made": info.made,
        "what": info.dataset.what,
        "cases": info.cases or (asked.questions // asked.trials if asked else 0),
        "scored": scored,
        "errors": errors,
        "status": info.status,
        "headline": None
        if headline is None
        else {"name": headline_of(info), "mean": headline.mean, "low": headline.low, "high": headline.high},
        "dataset": _file_name(info.dataset.name),
        "answers": answers,
        "questions": asked.questions if asked else info.cases,
    }
