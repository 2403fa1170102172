"""A taskset for verifiers (`verifiers.v1`): the cases of an evaluation file as tasks, and the reward of a response.

verifiers finds a taskset and its harness in a module that exports them. So your module, `my_taskset.py`, is

    from callmark.rewards.verifiers import CallHarness, CallTaskset
    __all__ = ["CallHarness", "CallTaskset"]

and `vf-eval my_taskset --env.taskset.cases eval.jsonl` evaluates a model on the file. A task is one decision point: the harness asks the
model once and offers the tools of the case, which are not executed. A case that is a scenario raises `BadInput`.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult, Runtime

from callmark.calls.toolsets import tool_fields
from callmark.data.expand import as_cases
from callmark.errors import BadInput
from callmark.formats import load
from callmark.formats.openai import expected_output_text
from callmark.rewards.ground_truth import expected_problem
from callmark.rewards.reward import DEFAULT_METRIC, Reward
from callmark.types import Case, Message

__all__ = ["CallHarness", "CallTask", "CallTaskConfig", "CallTaskData", "CallTaskset", "CallTasksetConfig"]

_ROLES = {"developer": "system", "function": "tool"}


class CallTaskData(vf.TaskData):
    """One decision point: its messages are the prompt."""

    expected_output: dict[str, Any]
    tools: list[dict[str, Any]] = []  # noqa: RUF012 - pydantic copies it


class CallTaskConfig(vf.TaskConfig):
    """The reward of every task, with the fields of `Reward`."""

    metric: str = DEFAULT_METRIC
    weights: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it
    malformed: float = 0.0

    @property
    def reward(self) -> Reward:
        """The reward with these settings."""
        return Reward(metric=self.metric, weights=self.weights, malformed=self.malformed)


class CallTask(vf.Task[CallTaskData, vf.State, CallTaskConfig]):
    """A decision point: is the right tool called with the right arguments?"""

    @vf.reward
    async def call(self, trace: vf.Trace) -> float:
        """Return the reward of the first response; a trace without one, which verifiers records as an error, earns `malformed`."""
        responses = trace.assistant_messages
        if not responses:
            return float(self.config.malformed)
        completion, expected = plain_message(responses[0]), self.data.expected_output
        earned = _reward(self.config).score(completion, expected, tools=self.data.tools, prompt=self.messages)
        return float(self.config.malformed) if earned is None else earned

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the prompt, as a chat request has them."""
        return [chat_message(message) for message in self.data.prompt or [] if not isinstance(message, str)]

    async def validate(self, runtime: Runtime) -> bool | None:
        """Check the ground truth: each expected call is well-formed, is one of the tools, fits its schema, and earns 1."""
        return expected_problem(self.data.expected_output, self.data.tools) == ""


class CallTasksetConfig(vf.TasksetConfig):
    """Which cases become tasks, and their reward (`--env.taskset.task.metric`)."""

    cases: str = ""
    task: CallTaskConfig = CallTaskConfig()


class CallTaskset(vf.Taskset[CallTask, CallTasksetConfig]):
    """The decision points of a file in any format; conversations are cut into decision points."""

    def load(self) -> Iterator[CallTask]:
        """Yield a task for each case."""
        if not self.config.cases:
            raise BadInput("no cases given", "Pass --env.taskset.cases FILE.")
        _reward(self.config.task)  # its settings are checked before the first rollout
        for case in as_cases(load(self.config.cases, cases=True)):
            yield CallTask(task_data(case), self.config.task)


class CallHarnessConfig(vf.HarnessConfig):
    """The harness has no settings of its own."""


class CallHarness(vf.Harness[CallHarnessConfig]):
    """Sends one chat request with the tools of the case, in this process. Tool calls are not executed."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        """Ask the model once. A failed request is an error of the rollout."""
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [chat_message(message) for message in prompt or []]
        if system:
            messages = [{"role": "system", "content": system}, *messages]
        body: dict[str, Any] = {"model": ctx.model, "messages": messages}
        if tools := getattr(data, "tools", None):
            body["tools"] = tools
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
            response = await client.post(f"{endpoint}/chat/completions", json=body, headers={"Authorization": f"Bearer {secret}"})
        failed = response.status_code >= httpx.codes.BAD_REQUEST
        return ProgramResult(exit_code=int(failed), stdout="", stderr=f"HTTP {response.status_code}" if failed else "")


def task_data(case: Case) -> CallTaskData:
    """Return a case as the data of a task. A scenario raises `BadInput`."""
    if case.is_scenario:
        raise BadInput(f"{case.id}: a scenario cannot be a task of one response", "Use callmark.rewards.Environment for scenarios.")
    return CallTaskData(
        id=case.id,
        prompt=[_message(message, index) for index, message in enumerate(case.messages)],
        expected_output=msgspec.json.decode(expected_output_text(case)),
        tools=[tool_fields(tool) for tool in case.tools],
    )


def chat_message(message: Any) -> dict[str, Any]:
    """Return any message of a prompt as a chat request has it."""
    if message.role == "assistant":
        return plain_message(message)
    fields = message.model_dump(exclude_none=True)
    return {key: fields[key] for key in ("role", "content", "tool_call_id") if key in fields}


def plain_message(message: vf.AssistantMessage) -> dict[str, Any]:
    """Return a response as a chat message."""
    plain: dict[str, Any] = {"role": "assistant", "content": message.content or ("" if not message.tool_calls else None)}
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in message.tool_calls
        ]
    return plain


def _message(message: Message, index: int) -> Any:
    role = _ROLES.get(message.role, message.role)
    if role == "assistant":
        calls = [
            vf.ToolCall(id=call.id or f"call_{index}_{number}", name=call.name, arguments=call.text or json.dumps(call.arguments))
            for number, call in enumerate(message.calls)
        ]
        return vf.AssistantMessage(content=message.text or None, tool_calls=calls or None)
    if role == "tool":
        return vf.ToolMessage(tool_call_id=message.tool_call_id or "", content=message.text, name=message.name)
    return vf.SystemMessage(content=message.text) if role == "system" else vf.UserMessage(content=message.text)


_rewards: dict[str, Reward] = {}


def _reward(config: CallTaskConfig) -> Reward:
    """Return the reward of these settings; tasks share it, with the cases it has read."""
    key = config.model_dump_json(include={"metric", "weights", "malformed"})
    if key not in _rewards:
        _rewards[key] = config.reward
    return _rewards[key]
