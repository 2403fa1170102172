"""The nouns. Plain data: values in, values out, nothing here reads a file.

Inside callmark every conversation is in OpenAI's form, whatever it was read from. It keeps its JSON as well, so that what is passed
on (to a file, to a model) is what stood there, unknown keys and all.
"""

import json
from collections.abc import Sequence
from html import escape
from typing import Any, Literal

from msgspec import Raw, Struct

Text = bytes | Raw  # a piece of JSON
Severity = Literal["error", "warning", "info"]
FOLDED = 200  # characters of a text that a notebook shows before it folds the rest


class Place(Struct, frozen=True, gc=False):
    """Where a row is, for people: `data/valid.jsonl, line 17`, or `item 3` where there is no file."""

    file: str
    number: int
    unit: Literal["line", "item"] = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number}" if self.file else f"{self.unit} {self.number}"


class Tool(Struct, frozen=True):
    """A name, a description and the JSON Schema of its arguments (`{}` where none was given)."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Call(Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool name and an arguments object, or the malformed text.

    `malformed` is empty for a well-formed call, else the reason in a few words. A malformed call keeps its name if it has
    one (else `""`), has `arguments` `{}`, and keeps in `text` what stood in place of the arguments (of the whole call, where
    nothing was recognised). `str(call)` is how code would write it.
    """

    name: str
    arguments: dict[str, Any] = {}
    id: str | None = None
    malformed: str = ""
    text: str = ""

    def __str__(self) -> str:
        if self.malformed:
            return f"{self.name}(‹malformed: {self.text}›)"
        return f"{self.name}({', '.join([f'{key}={_json(value)}' for key, value in self.arguments.items()])})"


class Message(Struct, frozen=True, gc=False):
    """Who spoke, what was said, what was called. `text` is `""` where there is none; parts that are not text are named in it.

    `tool_call_id` and `name` belong to a tool's result.
    """

    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class SourceRow(Struct, frozen=True, gc=False):
    """A row as it stood, so that what is passed on is what was there, unknown keys and all.

    `row` is the whole row in its own format. Each message's JSON in OpenAI's form is in `texts`, or still in `body`, an object that has
    them under `messages`; they belong to `messages`, and `raw_tools` to `tools`: a conversation that has others is written anew.
    `openai_calls` says that every call in it is known to be in OpenAI's form. Of a case, the JSON of each call of `expected` is
    in `expected_texts`, or still in `expected_body`, an object that has them under `tool_calls`.
    """

    messages: Sequence["Message"] = ()
    tools: Sequence[Tool] = ()
    row: bytes = b""
    body: bytes | Raw = b""
    texts: Sequence[Text] = ()
    raw_tools: bytes = b""
    openai_calls: bool = False
    expected: Sequence[Call] = ()
    expected_texts: Sequence[Text] = ()
    expected_body: Text = b""


class Conversation(Struct, frozen=True, gc=False):
    """Messages and tools: a row of a dataset."""

    id: str
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    place: Place | None = None
    original: SourceRow = SourceRow()

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call of every message, in order."""
        return tuple(call for message in self.messages for call in message.calls)

    def whole(self) -> "Conversation":
        """The row as a conversation; a case is seen as if the assistant had made the expected calls."""
        return self

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.id)}</b>{_messages_html(self.messages)}"


class Source(Struct, frozen=True):
    """The conversation, message and call (None: the whole message) that a decision point was cut from."""

    conversation: str
    message: int
    call: int | None = None


class Case(Conversation, frozen=True, gc=False, kw_only=True):
    """What is asked and what is right: always the expected calls.

    A decision point has `messages`, the talk so far. A scenario has `instructions` for a simulated user and a `completion`
    condition instead, and perhaps `data` that a user who is no model goes by. `alternatives` are further lists of calls that are right too.
    `index` is its place among the cases of its file, set where cases are enumerated to be run.
    """

    expected: tuple[Call, ...] = ()
    alternatives: tuple[tuple[Call, ...], ...] = ()
    source: Source | None = None
    instructions: str = ""
    completion: str = ""
    description: str = ""
    scenario_type: str = ""
    group: str | None = None
    data: dict[str, Any] = {}
    index: int = 0

    @property
    def is_scenario(self) -> bool:
        return bool(self.instructions)

    def whole(self) -> Conversation:
        """What was asked, and then the expected calls as if the assistant had made them."""
        asked = (Message("user", self.instructions),) if self.is_scenario else self.messages
        answer = Message("assistant", "" if self.expected else "(no call)", self.expected)
        return Conversation(self.id, (*asked, answer), self.tools, self.place)

    def _repr_html_(self) -> str:
        asked = f"<p>{escape(self.instructions)}</p>" if self.instructions else _messages_html(self.messages)
        return f"<b>{escape(self.id)}</b>{asked}<p>expected {_calls_html(self.expected) or 'no call'}</p>"


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """What an answer took: seconds of the last try, tokens, what they cost (None: no price is known), how often it was asked for."""

    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    attempts: int = 1


class EndStates(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a conversation changed in what its tools work on, and what the expected calls change in a fresh copy of it: rows as they are in
    the end, by table and key, of those that are new or others than before; null for one that is gone. `new_…` name the rows that were
    not there before, as `table/key`. Expected values may be matchers. `unknown` says why it is not known what the expected calls lead to.
    """

    reached: dict[str, dict[str, dict[str, Any] | None]] = {}
    expected: dict[str, dict[str, dict[str, Any] | None]] = {}
    new_reached: tuple[str, ...] = ()
    new_expected: tuple[str, ...] = ()
    unknown: str = ""


