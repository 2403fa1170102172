"""Check what a case expects before a model is trained on it: a case that nothing can satisfy teaches nothing."""

from typing import Any

from callmark.calls.matchers import has_matcher
from callmark.calls.schema import Schemas
from callmark.errors import BadInput
from callmark.rewards.columns import CaseReader
from callmark.rewards.reward import Reward
from callmark.types import Call, Case


def expected_problem(expected_output: Any, tools: Any = None) -> str:
    """Return what is wrong with the expected calls, as a sentence; empty if nothing is.

    A call may be malformed, name a tool that is not listed, or not fit its schema; or the expected calls do not earn 1 themselves, which is
    checked where they have no matcher. Without tools, names and schemas are not checked.
    """
    try:
        case = CaseReader(with_messages=False).read(expected_output, tools)
    except BadInput as error:
        return str(error).removeprefix("completion 0: ")
    for call in case.expected:
        if problem := _call_problem(call, case):
            return problem
    if not any(has_matcher(call.arguments) for call in case.expected):
        earned = Reward().score(list(case.expected), expected_output, tools=tools)
        if earned != 1.0:
            return f"the expected calls earn {earned}, not 1"
    return ""


def _call_problem(call: Call, case: Case) -> str:
    if call.malformed:
        return f"malformed call {call.name or call.text[:80]!r}: {call.malformed}"
    if case.tools:
        if all(tool.name != call.name for tool in case.tools):
            return f"{call.name} is not one of the tools"
        if not has_matcher(call.arguments):
            for path, message in Schemas(case.tools).violations(call):
                return f"{call.name}: {f'{path}: ' if path else ''}{message}"
    return ""
