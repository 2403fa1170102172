"""Plan conversations about the tools of a server whose data are unknown: each planned call is made once, and its real result is used.

A plan starts from a tool, each in turn. A parameter that refers to something is filled with a value from an earlier result; if there is
none, a tool that creates or lists such things is called first. The user says everything else. A call that the server refuses ends its goal,
and is planned as refused: a few plans are like that, others are planned again with other values.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec import Struct

from callmark.calls.schema import properties, required
from callmark.calls.strict import dump
from callmark.simulation.mock_api.api import OperationMeaning
from callmark.simulation.mock_api.names import resource_noun, split_name
from callmark.simulation.mock_api.schemas import properties as schema_properties
from callmark.simulation.mock_api.schemas import required as schema_required
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.simulation.openapi_schemas import inline_references
from callmark.simulation.operations import Operation
from callmark.simulation.session import Toolbox
from callmark.simulation.tool_lists.verbs import CREATE, LIST, find_verb, method_of
from callmark.synthesis.api_goals import Goal, InformAct, Outcome, Step
from callmark.synthesis.api_informs import inform_of
from callmark.synthesis.api_lookups import UnplannableError
from callmark.synthesis.api_phrases import field_label, format_value, phrase_action, phrase_wish
from callmark.synthesis.server_arguments import ArgumentGenerator
from callmark.synthesis.server_values import Parameter, ResultValue, names_resource, observe, refers_to
from callmark.types import Call, Tool

REFUSED_RATE = 0.25  # share of refused calls that are kept instead of being planned again
_MAX_DEPTH = 2  # of tools that are called first
_OPTIONAL_RATE, _MAX_OPTIONAL = 0.4, 2
_MAX_OPTIONS = 5  # to choose from
_MAX_OPTION = 60  # characters


class ServerTool(Struct, frozen=True):
    """A tool of a server, with references in its parameters inlined, and the resource that it works on."""

    tool: Tool
    meaning: OperationMeaning
    verb: str
    noun: str

    @property
    def writes(self) -> bool:
        return self.meaning.operation.writes

    @property
    def creates(self) -> bool:
        return self.writes and self.verb in CREATE


def server_tool(tool: Tool) -> ServerTool:
    """Return a tool as the planner sees it."""
    parameters = inline_references(tool.parameters, tool.parameters)
    verb = find_verb(tool)
    words = list(split_name(tool.name))
    after = words[words.index(verb) + 1 :] if verb else words  # what is before the verb is the name of the server or a group of tools
    noun = resource_noun(" ".join(after or words[:-1])) if after or words[:-1] else ""
    summary = tool.description.strip().partition("\n")[0].split(". ")[0].rstrip(".")
    operation = Operation(tool, method_of(tool), "/", summary)
    planned = Tool(tool.name, tool.description, parameters, tool.read_only)
    return ServerTool(planned, OperationMeaning(operation, None, {}), verb, " ".join(noun.split("_")))


class ServerPlanBuilder:
    """The plan of one conversation under construction: goals, and what earlier results have shown."""

    def __init__(self, tools: Sequence[ServerTool], toolbox: Toolbox, random: Random, values: ArgumentGenerator) -> None:
        self.goals: list[Goal] = []
        self._tools = tools
        self._toolbox = toolbox
        self._random = random
        self._values = values
        self._observed: list[ResultValue] = []
        self._calls: set[str] = set()
        self._informs: list[InformAct] = []
        self._steps: list[Step] = []
        self._pending: list[int] = []
        self._used: list[str] = []  # values in the object that is being filled: a relation is not one to itself
        self._started: list[str] = []  # tools whose arguments are being filled, so that no tool is called for itself

    async def add_goal(self, tool: ServerTool, *, declined: bool = False, depth: int = 0) -> None:
        """Add a goal that is reached by a call of a tool; what it needs is created or looked up first."""
        self._started.append(tool.tool.name)
        arguments = await self._arguments(tool, depth)
        self._started.pop()
        informs, self._informs = self._informs, []
        steps, self._steps = self._steps, []
        pending, self._pending = self._pending, []
        call = Call(tool.tool.name, arguments)
        if dump([call.name, call.arguments]) in self._calls and not tool.writes:
            raise UnplannableError  # the user knows the result already
        details = [f"{field_label(name)}: {format_value(value)}" for name, value in arguments.items()] if tool.writes else []
        step = Step(call, pending, tool.writes, phrase_action(tool.meaning) if tool.writes else "", details)
        outcome: Outcome = "declined" if declined else await self._call(tool, call)
        name = tool.tool.name
        self.goals.append(Goal(phrase_wish(tool.meaning), outcome, call, "", tool.noun, informs, [*steps, step], [f"{name}: {outcome}"]))

    async def _call(self, tool: ServerTool, call: Call) -> Outcome:
        result = await self._toolbox.call(call)
        self._calls.add(dump([call.name, call.arguments]))
        if result.is_error:
            return "failed"
        self._observed += observe(result.text, tool.noun)
        return "done"

    async def _arguments(self, tool: ServerTool, depth: int) -> dict[str, Any]:
        schemas, needed = properties(tool.tool.parameters), required(tool.tool.parameters)
        optional = [name for name in schemas if name not in needed and self._random.random() < _OPTIONAL_RATE]
        chosen = self._random.sample(optional, min(len(optional), _MAX_OPTIONAL))
        found: dict[str, Any] = {}
        for name, schema in schemas.items():
            if name in needed or name in chosen:
                found[name], is_said = await self._value(tool, name, schema, depth)
                if is_said:
                    self._require(inform_of(name, found[name], schema, noun=tool.noun, label_all=True))
        return found

    def _require(self, inform: InformAct) -> None:
        self._pending.append(len(self._informs))
        self._informs.append(inform)

    async def _value(self, tool: ServerTool, name: str, schema: Any, depth: int) -> tuple[Any, bool]:
        """Return a value for a parameter, and whether the user has to say it."""
        simplified = simplify_schema(schema)
        is_list = simplified.get("type") == "array"
        inner = simplify_schema(simplified.get("items")) if is_list else simplified
        fields = schema_properties(inner)
        if fields:
            row = await self._row(tool, name, inner, depth)
            return ([row] if is_list else row), True
        parameter = Parameter(name, str(simplified.get("description") or ""), tool.noun, tool.creates, is_list)
        if "enum" in inner or inner.get("type", "string") not in ("string", "integer", "number"):
            return self._values.generate(schema, name, tool.noun), True
        found = await self._referenced(parameter, inner, depth)
        if not found:
            return self._values.generate(schema, name, tool.noun), True
        choice = self._random.choice(found)
        if len({str(item) for item in found}) > 1:
            options = [text for item in dict.fromkeys(map(str, found)) if len(text := item[:_MAX_OPTION])][:_MAX_OPTIONS]
            if str(choice) not in options:
                choice = next(item for item in found if str(item) == options[0]) if len(str(found[0])) <= _MAX_OPTION else found[0]
            self._require(InformAct(field_label(name), str(choice), [str(choice)], options if len(options) > 1 else [], len(options) > 1))
        return ([choice] if is_list else choice), False

    async def _row(self, tool: ServerTool, name: str, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Return an object: an observed one with all required fields, unless the tool creates it, else one made field by field."""
        fields, needed = schema_properties(schema), schema_required(schema)
        parameter = Parameter(name, str(schema.get("description") or ""), tool.noun, tool.creates)
        if not tool.creates and needed:
            rows = self._rows(needed)
            if not rows and await self._call_producer(parameter, depth):
                rows = self._rows(needed)
            if rows:
                row = self._random.choice(rows)
                return {field: row[field] for field in fields if field in row}
        found = {}
        outer, self._used = self._used, []
        for field, each in fields.items():
            if field in needed or not needed or self._random.random() < _OPTIONAL_RATE:
                found[field], _ = await self._nested(tool, field, each, depth)
                self._used.append(str(found[field]))
        self._used = outer
        return found

    async def _nested(self, tool: ServerTool, name: str, schema: Any, depth: int) -> tuple[Any, bool]:
        """Return the value of a field in an object; the user says the whole object."""
        informs, pending = len(self._informs), len(self._pending)
        value = await self._value(tool, name, schema, depth)
        del self._informs[informs:], self._pending[pending:]
        return value

    def _rows(self, needed: Sequence[str]) -> list[dict[str, Any]]:
        rows = [dict(item.row) for item in self._observed if all(field in item.row for field in needed)]
        return list({dump(row): row for row in rows}.values())

    async def _referenced(self, parameter: Parameter, schema: dict[str, Any], depth: int) -> list[Any]:
        """Return observed values that a parameter refers to; if there are none, after a call of a tool that may show some."""
        found = self._matching(parameter, schema)
        if not found and await self._call_producer(parameter, depth):
            found = self._matching(parameter, schema)
        return found

    def _matching(self, parameter: Parameter, schema: dict[str, Any]) -> list[Any]:
        kinds: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float)}
        wanted = kinds.get(str(schema.get("type", "string")), str)
        fitting = [item for item in self._observed if isinstance(item.value, wanted) and refers_to(parameter, item.kind, item.field)]
        return [item.value for item in fitting if str(item.value) not in self._used]

    async def _call_producer(self, parameter: Parameter, depth: int) -> bool:
        """Call a tool that lists or creates what a parameter refers to; return whether there is one and it succeeded."""
        if depth >= _MAX_DEPTH:
            return False
        producers = [
            other
            for other in self._tools
            if other.tool.name not in self._started
            and (other.creates or (not other.writes and not required(other.tool.parameters) and (other.verb in LIST or other.noun)))
            and names_resource(parameter, other.noun)
        ]
        for producer in sorted(producers, key=lambda other: other.creates):
            if not producer.creates:
                call = Call(producer.tool.name, {})
                if dump([call.name, {}]) in self._calls:
                    continue
                if await self._call(producer, call) == "done":
                    self._steps.append(Step(call))
                    return True
                raise UnplannableError
            saved = self._informs, self._steps, self._pending
            self._informs, self._steps, self._pending = [], [], []
            await self.add_goal(producer, depth=depth + 1)
            self._informs, self._steps, self._pending = saved
            if self.goals[-1].outcome != "done":
                raise UnplannableError
            return True
        return False