class Prediction(Struct, frozen=True, gc=False, omit_defaults=True):
    """What came back for a case in one trial: calls and text, or, where `error` is not empty, why nothing did.

    `thinking` is the model's reasoning, kept apart from its text; `finish_reason` is why it stopped, in the server's word. A time-out is an
    error; invalid JSON, no call and an unknown tool are predictions. `usage` is None where it was not measured. For a conversation that was
    simulated or recorded, `transcript` has its messages, `ending` the reason it ended, `states` the states it led to, `reward` the score of
    an external judge, `misses` the number of calls without a recorded result.
    """

    case: str
    trial: int = 0
    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""
    error: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    transcript: tuple[Message, ...] = ()
    ending: str = ""
    states: EndStates | None = None
    reward: float | None = None
    misses: int = 0


class Finding(Struct, frozen=True):
    """One thing that is wrong with a dataset: what, how bad, where, and a sentence.

    `message` is the index in the row's messages, `call` the tool's name, `argument` the argument's path; None where it
    does not apply. `line` is the row's number and `row_id` its id; None for a finding about the whole file.
    """

    code: str
    severity: Severity
    sentence: str
    file: str | None = None
    line: int | None = None
    row_id: str | None = None
    message: int | None = None
    call: str | None = None
    argument: str | None = None


Metrics = dict[str, float]

FaultKind = Literal[
    "malformed_call",
    "unknown_tool",
    "wrong_tool",
    "missing_call",
    "extra_call",
    "repeated_call",
    "no_call",
    "unexpected_call",
    "missing_argument",
    "extra_argument",
    "unknown_argument",
    "wrong_type",
    "wrong_value",
]


class Fault(Struct, frozen=True):
    """Why it was wrong: the kind, the place, both values, and the evaluators that count it.

    `expected_index` and `actual_index` say which call of either list it is about, `argument` which argument; None where it does not apply.
    `origin` says of a wrong value where it came from: `hallucinated`, or `elsewhere`, then `origin_message` is the message.
    """

    kind: FaultKind
    expected_index: int | None = None
    actual_index: int | None = None
    argument: str | None = None
    expected: Any = None
    actual: Any = None
    evaluators: tuple[str, ...] = ()
    origin: Literal["hallucinated", "elsewhere"] | None = None
    origin_message: int | None = None


class Note(Struct, frozen=True, omit_defaults=True):
    """Something worth knowing that is no fault. `message` is where it was, in the transcript."""

    kind: str
    sentence: str
    actual_index: int | None = None
    argument: str | None = None
    message: int | None = None


def _json(value: Any) -> str:
    if value.__class__ is str and value.isprintable() and '"' not in value and "\\" not in value:  # as JSON writes it, only sooner
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False)


def _messages_html(messages: tuple[Message, ...]) -> str:
    rows = "".join(
        f"<tr><td style='vertical-align:top'>{escape(message.role)}</td>"
        f"<td style='text-align:left'>{_folded_html(message.text)}{_calls_html(message.calls)}</td></tr>"
        for message in messages
    )
    return f"<table>{rows}</table>"


def _calls_html(calls: tuple[Call, ...]) -> str:
    return "".join(f"<div><code>{escape(str(call))}</code></div>" for call in calls)


def _folded_html(text: str) -> str:
    if len(text) <= FOLDED:
        return escape(text)
    return f"<details><summary>{escape(text[:FOLDED])}…</summary>{escape(text)}</details>"
