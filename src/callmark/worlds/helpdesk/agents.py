"""Two rule-based agents for the help desk: `careful` follows the workflow, `sloppy` is the same agent with planted faults.

    callmark simulate … --agent python:callmark.worlds.helpdesk.agents:careful

Both take messages and tools in the OpenAI format and return the next assistant message. They are stateless: each time, they replay the
conversation from its messages. They call only tools that are listed.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from callmark.worlds.helpdesk import tools as names
from callmark.worlds.helpdesk.company import TODAY
from callmark.worlds.helpdesk.dates import find_date
from callmark.worlds.helpdesk.dialogue import AgentDialogue, AgentFlaws, StartOver, Steps, TaskCancelled, ToolRequest, Turn, UserLeft
from callmark.worlds.helpdesk.intents import Intent, describes_problem, detect_intents
from callmark.worlds.helpdesk.language import accepts_refusal, is_finished, is_goodbye, is_greeting, is_no, is_yes, wants_to_start_over
from callmark.worlds.helpdesk.tasks import ABILITIES, run_task

Message = Mapping[str, Any]


class Fault(NamedTuple):
    """A planted fault of the sloppy agent. `percent`: the share of conversations that have it, if it applies to them."""

    name: str
    percent: int
    flaws: dict[str, Any]


FAULTS = (
    Fault("leaves out the expected outcome", 12, {"omitted_slots": ("expected_outcome",)}),
    Fault("leaves out the description", 8, {"omitted_slots": ("description",)}),
    Fault("guesses the priority Medium", 15, {"guesses_priority": True}),
    Fault("looks nothing up", 13, {"skips_lookups": True}),
    Fault("writes without a confirmation", 15, {"skips_confirmation": True}),
    Fault("writes everything twice", 13, {"repeats_writes": True}),
    Fault("forgets the second action item", 35, {"forgets_second_item": True}),
    Fault("due dates a day late", 20, {"shifts_due_dates": True}),
)
GREETING = "Hello, this is the help desk. What can I do for you?"
MORE = "Is there anything else I can do for you?"
GOODBYE = "You are welcome. Goodbye!"


def careful(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the next message: a text or tool calls. Without messages it is a greeting."""
    return next_message(messages, tools, AgentFlaws())


