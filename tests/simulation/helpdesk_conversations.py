"""Simulate and grade help desk conversations in this process, without a server or a folder."""

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
CONCURRENCY = 10


class DeskToolSource:
    """A separate desk for each conversation."""

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
        result = self._desk.call(call.name, call.arguments)
        return ToolResult(result.text, result.is_error)

    async def state(self) -> State | None:
        return self._desk.state()


def read_scenarios(path: Path) -> list[Case]:
    return [case for case in load(path) if isinstance(case, Case)]


def simulate_cases(cases: Sequence[Case], agent: str, user: User, *, trials: int = 1) -> list[Prediction]:
    """Return the conversations of all cases in order, one per trial."""
    return asyncio.run(_simulate(cases, agent, user, trials))


async def _simulate(cases: Sequence[Case], agent: str, user: User, trials: int) -> list[Prediction]:
    client = ModelClient(ModelSettings(model=agent), Keys(), None)
    system = (FOLDER / "workflow.md").read_text(encoding="utf-8")
    slots = asyncio.Semaphore(CONCURRENCY)
    async with Simulator(
        "a", ToolCallingAgent(client, max_steps=MAX_STEPS), user, DeskToolSource(), clients=[client], system=system
    ) as simulator:

        async def simulate_one(case: Case, trial: int) -> Prediction:
            async with slots:
                return await simulator.predict(case, trial=trial)

        return await asyncio.gather(*(simulate_one(case, trial) for case in cases for trial in range(trials)))


def grade_all(cases: Iterable[Case], predictions: Sequence[Prediction]) -> list[GradeRecord]:
    grader = Grader(GRADING)
    return [
        grade for case in cases for grade in grader.record(case, [prediction for prediction in predictions if prediction.case == case.id])
    ]


def reliability(grades: Sequence[GradeRecord]) -> float:
    return sum(grade.metrics["process.reliability"] for grade in grades) / len(grades)
