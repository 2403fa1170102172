"""The steps of an agent, as any format of traces tells them: requests to a model, calls of tools, runs of agents.

Messages of a step are JSON texts in the OpenAI form. None means that they were not captured, which is not the same as none.
"""

from msgspec import Raw, Struct

from callmark.types import Call

Texts = tuple[bytes | Raw, ...]


class Step(Struct, frozen=True, gc=False, kw_only=True):
    """What all steps have: the span, the conversation that it names, and the span of the tool that it ran inside, if any."""

    span: str = ""
    conversation: str = ""
    scope: str = ""
    start: int = 0
    end: int = 0


class ModelStep(Step, frozen=True, gc=False, kw_only=True):
    """A request to a model: the messages before it, the response, and the tools that the model may call (JSON; empty if not known).

    `continues` means that the server has the messages before: the input has only new ones.
    """

    input: Texts | None = None
    output: Texts | None = None
    tools: bytes = b""
    failed: bool = False
    continues: bool = False


class ToolStep(Step, frozen=True, gc=False, kw_only=True):
    """A call of a tool that was run. `call` is None if its arguments were not captured, `result` if the result was not."""

    name: str
    call_id: str = ""
    call: Call | None = None
    result: str | None = None
    failed: bool = False


class AgentStep(Step, frozen=True, gc=False, kw_only=True):
    """A run of an agent: what it was given, and its answer."""

    input: Texts | None = None
    output: Texts | None = None
    tools: bytes = b""
