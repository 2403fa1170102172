"""Conversations at the help desk, held and graded in this process: no server, no folder."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from callmark.config import read_config
from callmark.formats import load
from callmark.grading.grader import Grader
from callmark.grading.record import GradeRecord
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.simulation.agents import ToolCallingAgent
from callmark.simulation.model_client import ModelClient
from callmark.simulation.session import State, Toolbox, ToolResult, User
from callmark.simulation.simulate import MAX_STEPS, simulation_grading
from callmark.simulation.simulator import Simulator
from callmark.types import Call, Case, Prediction, Tool
from callmark.worlds import helpdesk
from callmark.worlds.helpdesk.desk import Desk
from callmark.worlds.helpdesk.tools import TOOLS

FOLDER = Path(helpdesk.__file__).parent
GRADING = simulation_grading(read_config(str(FOLDER / "callmark.toml")).grading)
AT_ONCE = 10


class DeskTools:
    """A desk of its own for each conversation."""

    label = "the desk"
    tools = TOOLS

    def __init__(self) -> None:
        self._first = Desk()

    @asynccontextmanager
    async def open_toolbox(self, conversation: str) -> AsyncIterator[Toolbox]:
        desk = self._first.copy()
        try:
            yield _DeskToolbox(desk)
        finally:
            desk.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._first.close()


class _DeskToolbox:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    async def call(self, call: Call) -> ToolResult:
        answer = self._desk.call(call.name, call.arguments)
        return ToolResult(answer.text, answer.is_error)

    async def state(self) -> State | None:
        return self._desk.state()


def read_scenarios(path: Path) -> list[Case]:
    return [case for case in load(path) if isinstance(case, Case)]


def held(cases: Sequence[Case], agent: str, user: User, *, trials: int = 1) -> list[Prediction]:
    """The conversations about all cases, in their order, each so many times."""
    return asyncio.run(_held(cases, agent, user, trials))


async def _held(cases: Sequence[Case], agent: str, user: User, trials: int) -> list[Prediction]:
    client = ModelClient(ModelSettings(model=agent), Keys(), None)
    system = (FOLDER / "workflow.md").read_text(encoding="utf-8")
    turns = asyncio.Semaphore(AT_ONCE)
    async with Simulator(
        "a", ToolCallingAgent(client, max_steps=MAX_STEPS), user, DeskTools(), clients=[client], system=system
    ) as simulator:

        async def one(case: Case, trial: int) -> Prediction:
            async with turns:
                return await simulator.predict(case, trial=trial)

        return await asyncio.gather(*(one(case, trial) for case in cases for trial in range(trials)))


def graded(cases: Iterable[Case], predictions: Sequence[Prediction]) -> list[GradeRecord]:
    grader = Grader(GRADING)
    return [grade for case in cases for grade in grader.record(case, [one for one in predictions if one.case == case.id])]


def reliability(grades: Sequence[GradeRecord]) -> float:
    return sum(grade.metrics["process.reliability"] for grade in grades) / len(grades)
