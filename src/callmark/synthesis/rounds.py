"""Rounds: plans are held as a run of their own, in a folder of its own, until enough conversations are kept. What was rejected, or came to
nothing, is made up for by further plans in the next round.

    runs/round-1.jsonl      its plans
    runs/round-1/           how they were held, a run like any other

A synthesis that was interrupted or killed is gone on with: what was held is not held again, but for errors. Plans that are not those it
was begun with raise `BadInput`.
"""

from collections.abc import Callable, Iterator
from itertools import count, takewhile
from math import ceil
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.formats.predictions import Predictions
from callmark.formats.scenarios import write
from callmark.runs.run import Run
from callmark.runs.runner import Asked, ModelRuns
from callmark.runs.store import PREDICTIONS
from callmark.synthesis.keeping import Held, QualityFilter
from callmark.types import Case, Conversation, Prediction, Tool

RUNS = "runs"
MOST_ROUNDS = 3

Plan = Callable[[int, int], list[Case]]  # so many plans, from that one on
Ask = Callable[[str, str], ModelRuns]  # the run of a file of plans, into a folder of that name, asked


def round_size(keeper: QualityFilter) -> int:
    """How many plans it takes to keep what is missing, if as many are kept of them as of those before; at most as many as are wanted."""
    if not keeper.kept:
        return keeper.number
    return min(ceil(keeper.missing * keeper.judged / len(keeper.kept)), keeper.number)


class Rounds:
    """The rounds of one synthesis, in its folder. `plan` makes plans, `ask` holds them."""

    def __init__(self, out: str, keeper: QualityFilter, tools: tuple[Tool, ...], *, plan: Plan, ask: Ask) -> None:
        self._runs = Path(out, RUNS)
        self._keeper = keeper
        self._tools = tools
        self._plan = plan
        self._ask = ask
        self.plans: list[Case] = []
        self.held = 0
        self.errors: list[Prediction] = []
        self.stopped = ""  # why not everything was held
        self.exhausted = False  # whether there were no more plans

    def hold(self) -> None:
        """Hold one round after the other until enough is kept, nothing more can be planned, or something says to stop. Where not one
        conversation of a round could be held, further plans would end as it did. Rounds of an earlier, smaller order do not count.
        """
        before_it = sum(1 for _ in takewhile(lambda number: self._file(number).exists(), count(1)))
        for number in range(1, max(before_it, 1) + MOST_ROUNDS):
            plans = self._plans_of(number)
            if not plans:
                self.exhausted = True
                return
            self.plans += plans
            before = self.held
            for asked in self._graded(self._asked(number)):
                self._keeper.take(self._held(asked, plans))
                self.stopped = asked.info.stopped
            if self.stopped or self.held == before or not self._keeper.missing:
                return

    def _plans_of(self, number: int) -> list[Case]:
        """The plans of a round: those that it was begun with, or as many new ones as it takes."""
        file = self._file(number)
        if file.exists():
            written = file.read_bytes()
            plans = self._plan(written.count(b"\n"), len(self.plans))
            if b"".join(write(plan) + b"\n" for plan in plans) != written:
                raise BadInput(
                    f"the plans are others than those that {scrub(str(self._runs.parent))} was begun with",
                    "Give the same --seed, --balance and --scenarios as then, or choose another -o.",
                )
            return plans
        plans = self._plan(round_size(self._keeper), len(self.plans))
        if plans:
            write_lines(str(file), map(write, plans))
        return plans

    def _asked(self, number: int) -> ModelRuns:
        try:
            return self._ask(str(self._file(number)), self._name(number))
        except BadInput as error:  # a run has a --name, a synthesis a folder
            raise BadInput(str(error), error.hint.replace("--name", "-o")) from None

    def _graded(self, runs: ModelRuns) -> list[Asked]:
        try:
            return runs.grade()
        except BadInput as error:  # not one conversation could be held
            raise BadInput(str(error), "When that is mended, the same command with --resume goes on.") from None

    def _held(self, asked: Asked, plans: list[Case]) -> Iterator[Held]:
        """The conversations of a round, in the order of their plans; errors are set apart."""
        if asked.graded is None:
            return
        by_case: dict[str, Prediction] = {}
        for _, row in Predictions(asked.folder.file(PREDICTIONS)):
            if row.prediction.case not in by_case or by_case[row.prediction.case].error:
                by_case[row.prediction.case] = row.prediction
        held = []
        for plan, grade in zip(plans, Run(asked.folder.path).grades(), strict=True):
            prediction = by_case.get(plan.id)
            if prediction is None:  # the asking was stopped before
                continue
            if prediction.error:
                self.errors.append(prediction)
            else:
                held.append(Held(plan, prediction, grade, Conversation(plan.id, prediction.transcript, self._tools)))
        self.held += len(held)
        yield from held

    def _name(self, number: int) -> str:
        return f"round-{number}"

    def _file(self, number: int) -> Path:
        return self._runs / f"{self._name(number)}.jsonl"
