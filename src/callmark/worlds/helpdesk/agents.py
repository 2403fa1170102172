"""Two agents for the help desk that need no model: `careful` keeps to the workflow, `sloppy` is the same with faults planted in it.

    callmark simulate … --agent python:callmark.worlds.helpdesk.agents:careful

Both take messages and tools in OpenAI's form and give the assistant's next message. They keep nothing: the conversation is had again from
its messages each time. They call only tools that are offered.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from callmark.worlds.helpdesk import tools as names
from callmark.worlds.helpdesk.clerk import Cancelled, Clerk, Habits, Leaving, Request, Session, StartOver, Turn
from callmark.worlds.helpdesk.company import TODAY
from callmark.worlds.helpdesk.days import day_in
from callmark.worlds.helpdesk.errands import ABILITIES, run
from callmark.worlds.helpdesk.language import accepts, agrees, is_done, is_greeting, is_leaving, is_no, wants_to_start_over
from callmark.worlds.helpdesk.wishes import Wish, looks_like_trouble, wishes_in

Message = Mapping[str, Any]


class Fault(NamedTuple):
    """A fault of the sloppy agent. `chance`: in how many of a hundred conversations it is at work, if there is occasion for it."""

    name: str
    chance: int
    habit: dict[str, Any]


FAULTS = (
    Fault("leaves out the expected outcome", 12, {"leaves_out": ("expected_outcome",)}),
    Fault("leaves out the description", 8, {"leaves_out": ("description",)}),
    Fault("guesses the priority Medium", 15, {"guesses_priority": True}),
    Fault("looks nothing up", 13, {"looks_nothing_up": True}),
    Fault("writes without a confirmation", 15, {"writes_unconfirmed": True}),
    Fault("writes everything twice", 13, {"writes_twice": True}),
    Fault("forgets the second action item", 35, {"forgets_second_item": True}),
    Fault("due dates a day late", 20, {"day_late": True}),
)
GREETING = "Hello, this is the help desk. What can I do for you?"
MORE = "Is there anything else I can do for you?"
GOODBYE = "You are welcome. Goodbye!"


def careful(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The next message: a text, or tool calls. With nothing said yet it is a greeting."""
    return _next(messages, tools, Habits())


