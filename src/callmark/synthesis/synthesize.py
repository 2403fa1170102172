"""Simulate planned conversations until enough pass the quality filter, and write them.

The same options give the same bytes, regardless of the order in which conversations end and of interruptions.
"""

from collections.abc import Callable
from pathlib import Path

from callmark.calls.strict import scrub
from callmark.calls.toolsets import tools_json
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.runs.cache import Cache
from callmark.runs.event_loop import run_sync
from callmark.runs.grade import GradeOptions
from callmark.runs.runner import ProgressListener, Runner
from callmark.runs.selection import CaseSelection
from callmark.runs.worker import Budget
from callmark.simulation.open_simulator import list_tools, open_simulator, open_user_for_checks
from callmark.simulation.scenario_checks import check_scenario
from callmark.synthesis.options import SynthesisOptions
from callmark.synthesis.quality_filter import QualityFilter
from callmark.synthesis.report import EXPERT, PLANS, REJECTED, TRAIN, VALID, SynthesisReport, write_output
from callmark.synthesis.rounds import RUNS, Rounds
from callmark.types import Case


def synthesize(
    options: SynthesisOptions,
    keys: Keys,
    *,
    budget: Budget | None = None,
    open_cache: Callable[[], Cache | None] = lambda: None,
    progress: ProgressListener | None = None,
) -> SynthesisReport:
    """Simulate conversations until enough are accepted, and write the files. `open_cache` opens the response cache, once per round.

    Invalid options raise `BadInput` before anything is simulated; so does a folder that already contains a dataset, unless `resume` is set.
    `KeyboardInterrupt` passes through; conversations that ended before are stored and reused with `resume`.
    """
    _check_output_folder(options)
    simulation, grading, budget = options.simulation, options.grading_settings, budget or Budget()
    tools = options.listed_tools or run_sync(lambda: list_tools(simulation.tools, keys))
    expert = options.world.expert() if options.agent is None else None
    user = options.world.user(options.seed) if options.user is None else None
    name, agent = options.agent or (EXPERT, ModelSettings(model=EXPERT))
    checking_user = user or open_user_for_checks(simulation)
    quality_filter = QualityFilter(options.number, ignore=options.grading.ungrounded)

    def make_plans(number: int, start: int) -> list[Case]:
        plans = options.world.plans(number, seed=options.seed, start=start, balance=options.balance)
        for plan in plans:
            check_scenario(plan, checking_user, tools, ignore=grading.ignore)
        return plans

    def run_plans(file: str, folder: str) -> Runner:
        cache = open_cache()
        simulator = open_simulator(
            name, agent, simulation, keys, cache=cache, concurrency=options.concurrency, expert=expert, user=user, listed_tools=tools
        )
        selection = CaseSelection(file, scenarios=True, tools_content=tools_json(tools, annotations=True))
        out = str(Path(options.out, RUNS))
        grade_options = GradeOptions()
        runner = Runner(selection, [simulator], grading, keys, out=out, name=folder, resume=options.resume, options=grade_options)
        run_sync(lambda: runner.predict(cache=cache, budget=budget, progress=progress))
        return runner

    rounds = Rounds(
        options.out, quality_filter, tools, make_plans=make_plans, run_plans=run_plans, is_reproducible=options.world.is_reproducible
    )
    rounds.run()
    return write_output(options, rounds, quality_filter, tools, keys)


def _check_output_folder(options: SynthesisOptions) -> None:
    """Raise `BadInput` if files in the folder would be overwritten."""
    folder = Path(options.out)
    is_started = (folder / RUNS / "round-1.jsonl").exists()
    if is_started and not options.resume:
        raise BadInput(f"{scrub(options.out)} already contains synthesized data", "Pass --resume to resume the run, or choose another -o.")
    existing = [name for name in (TRAIN, VALID, REJECTED, PLANS) if (folder / name).exists()]
    if existing and not is_started:
        raise BadInput(f"{scrub(str(folder / existing[0]))} already exists, and was not written by callmark synth", "Choose another -o.")
