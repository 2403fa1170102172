"""Synthesis: conversations for training, made of plans, and the files that come of it.

    train.jsonl  valid.jsonl      what is kept, a row each: `messages` and `tools`
    rejected.jsonl                what is not, each row with its plan and the reasons
    plans.jsonl                   the plans, as scenarios
    synth.json                    which row is of which plan, the counts, what is covered
    runs/                         how the conversations were held, round by round

The same order gives the same bytes, whatever the order in which conversations end, and whether or not it was interrupted on the way.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from callmark.calls.messages import message_texts
from callmark.calls.strict import scrub
from callmark.calls.toolsets import tools_json
from callmark.data.split import split
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.formats.scenarios import write as write_scenario
from callmark.grading.evaluator import SIMULATED, Settings
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.cache import Cache
from callmark.runs.grade_run import GradeOptions
from callmark.runs.runner import ModelRuns, Watch
from callmark.runs.source import Cases
from callmark.runs.store import SimulatedInfo
from callmark.runs.worker import Budget
from callmark.simulation.simulate import MAX_STEPS, Named, listed_tools, named_user, refuse_unplayable, simulator
from callmark.simulation.simulator import MAX_TURNS
from callmark.synthesis.coverage import Coverage, coverage
from callmark.synthesis.keeping import QualityFilter, Reason, Rejected
from callmark.synthesis.rounds import RUNS, Rounds
from callmark.synthesis.world import World
from callmark.types import Case, Conversation, Tool

TRAIN, VALID, REJECTED, PLANS, ABOUT = "train.jsonl", "valid.jsonl", "rejected.jsonl", "plans.jsonl", "synth.json"
EXPERT = "expert"  # what the world's own is called in a run


class Order(Struct, frozen=True):
    """What is to be made, and how: `number` conversations of a world, into the folder `out`. What is not given is the world's own: its
    tools, its policy text (`system`) and rules, its expert for an agent, its user. `listed` are the tools, where they are known already.
    """

    world: World
    number: int
    out: str
    seed: int = 7
    valid: float = 0.2
    balance: bool = False
    tools: tuple[str, ...] = ()
    listed: tuple[Tool, ...] = ()
    system: str | None = None
    rules: Mapping[str, Any] | None = None
    agent: Named | None = None
    user: ModelSettings | None = None
    grading: Settings = Settings()
    resume: bool = False
    at_once: int | None = None

    @property
    def info(self) -> SimulatedInfo:
        """How conversations are held, as a run says it."""
        user = self.user or ModelSettings(model=self.world.user(self.seed).label)
        system = self.world.system if self.system is None else self.system
        return SimulatedInfo(user, None, self.tools or self.world.tools, system, MAX_TURNS, MAX_STEPS, self.seed)

    @property
    def settings(self) -> Settings:
        """How they are graded."""
        rules = self.world.rules if self.rules is None else self.rules
        return msgspec.structs.replace(self.grading, evaluators=SIMULATED, policy=dict(rules) or self.grading.policy)


class Rejections(Struct, frozen=True):
    """How many conversations were not kept for one reason, and the first of them: its line in `rejected.jsonl`, its plan, what it was."""

    count: int
    line: int
    plan: str
    sentence: str


class Synthesized(Struct, frozen=True):
    """What came of it. `by_calls`: how many of those kept were judged by their calls, as it is not known what their plans lead to;
    `exhausted`: there were no more plans. `train` and `valid` name the plan of each row, in order.
    """

    callmark: str
    world: str
    agent: str
    user: str
    seed: int
    balance: bool
    made_up: bool
    wanted: int
    held: int
    kept: int
    rejected: int
    by_calls: int
    errors: int
    first_error: str
    stopped: str
    exhausted: bool
    reasons: dict[str, Rejections]
    coverage: Coverage
    train: tuple[str, ...]
    valid: tuple[str, ...]

    @property
    def missing(self) -> int:
        return self.wanted - self.kept


def synthesize(
    order: Order,
    keys: Keys,
    *,
    budget: Budget | None = None,
    cache: Callable[[], Cache | None] = lambda: None,
    watch: Watch | None = None,
) -> Synthesized:
    """Hold conversations until enough are kept, and write the files. `cache` opens what remembers the answers of models, once a round.

    What cannot work raises `BadInput` before anything is held, as does a folder in which there is a dataset already, unless it is gone on
    with. `KeyboardInterrupt` passes through; what was held is kept.
    """
    _refuse_taken(order)
    info, settings, budget = order.info, order.settings, budget or Budget()
    tools = order.listed or listed_tools(info.tools, keys)
    expert = order.world.expert() if order.agent is None else None
    user = order.world.user(order.seed) if order.user is None else None
    name, agent = order.agent or (EXPERT, ModelSettings(model=EXPERT))
    keeper = QualityFilter(order.number)

    def plan(number: int, start: int) -> list[Case]:
        plans = order.world.plans(number, seed=order.seed, start=start, balance=order.balance)
        refuse_unplayable(plans, user or named_user(info), tools, ignore=settings.ignore)
        return plans

    def ask(file: str, folder: str) -> ModelRuns:
        remembered = cache()
        one = simulator(name, agent, info, keys, cache=remembered, at_once=order.at_once, expert=expert, user=user, listed=tools)
        cases = Cases(file, scenarios=True, tools_text=tools_json(tools))
        out = str(Path(order.out, RUNS))
        runs = ModelRuns(cases, [one], settings, keys, out=out, name=folder, resume=order.resume, how=GradeOptions(intervals=()))
        runs.ask(cache=remembered, budget=budget, watch=watch)
        return runs

    rounds = Rounds(order.out, keeper, tools, plan=plan, ask=ask)
    rounds.hold()
    return _written(order, rounds, keeper, tools, keys)


def _refuse_taken(order: Order) -> None:
    """Refuse a folder that has something in it that would be written over."""
    folder = Path(order.out)
    begun = (folder / RUNS / "round-1.jsonl").exists()
    if begun and not order.resume:
        raise BadInput(f"conversations were made into {scrub(order.out)} already", "--resume goes on with them; or choose another -o.")
    taken = [name for name in (TRAIN, VALID, REJECTED, PLANS) if (folder / name).exists()]
    if taken and not begun:
        raise BadInput(f"there is a {taken[0]} in {scrub(order.out)} already, which was not made here", "Choose another -o.")


def _written(order: Order, rounds: Rounds, keeper: QualityFilter, tools: tuple[Tool, ...], keys: Keys) -> Synthesized:
    """What came of it, once it stands in the files."""
    info = order.info
    rows = [held.row for held in keeper.kept]
    sides = split(rows, valid=order.valid, seed=order.seed)
    tail = b',"tools":' + tools_json(tools) + (b',"results":"made up"}' if order.world.made_up else b"}")
    for file, lines in (
        (TRAIN, (_line(rows[index], tail) for index in sides.train)),
        (VALID, (_line(rows[index], tail) for index in sides.valid)),
        (REJECTED, (_rejected_line(one, tail) for one in keeper.rejected)),
        (PLANS, map(write_scenario, _used(rounds.plans, keeper))),
    ):
        write_lines(str(Path(order.out, file)), lines)
    made = Synthesized(
        version("callmark"),
        order.world.label,
        EXPERT if order.agent is None else keys.hide(order.agent[0] or order.agent[1].model),
        keys.hide(info.user.model),
        order.seed,
        order.balance,
        order.world.made_up,
        order.number,
        rounds.held,
        len(rows),
        len(keeper.rejected),
        sum(held.by_calls for held in keeper.kept),
        len(rounds.errors),
        rounds.errors[0].error if rounds.errors else "",
        rounds.stopped,
        rounds.exhausted,
        _counted(keeper.rejected),
        coverage(rows, [held.plan for held in keeper.kept], tools, order.world.branches),
        tuple(rows[index].id for index in sides.train),
        tuple(rows[index].id for index in sides.valid),
    )
    write_lines(str(Path(order.out, ABOUT)), [msgspec.json.format(msgspec.json.encode(made), indent=2)])
    return made


def _used(plans: list[Case], keeper: QualityFilter) -> Iterator[Case]:
    """The plans up to the last that was needed; what was planned beyond that, after an interruption, depends on when it was."""
    last = keeper.kept[-1].plan.id if keeper.kept and not keeper.missing else None
    for plan in plans:
        yield plan
        if plan.id == last:
            return


def _counted(rejected: list[Rejected]) -> dict[str, Rejections]:
    """By reason, the most frequent first. A conversation with several reasons counts for each."""
    first: dict[str, tuple[int, str, Reason]] = {}
    counts: dict[str, int] = {}
    for line, one in enumerate(rejected, 1):
        for reason in one.reasons:
            first.setdefault(reason.code, (line, one.held.plan.id, reason))
            counts[reason.code] = counts.get(reason.code, 0) + 1
    ranked = sorted(counts, key=lambda code: -counts[code])
    return {code: Rejections(counts[code], first[code][0], first[code][1], first[code][2].sentence) for code in ranked}


def _line(row: Conversation, tail: bytes) -> bytes:
    return b'{"messages":[' + b",".join(map(bytes, message_texts(row))) + b"]" + tail


def _rejected_line(one: Rejected, tail: bytes) -> bytes:
    head = msgspec.json.encode({"plan": one.held.plan.id, "reasons": one.reasons})
    return head[:-1] + b"," + _line(one.held.row, tail)[1:]
