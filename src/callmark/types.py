"""The core data types: conversations, cases, calls, predictions, faults. Plain data; nothing here reads a file.

Inside callmark, every conversation is in the OpenAI chat format, whatever format it was read from. It also keeps its source JSON, so that
rows are passed on to files and models unchanged, including unknown keys.
"""

import json
from collections.abc import Sequence
from html import escape
from typing import Any, Literal

from msgspec import Raw, Struct

Text = bytes | Raw  # JSON text
Severity = Literal["error", "warning", "info"]
Behavior = Literal["", "ask", "answer", "decline"]
PlaceUnit = Literal["line", "item", "row", "conversation"]
FOLDED = 200  # characters of a text shown in a notebook; the rest is folded


class Place(Struct, frozen=True, gc=False):
    """The location of a row. `str(place)` is `data/valid.jsonl, line 17`, or `item 3` for a row of a list.

    Attributes:
        file: Path of the file; empty for a row of a list.
        number: Number of the line, item or row, starting at 1; counted over all files if several are read as one dataset.
        unit: `line` for JSONL, `item` for a JSON array or a Python list, `row` for a table, `conversation` for a
            trace, whose conversations are joined.
        before: Number of the last line, item or row of the files before this one.
    """

    file: str
    number: int
    unit: PlaceUnit = "line"
    before: int = 0

    @property
    def number_in_file(self) -> int:
        return self.number - self.before

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number_in_file}" if self.file else f"{self.unit} {self.number_in_file}"


class Tool(Struct, frozen=True):
    """A tool that a model may call.

    Attributes:
        name: Name of the tool.
        description: Description shown to the model; empty if there is none.
        parameters: JSON Schema of the arguments; `{}` if none was given.
        read_only: Whether the tool is known to change nothing (`readOnlyHint` of an MCP tool).
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    read_only: bool = False


class Call(Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call: the name of a tool and its arguments, or the text of a malformed call.

    `str(call)` is the call as code: `get_weather(city="Bonn")`.

    Attributes:
        name: Name of the tool; empty if a malformed call has none.
        arguments: The arguments by name; `{}` for a malformed call.
        id: Id of the call; None if it has none.
        malformed: Why the call is malformed, in a few words; empty for a well-formed call.
        text: For a malformed call, the text in place of the arguments, or the whole call if nothing in it was recognized.
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
    """One message of a conversation.

    Attributes:
        role: `system`, `developer`, `user`, `assistant` or `tool`; other roles are kept as they are.
        text: The text of the message; empty if there is none. Parts that are not text appear as `[image_url]`.
        calls: The tool calls of the message.
        tool_call_id: For a tool result, the id of the call it belongs to.
        name: For a tool result, the name of the tool; for other roles, the name of the speaker.
    """

    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None


class SourceRow(Struct, frozen=True, gc=False):
    """The source JSON of a conversation or case, so that it can be passed on unchanged, including unknown keys.

    `row` is the whole row in its own format. The JSON of each message in the OpenAI chat format is in `texts`, or still inside `body`, an
    object with a `messages` key. The JSON belongs to exactly these `messages` and `tools` (`raw_tools`): a conversation whose messages or
    tools were replaced is serialized from scratch. `openai_calls` means that every call is already in the OpenAI format. For a case, the
    JSON of each expected call is in `expected_texts`, or still inside `expected_body`, an object with a `tool_calls` key; `conversation` is
    the conversation that it was cut from, if that is known.
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
    conversation: "Conversation | None" = None


