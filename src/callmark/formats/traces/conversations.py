"""From the steps of a group of spans to its conversations: threads of messages, with the results that tool spans have.

A request belongs to the thread that it extends (see `thread.py`), or begins one: that of another agent, or of another use of the model.
A tool span gives the result of a call; a call that no response has is added from it. What a thread lacks is counted; a thread of which no
message was captured is refused.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.formats.traces.steps import AgentStep, ModelStep, Step, ToolStep
from callmark.formats.traces.thread import Count, Entry, Thread, prompt_length, read_entries
from callmark.wording import pluralize

NO_CONTENT = "messages of model requests"
NO_RESPONSE = "responses to model requests"
FAILED = "failed model requests"
NO_RESULT = "tool results"
ONLY_TOOL_SPANS = "responses with calls that appear only in tool spans"
NOT_CALLED = "messages with calls from tool spans, which the program may have made itself"
NO_THREAD = "model requests around tool spans"
_CONTENT_HINT = "Turn on the capture of message content where the trace is recorded; docs/how-to/read-traces.md says how."
_MAX_WORK = 5_000_000  # comparisons of messages in one group
_WORK = 10  # for each thread that a request is compared with
_encode = msgspec.json.Encoder().encode


def build_conversations(steps: Sequence[Step], group: str, count: Count) -> Iterator[bytes | BadInput]:
    """Yield each conversation as a row of the OpenAI chat format, or why it cannot be read. `group` is the id of a group that has none."""
    models = sorted((step for step in steps if isinstance(step, ModelStep)), key=lambda step: (step.start, len(step.input or ())))
    tools = sorted((step for step in steps if isinstance(step, ToolStep)), key=lambda step: step.start)
    agents = sorted((step for step in steps if isinstance(step, AgentStep)), key=lambda step: step.start)
    threads = _threads(models, count)
    threads += _agent_threads(threads, agents)
    if not threads:
        if models or tools:
            yield _nothing_captured(models, tools)
        return
    problems = _add_tool_results(threads, tools, count)
    names: dict[str, int] = {}
    for thread in sorted(threads, key=lambda thread: thread.start):
        name = thread.conversation or group
        number = names[name] = names.get(name, 0) + 1
        if problem := problems.get(id(thread)):
            yield problem
            continue
        if thread.has_unknown_results():
            yield BadInput("a tool result refers to a call that appears in no message: the call was not captured, or could not be parsed")
            continue
        if sum((other.scope, other.conversation) == (thread.scope, thread.conversation) for other in threads) == 1:
            _add_last_response(thread, agents, count)
        for _ in range(thread.open_calls()):
            count(NO_RESULT)
        yield _row(thread, name if number == 1 else f"{name}~{number}")


def _threads(models: Sequence[ModelStep], count: Count) -> list[Thread]:
    threads = _ThreadIndex()
    work = 0
    for step in models:
        if step.input is None:
            count(FAILED if step.failed else NO_CONTENT)
            continue
        given = read_entries(step.input, step.start)
        returned = read_entries(step.output, step.end) if step.output is not None else []
        if step.output is None:
            count(FAILED if step.failed else NO_RESPONSE)
        candidates = threads.candidates(step, given[prompt_length(given) :])
        work += sum(_WORK + len(thread.entries) for thread in candidates)
        if work > _MAX_WORK:
            raise BadInput(f"too many requests without a common history: {pluralize(len(threads.all), 'thread')} of messages")
        thread = next((thread for thread in candidates if thread.take(given, returned, step, count)), None)
        if thread is None:
            thread = Thread(step.conversation, step.scope, given[: prompt_length(given)], step.start)
            thread.take(given, returned, step, count)
            threads.all.append(thread)
        threads.add(thread, step, (*given, *returned))
    return threads.all


class _ThreadIndex:
    """Threads by what a request that may belong to them has in common with them: a message, or the id of a call."""

    def __init__(self) -> None:
        self.all: list[Thread] = []
        self._by_key: dict[tuple[str, str, str], dict[int, Thread]] = {}
        self._latest: dict[tuple[str, str], Thread] = {}

    def add(self, thread: Thread, step: ModelStep, entries: Sequence[Entry]) -> None:
        """Add a thread to which a request was added."""
        place = (step.scope, step.conversation)
        self._latest[place] = thread
        for entry in entries:
            self._by_key.setdefault((*place, entry.key), {})[id(thread)] = thread
            for call in entry.message.calls:
                if call.id is not None:
                    self._by_key.setdefault((*place, f"call {call.id}"), {})[id(thread)] = thread

    def candidates(self, step: ModelStep, rest: Sequence[Entry]) -> list[Thread]:
        """Return the threads that a request may belong to, the longest first."""
        place = (step.scope, step.conversation)
        found: dict[int, Thread] = {}
        if rest:
            found |= self._by_key.get((*place, rest[0].key), {})
        if not any(entry.message.role == "assistant" for entry in rest):
            for entry in rest:
                found |= self._by_key.get((*place, f"call {entry.message.tool_call_id}"), {})
            if step.continues and place in self._latest:
                found[id(self._latest[place])] = self._latest[place]
        return sorted(found.values(), key=lambda thread: -len(thread.entries))


def _agent_threads(threads: Sequence[Thread], agents: Sequence[AgentStep]) -> Iterator[Thread]:
    """Yield a thread for each agent whose requests to a model are missing, but whose input was captured."""
    scopes = {thread.scope for thread in threads}
    for agent in agents:
        if agent.input is None or agent.scope in scopes:
            continue
        scopes.add(agent.scope)
        entries = read_entries(agent.input, agent.start)
        prompts = prompt_length(entries)
        thread = Thread(agent.conversation, agent.scope, entries[:prompts], agent.start)
        thread.entries = entries[prompts:]
        thread.tools += [agent.tools] if agent.tools else []
        yield thread


def _add_tool_results(threads: Sequence[Thread], tools: Sequence[ToolStep], count: Count) -> dict[int, BadInput]:
    """Give each call its result. Return why a thread cannot be read, by its `id()`: a call whose arguments were not captured."""
    problems: dict[int, BadInput] = {}
    work = 0
    for tool in tools:
        own = [thread for thread in threads if thread.scope == tool.scope and thread.conversation == tool.conversation]
        own = own or [thread for thread in threads if thread.scope == tool.scope]
        work += sum(len(thread.entries) for thread in own)
        if work > _MAX_WORK:
            raise BadInput(f"too many tool spans in one conversation: {len(tools):,}")
        if any(thread.add_result(tool) for thread in own):
            continue
        if not own:
            count(NO_THREAD)
        elif tool.call is None:
            problem = BadInput(f"the arguments of the call to {tool.name[:80]!r} were not captured", _CONTENT_HINT)
            problems |= {id(thread): problem for thread in own}
        else:
            started = [thread for thread in own if thread.start <= tool.start]
            thread = max(started or own, key=lambda thread: thread.start)
            if tool.start < thread.told:  # a later request has the whole history, but not this call
                count(NOT_CALLED)
            else:
                count(ONLY_TOOL_SPANS)
                thread.insert_call(tool)
    return problems


def _add_last_response(thread: Thread, agents: Sequence[AgentStep], count: Count) -> None:
    """Add the answer of the agent if the request that it came from is missing: the thread ends with a user's message or a result."""
    own = [agent for agent in agents if agent.scope == thread.scope and agent.conversation == thread.conversation and agent.output]
    if not own or not thread.entries or thread.entries[-1].message.role == "assistant":
        return
    last = max(own, key=lambda agent: agent.end)
    said = [entry for entry in read_entries(last.output or (), last.end) if entry.message.role == "assistant"]
    if said and said[-1].message.text.strip() and not said[-1].message.calls and thread.entries[-1].time <= last.end:
        count(NO_RESPONSE)
        thread.entries.append(said[-1])


def _nothing_captured(models: Sequence[ModelStep], tools: Sequence[ToolStep]) -> BadInput:
    found = " and ".join(pluralize(len(steps), noun) for steps, noun in ((models, "model request"), (tools, "tool span")) if steps)
    return BadInput(f"no message was captured, only {found or 'agent runs'}", _CONTENT_HINT)


def _row(thread: Thread, name: str) -> bytes:
    texts = [*(entry.text for entry in thread.prompt), *(entry.text for entry in thread.entries)]
    fields = {"id": name, "messages": [Raw(text) for text in texts], **({"tools": _tools(thread.tools)} if thread.tools else {})}
    return _encode(fields)


def _tools(lists: Sequence[bytes]) -> Raw:
    """Return the only list of tools, or one with the tools of all; of tools with one name, the last."""
    if len(lists) == 1:
        return Raw(lists[0])
    found: dict[str, object] = {}
    for text in lists:
        value = msgspec.json.decode(text)
        for tool, raw in zip(read_tools(value), value, strict=True):
            found[tool.name] = raw
    return Raw(_encode(list(found.values())))
