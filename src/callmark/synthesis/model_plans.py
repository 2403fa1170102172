"""Plans made by a model: it writes what the user wants and says, and the calls that follow; each plan is checked before it is simulated.

A plan has to be JSON in the form that is asked for, call known tools with arguments that fit their schemas, and use only values that the
user says or an earlier result contains. Then its calls are made once, so that references to results become values; a call that is refused
makes it a bad plan. A bad plan is requested again once, then left out. Bad plans are counted, with the reason.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.provenance import find_origins
from callmark.calls.schema import Schemas
from callmark.calls.strict import NotStrict, parse
from callmark.calls.toolsets import tools_json
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.runs.cache import Cache
from callmark.runs.event_loop import run_sync
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import Agent, Toolbox, ToolSource, User
from callmark.simulation.toolboxes import open_tools
from callmark.synthesis.api_expert import ApiExpert
from callmark.synthesis.api_goals import ConversationPlan, Goal, InformAct, Step
from callmark.synthesis.api_phrases import field_label, format_value, phrase_action
from callmark.synthesis.api_plans import STYLES, make_case
from callmark.synthesis.api_user import ApiUser
from callmark.synthesis.server_plans import server_tool
from callmark.synthesis.server_values import observe
from callmark.synthesis.world import World
from callmark.types import Call, Case, Message, Tool

_ATTEMPTS = 2
_MAX_CALLS = 8
_AROUND_WISH = ".!? \t\r\n"
_INDEXES = 1000  # per good plan
_MAX_SHOWN = 160  # characters
_REFERENCE = re.compile(r"\{\{(\d{1,2})\.([\w.-]{1,80})\}\}")
_PROMPT = """You plan conversations between a user and an assistant that has these tools:

{tools}

Write one plan as JSON and nothing else:
{{"wish": "cancel an order", "says": [{{"label": "order ID", "value": "#W123"}}], "calls": [{{"name": "TOOL", "arguments": {{}}}}]}}

