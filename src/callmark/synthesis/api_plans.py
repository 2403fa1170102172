"""Plans of conversations with an API that is known by its OpenAPI file alone.

An operation is wanted, most often one that changes something; what it needs is told by the user or looked up. Some wishes the descriptions
forbid, some no operation can fulfil, some are taken back. Plan number i is the same however many are made. Its id holds the seed, since
people and things are made from the id: another seed has others.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from callmark.calls.provenance import DERIVED
from callmark.calls.schema import properties, required
from callmark.simulation.endings import is_transfer
from callmark.simulation.mock_api.api import Meaning, MockApi
from callmark.simulation.mock_api.names import words_of
from callmark.simulation.mock_api.rows import Row
from callmark.synthesis.api_arguments import Arguments
from callmark.synthesis.api_goals import Goal, Outcome, Plan
from callmark.synthesis.api_needs import Planning, several
from callmark.synthesis.api_ways import NoWay, new_key
from callmark.synthesis.api_words import about, label_of, listed, of_mine, plainly, wish_of
from callmark.types import Call, Case

MANNERS = ("plain", "plain", "chatty", "terse", "polite")
_TYPES = {"write": 42, "several": 20, "read": 12, "refused": 12, "declined": 5, "beyond": 6, "human": 5}
_TRIES = 40
_IDENTIFIES = ("authenticat", "verif", "identif", "log in", "sign in")
_WRITES = 4  # how much more often something is changed than only looked at
_HANDED_OVER = "The customer asks to speak with a person and does not want to go on here"
_BEYOND = (
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


class Plans:
    """The plans of one API. `branches` are all that they may take."""

    def __init__(self, api: MockApi) -> None:
        self._api = api
        meanings = list(api.meanings.values())
        self._human = next((each for each in meanings if _hands_over(each)), None)
        self._finders = [each for each in meanings if _identifies(each, api)]
        wanted = [each for each in meanings if each is not self._human and each not in self._finders] or meanings
        self._wanted = [each for each in wanted if each.operation.tool.name not in DERIVED]
        self._writes = [each for each in self._wanted if each.operation.writes]
        self._limited = [each for each in self._writes if each.effect.only and not new_key(api, each)]
        self._identify = any(word in api.api.description.lower() for word in _IDENTIFIES)

    @property
    def branches(self) -> tuple[str, ...]:
        done = [f"{each.operation.tool.name}: done" for each in self._wanted]
        refused = [f"{each.operation.tool.name}: refused" for each in self._limited]
        declined = [f"{each.operation.tool.name}: declined" for each in self._writes]
        human = ["transferred"] if self._human is not None else []
        return (*done, *refused, *declined, *human, "no operation for it")

    def plan(self, index: int, *, seed: int, balance: bool) -> Case:
        """Plan number `index`. With `balance` operations and types come in turn instead of by chance."""
        types = [kind for kind in _TYPES if self._is_possible(kind)]
        for number in range(_TRIES):
            random = Random(f"{seed}/plan/{index}/{number}")
            turn = index + number if balance else None
            chosen = types[turn % len(types)] if turn is not None else random.choices(types, [_TYPES[kind] for kind in types])[0]
            case = f"{chosen}-{seed}-{index:04d}"
            planning = Planning(self._api, case, random)
            try:
                goals = self._goals(chosen, planning, None if turn is None else turn // len(types))
            except NoWay:
                continue
            branches = list(dict.fromkeys(branch for goal in goals for branch in goal.branches))
            return self._case(case, Plan(chosen, random.choice(MANNERS), branches, goals), planning)
        random = Random(f"{seed}/plan/{index}")
        beyond = Plan("beyond", "plain", ["no operation for it"], [self._beyond(random)])
        return self._case(f"beyond-{seed}-{index:04d}", beyond, None)

    def _is_possible(self, kind: str) -> bool:
        needs: dict[str, Any] = {
            "write": self._writes,
            "several": self._wanted,
            "read": len(self._writes) < len(self._wanted),
            "refused": self._limited,
            "declined": self._writes,
            "human": self._human,
        }
        return bool(needs.get(kind, True))

    def _goals(self, kind: str, planning: Planning, turn: int | None) -> list[Goal]:
        reads = [each for each in self._wanted if not each.operation.writes]

        def one_of(meanings: list[Meaning]) -> Meaning:
            return meanings[turn % len(meanings)] if turn is not None else planning.random.choice(meanings)

        match kind:
            case "write":
                return [self._goal(planning, one_of(self._writes), "done")]
            case "read":
                return [self._goal(planning, one_of(reads), "done")]
            case "refused":
                return [self._goal(planning, one_of(self._limited), "refused")]
            case "declined":
                return [self._goal(planning, one_of(self._writes), "declined")]
            case "human" if self._human is not None:
                return [self._handed_over(planning, self._human)]
            case "several":
                weights = [_WRITES if each.operation.writes else 1 for each in self._wanted]
                first = one_of(self._wanted) if turn is not None else planning.random.choices(self._wanted, weights)[0]
                goals = [self._goal(planning, first, "done")]
                planning.next_goal()
                if planning.random.random() < 0.2:
                    return [*goals, self._beyond(planning.random)]
                others = [each for each in self._wanted if each is not first] or self._wanted
                weights = [_WRITES if each.operation.writes else 1 for each in others]
                return [*goals, self._goal(planning, planning.random.choices(others, weights)[0], "done")]
        return [self._beyond(planning.random)]

    def _goal(self, planning: Planning, meaning: Meaning, outcome: Outcome) -> Goal:
        name = meaning.operation.tool.name
        target = self._target(planning, meaning, refused=outcome == "refused")
        if planning.whose.speaker is None:
            people = [kind for kind in self._api.kinds.by_name.values() if kind.is_person]
            rows = planning.whose.candidates(people[0].name) if people else []
            planning.whose.speaker = (people[0].name, planning.random.choice(rows)[people[0].key]) if rows else None
        if self._identify:
            planning.identified()
        arguments = Arguments(planning, meaning, target)
        wish = wish_of(meaning)
        thing = meaning.kind.replace("_", " ")
        if outcome == "refused" or planning.random.random() < 0.6:
            wish = plainly(wish, meaning.effect.only)
        if target is not None:
            key = target[self._api.kinds.by_name[meaning.kind].key]
            if planning.is_settled(meaning.kind, key):
                wish = about(wish, thing, "that same")
            elif planning.whose.belongs_to(meaning.kind, target) is not None:
                wish = of_mine(wish, thing, planning.random)
            planning.known(meaning.kind, key)
            if meaning.operation.writes:
                planning.looked_at(meaning.kind, key)
            arguments.values[meaning.own] = key
        planning.branches.append(f"{name}: {outcome}")
        if outcome == "refused" and target is not None:
            if meaning.effect.field not in planning.seen.beside(meaning.kind, key).get(str(key), {}):
                raise NoWay  # nobody can know that it is not allowed
            return Goal(wish, outcome, None, _because(meaning, target), thing, planning.tells, planning.steps, planning.branches)
        call = Call(name, arguments.found())
        if planning.was_called(meaning, call.arguments) and not any(step.call == call for step in planning.steps):
            raise NoWay  # nobody asks again for what they were told before
        before = planning.now.things.copy()
        planning.call(meaning, call.arguments)
        if outcome == "declined":
            planning.now.things = before
        return Goal(wish, outcome, call, "", thing, planning.tells, planning.steps, planning.branches)

    def _target(self, planning: Planning, meaning: Meaning, *, refused: bool) -> Row | None:
        """The thing that it is about, one with which it may be done; of what is to be refused one with which it may not."""
        if not meaning.own or new_key(self._api, meaning):
            return None
        rows = [row for row in planning.whose.candidates(meaning.kind) if meaning.effect.allows(row) is not refused]
        if not rows:
            raise NoWay
        row = planning.random.choice(rows)
        planning.whose.speaks_for(meaning.kind, row)
        return row

    def _handed_over(self, planning: Planning, meaning: Meaning) -> Goal:
        schemas = properties(meaning.operation.tool.parameters)
        needed = required(meaning.operation.tool.parameters)
        planning.call(meaning, {name: _HANDED_OVER for name in schemas if name in needed})
        return Goal("speak with a person", "done", planning.steps[-1].call, "", "", [], planning.steps, ["transferred"])

    def _beyond(self, random: Random) -> Goal:
        """Something that no operation has to do with."""
        said = {word for each in self._api.api.operations for word in words_of(f"{each.tool.name} {each.tool.description} {each.path}")}
        wishes = [wish for wish in _BEYOND if not {word for word in words_of(wish) if len(word) > 4} & said] or list(_BEYOND)
        return Goal(random.choice(wishes), "beyond", branches=["no operation for it"])

    def _case(self, case: str, plan: Plan, planning: Planning | None) -> Case:
        calls = [step.call for goal in plan.goals for step in _carried_out(goal)]
        wishes = " Then you want to ".join(goal.wish for goal in plan.goals)
        told = [f"your {tell.label}: {tell.text}" for goal in plan.goals for tell in goal.tells]
        lines = [
            f"You talk to {self._api.api.title or 'a service'}. You want to {wishes}.",
            f"What you know: {'; '.join(told)}. Tell each when you are asked for it." if told else "",
            "When you are asked to confirm something, say yes." if not any(goal.outcome == "declined" for goal in plan.goals) else
            "When you are asked to confirm it, change your mind and say no.",
            "If something cannot be done, accept that. When everything is settled, say goodbye.",
        ]  # fmt: skip
        return Case(
            case,
            expected=tuple(calls),
            instructions=" ".join(filter(None, lines)),
            completion="The user has nothing more to ask and says goodbye.",
            description=listed([goal.wish for goal in plan.goals]),
            scenario_type=plan.type,
            data={"plan": msgspec.to_builtins(plan)},
        )


def _carried_out(goal: Goal) -> list[Any]:
    return goal.steps[:-1] if goal.outcome == "declined" else goal.steps


def _because(meaning: Meaning, row: Row) -> str:
    effect = meaning.effect
    rule = effect.says or f"That can only be done with {listed(list(effect.only), 'or')} {several(meaning.kind)}"
    return f"{rule.rstrip('.')}. The {label_of(effect.field)} of this one is {row[effect.field]}."


def _hands_over(meaning: Meaning) -> bool:
    """Whether it hands over to a person, and takes nothing but words."""
    parameters = meaning.operation.tool.parameters
    plain: Callable[[Any], bool] = lambda schema: isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema  # noqa: E731
    human = bool({*words_of(meaning.operation.tool.name)} & {"human", "agent", "agents", "person", "staff"})
    needed = [schema for name, schema in properties(parameters).items() if name in required(parameters)]
    return is_transfer(meaning.operation.tool.name) and human and all(map(plain, needed))


def _identifies(meaning: Meaning, api: MockApi) -> bool:
    """Whether it only tells who somebody is."""
    kind = api.kinds.by_name.get(meaning.kind)
    return (
        not meaning.operation.writes
        and kind is not None
        and kind.is_person
        and not meaning.own
        and not (meaning.subject and meaning.subject.many)
    )
