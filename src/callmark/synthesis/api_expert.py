"""The expert agent of an API: follows the plan, but uses only what the user has said and what calls have returned. It asks for missing
values, asks for confirmation before every write, and reports the result.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.confirmation import is_confirmation
from callmark.calls.strict import NotStrict, parse
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.mock_api.amounts import is_money
from callmark.simulation.mock_api.names import split_name
from callmark.simulation.scenario_checks import scenario_name
from callmark.simulation.session import Session
from callmark.synthesis.api_goals import ConversationPlan, Goal, InformAct, Step
from callmark.synthesis.api_phrases import (
    describe_row,
    field_label,
    format_date,
    format_money,
    format_option,
    is_part_of_address,
    join_texts,
    refer_to_known,
    to_second_person,
)
from callmark.synthesis.api_utterances import EXPERT, UtteranceTemplates
from callmark.types import Call, Case, Message
from callmark.wording import end_sentence

_MAX_WRAPPERS = 3  # around a result
_MAX_QUESTIONS = 2  # in one turn
_MAX_ASKED = 3  # times that one value is asked for
_MAX_FACTS = 6  # rows or fields of a result
_MAX_FACT, _MAX_KEY, _MAX_LINE = 60, 20, 240  # characters
_KEY_WORDS = (("id",), ("number",), ("code",), ("uuid",))
_WRAPPERS = ("data", "result", "response", "payload")
_PAGE_ROWS, _PAGE_WORDS = (
    ("items", "results", "records", "entries"),
    frozenset({"total", "next", "previous", "limit", "offset", "page", "pages", "cursor", "count", "size", "href", "url", "has", "more"}),
)
_SUCCESS_WORDS = frozenset({"success", "successful", "successfully", "operation", "request", "no", "content", "ok", "response", "empty"})
_STATUS_WORDS = frozenset({"status", "state", "total", "due", "expires", "position", "balance", "amount", "refund", "confirmation"})


def read_plan(case: Case) -> ConversationPlan:
    """Return the plan of a scenario; a scenario without a plan raises `BadInput`."""
    try:
        return msgspec.convert(case.data.get("plan"), ConversationPlan)
    except msgspec.ValidationError as problem:
        raise BadInput(f"{scenario_name(case)} cannot be simulated because data.plan is not a plan for an API: {problem}") from None


class ApiExpert:
    """The expert agent; `title` is the name of the API."""

    def __init__(self, title: str) -> None:
        self._title = title

    async def reply(self, session: Session) -> None:
        """Take a turn. Earlier turns are derived from the user's turns, so no state is stored between turns."""
        try:
            dialogue = _DialogueState(read_plan(session.case))
        except BadInput as error:
            raise ModelError(str(error)) from None
        templates = UtteranceTemplates(EXPERT, Random(f"{session.case.id}/{session.trial}/expert"))
        user_turns = [message.text for message in session.messages if message.role == "user"]
        for number in range(1, len(user_turns)):
            self._utterance(dialogue.turn(user_turns[:number]), templates, None)  # so that no template is used twice
        turn = dialogue.turn(user_turns)
        for step in turn.calls:
            number = sum(len(message.calls) for message in session.messages) + 1
            call = Call(step.call.name, step.call.arguments, f"call_{number}")
            session.messages.append(Message("assistant", "", (call,)))
            result = await session.toolbox.call(call)
            session.misses += result.missed
            session.messages.append(Message("tool", result.text, (), call.id, call.name))
            if result.is_error:
                text = templates.say("failed", error=end_sentence(_first_line(result.text)))
                session.messages.append(Message("assistant", f"{text} {templates.say('more')}"))
                return
        session.messages.append(Message("assistant", self._utterance(turn, templates, _result_of(turn.goal.call, session.messages))))

    def _utterance(self, turn: "_ExpertTurn", templates: UtteranceTemplates, result: str | None) -> str:
        """Return the text of a turn; `result` is the result of the call that reaches the goal."""
        match turn.act:
            case "ask":
                return _question(turn, templates)
            case "confirm" if turn.step is not None:
                details = "".join(f"\n- {line}" for line in turn.step.details)
                return _lead(turn, templates) + templates.say("confirm", action=turn.step.action, details=details)
            case "report":
                value = _report(turn, templates, result)
                return f"{value}{'' if value.endswith(chr(10)) else ' '}{templates.say('more')}"
            case "refused":
                wish = to_second_person(refer_to_known(turn.goal.wish, turn.goal.noun, "this"))
                return f"{templates.say('refused', wish=wish, reason=turn.goal.reason)} {templates.say('more')}"
            case "beyond":
                return f"{templates.say('beyond', title=self._title or 'this service')} {templates.say('more')}"
            case "handed_over" | "goodbye":
                return templates.say(turn.act)
        return f"{templates.say(turn.act)} {templates.say('more')}"


