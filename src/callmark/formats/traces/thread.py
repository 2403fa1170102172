"""One thread of a conversation: messages that successive requests to a model extend.

A request repeats the messages before it, so what is new in it follows what is known. `Thread.take` recognizes

    an extension   the known messages, and more
    a repetition   messages that are known already, as a retry has them; its response replaces the last one, which was not used
    a window       the last known messages, and more: the first ones were cut off before the request
    new messages   results of calls that are open, or what a server that keeps the history gets

and refuses any other request, which belongs to another thread.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import RESULT_ROLES, message_text, read_messages
from callmark.calls.results import match_results
from callmark.calls.strict import dump
from callmark.formats.traces.steps import ModelStep, Texts, ToolStep
from callmark.types import Call, Message

Count = Callable[[str], None]
UNUSED = "model responses that appear in no later request"
CUT_OFF = "requests without the first messages of their conversation"
PROMPTS = "changes to the system prompt"
_SYSTEM_ROLES = frozenset({"system", "developer"})
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Entry(Struct, frozen=True, gc=False):
    """A message, its JSON, what makes it equal to another, and when it was first seen."""

    message: Message
    text: bytes
    key: str
    time: int


def read_entries(texts: Texts, time: int) -> list[Entry]:
    """Return the entries of messages. Successive messages of the assistant become one: programs divide them in different ways."""
    messages = read_messages(b"[" + b",".join(bytes(text) for text in texts) + b"]") if texts else ()
    found: list[Entry] = []
    for message, text in zip(messages, texts, strict=True):
        if found and message.role == "assistant" == found[-1].message.role:
            before = found.pop().message
            joined = "\n".join(filter(None, (before.text, message.text)))
            message = Message("assistant", joined, (*before.calls, *message.calls))
            found.append(Entry(message, message_text(message), _key(message), time))
        else:
            found.append(Entry(message, bytes(text), _key(message), time))
    return found


class Thread:
    """The messages of one thread, without system prompts, which are in `prompt`."""

    def __init__(self, conversation: str, scope: str, prompt: Sequence[Entry], start: int) -> None:
        self.conversation = conversation
        self.scope = scope
        self.prompt = list(prompt)
        self.entries: list[Entry] = []
        self.tools: list[bytes] = []
        self.start = start
        self.told = start  # when the last request began that has the whole history

    def take(self, given: Sequence[Entry], returned: Sequence[Entry], step: ModelStep, count: Count) -> bool:
        """Add a request and its response; return False if they belong to another thread."""
        prompts = prompt_length(given)
        prompt, rest = given[:prompts], given[prompts:]
        same_prompt = [entry.key for entry in prompt] == [entry.key for entry in self.prompt]
        shared = _shared_length(self.entries, rest)
        is_known = same_prompt or any(entry.message.role == "assistant" for entry in rest[:shared])
        if shared == len(self.entries) and (is_known or not self.entries):
            self._extend(rest[shared:], returned)
        elif shared == len(rest) and is_known and shared:
            self._repeat(shared, returned, count)
        elif is_known and shared == len(self.entries) - 1 and self.entries[-1].message.role == "assistant":
            self._replace_last(rest[shared:], returned, count)
        elif window := self._window(rest):
            count(CUT_OFF)
            self._extend(rest[window:], returned)
        elif not any(entry.message.role == "assistant" for entry in rest) and (
            self._answers(rest) or (step.continues and (same_prompt or not prompt))
        ):
            self._extend(rest, returned)
            self._add_tools(step)
            return True
        else:
            return False
        self.told = max(self.told, step.start)
        if not same_prompt and prompt:
            if self.prompt:
                count(PROMPTS)
            self.prompt = self.prompt or list(prompt)
        self._add_tools(step)
        return True

    def add_result(self, tool: ToolStep) -> bool:
        """Add the result of a call, unless it is known; return False if the thread does not have the call."""
        found = self._find(tool)
        if found is None:
            return False
        index, call = found
        if not self._has_result(index, call) and tool.result is not None:
            after = index + 1
            while after < len(self.entries) and self.entries[after].message.role in RESULT_ROLES:
                after += 1
            self.entries.insert(after, _result_entry(tool, call))
        return True

    def insert_call(self, tool: ToolStep) -> None:
        """Add a call that no response has, and its result, at the time when it was made."""
        assert tool.call is not None
        index = len(self.entries)
        while index and (
            self.entries[index - 1].time > tool.start or (index < len(self.entries) and self.entries[index].message.role in RESULT_ROLES)
        ):
            index -= 1
        message = Message("assistant", "", (tool.call,))
        new = [Entry(message, message_text(message), _key(message), tool.start)]
        self.entries[index:index] = [*new, _result_entry(tool, tool.call)] if tool.result is not None else new

    def open_calls(self) -> int:
        """Return the number of calls without a result, except in the last message: those may not have been run."""
        before = [entry.message for entry in self.entries]
        return sum(not self._has_result(index, call) for index, message in enumerate(before[:-1]) for call in message.calls)

    def has_unknown_results(self) -> bool:
        """Return whether a result after a message of the assistant belongs to no call. Earlier ones are of a history that was cut off."""
        messages = [entry.message for entry in self.entries]
        first = next((index for index, message in enumerate(messages) if message.role == "assistant"), len(messages))
        return any(index > first for index in match_results(messages).orphans)

    def _add_tools(self, step: ModelStep) -> None:
        if step.tools and step.tools not in self.tools:
            self.tools.append(step.tools)

    def _extend(self, new: Sequence[Entry], returned: Sequence[Entry]) -> None:
        self.entries += [*new, *returned]

    def _repeat(self, shared: int, returned: Sequence[Entry], count: Count) -> None:
        after = self.entries[shared:]
        if [entry.key for entry in after[: len(returned)]] == [entry.key for entry in returned]:
            return  # the same request, recorded twice
        count(UNUSED)
        if len(after) == 1:
            self.entries[shared:] = returned

    def _replace_last(self, rest: Sequence[Entry], returned: Sequence[Entry], count: Count) -> None:
        """Add a request whose history has another last response: written in another way, or of a request that is missing."""
        known, told = self.entries[-1].message, rest[0].message
        if told.role == "assistant" and [call.name for call in known.calls] == [call.name for call in told.calls]:
            rest = rest[1:]  # what the model said counts, not how the history tells it
            if len(known.calls) and all(call.id is None for call in known.calls):
                self.entries[-1] = _with_ids(self.entries[-1], told.calls)
        else:
            count(UNUSED)
            self.entries.pop()
        self._extend(rest, returned)

    def _window(self, rest: Sequence[Entry]) -> int:
        """Return how many messages at the start of a request are the last ones of the thread; 0 if none of them is the assistant's."""
        keys = [entry.key for entry in rest]
        length = _longest_overlap([entry.key for entry in self.entries], keys)
        return length if any(entry.message.role == "assistant" for entry in rest[:length]) else 0

    def _answers(self, rest: Sequence[Entry]) -> bool:
        """Return whether one of these results is of a call that has none yet."""
        answered = {entry.message.tool_call_id for entry in self.entries if entry.message.role in RESULT_ROLES}
        waiting = {call.id for entry in self.entries for call in entry.message.calls if call.id is not None} - answered
        return any(entry.message.tool_call_id in waiting for entry in rest if entry.message.role in RESULT_ROLES)

    def _find(self, tool: ToolStep) -> tuple[int, Call] | None:
        """Return the call that a tool was run for: by its id, else the first one without a result that has its name and arguments."""
        calls = [(index, call) for index, entry in enumerate(self.entries) for call in entry.message.calls]
        if tool.call_id:
            for index, call in reversed(calls):
                if call.id == tool.call_id and call.name == tool.name:
                    return index, call
        named = [(index, call) for index, call in calls if call.name == tool.name and not (tool.call_id and call.id)]
        waiting = [found for found in named if not self._has_result(*found)]
        for found in (*waiting, *reversed(named)):
            if _is_same_call(tool.call, found[1]):
                return found
        return waiting[0] if len(waiting) == 1 else None  # its arguments were changed on the way to the tool

    def _has_result(self, index: int, call: Call) -> bool:
        """Return whether the messages after a call, up to the next that is no result, have its result."""
        position = self.entries[index].message.calls.index(call)
        unnamed = 0
        for entry in self.entries[index + 1 :]:
            if entry.message.role not in RESULT_ROLES:
                break
            if call.id is not None and entry.message.tool_call_id == call.id:
                return True
            unnamed += entry.message.tool_call_id is None
        return unnamed > position


