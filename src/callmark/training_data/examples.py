"""Examples from attempts: what the model should have said at a decision point, and what it said instead.

The completion is the expected calls as one message. Text that the assistant said just before them is part of it. Where no call is expected,
the completion is the text of a correct attempt, because the expected text is not known.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from callmark.calls.matchers import has_matcher, recorded_value
from callmark.calls.strict import dump
from callmark.formats.call_ids import with_ids
from callmark.training_data.attempts import Attempt, AttemptedCase
from callmark.types import Call, Case, Message, Tool

Skipped = Literal["matchers", "malformed", "malformed_prompt", "no_reply", "silent", "same", "scenario"]
REASONS: dict[Skipped, tuple[str, str]] = {  # what is left out: one case, and several
    "matchers": ("case with matchers among its expected arguments", "cases with matchers among their expected arguments"),
    "malformed": ("case with a malformed expected call", "cases with a malformed expected call"),
    "malformed_prompt": ("case with a malformed call in the prompt", "cases with a malformed call in the prompt"),
    "no_reply": (
        "case that expects no call and has no correct reply in any attempt",
        "cases that expect no call and have no correct reply in any attempt",
    ),
    "silent": (
        "case in which the model returned nothing, so the pair has no rejected side",
        "cases in which the model returned nothing, so the pairs have no rejected side",
    ),
    "same": ("case in which the model made the expected calls", "cases in which the model made the expected calls"),
    "scenario": ("scenario, which has no decision points", "scenarios, which have no decision points"),
}
_CALL_ID = "call_{}"


class Example(Struct, frozen=True):
    """One training example: the prompt, the completion, and for a preference pair what was rejected.

    Attributes:
        case: The case it comes from.
        prompt: The messages before the completion, each call and result with an id.
        completion: What the model should say.
        rejected: What the model said; None for supervised fine-tuning.
        tool: The tool of the first expected call; empty if no call is expected.
        fault: The kind of the first fault of the attempt.
    """

    case: Case
    prompt: tuple[Message, ...]
    completion: Message
    rejected: Message | None
    tool: str
    fault: str

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the case."""
        return self.case.tools


def sft_example(attempted: AttemptedCase) -> Example | Skipped:
    """Return the correct completion of a case that failed, or why there is none."""
    worst = attempted.worst
    assert worst is not None
    completion = _correct(attempted)
    return completion if isinstance(completion, str) else _example(attempted.case, completion, None, worst)


def preference_pairs(attempted: AttemptedCase) -> list[Example] | Skipped:
    """Return the expected completion paired with the worst attempt, and the best attempt paired with the worst if the model was right in
    another trial in other words; or why there is no pair.
    """
    worst = attempted.worst
    assert worst is not None
    rejected = _said(worst.prediction.calls, worst.prediction.text)
    if rejected is None:
        return "silent"
    correct = _correct(attempted)
    if isinstance(correct, str):
        return correct
    chosen = [correct]
    best = attempted.best
    if best is not None and (own := _said(best.prediction.calls, best.prediction.text)) is not None and not _is_same(own, correct):
        chosen.append(own)
    pairs = [_example(attempted.case, each, rejected, worst) for each in chosen if not _is_same(each, rejected)]
    return pairs or "same"


def _correct(attempted: AttemptedCase) -> Message | Skipped:
    case = attempted.case
    if case.is_scenario:
        return "scenario"
    if any(call.malformed for message in case.messages for call in message.calls):
        return "malformed_prompt"
    if any(call.malformed for call in case.expected):
        return "malformed"
    if any(has_matcher(call.arguments) for call in case.expected):
        return "matchers"
    if case.expected:
        return Message("assistant", "", tuple(Call(call.name, recorded_value(call.arguments)) for call in case.expected))
    best = attempted.best
    reply = _said((), best.prediction.text) if best is not None and not best.prediction.calls else None
    return "no_reply" if reply is None else reply


def _said(calls: Sequence[Call], text: str) -> Message | None:
    """Return what a model said as a message; None if it said nothing. Malformed calls are in its text, as models write them."""
    broken = [_broken_text(call) for call in calls if call.malformed]
    text = "\n".join(part for part in (text.strip(), *broken) if part)
    well_formed = tuple(Call(call.name, call.arguments) for call in calls if not call.malformed)
    return Message("assistant", text, well_formed) if text or well_formed else None


def _broken_text(call: Call) -> str:
    return (
        f'<tool_call>\n{{"name": {dump(call.name)}, "arguments": {call.text}}}\n</tool_call>' if call.name else f"<tool_call>\n{call.text}"
    )


def _example(case: Case, completion: Message, rejected: Message | None, worst: Attempt) -> Example:
    """Return an example whose ids are unique. Text of the assistant at the end of the prompt moves to the completions."""
    prompt = case.messages
    if prompt and prompt[-1].role == "assistant" and not prompt[-1].calls:
        said, prompt = prompt[-1].text, prompt[:-1]
        completion = _after(said, completion)
        rejected = None if rejected is None else _after(said, rejected)
    numbered = with_ids((*prompt, completion), _CALL_ID).messages
    if rejected is not None:
        rejected = with_ids((*numbered[:-1], rejected), _CALL_ID).messages[-1]
    faults = worst.grade.faults
    tool = case.expected[0].name if case.expected else ""
    return Example(case, numbered[:-1], numbered[-1], rejected, tool, faults[0].kind if faults else "")


def _after(said: str, message: Message) -> Message:
    return structs.replace(message, text="\n".join(part for part in (said, message.text) if part))


def _is_same(one: Message, other: Message) -> bool:
    return (one.text, _plain(one.calls)) == (other.text, _plain(other.calls))


def _plain(calls: Sequence[Call]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.arguments) for call in calls]