class _ExpertTurn(Struct):
    """A turn of the expert: calls, then a dialogue act.

    `is_first`: it is the first turn about the goal; `is_later`: the goal is not the first of the conversation.
    """

    act: str
    goal: Goal
    calls: list[Step]
    missing: list[InformAct] = []
    step: Step | None = None
    is_first: bool = False
    is_later: bool = False


class _DialogueState:
    """The progress of a conversation through its plan, derived from the user's turns."""

    def __init__(self, plan: ConversationPlan) -> None:
        self._goals = plan.goals
        self._goal = 0
        self._step = 0
        self._expected = "wish"
        self._question_counts: dict[str, int] = {}

    def turn(self, user_turns: Sequence[str]) -> _ExpertTurn:
        """Return the next turn, given all turns of the user."""
        goal = self._goals[self._goal]
        is_first = self._expected == "wish"
        calls: list[Step] = []
        if self._expected == "more":
            if self._goal + 1 >= len(self._goals):
                return _ExpertTurn("goodbye", goal, [])
            self._goal += 1
            self._step, self._question_counts, is_first = 0, {}, True
            goal = self._goals[self._goal]
        elif self._expected == "yes":
            if not is_confirmation(user_turns[-1]):
                return self._finish("left", goal, [])
            calls.append(goal.steps[self._step])
            self._step += 1
        self._expected = "answer"
        if goal.outcome == "beyond":
            return self._finish("beyond", goal, [])
        while self._step < len(goal.steps):
            step = goal.steps[self._step]
            missing = self._missing(goal, step.needs, user_turns)
            if missing and self._question_counts[missing[0].label] > _MAX_ASKED:
                return self._finish("stuck", goal, calls)
            if missing:
                return _ExpertTurn("ask", goal, calls, missing, None, is_first, self._goal > 0)
            if step.writes:
                self._expected = "yes"
                return _ExpertTurn("confirm", goal, calls, [], step, is_first, self._goal > 0)
            calls.append(step)
            self._step += 1
        missing = self._missing(goal, range(len(goal.informs)), user_turns)  # a choice may matter only for the report
        if missing:
            return (
                self._finish("stuck", goal, calls)
                if self._question_counts[missing[0].label] > _MAX_ASKED
                else _ExpertTurn("ask", goal, calls, missing)
            )
        if goal.branches == ["transferred"]:
            return _ExpertTurn("handed_over", goal, calls)
        return self._finish("refused" if goal.outcome == "refused" else "report", goal, calls)

    def _finish(self, act: str, goal: Goal, calls: list[Step]) -> _ExpertTurn:
        self._expected = "more"
        return _ExpertTurn(act, goal, calls)

    def _missing(self, goal: Goal, needs: Iterable[int], user_turns: Sequence[str]) -> list[InformAct]:
        """Return what to ask for next: at most two needed values that were not said yet; a choice is asked for alone."""
        missing = [goal.informs[index] for index in needs if not is_informed(goal.informs[index], user_turns)]
        is_single = missing and (missing[0].choice or missing[0].flag)
        questions = missing[:1] if is_single else [inform for inform in missing if not inform.choice and not inform.flag][:_MAX_QUESTIONS]
        for inform in questions:
            self._question_counts[inform.label] = self._question_counts.get(inform.label, 0) + 1
        return questions


def is_informed(inform: InformAct, user_turns: Sequence[str]) -> bool:
    """Return whether the user's turns contain all its values; dates in any spelling."""
    text = " ".join("\n".join(user_turns).casefold().split())
    for value in inform.values:
        spellings = {value, format_date(value, long=True)}
        if not any(re.search(rf"(?<!\w){re.escape(' '.join(spelling.casefold().split()))}(?!\w)", text) for spelling in spellings):
            return False
    return True


def _result_of(call: Call | None, messages: Sequence[Message]) -> str | None:
    """Return the latest result of a call; None if it was not made."""
    call_ids = [
        item.id for message in messages for item in message.calls if call and (item.name, item.arguments) == (call.name, call.arguments)
    ]
    return next((message.text for message in reversed(messages) if call_ids and message.tool_call_id == call_ids[-1]), None)


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"


def _lead(turn: _ExpertTurn, templates: UtteranceTemplates) -> str:
    return templates.say("again" if turn.is_first and turn.is_later else "first" if turn.is_first else "thanks")