def prompt_length(entries: Sequence[Entry]) -> int:
    """Return the number of system prompts at the start."""
    return next((index for index, entry in enumerate(entries) if entry.message.role not in _SYSTEM_ROLES), len(entries))


def _shared_length(known: Sequence[Entry], new: Sequence[Entry]) -> int:
    length = 0
    for one, other in zip(known, new, strict=False):
        if one.key != other.key:
            break
        length += 1
    return length


def _longest_overlap(known: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the longest end of `known` that is a start of `new` (Knuth-Morris-Pratt)."""
    if not new:
        return 0
    borders = [0] * len(new)
    length = 0
    for index in range(1, len(new)):
        while length and new[index] != new[length]:
            length = borders[length - 1]
        length += new[index] == new[length]
        borders[index] = length
    length = 0
    for key in known[-len(new) :]:
        while length and (length == len(new) or key != new[length]):
            length = borders[length - 1]
        length += key == new[length]
    return length


def _key(message: Message) -> str:
    """Return what two tellings of a message have in common. Ids are not compared: not every program writes them everywhere."""
    calls = [[call.name, call.text if call.malformed else call.arguments] for call in message.calls]
    role = "tool" if message.role in RESULT_ROLES else "system" if message.role in _SYSTEM_ROLES else message.role
    return f"{role}\0{message.text.strip()}\0{dump(calls)}" if calls else f"{role}\0{message.text.strip()}"


def _is_same_call(ran: Call | None, call: Call) -> bool:
    """Return whether a tool was run for a call; `ran` is None if its arguments are not known. Some programs put them under `input`."""
    return ran is None or call.malformed != "" or ran.arguments in (call.arguments, {"input": call.arguments})


def _result_entry(tool: ToolStep, call: Call) -> Entry:
    message = Message("tool", tool.result or "", (), call.id or tool.call_id or None, call.name)
    fields = _decode(message_text(message)) | ({"is_error": True} if tool.failed else {})
    return Entry(message, dump(fields).encode(), _key(message), tool.end)


def _with_ids(entry: Entry, told: Sequence[Call]) -> Entry:
    calls = tuple(structs.replace(call, id=other.id) for call, other in zip(entry.message.calls, told, strict=True))
    message = structs.replace(entry.message, calls=calls)
    return Entry(message, message_text(message), entry.key, entry.time)
