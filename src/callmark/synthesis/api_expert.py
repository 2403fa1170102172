"""Who talks for an API and does everything right: knows the plan, but uses only what the user has said and what calls have given; asks for
what is missing, has every change confirmed, and tells what came of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.agreement import is_confirmation
from callmark.calls.strict import NotStrict, parse
from callmark.errors import BadInput
from callmark.models.model import ModelError
from callmark.simulation.mock_api.amounts import is_money
from callmark.simulation.mock_api.names import words_of
from callmark.simulation.session import Session
from callmark.synthesis.api_goals import Goal, Plan, Step, Tell
from callmark.synthesis.api_lines import EXPERT, Lines
from callmark.synthesis.api_words import about, as_yours, dated, described, label_of, listed, option
from callmark.types import Call, Case, Message
from callmark.wording import end_sentence

_MOST_WRAPPED = 3  # answers inside of each other
_AT_ONCE = 2  # things that are asked for together
_MOST_ASKED = 3  # times that one thing is asked for
_MOST_TOLD = 6  # things, or fields, of an answer
_LONGEST_TOLD, _LONGEST_KEY = 60, 20  # characters of a field that is told
_KEYS = (("id",), ("number",), ("code",), ("uuid",))
_TELLING = frozenset({"status", "state", "total", "due", "expires", "position", "balance", "amount", "refund", "confirmation"})
_MINE = frozenset(
    {"email address", "full name", "name", "zip code", "phone", "phone number", "card number", "address", "date of birth"}
    | {"first name", "last name", "username", "password", "birth date", "delivery address", "shipping address", "account number"}
)


def plan_of(case: Case) -> Plan:
    """The plan that a scenario holds; one without raises `BadInput`."""
    try:
        return msgspec.convert(case.data.get("plan"), Plan)
    except msgspec.ValidationError as problem:
        raise BadInput(f"{case.id} has no plan of a conversation with an API: {problem}") from None


def is_yours(label: str) -> bool:
    """Whether something is the user's own, rather than a thing's."""
    return label.removeprefix("new ") in _MINE


class ApiExpert:
    """`title` is what the API is called."""

    def __init__(self, title: str) -> None:
        self._title = title

    async def reply(self, talk: Session) -> None:
        """Take a turn. What it did before is worked out from what the user has said, so that nothing is remembered between turns."""
        try:
            course = _Course(plan_of(talk.case))
        except BadInput as error:
            raise ModelError(str(error)) from None
        lines = Lines(EXPERT, Random(f"{talk.case.id}/{talk.trial}/expert"))
        said = [message.text for message in talk.messages if message.role == "user"]
        for number in range(1, len(said)):
            self._words(course.turn(said[:number]), lines, None)  # so that no wording comes twice
        turn = course.turn(said)
        for step in turn.calls:
            number = sum(len(message.calls) for message in talk.messages) + 1
            call = Call(step.call.name, step.call.arguments, f"call_{number}")
            talk.messages.append(Message("assistant", "", (call,)))
            result = await talk.toolbox.call(call)
            talk.misses += result.missed
            talk.messages.append(Message("tool", result.text, (), call.id, call.name))
            if result.is_error:
                text = lines.say("failed", error=result.text)
                talk.messages.append(Message("assistant", f"{text} {lines.say('more')}"))
                return
        talk.messages.append(Message("assistant", self._words(turn, lines, _answer_to(turn.goal.call, talk.messages))))

    def _words(self, turn: "_Turn", lines: Lines, answer: str | None) -> str:
        """What it says in a turn; `answer` is what the call gave that the user wanted done."""
        match turn.act:
            case "ask":
                return _asked(turn, lines)
            case "confirm" if turn.step is not None:
                details = "".join(f"\n- {line}" for line in turn.step.with_)
                return _led(turn, lines) + lines.say("confirm", does=turn.step.does, details=details)
            case "report":
                told = _reported(turn, lines, answer)
                return f"{told}{'' if told.endswith(chr(10)) else ' '}{lines.say('more')}"
            case "refused":
                wish = as_yours(about(turn.goal.wish, turn.goal.thing, "this"))
                return f"{lines.say('refused', wish=wish, because=turn.goal.because)} {lines.say('more')}"
            case "beyond":
                return f"{lines.say('beyond', title=self._title or 'this service')} {lines.say('more')}"
            case "handed_over" | "goodbye":
                return lines.say(turn.act)
        return f"{lines.say(turn.act)} {lines.say('more')}"


class _Turn(Struct):
    """What the expert does in a turn: calls, then something that it says. `first`: it is the first about what is wanted, which may come
    `later` than something else.
    """

    act: str
    goal: Goal
    calls: list[Step]
    missing: list[Tell] = []
    step: Step | None = None
    first: bool = False
    later: bool = False


class _Course:
    """Where a talk is in its plan, from what the user has said, turn by turn."""

    def __init__(self, plan: Plan) -> None:
        self._goals = plan.goals
        self._goal = 0
        self._step = 0
        self._waits_for = "wish"
        self._asked: dict[str, int] = {}

    def turn(self, said: Sequence[str]) -> _Turn:
        """What is to be done, now that the user has said all this."""
        goal = self._goals[self._goal]
        first = self._waits_for == "wish"
        calls: list[Step] = []
        if self._waits_for == "more":
            if self._goal + 1 >= len(self._goals):
                return _Turn("goodbye", goal, [])
            self._goal += 1
            self._step, self._asked, first = 0, {}, True
            goal = self._goals[self._goal]
        elif self._waits_for == "yes":
            if not is_confirmation(said[-1]):
                return self._over("left", goal, [])
            calls.append(goal.steps[self._step])
            self._step += 1
        self._waits_for = "answer"
        if goal.outcome == "beyond":
            return self._over("beyond", goal, [])
        while self._step < len(goal.steps):
            step = goal.steps[self._step]
            missing = self._missing(goal, step.needs, said)
            if missing and self._asked[missing[0].label] > _MOST_ASKED:
                return self._over("stuck", goal, calls)
            if missing:
                return _Turn("ask", goal, calls, missing, None, first, self._goal > 0)
            if step.writes:
                self._waits_for = "yes"
                return _Turn("confirm", goal, calls, [], step, first, self._goal > 0)
            calls.append(step)
            self._step += 1
        missing = self._missing(goal, range(len(goal.tells)), said)  # which of several is meant may matter for what is told, not for a call
        if missing:
            return self._over("stuck", goal, calls) if self._asked[missing[0].label] > _MOST_ASKED else _Turn("ask", goal, calls, missing)
        if goal.branches == ["transferred"]:
            return _Turn("handed_over", goal, calls)
        return self._over("refused" if goal.outcome == "refused" else "report", goal, calls)

    def _over(self, act: str, goal: Goal, calls: list[Step]) -> _Turn:
        self._waits_for = "more"
        return _Turn(act, goal, calls)

    def _missing(self, goal: Goal, needs: Iterable[int], said: Sequence[str]) -> list[Tell]:
        """What is to be asked for next: what is needed and nobody has said, at most two things, a choice for itself."""
        unsaid = [goal.tells[index] for index in needs if not is_told(goal.tells[index], said)]
        asked = unsaid[:1] if unsaid and unsaid[0].choice else [tell for tell in unsaid if not tell.choice][:_AT_ONCE]
        for tell in asked:
            self._asked[tell.label] = self._asked.get(tell.label, 0) + 1
        return asked


def is_told(tell: Tell, said: Sequence[str]) -> bool:
    """Whether everything of it stands in what the user has said; a date in any way of writing it."""
    whole = " ".join("\n".join(said).casefold().split())
    for value in tell.values:
        forms = {value, dated(value, long=True)}
        if not any(re.search(rf"(?<!\w){re.escape(' '.join(form.casefold().split()))}(?!\w)", whole) for form in forms):
            return False
    return True


def _answer_to(call: Call | None, messages: Sequence[Message]) -> str | None:
    """The latest answer to a call; None where it was not made."""
    made = [
        each.id for message in messages for each in message.calls if call and (each.name, each.arguments) == (call.name, call.arguments)
    ]
    return next((message.text for message in reversed(messages) if made and message.tool_call_id == made[-1]), None)


def _led(turn: _Turn, lines: Lines) -> str:
    return lines.say("again" if turn.first and turn.later else "first" if turn.first else "thanks")


def _asked(turn: _Turn, lines: Lines) -> str:
    tell = turn.missing[0]
    if tell.choice:
        options = "\n".join(f"- {option}" for option in tell.options)
        return _led(turn, lines) + lines.say("which", thing=tell.label, options=options)
    labels = [f"{'your' if is_yours(each.label) else 'the'} {each.label}" for each in turn.missing]
    line = lines.say("ask" if len(labels) == 1 else "ask_two", what=listed(labels))
    choices = "".join(lines.say("from", options=listed(each.options, "or")) for each in turn.missing if each.options and len(labels) == 1)
    return f"{_led(turn, lines)}{line}{choices}"


def _reported(turn: _Turn, lines: Lines, answer: str | None) -> str:
    """What came of it, from the answer."""
    try:
        told = parse(answer or "")
    except NotStrict:
        told = answer
    for _ in range(_MOST_WRAPPED):
        inside = [told[name] for name in ("data", "result", "response", "payload") if isinstance(told, dict) and name in told]
        told = inside[0] if inside and isinstance(inside[0], dict | list) else told
    last = next((step for step in turn.goal.steps if step.call == turn.goal.call), None)
    act = "done" if last is not None and last.writes else "found"
    inner = told
    if isinstance(told, dict):
        lists = [value for value in told.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        plain = [value for value in told.values() if not isinstance(value, list | dict)]
        alone = not any(words_of(name)[-1:] in _KEYS for name in told)
        inner = lists[0] if len(lists) == 1 and len(plain) <= 2 and alone and act == "found" else told
    if isinstance(inner, list):
        if not inner:
            return lines.say("nothing")
        shown = "".join(f"\n- {_in_short(each)}" for each in inner[:_MOST_TOLD])
        rest = f"\n… and {len(inner) - _MOST_TOLD} more." if len(inner) > _MOST_TOLD else ""
        return f"{lines.say(act)}{shown}{rest}\n"
    if isinstance(inner, dict):
        facts = _facts(inner, last.call.arguments if last is not None and last.writes else None)
        return f"{lines.say(act)} {facts}" if facts else lines.say(act)
    return (
        f"{lines.say(act)} {inner[0].upper()}{end_sentence(inner[1:])}"
        if isinstance(inner, str) and len(inner.split()) > 2
        else lines.say(act)
    )


def _in_short(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return option(value, next((name for name in value if words_of(name)[-1:] in _KEYS), ""))


def _facts(told: Mapping[str, Any], changed: Mapping[str, Any] | None) -> str:
    """An answer in a sentence: of what was changed what is new and how far it is, else its first fields."""
    key = next((name for name in told if words_of(name)[-1:] in _KEYS), "")
    facts = []
    for name, value in told.items():
        if name == key or value is None or value == "" or isinstance(value, bool):
            continue
        new = changed is None or name in changed or bool(_TELLING & {*words_of(name)})
        if isinstance(value, str | int | float) and len(str(value)) < _LONGEST_TOLD and new:
            money = is_money(name)
            facts.append(f"{label_of(name)} {f'${value:,.2f}' if money and not isinstance(value, str) else str(value)}")
        elif (
            isinstance(value, dict)
            and not any(isinstance(each, dict | list) for each in value.values())
            and (changed is None or any(changed.get(inner) == each for inner, each in value.items()))
        ):
            facts.append(f"{label_of(name)} {', '.join(str(each) for each in value.values() if each)}")
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value) and changed is None:
            facts.append(f"{label_of(name)}: {'; '.join(described(each, '') or str(each) for each in value[:_MOST_TOLD])}")
    which = f"{label_of(key)} {told[key]}" if key and len(str(told[key])) <= _LONGEST_KEY else ""
    shown = ", ".join(facts[:_MOST_TOLD])
    text = f"{which}: {shown}" if which and shown else which or shown
    return f"{text[:1].upper()}{text[1:]}." if text else ""