def _question(turn: _ExpertTurn, templates: UtteranceTemplates) -> str:
    inform = turn.missing[0]
    if inform.choice:
        options = "\n".join(f"- {choice}" for choice in inform.options)
        return _lead(turn, templates) + templates.say("which", noun=inform.label, options=options)
    if inform.flag:
        return _lead(turn, templates) + templates.say("ask_flag", label=inform.label)
    labels = [f"{'your' if item.personal else 'the'} {item.label}" for item in turn.missing]
    line = templates.say("ask" if len(labels) == 1 else "ask_two", what=join_texts(labels))
    choices = "".join(
        templates.say("from", options=join_texts(item.options, "or")) for item in turn.missing if item.options and len(labels) == 1
    )
    return f"{_lead(turn, templates)}{line}{choices}"


def _report(turn: _ExpertTurn, templates: UtteranceTemplates, result: str | None) -> str:
    """Return the text that reports a result."""
    try:
        value = parse(result or "")
    except NotStrict:
        value = result
    for _ in range(_MAX_WRAPPERS):
        value = _unwrap(value)
    last = next((step for step in turn.goal.steps if step.call == turn.goal.call), None)
    act = "done" if last is not None and last.writes else "found"
    shown = value
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)]
        scalars = [item for item in value.values() if not isinstance(item, list | dict)]
        has_no_key = not any(split_name(name)[-1:] in _KEY_WORDS for name in value)
        shown = lists[0] if len(lists) == 1 and len(scalars) <= 2 and has_no_key and act == "found" else value
    if isinstance(shown, list) and not (act == "done" and not shown):
        if not shown:
            return templates.say("nothing")
        listed = "".join(f"\n- {_summarize_row(item)}" for item in shown[:_MAX_FACTS])
        rest = f"\n… and {len(shown) - _MAX_FACTS} more." if len(shown) > _MAX_FACTS else ""
        return f"{templates.say(act)}{listed}{rest}\n"
    if isinstance(shown, dict):
        facts = _facts(shown, last.call.arguments if last is not None and last.writes else None)
        return f"{templates.say(act)} {facts}" if facts else templates.say("done")
    return (
        f"{templates.say(act)} {shown[0].upper()}{end_sentence(_first_line(shown[1:]))}"
        if isinstance(shown, str) and len(shown.split()) > 2 and not {*split_name(shown)} <= _SUCCESS_WORDS
        else templates.say("done")
    )


def _unwrap(value: Any) -> Any:
    """Return what a wrapper contains: the value of `data`, the only value, or the rows of a page; anything else unchanged."""
    if not isinstance(value, dict):
        return value
    inner = next((value[name] for name in _WRAPPERS if name in value), next(iter(value.values())) if len(value) == 1 else None)
    rows = next((value[name] for name in _PAGE_ROWS if isinstance(value.get(name), list)), None)
    others = [name for name, item in value.items() if item is not rows]
    if rows and isinstance(rows[0], dict) and all({*split_name(name)} & _PAGE_WORDS for name in others):
        return rows
    return inner if isinstance(inner, dict | list) else value


def _summarize_row(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return format_option(value, next((name for name in value if split_name(name)[-1:] in _KEY_WORDS), ""))


def _facts(fields: Mapping[str, Any], arguments: Mapping[str, Any] | None) -> str:
    """Return a result as a sentence: after a write, the changed and status fields; otherwise the first fields."""
    key = next((name for name in fields if split_name(name)[-1:] in _KEY_WORDS), "")
    facts = []
    for name, value in fields.items():
        if name == key or value is None or value == "" or isinstance(value, bool):
            continue
        is_status = bool(_STATUS_WORDS & {*split_name(name)}) and not is_part_of_address(name, fields)
        is_relevant = arguments is None or name in arguments or is_status
        if isinstance(value, str | int | float) and len(str(value)) < _MAX_FACT and is_relevant:
            is_amount = is_money(name) and not isinstance(value, str)
            facts.append(f"{field_label(name)} {format_money(value, fields) if is_amount else str(value)}")
        elif (
            isinstance(value, dict)
            and not any(isinstance(item, dict | list) for item in value.values())
            and (arguments is None or any(arguments.get(inner) == item for inner, item in value.items()))
        ):
            facts.append(f"{field_label(name)} {', '.join(str(item) for item in value.values() if item)}")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value) and arguments is None:
            facts.append(f"{field_label(name)}: {'; '.join(describe_row(item, '') or str(item) for item in value[:_MAX_FACTS])}")
    identifier = f"{field_label(key)} {fields[key]}" if key and len(str(fields[key])) <= _MAX_KEY else ""
    listed = ", ".join(facts[:_MAX_FACTS])
    text = f"{identifier}: {listed}" if identifier and listed else identifier or listed
    return f"{text[:1].upper()}{text[1:]}." if text else ""
