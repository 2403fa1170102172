"""Generate plans for conversations about the API of an OpenAPI file.

The user wants an operation, usually a write; the user says its arguments, or they are looked up. Some wishes are refused by the rules of
the API, some are not supported by any operation, some are withdrawn. A plan does not depend on how many are generated. Its id contains the
seed, because the data of a conversation depend on the id.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from callmark.calls.schema import properties, required
from callmark.simulation.endings import is_transfer
from callmark.simulation.mock_api.api import MockApi, OperationMeaning
from callmark.simulation.mock_api.names import split_name
from callmark.simulation.mock_api.resource_store import Row
from callmark.simulation.operations import Operation
from callmark.synthesis.api_arguments import ArgumentPlanner
from callmark.synthesis.api_goals import ConversationPlan, Goal, Outcome
from callmark.synthesis.api_lookups import UnplannableError, new_key_parameter
from callmark.synthesis.api_phrases import drop_conditions, field_label, join_texts, phrase_as_own, phrase_wish, refer_to_known
from callmark.synthesis.api_plan_builder import PlanBuilder, plural_label
from callmark.types import Call, Case

STYLES = ("plain", "plain", "chatty", "terse", "polite")
_TYPE_WEIGHTS = {"write": 42, "several": 20, "read": 12, "refused": 12, "declined": 5, "beyond": 6, "human": 5}
_READ_SHARE, _LEAST_READS = 0.75, 0.2  # reads are planned less often than their share of the operations
_MAX_TRIES = 40
_SAME_PLACE_TRIES = 6  # with the operation whose turn it is
_NOT_REQUESTED = frozenset({"think"})  # no user asks for it
_IDENTIFICATION_WORDS = ("authenticat", "verif", "identif", "log in", "sign in")
_WRITE_WEIGHT = 4  # of a write, relative to a read
_TRANSFER_SUMMARY = "The customer asks to speak with a person and does not want to go on here"
_UNSUPPORTED_WISHES = (
    "get a paper copy of everything by mail",
    "dispute a charge with my bank",
    "get a discount for being with you so long",
    "get help with my tax return",
    "book a taxi to the airport",
    "get my money back for something from another company",
    "write a letter to my landlord",
    "find a good lawyer",
    "apply for a job with you",
    "sell my old laptop",
    "get a weather forecast for the weekend",
    "translate a page into Portuguese",
)


class PlanGenerator:
    """Generates the plans for one API. `branches` are all branches that they may take."""

    def __init__(self, api: MockApi) -> None:
        self._api = api
        meanings = list(api.meanings.values())
        self._transfer = next((meaning for meaning in meanings if _is_transfer(meaning)), None)
        self._identification = [meaning for meaning in meanings if _only_identifies(meaning, api)]
        requestable = [meaning for meaning in meanings if meaning is not self._transfer and meaning not in self._identification] or meanings
        self._operations = [meaning for meaning in requestable if meaning.operation.tool.name not in _NOT_REQUESTED]
        self._writes = [meaning for meaning in self._operations if meaning.operation.writes]
        self._conditional_writes = [
            meaning for meaning in self._writes if meaning.effect.allowed_values and not new_key_parameter(api, meaning)
        ]
        self._drawn: dict[int, list[str]] = {}  # types of plans, by seed
        reads = 1 - len(self._writes) / max(len(self._operations), 1)
        share = min(max(_READ_SHARE * reads, _LEAST_READS), 0.5)  # of the plans with one operation
        single = _TYPE_WEIGHTS["write"] + _TYPE_WEIGHTS["read"]
        self._weights: dict[str, float] = {**_TYPE_WEIGHTS, "write": single * (1 - share), "read": single * share}
        self._unsupported_wishes = unsupported_wishes(api.api.operations)
        self._requires_identification = any(word in api.api.description.lower() for word in _IDENTIFICATION_WORDS)

    @property
    def branches(self) -> tuple[str, ...]:
        done = [f"{meaning.operation.tool.name}: done" for meaning in self._operations]
        refused = [f"{meaning.operation.tool.name}: refused" for meaning in self._conditional_writes]
        declined = [f"{meaning.operation.tool.name}: declined" for meaning in self._writes]
        transfer = ["transferred"] if self._transfer is not None else []
        return (*done, *refused, *declined, *transfer, "no operation for it")

    def plan(self, index: int, *, seed: int, balance: bool) -> Case:
        """Return the plan with this index: operations take turns. With `balance`, plan types do so, too, instead of being random."""
        types = [plan_type for plan_type in self._weights if self._is_possible(plan_type)]
        for number in range(_MAX_TRIES):
            random = Random(f"{seed}/plan/{index}/{number}")
            turn = index + number if balance else None
            is_retried = number < _SAME_PLACE_TRIES
            chosen_type = types[turn % len(types)] if turn is not None else self._type(index, seed) if is_retried else self._draw(random)
            case = f"{chosen_type}-{seed}-{index:04d}"
            builder = PlanBuilder(self._api, case, random)
            try:
                place = turn // len(types) if turn is not None else self._place(index, seed) if is_retried else None
                goals = self._goals(chosen_type, builder, place, Random(f"{seed}/{chosen_type}"))
            except UnplannableError:
                continue
            branches = list(dict.fromkeys(branch for goal in goals for branch in goal.branches))
            return make_case(case, ConversationPlan(chosen_type, random.choice(STYLES), branches, goals), self._api.api.title)
        random = Random(f"{seed}/plan/{index}")
        beyond = ConversationPlan("beyond", "plain", ["no operation for it"], [self._unsupported_goal(random)])
        return make_case(f"beyond-{seed}-{index:04d}", beyond, self._api.api.title)

    def _draw(self, random: Random) -> str:
        types = [plan_type for plan_type in self._weights if self._is_possible(plan_type)]
        return random.choices(types, [self._weights[plan_type] for plan_type in types])[0]

    def _type(self, index: int, seed: int) -> str:
        """Return the type of a plan, if it is possible at the first try."""
        drawn = self._drawn.setdefault(seed, [])
        while len(drawn) <= index:
            drawn.append(self._draw(Random(f"{seed}/plan/{len(drawn)}/0")))
        return drawn[index]

    def _place(self, index: int, seed: int) -> int:
        """Return how many earlier plans have the same type, so that operations take turns."""
        own = self._type(index, seed)
        return self._drawn[seed][:index].count(own)

    def _is_possible(self, plan_type: str) -> bool:
        needs: dict[str, Any] = {
            "write": self._writes,
            "several": self._operations,
            "read": len(self._writes) < len(self._operations),
            "refused": self._conditional_writes,
            "declined": self._writes,
            "human": self._transfer,
        }
        return bool(needs.get(plan_type, True))

    def _goals(self, plan_type: str, builder: PlanBuilder, turn: int | None, order: Random) -> list[Goal]:
        reads = [meaning for meaning in self._operations if not meaning.operation.writes]

        def choose(meanings: list[OperationMeaning]) -> OperationMeaning:
            return order.sample(meanings, len(meanings))[turn % len(meanings)] if turn is not None else builder.random.choice(meanings)

        def draw(meanings: list[OperationMeaning]) -> OperationMeaning:
            return builder.random.choices(meanings, [_WRITE_WEIGHT if meaning.operation.writes else 1 for meaning in meanings])[0]

        match plan_type:
            case "write":
                return [self._goal(builder, choose(self._writes), "done")]
            case "read":
                return [self._goal(builder, choose(reads), "done")]
            case "refused":
                return [self._goal(builder, choose(self._conditional_writes), "refused")]
            case "declined":
                return [self._goal(builder, choose(self._writes), "declined")]
            case "human" if self._transfer is not None:
                return [self._transfer_goal(builder, self._transfer)]
            case "several":
                first = choose(self._operations) if turn is not None else draw(self._operations)
                goals = [self._goal(builder, first, "done")]
                builder.start_next_goal()
                if builder.random.random() < 0.2:
                    return [*goals, self._unsupported_goal(builder.random)]
                others = [meaning for meaning in self._operations if meaning is not first] or self._operations
                return [*goals, self._goal(builder, draw(others), "done")]
        return [self._unsupported_goal(builder.random)]

    def _goal(self, builder: PlanBuilder, meaning: OperationMeaning, outcome: Outcome) -> Goal:
        name = meaning.operation.tool.name
        target = self._target(builder, meaning, refused=outcome == "refused")
        if builder.ownership.requester is None:
            people = [kind for kind in self._api.kinds.by_name.values() if kind.is_person]
            rows = builder.ownership.accessible_rows(people[0].name) if people else []
            builder.ownership.requester = (people[0].name, builder.random.choice(rows)[people[0].key]) if rows else None
        if self._requires_identification:
            builder.identify_requester()
        arguments = ArgumentPlanner(builder, meaning, target)
        wish = phrase_wish(meaning)
        noun = meaning.kind.replace("_", " ")
        if outcome == "refused" or builder.random.random() < 0.6:
            wish = drop_conditions(wish, meaning.effect.allowed_values)
        if target is not None:
            key = target[self._api.kinds.by_name[meaning.kind].key]
            if builder.is_identified(meaning.kind, key):
                wish = refer_to_known(wish, noun, "that same")
            elif builder.ownership.owner_of(meaning.kind, target) is not None:
                wish = phrase_as_own(wish, noun, builder.random)
            builder.identify(meaning.kind, key)
            if meaning.operation.writes:
                builder.read_row(meaning.kind, key)
            arguments.values[meaning.key_parameter] = key
        builder.branches.append(f"{name}: {outcome}")
        if outcome == "refused" and target is not None:
            if meaning.effect.field not in builder.observed.listed_with(meaning.kind, key).get(str(key), {}):
                raise UnplannableError  # no response shows that it is not allowed
            return Goal(wish, outcome, None, _refusal_reason(meaning, target), noun, builder.informs, builder.steps, builder.branches)
        call = Call(name, arguments.plan())
        if builder.was_called(meaning, call.arguments) and not any(step.call == call for step in builder.steps):
            raise UnplannableError  # the user knows the result already
        before = builder.state.store.copy()
        builder.add_call(meaning, call.arguments)
        if outcome == "declined":
            builder.state.store = before
        return Goal(wish, outcome, call, "", noun, builder.informs, builder.steps, builder.branches)

    def _target(self, builder: PlanBuilder, meaning: OperationMeaning, *, refused: bool) -> Row | None:
        """Return a row for the call: one for which it is allowed, or with `refused`, one for which it is not."""
        if not meaning.key_parameter or new_key_parameter(self._api, meaning):
            return None
        rows = [row for row in builder.ownership.accessible_rows(meaning.kind) if meaning.effect.allows(row) is not refused]
        if not rows:
            raise UnplannableError
        row = builder.random.choice(rows)
        builder.ownership.set_requester(meaning.kind, row)
        return row

    def _transfer_goal(self, builder: PlanBuilder, meaning: OperationMeaning) -> Goal:
        schemas = properties(meaning.operation.tool.parameters)
        required_fields = required(meaning.operation.tool.parameters)
        builder.add_call(meaning, {name: _TRANSFER_SUMMARY for name in schemas if name in required_fields})
        return Goal("speak with a person", "done", builder.steps[-1].call, "", "", [], builder.steps, ["transferred"])

    def _unsupported_goal(self, random: Random) -> Goal:
        """Return a goal that no operation supports."""
        return Goal(random.choice(self._unsupported_wishes), "beyond", branches=["no operation for it"])


def make_case(case: str, plan: ConversationPlan, title: str) -> Case:
    """Return the scenario of a plan: its calls are expected, and its instructions are for a model as the user."""
    calls = [step.call for goal in plan.goals for step in _executed_steps(goal)]
    wishes = " Then you want to ".join(goal.wish for goal in plan.goals)
    facts = [f"your {inform.label}: {inform.text}" for goal in plan.goals for inform in goal.informs]
    lines = [
        f"You talk to {title or 'a service'}. You want to {wishes}.",
        f"What you know: {'; '.join(facts)}. Tell each when you are asked for it." if facts else "",
        "When you are asked to confirm something, say yes." if not any(goal.outcome == "declined" for goal in plan.goals) else
        "When you are asked to confirm it, change your mind and say no.",
        "If something cannot be done, accept that. When everything is settled, say goodbye.",
    ]  # fmt: skip
    return Case(
        case,
        expected=tuple(calls),
        instructions=" ".join(filter(None, lines)),
        completion="The user has nothing more to ask and says goodbye.",
        description=join_texts([goal.wish for goal in plan.goals]),
        scenario_type=plan.type,
        data={"plan": msgspec.to_builtins(plan)},
    )


def unsupported_wishes(operations: Sequence[Operation]) -> list[str]:
    """Return wishes that have nothing to do with these operations, judging by their words."""
    texts = (f"{operation.tool.name} {operation.tool.description} {operation.path}" for operation in operations)
    api_words = {word for text in texts for word in split_name(text)}
    wishes = [wish for wish in _UNSUPPORTED_WISHES if not {word for word in split_name(wish) if len(word) > 4} & api_words]
    return wishes or list(_UNSUPPORTED_WISHES)


def _executed_steps(goal: Goal) -> list[Any]:
    return goal.steps[:-1] if goal.outcome == "declined" else goal.steps


def _refusal_reason(meaning: OperationMeaning, row: Row) -> str:
    effect = meaning.effect
    rule = effect.rule or f"That can only be done with {join_texts(list(effect.allowed_values), 'or')} {plural_label(meaning.kind)}"
    return f"{rule.rstrip('.')}. The {field_label(effect.field)} of this one is {row[effect.field]}."


def _is_transfer(meaning: OperationMeaning) -> bool:
    """Return whether an operation transfers to a person and requires only text."""
    parameters = meaning.operation.tool.parameters
    is_text: Callable[[Any], bool] = lambda schema: isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema  # noqa: E731
    names_person = bool({*split_name(meaning.operation.tool.name)} & {"human", "agent", "agents", "person", "staff"})
    required_fields = [schema for name, schema in properties(parameters).items() if name in required(parameters)]
    return is_transfer(meaning.operation.tool.name) and names_person and all(map(is_text, required_fields))


def _only_identifies(meaning: OperationMeaning, api: MockApi) -> bool:
    """Return whether an operation only identifies a person."""
    kind = api.kinds.by_name.get(meaning.kind)
    return (
        not meaning.operation.writes
        and kind is not None
        and kind.is_person
        and not meaning.key_parameter
        and not (meaning.subject and meaning.subject.many)
    )