def sloppy(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the next message, with the faults that the user's first message selects. About half of the conversations have one."""
    first_message = next((_text(message) for message in messages if message.get("role") == "user"), "")
    return next_message(messages, tools, flaws_for(first_message))


def faults_for(first_message: str) -> list[Fault]:
    """Return the faults of the conversation that starts with this message; the same message always has the same ones."""
    return [fault for fault in FAULTS if _hash_percent(f"{fault.name}\0{first_message}") < fault.percent]


def _hash_percent(text: str) -> int:
    """Return a number below 100 that depends only on the text, in every process."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=4).digest()) % 100


def flaws_for(first_message: str) -> AgentFlaws:
    """Return the combined flaws of a conversation that starts with this message."""
    flaws = AgentFlaws()
    for fault in faults_for(first_message):
        omitted_slots = (*flaws.omitted_slots, *fault.flaws.get("omitted_slots", ()))
        flaws = flaws._replace(**fault.flaws)._replace(omitted_slots=omitted_slots)
    return flaws


def run_dialogue(dialogue: AgentDialogue) -> Steps[None]:
    """Run a whole conversation, starting with a greeting. It never ends by itself: every message gets a reply."""
    text = yield from dialogue.say(GREETING)
    if is_greeting(text):
        dialogue.queue_statement("Hello!")
    while True:
        try:
            text = yield from _handle_message(dialogue, text)
        except StartOver:
            dialogue.pending_intents.clear()
            dialogue.current_ticket = None
            yield from dialogue.call_tools(ToolRequest(names.START_OVER, {}))
            text = yield from dialogue.say("All right, we start over; nothing of that is kept. What would you like to do?")
        except TaskCancelled as why:
            dialogue.pending_intents.clear()
            dialogue.queue_statement(str(why) or "All right, I leave it at that. Nothing was written.")
            text = yield from dialogue.say(MORE)
        except UserLeft:
            dialogue.pending_intents.clear()
            text = yield from dialogue.say("All right, nothing more was written. Goodbye!")


def _handle_message(dialogue: AgentDialogue, text: str) -> Steps[str]:
    """Handle a message that is not part of a task in progress; return the user's next message."""
    if wants_to_start_over(text):
        raise StartOver
    dialogue.pending_intents += detect_intents(text)
    if not dialogue.pending_intents:
        if is_finished(text) or is_goodbye(text) or (is_no(text) and (not dialogue.refused_topic or len(text.split()) <= 3)):
            return (yield from dialogue.say(GOODBYE))
        if dialogue.refused_topic and accepts_refusal(text):
            dialogue.refused_topic = ""
            return (yield from dialogue.say(f"Thank you for your understanding. {MORE}"))
        if dialogue.refused_topic:
            dialogue.pending_intents.append(Intent("refuse", text, dialogue.refused_topic))
        elif dialogue.current_ticket and find_date(text, TODAY):
            dialogue.pending_intents.append(Intent("add item", text))
        elif describes_problem(text):
            dialogue.pending_intents.append(Intent("open ticket", text))
    if not dialogue.pending_intents:
        return (yield from _clarify(dialogue, text))
    dialogue.misunderstandings = 0
    while dialogue.pending_intents:
        yield from run_task(dialogue, dialogue.pending_intents.pop(0))
    return (yield from dialogue.say(MORE))


def _clarify(dialogue: AgentDialogue, text: str) -> Steps[str]:
    """Rephrase the question, then list what the desk can do, then say goodbye, so that no question is repeated forever."""
    if is_yes(text) or (is_greeting(text) and len(text.split()) <= 4):
        return (yield from dialogue.say(f"What would you like to do? I can {ABILITIES}."))
    dialogue.misunderstandings += 1
    if dialogue.misunderstandings == 1:
        question = (
            "I am sorry, I did not understand that. Would you like to open a ticket, add an action item, find a ticket or change one?"
        )
        yield from dialogue.call_tools(ToolRequest(names.ASK_CLARIFICATION, {"question": question}))
        return (yield from dialogue.say(question))
    if dialogue.misunderstandings == 2:
        return (
            yield from dialogue.say(
                "I still do not see what you need, or it is nothing that I can do here. What I can do:\n"
                "- open a new ticket\n- add an action item to a ticket\n- find tickets\n- change a ticket's status or priority\n"
                "- explain how this desk works\nWhich of these is it?"
            )
        )
    return (
        yield from dialogue.say(
            "I am afraid that I cannot help with that. Come back whenever there is a ticket to open or to change. Goodbye!"
        )
    )


def next_message(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], flaws: AgentFlaws) -> dict[str, Any]:
    """Replay the conversation from its messages and return the next message."""
    steps = run_dialogue(AgentDialogue({_name(tool) for tool in tools}, flaws))
    turn = next(steps)
    for entry in _inputs(messages):
        while not isinstance(turn, str) and isinstance(entry, str):  # calls without results
            turn = steps.send(["nothing came back"] * len(turn))
        if isinstance(turn, str) == isinstance(entry, str):
            turn = steps.send(entry)
    return _message(turn, sum(len(message.get("tool_calls") or ()) for message in messages))


def _inputs(messages: Sequence[Message]) -> list[str | list[str]]:
    """Return the agent's inputs in order: the user's texts, and the results of calls that were made together."""
    text: list[str | list[str]] = []
    before = ""
    for message in messages:
        role = message.get("role")
        if role == "user" and before == "user" and isinstance(text[-1], str):
            text[-1] = f"{text[-1]}\n{_text(message)}"
        elif role == "user":
            text.append(_text(message))
        elif role == "tool" and before == "tool" and isinstance(text[-1], list):
            text[-1].append(_text(message))
        elif role == "tool":
            text.append([_text(message)])
        before = str(role)
    return text


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
