"""Rounds: the plans of each round are simulated as a run in its own folder, until enough conversations are accepted.

    runs/round-1.jsonl      the plans of the first round
    runs/round-1/           the run for these plans

Rejected and failed conversations are replaced by new plans in the next round. An interrupted synthesis can be resumed: finished
conversations are not simulated again, errors are. Plans that differ from those of the interrupted synthesis raise `BadInput`.
"""

import os
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from math import ceil
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import load, write_lines
from callmark.formats.matching import match_predictions
from callmark.formats.predictions import Predictions
from callmark.formats.regular_files import open_regular
from callmark.formats.scenarios import write
from callmark.runs.run import Run
from callmark.runs.runner import Runner
from callmark.runs.store import PREDICTIONS
from callmark.synthesis.quality_filter import QualityFilter, SimulatedConversation
from callmark.types import Case, Conversation, Prediction, Tool

RUNS = "runs"
MAX_ROUNDS = 3

MakePlans = Callable[[int, int], list[Case]]  # (number, index of the first) → plans
RunPlans = Callable[[str, str], Runner]  # (file with the plans, name of the run folder) → the finished run


def round_size(quality_filter: QualityFilter) -> int:
    """Return how many plans the next round needs, by the acceptance rate so far; at most the number requested in total."""
    if not quality_filter.accepted:
        return quality_filter.number
    return min(ceil(quality_filter.missing * quality_filter.judged / len(quality_filter.accepted)), quality_filter.number)


class Rounds:
    """The rounds of one synthesis, in its folder `out`."""

    def __init__(
        self,
        out: str,
        quality_filter: QualityFilter,
        tools: tuple[Tool, ...],
        *,
        make_plans: MakePlans,
        run_plans: RunPlans,
        is_reproducible: bool = True,
    ) -> None:
        """Create rounds. Plans that are not reproducible are read from their file when a synthesis is resumed."""
        self._runs = Path(out, RUNS)
        self._filter = quality_filter
        self._tools = tools
        self._make_plans = make_plans
        self._run_plans = run_plans
        self._is_reproducible = is_reproducible
        self.plans: list[Case] = []
        self.simulated = 0
        self.errors: list[Prediction] = []
        self.stopped = ""  # why the run of a round stopped early
        self.exhausted = False  # whether there were no more plans

    def run(self) -> None:
        """Run rounds until enough conversations are accepted, there are no more plans, or a run stops early.

        A round in which every conversation failed is the last. Rounds of earlier, smaller requests do not count towards the maximum.
        """
        existing = sum(1 for _ in takewhile(lambda number: self._file(number).exists(), count(1)))
        for number in range(1, max(existing, 1) + MAX_ROUNDS):
            plans = self._plans(number)
            if not plans:
                self.exhausted = True
                return
            self.plans += plans
            before = self.simulated
            for finished in self._grade(self._simulate(number)):
                self._filter.add(self._conversations(finished, plans))
                self.stopped = finished.info.model_run.stop_reason if finished.info.model_run else ""
            if self.stopped or self.simulated == before or not self._filter.missing:
                return

    def _plans(self, number: int) -> list[Case]:
        """Return the plans of a round: those in its file, else new ones."""
        file = self._file(number)
        if file.exists() and not self._is_reproducible:
            return [case for case in load(file, cases=True) if isinstance(case, Case)]
        if file.exists():
            with open_regular(os.path.realpath(file), scrub(str(file))) as existing:
                written = existing.read()
            plans = self._make_plans(written.count(b"\n"), len(self.plans))
            if b"".join(write(plan) + b"\n" for plan in plans) != written:
                raise BadInput(
                    f"{scrub(str(self._runs.parent))} was started with different plans",
                    "Pass the same --seed, --balance and --scenarios as before, or choose another -o.",
                )
            return plans
        plans = self._make_plans(round_size(self._filter), len(self.plans))
        if plans:
            write_lines(str(file), map(write, plans))
        return plans

    def _simulate(self, number: int) -> Runner:
        try:
            return self._run_plans(str(self._file(number)), self._name(number))
        except BadInput as error:  # a run is named with --name, a synthesis with -o
            raise BadInput(str(error), error.hint.replace("--name", "-o")) from None

    def _grade(self, runner: Runner) -> list[Run]:
        try:
            return runner.grade()
        except BadInput as error:  # every conversation failed
            raise BadInput(str(error), "Fix the problem, then repeat the command with --resume.") from None

    def _conversations(self, finished: Run, plans: list[Case]) -> Iterator[SimulatedConversation]:
        """Yield the conversations of a round in the order of their plans, and collect its errors."""
        if not finished.is_graded:
            return
        predictions = match_predictions(Predictions(finished.folder.inside(PREDICTIONS), regular=True))
        conversations = []
        for plan, grade in zip(plans, finished.grades(), strict=True):
            prediction = predictions.find(plan, 0)
            if prediction is None:  # the run stopped early
                continue
            if prediction.error:
                self.errors.append(prediction)
            else:
                row = Conversation(plan.id, prediction.transcript, self._tools)
                conversations.append(SimulatedConversation(plan, prediction, grade, row))
        self.simulated += len(conversations)
        yield from conversations

    def _name(self, number: int) -> str:
        return f"round-{number}"

    def _file(self, number: int) -> Path:
        return self._runs / f"{self._name(number)}.jsonl"