class Conversation(Struct, frozen=True, gc=False):
    """A recorded conversation with tools: one row of a dataset.

    Attributes:
        id: Id of the row, or its number if it has none.
        messages: The messages in order.
        tools: The tools the model may call.
        place: The file and line it was read from; None if it was built in Python.
        original: Its source JSON, so that it can be written unchanged.
    """

    id: str
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    place: Place | None = None
    original: SourceRow = SourceRow()

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every tool call of every message, in order."""
        return tuple(call for message in self.messages for call in message.calls)

    def whole(self) -> "Conversation":
        """Return the conversation itself. For a case: its messages, followed by the expected calls as an assistant message."""
        return self

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.id)}</b>{_messages_html(self.messages)}"


class Source(Struct, frozen=True):
    """The origin of a decision point: the id of its conversation, the index of the message and the index of the call in that message.

    `call` is None if the decision point expects all calls of the message.
    """

    conversation: str
    message: int
    call: int | None = None


Edges = tuple[tuple[int, int], ...]  # indexes of calls: the first of a pair must come before the second


class ReplyChecks(Struct, frozen=True, gc=False, omit_defaults=True):
    """Conditions on the text of a reply; those that are not set are not checked.

    Attributes:
        contains: Texts that the reply must contain. Case is ignored, and any white space is one space.
        not_contains: Texts that it must not contain.
        regex: Pattern (RE2) that must be found in it.
        max_words: Greatest number of words.
        json_schema: JSON Schema that it must fit: the whole text is JSON.
    """

    contains: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    regex: str = ""
    max_words: int | None = None
    json_schema: dict[str, Any] | None = None


class Case(Conversation, frozen=True, gc=False, kw_only=True):
    """A test: an input and the expected calls.

    A decision point has `messages`, the conversation up to the call. A scenario has `instructions` for a simulated user instead.

    Attributes:
        expected: The expected calls (ground truth); empty if no call is expected.
        alternatives: Other lists of calls that are also correct.
        behavior: What the reply should do where no call is expected: `ask` for information, `answer` or `decline`; empty if not stated.
        reply: Checks of the text of the reply (`expected_output.reply`); None if there are none.
        dependencies: Which calls must come before which others: pairs of indexes into `expected`, then into each alternative; may be empty.
        source: The conversation, message and call that a decision point was cut from.
        instructions: For a scenario, what the simulated user wants.
        completion: For a scenario, the condition under which the task is complete.
        description: Description of a scenario.
        scenario_type: Type of a scenario, for breakdowns.
        group: Name of a group of similar cases, such as variants of one task, for consistency across the group.
        data: For a scenario, data for a user that is not a model (rule-based or scripted).
        index: Position among the cases of its file, starting at 0; set when cases are run.
        file: For a scenario from a folder, the name of its file there, for numbers by file.
        states_expectation: Whether the row says what is expected: calls, or that there are none. False if its `expected_output` has no
            calls and does not say so either.
    """

    expected: tuple[Call, ...] = ()
    alternatives: tuple[tuple[Call, ...], ...] = ()
    behavior: Behavior = ""
    reply: ReplyChecks | None = None
    dependencies: tuple[Edges, ...] = ()
    source: Source | None = None
    instructions: str = ""
    completion: str = ""
    description: str = ""
    scenario_type: str = ""
    group: str | None = None
    data: dict[str, Any] = {}
    index: int = 0
    states_expectation: bool = True
    file: str = ""

    @property
    def is_scenario(self) -> bool:
        """Whether the case is a scenario; otherwise it is a decision point."""
        return bool(self.instructions)

    def whole(self) -> Conversation:
        """Return the input as a conversation, followed by the expected calls as an assistant message."""
        messages = (Message("user", self.instructions),) if self.is_scenario else self.messages
        expected = Message("assistant", "" if self.expected else "(no call)", self.expected)
        return Conversation(self.id, (*messages, expected), self.tools, self.place)

    def _repr_html_(self) -> str:
        body = f"<p>{escape(self.instructions)}</p>" if self.instructions else _messages_html(self.messages)
        return f"<b>{escape(self.id)}</b>{body}<p>expected {_calls_html(self.expected) or 'no call'}</p>"


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """The usage of one prediction.

    Attributes:
        seconds: Latency of the last attempt.
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the response.
        cost: Cost of the tokens; None if no price is configured.
        attempts: Number of attempts, including retries.
    """

    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    attempts: int = 1


class EndStates(Struct, frozen=True, gc=False, omit_defaults=True):
    """The end state of a simulation, and the state that the expected calls lead to from the same start.

    Both hold only rows that changed, by table and key, with their final values; a deleted row is None. Expected values may be matchers.
    `new_reached` and `new_expected` list the rows that did not exist before, as `table/key`. `unknown` says why the expected state could
    not be determined; empty if it could.
    """

    reached: dict[str, dict[str, dict[str, Any] | None]] = {}
    expected: dict[str, dict[str, dict[str, Any] | None]] = {}
    new_reached: tuple[str, ...] = ()
    new_expected: tuple[str, ...] = ()
    unknown: str = ""


class Prediction(Struct, frozen=True, gc=False, omit_defaults=True):
    """The response of a model to a case, in one trial: its calls and text, or an error.

    A time-out or a rate limit is an error and is excluded from scores. Invalid JSON, no call and an unknown tool are predictions and are
    scored.

    Attributes:
        case: Id of the case.
        trial: Number of the trial, starting at 0.
        calls: The actual calls.
        text: The text of the response.
        thinking: The model's reasoning, separate from its text.
        error: Why there is no response; empty if there is one.
        finish_reason: Why the model stopped, as reported by the server.
        usage: Tokens, cost and latency; None if not measured.
        transcript: The messages of a simulated or recorded conversation.
        ending: Why that conversation ended.
        states: The end state that it reached, and the expected one.
        reward: The score of an external judge.
        misses: Number of calls for which no recorded result exists.
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
    """One problem that `lint` found in a dataset.

    Attributes:
        code: Kind of problem, such as `hallucinated_value`.
        severity: `error`, `warning` or `info`.
        sentence: Description of the problem.
        file: File of the row.
        line: Line (or item) of the row; None for a finding about the whole file.
        row_id: Id of the row; None for a finding about the whole file.
        message: Index of the message in the row.
        call: Name of the tool.
        argument: Path of the argument.
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
    "wrong_order",
    "missing_argument",
    "extra_argument",
    "unknown_argument",
    "wrong_type",
    "wrong_value",
]


FaultOrigin = Literal["format", "elsewhere", "hallucinated"]


class Fault(Struct, frozen=True):
    """One reason why a prediction is wrong.

    Attributes:
        kind: Kind of fault, such as `wrong_value`.
        expected_index: Index of the expected call; None if the fault has none.
        actual_index: Index of the actual call; None if the fault has none.
        argument: Path of the argument; None if the fault is about a whole call.
        expected: The expected value.
        actual: The actual value.
        evaluators: Names of the evaluators that count this fault.
        origin: For a wrong value: `format` if it is the expected value in another format, `elsewhere` if it comes from elsewhere in the
            input, `hallucinated` if it appears nowhere in it.
        origin_message: Index of that message.
    """

    kind: FaultKind
    expected_index: int | None = None
    actual_index: int | None = None
    argument: str | None = None
    expected: Any = None
    actual: Any = None
    evaluators: tuple[str, ...] = ()
    origin: FaultOrigin | None = None
    origin_message: int | None = None


class Note(Struct, frozen=True, omit_defaults=True):
    """An observation that is not scored.

    Attributes:
        kind: Kind of note.
        sentence: Description of the observation.
        actual_index: Index of the actual call; None if the note has none.
        argument: Path of the argument.
        message: Index of the message in the transcript.
    """

    kind: str
    sentence: str
    actual_index: int | None = None
    argument: str | None = None
    message: int | None = None


def _json(value: Any) -> str:
    if value.__class__ is str and value.isprintable() and '"' not in value and "\\" not in value:  # fast path with the same result as JSON
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