def sloppy(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The same with the faults that the first thing the user says draws: about half of the conversations have one."""
    first = next((_text(message) for message in messages if message.get("role") == "user"), "")
    return _next(messages, tools, habits_for(first))


def faults_for(first: str) -> list[Fault]:
    """The faults of the conversation that begins with these words; always the same ones."""
    return [
        fault
        for fault in FAULTS
        if int.from_bytes(blake2b(f"{fault.name}\0{first}".encode(errors="replace"), digest_size=4).digest()) % 100 < fault.chance
    ]


def _drawn(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=4).digest()) % 100


def habits_for(first: str) -> Habits:
    """What the sloppy agent does wrong in the conversation that begins with these words."""
    habits = Habits()
    for fault in faults_for(first):
        leaves_out = (*habits.leaves_out, *fault.habit.get("leaves_out", ()))
        habits = habits._replace(**fault.habit)._replace(leaves_out=leaves_out)
    return habits


def serve(clerk: Clerk) -> Session[None]:
    """A whole conversation, from the greeting on. It never ends by itself: whoever says something is answered."""
    heard = yield from clerk.listen(GREETING)
    if is_greeting(heard):
        clerk.tell("Hello!")
    while True:
        try:
            heard = yield from _attend(clerk, heard)
        except StartOver:
            clerk.waiting.clear()
            clerk.ticket = None
            yield from clerk.do(Request(names.START_OVER, {}))
            heard = yield from clerk.listen("All right, we start over; nothing of that is kept. What would you like to do?")
        except Cancelled as why:
            clerk.waiting.clear()
            clerk.tell(str(why) or "All right, I leave it at that. Nothing was written.")
            heard = yield from clerk.listen(MORE)
        except Leaving:
            clerk.waiting.clear()
            heard = yield from clerk.listen("All right, nothing more was written. Goodbye!")


def _attend(clerk: Clerk, heard: str) -> Session[str]:
    """Deal with what somebody says when nothing is under way; gives what they say after that."""
    if wants_to_start_over(heard):
        raise StartOver
    clerk.waiting += wishes_in(heard)
    if not clerk.waiting:
        if is_done(heard) or is_leaving(heard) or (is_no(heard) and (not clerk.refused or len(heard.split()) <= 3)):
            return (yield from clerk.listen(GOODBYE))
        if clerk.refused and accepts(heard):
            clerk.refused = ""
            return (yield from clerk.listen(f"Thank you for your understanding. {MORE}"))
        if clerk.refused:
            clerk.waiting.append(Wish("refuse", heard, clerk.refused))
        elif clerk.ticket and day_in(heard, TODAY):
            clerk.waiting.append(Wish("add item", heard))
        elif looks_like_trouble(heard):
            clerk.waiting.append(Wish("open ticket", heard))
    if not clerk.waiting:
        return (yield from _not_understood(clerk, heard))
    clerk.misunderstood = 0
    while clerk.waiting:
        yield from run(clerk, clerk.waiting.pop(0))
    return (yield from clerk.listen(MORE))


def _not_understood(clerk: Clerk, heard: str) -> Session[str]:
    """Ask in other words, then offer what there is, then take leave: nobody is asked the same for ever."""
    if agrees(heard) or (is_greeting(heard) and len(heard.split()) <= 4):
        return (yield from clerk.listen(f"What would you like to do? I can {ABILITIES}."))
    clerk.misunderstood += 1
    if clerk.misunderstood == 1:
        question = (
            "I am sorry, I did not understand that. Would you like to open a ticket, add an action item, find a ticket or change one?"
        )
        yield from clerk.do(Request(names.ASK_CLARIFICATION, {"question": question}))
        return (yield from clerk.listen(question))
    if clerk.misunderstood == 2:
        return (
            yield from clerk.listen(
                "I still do not see what you need, or it is nothing that I can do here. What I can do:\n"
                "- open a new ticket\n- add an action item to a ticket\n- find tickets\n- change a ticket's status or priority\n"
                "- explain how this desk works\nWhich of these is it?"
            )
        )
    return (
        yield from clerk.listen(
            "I am afraid that I cannot help with that. Come back whenever there is a ticket to open or to change. Goodbye!"
        )
    )


def _next(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], habits: Habits) -> dict[str, Any]:
    """Have the conversation again as far as it went, and give what comes next."""
    talk = serve(Clerk({_name(tool) for tool in tools}, habits))
    turn = next(talk)
    for said in _heard(messages):
        while not isinstance(turn, str) and isinstance(said, str):  # calls that nobody carried out
            turn = talk.send(["nothing came back"] * len(turn))
        if isinstance(turn, str) == isinstance(said, str):
            turn = talk.send(said)
    return _message(turn, sum(len(message.get("tool_calls") or ()) for message in messages))


def _heard(messages: Sequence[Message]) -> list[str | list[str]]:
    """What the agent heard, in order: what the user said, and the results of calls that were made together."""
    heard: list[str | list[str]] = []
    before = ""
    for message in messages:
        role = message.get("role")
        if role == "user" and before == "user" and isinstance(heard[-1], str):
            heard[-1] = f"{heard[-1]}\n{_text(message)}"
        elif role == "user":
            heard.append(_text(message))
        elif role == "tool" and before == "tool" and isinstance(heard[-1], list):
            heard[-1].append(_text(message))
        elif role == "tool":
            heard.append([_text(message)])
        before = str(role)
    return heard


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _name(tool: Mapping[str, Any]) -> str:
    inner = tool.get("function")
    return str((inner if isinstance(inner, Mapping) else tool).get("name", ""))


def _message(turn: Turn, calls_before: int) -> dict[str, Any]:
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": request.tool, "arguments": json.dumps(request.arguments, ensure_ascii=False)},
            }
            for number, request in enumerate(turn, calls_before + 1)
        ],
    }