- wish: what the user wants, in the first person, starting with a verb in the infinitive without "to".
- says: everything that the user has to say, each with a short label; values as text.
- calls: the calls that the assistant makes, in order, with arguments that fit their schemas.
- Every value in the arguments is one that the user says, or refers to the result of an earlier call: "{{{{1.order_id}}}}" is the field
  order_id in the result of the first call. Do not make up ids that a call can look up."""
_REQUEST = "Plan number {number}. The conversation is about the tool {tool}. Make it different from the other plans."


class _WrittenPlan(Struct):
    """A plan as a model writes it."""

    wish: str
    calls: list["_WrittenCall"]
    says: list["_UserValue"] = []


class _WrittenCall(Struct):
    name: str
    arguments: dict[str, Any] = {}


class _UserValue(Struct):
    label: str
    value: str


class BadPlanError(Exception):
    """A plan that cannot be simulated."""


class ModelPlannedWorld(World):
    """A world whose plans a model makes; everything else is that of `world`."""

    is_reproducible = False
    label: str = ""
    tools: tuple[str, ...] = ()
    tool_definitions: tuple[Tool, ...] = ()
    policy: str = ""
    mocked: bool = False

    def __init__(self, world: World, tools: Sequence[Tool], planner: ModelSettings, keys: Keys, cache: Cache | None = None) -> None:
        self.label, self.tools, self.policy, self.mocked = world.label, world.tools, world.policy, world.mocked
        self.tool_definitions = tuple(tools)
        self._rules = world.rules
        self._planner, self._keys, self._cache = planner, keys, cache
        self._tools = {tool.name: server_tool(tool) for tool in tools}
        self._schemas = Schemas(self.tool_definitions)
        self._bad_plans: list[str] = []

    @property
    def rules(self) -> Mapping[str, Any]:
        return self._rules

    @property
    def bad_plans(self) -> tuple[str, ...]:
        """Return why plans were left out, one sentence each."""
        return tuple(self._bad_plans)

    def plans(self, number: int, *, seed: int, start: int = 0, balance: bool = False) -> list[Case]:
        """Return the good plans among those from index `start`; the tools take turns."""
        found: list[Case] = []

        async def plan_all() -> None:
            client = ModelClient(self._planner, self._keys, self._cache)
            limit = asyncio.Semaphore(max(self._planner.concurrency or client.model.capabilities.concurrency, 1))
            async with client, open_tools(self.tools, keys=self._keys) as source:

                async def plan(index: int) -> Case | None:
                    async with limit:
                        return await self._plan(client, source, index, seed)

                first = start * _INDEXES  # bad plans have indexes too, so a later start must be behind them
                planned = await asyncio.gather(*map(plan, range(first, first + number)))
                found.extend(case for case in planned if case is not None)

        run_sync(plan_all)
        return found

    def expert(self) -> Agent:
        return ApiExpert("")

    def user(self, seed: int) -> User:
        return ApiUser(seed)

    async def _plan(self, client: ModelClient, source: ToolSource, index: int, seed: int) -> Case | None:
        names = list(self._tools)
        target = Random(f"{seed}/order/{index // len(names)}").sample(names, len(names))[index % len(names)]
        case = f"planned-{seed}-{index:04d}"
        system = _PROMPT.format(tools=tools_json(self.tool_definitions).decode())
        request = (Message("system", system), Message("user", _REQUEST.format(number=index + 1, tool=target)))
        for attempt in range(_ATTEMPTS):
            try:
                prediction = await client.predict(Case(f"{case}/planner/{attempt}", request), attempt)
                plan = self._read(prediction.text)
                async with source.open_toolbox(f"{case}/{attempt}/plan") as toolbox:
                    goal = await self._goal(plan, toolbox)
                style = Random(f"{seed}/{index}").choice(STYLES)
                return make_case(case, ConversationPlan("planned", style, goal.branches, [goal]), "")
            except (BadPlanError, ModelError) as error:
                if isinstance(error, ModelError) and error.fatal:
                    raise
                self._bad_plans.append(f"{case}: {self._keys.hide(str(error))[:_MAX_SHOWN]}")
        return None

    def _read(self, text: str) -> _WrittenPlan:
        """Return the plan in a response, after checking everything that can be checked before a call is made."""
        found = re.search(r"\{.*\}", text, re.DOTALL)
        try:
            plan = msgspec.convert(parse(found[0] if found else text), _WrittenPlan)
        except (NotStrict, msgspec.ValidationError) as problem:
            raise BadPlanError(f"not a plan in the requested form: {problem}") from None
        if not plan.wish.strip(_AROUND_WISH) or not plan.calls or len(plan.calls) > _MAX_CALLS:
            raise BadPlanError(f"expected a wish and 1 to {_MAX_CALLS} calls, got {len(plan.calls)}")
        for number, call in enumerate(plan.calls, 1):
            if call.name not in self._tools:
                raise BadPlanError(f"call {number}: unknown tool {call.name!r}")
            references = [int(match[1]) for value in _texts(call.arguments) for match in _REFERENCE.finditer(value)]
            if any(not 0 < reference < number for reference in references):
                raise BadPlanError(f"call {number}: refers to a call that does not come before it")
            if not references:
                self._check(number, Call(call.name, call.arguments))
            elif missing := self._schemas.by_name[call.name].parameters.get("required", []):
                absent = [name for name in missing if name not in call.arguments]
                if absent:
                    raise BadPlanError(f"call {number}: {call.name}: {absent[0]} is required")
        return plan

    def _check(self, number: int, call: Call) -> None:
        violations = self._schemas.violations(call)
        if violations:
            where, what = violations[0]
            raise BadPlanError(f"call {number}: {call.name}: {where}: {what}")

    async def _goal(self, plan: _WrittenPlan, toolbox: Toolbox) -> Goal:
        """Make the calls and return the goal. A call that is refused or uses a hallucinated value raises `BadPlanError`."""
        informs = [InformAct(said.label.strip() or "value", said.value, [said.value]) for said in plan.says if said.value.strip()]
        said = Message("user", "\n".join([plan.wish, *(inform.text for inform in informs)]))
        messages, steps = [said], []
        results: list[str] = []
        needed: set[int] = set()
        for number, written in enumerate(plan.calls, 1):
            call = Call(written.name, _resolve(written.arguments, results), f"call_{number}")
            self._check(number, call)
            messages.append(Message("assistant", "", (call,)))
            origins = find_origins(messages, self.tool_definitions)
            if hallucinated := next((origin for origin in origins if origin.source is None), None):
                raise BadPlanError(f"call {number}: {call.name}: {hallucinated.path} appears neither in what the user says nor in a result")
            result = await toolbox.call(call)
            if result.is_error:
                raise BadPlanError(f"call {number}: {call.name} was rejected: {result.text}")
            messages.append(Message("tool", result.text, (), call.id, call.name))
            results.append(result.text)
            tool = self._tools[call.name]
            used = {index for index, inform in enumerate(informs) if any(inform.text in text for text in _texts(call.arguments))}
            used = used if number < len(plan.calls) else set(range(len(informs)))
            details = [f"{field_label(name)}: {format_value(value)}" for name, value in call.arguments.items()] if tool.writes else []
            action = phrase_action(tool.meaning) if tool.writes else ""
            steps.append(Step(Call(call.name, call.arguments), sorted(used - needed), tool.writes, action, details))
            needed |= used
        wish = plan.wish.strip(_AROUND_WISH)
        wish = wish[0].lower() + wish[1:] if not wish.startswith("I ") else wish
        return Goal(wish, "done", steps[-1].call, "", "", informs, steps, [f"{steps[-1].call.name}: done"])


def _texts(value: Any) -> Iterator[str]:
    """Yield every value in arguments as text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)


def _resolve(value: Any, results: Sequence[str]) -> Any:
    """Return arguments with references replaced by values of results. One that is in no result raises `BadPlanError`."""
    if isinstance(value, dict):
        return {key: _resolve(item, results) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, results) for item in value]
    if not isinstance(value, str):
        return value
    whole = _REFERENCE.fullmatch(value)
    if whole:
        return _find(whole, results)
    return _REFERENCE.sub(lambda match: str(_find(match, results)), value)


def _find(match: re.Match[str], results: Sequence[str]) -> Any:
    field = match[2].rpartition(".")[2]
    found = [item.value for item in observe(results[int(match[1]) - 1], "") if item.field == field]
    if not found:
        raise BadPlanError(f"the result of call {match[1]} has no field {field}")
    return found[0]
