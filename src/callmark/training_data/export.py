"""Export training data from the failures of runs, and regression sets of what failed or flipped.

Rows are stratified by expected tool and kind of fault, near-duplicates are removed, and so is every row that is in the evaluation file.
Training on the cases of an evaluation file is refused unless that is allowed: scores on it would mean nothing afterwards.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

from msgspec import Struct

from callmark.data.expand import decision_points
from callmark.data.near_duplicates import NearDuplicateIndex, sketch
from callmark.errors import BadInput
from callmark.formats import load, write_lines
from callmark.formats.openai import write as write_decision_point
from callmark.formats.scenarios import write as write_scenario
from callmark.runs.run import Run
from callmark.runs.source import CaseSource
from callmark.training_data.attempts import AttemptedCase, read_attempts
from callmark.training_data.examples import REASONS, Example, Skipped, preference_pairs, sft_example
from callmark.training_data.leaks import Leak, TestSet
from callmark.training_data.targets import TrainingFormat, check_target, write_example
from callmark.types import Case
from callmark.wording import pluralize

TrainingKind = Literal["sft", "dpo", "regression"]
KINDS: tuple[TrainingKind, ...] = ("sft", "dpo", "regression")
SEED = 7
T = TypeVar("T")


class TrainingReport(Struct, frozen=True, omit_defaults=True):
    """What was exported and what was left out.

    Attributes:
        kind: `sft`, `dpo` or `regression`.
        rows: Number of rows written.
        cases: Number of cases of the runs.
        failed: Number of cases with a failed attempt.
        flipped: Number of these that also have a correct attempt.
        leaks: Number of failed cases left out because they are in the evaluation file, by how.
        duplicates: Number of rows left out as near-duplicates of another row.
        skipped: Number of failed cases without a row, by reason.
        by_tool: Number of rows by expected tool; the empty name is for rows that expect no call.
        beyond_limit: Number of rows left out by the limit.
    """

    kind: TrainingKind
    rows: int
    cases: int
    failed: int
    flipped: int
    leaks: dict[Leak, int] = {}
    duplicates: int = 0
    skipped: dict[Skipped, int] = {}
    by_tool: dict[str, int] = {}
    beyond_limit: int = 0


def export_training_data(
    runs: Sequence[Run],
    kind: TrainingKind,
    out: str,
    *,
    target: TrainingFormat = "openai",
    test: str | None = None,
    allow_test: bool = False,
    limit: int | None = None,
    seed: int = SEED,
) -> TrainingReport:
    """Write the file and return the counts. See `callmark.export_training`."""
    if kind not in KINDS:
        raise BadInput(f"unknown kind of training data {kind!r}", f"Kinds: {', '.join(KINDS)}.")
    check_target(target)
    if not runs:
        raise BadInput("no runs given")
    if kind == "regression":
        if test or allow_test:
            raise BadInput(
                "a regression set is for testing, so nothing is compared with an evaluation file",
                "Leave out test and allow_test (--test and --allow-test).",
            )
        return _export_regression(runs, out, limit=limit, seed=seed)
    for run in runs:
        if run.scenarios:
            raise BadInput(
                f"{run.folder}: its cases are scenarios, whose failures are not single decision points",
                "Export a regression set, or synthesize conversations like the failed ones with callmark synth --from-faults RUN.",
            )
    tests = _test_set(runs, test, allow_test=allow_test)
    attempted = read_attempts(runs)
    failed = [each for each in attempted if each.worst is not None]
    leaks: Counter[Leak] = Counter()
    kept = []
    for each in failed:
        leak = tests.leak(each.case) if tests is not None else None
        if leak is None:
            kept.append(each)
        else:
            leaks[leak] += 1
    skipped: Counter[Skipped] = Counter()
    made = list(_examples(kept, kind, skipped))
    examples = list(_unique(made))
    chosen = _stratified(examples, lambda example: (example.tool, example.fault), limit, seed)
    if not chosen:
        raise BadInput(_nothing(attempted, failed, leaks, skipped))
    rows = write_lines(out, [write_example(example, target) for example in chosen])
    return TrainingReport(
        kind,
        rows,
        len(attempted),
        len(failed),
        sum(each.flipped for each in failed),
        dict(leaks),
        sum(map(len, made)) - len(examples),
        dict(skipped),
        dict(Counter(example.tool for example in chosen).most_common()),
        len(examples) - len(chosen),
    )


def _export_regression(runs: Sequence[Run], out: str, *, limit: int | None, seed: int) -> TrainingReport:
    attempted = read_attempts(runs)
    failed = [each for each in attempted if each.worst is not None]
    chosen = _stratified(failed, _stratum, limit, seed)
    if not chosen:
        raise BadInput("no case failed, so there is nothing to export")
    order = {id(each): index for index, each in enumerate(attempted)}
    chosen.sort(key=lambda each: order[id(each)])
    write: Callable[[Case], bytes] = write_scenario if runs[0].scenarios else write_decision_point
    rows = write_lines(out, [write(each.case) for each in chosen])
    by_tool = Counter(_stratum(each)[0] for each in chosen)
    return TrainingReport(
        "regression",
        rows,
        len(attempted),
        len(failed),
        sum(each.flipped for each in failed),
        by_tool=dict(by_tool.most_common()),
        beyond_limit=len(failed) - len(chosen),
    )


def _test_set(runs: Sequence[Run], test: str | None, *, allow_test: bool) -> TestSet | None:
    if test is None:
        if allow_test:
            return None
        name = Path(runs[0].info.dataset.name).name
        raise BadInput(
            f"{runs[0].folder}: its failures are cases of {name}; training on them would make {name} useless as a test",
            f"Pass --test FILE with the cases that are kept for tests, or --allow-test if {name} is not a test set.",
        )
    if allow_test:
        raise BadInput("--test and --allow-test cannot be combined", "Leave out --allow-test: what is in the test file is removed.")
    with CaseSource(test, skip_bad=False) as source:
        digest = source.digest()
    for run in runs:
        if run.info.dataset.digest == digest:
            raise BadInput(
                f"{run.folder}: its cases are the evaluation file {test}, so this would train on the test",
                "Run the model on a training split, such as the one callmark split writes, and export that run.",
            )
    rows = list(load(test, cases=True))
    cut = [case for row in rows if not isinstance(row, Case) for case in decision_points(row, name=row.id)]
    return TestSet([*rows, *cut])


def _examples(failed: Iterable[AttemptedCase], kind: TrainingKind, skipped: Counter[Skipped]) -> Iterator[list[Example]]:
    for attempted in failed:
        made = sft_example(attempted) if kind == "sft" else preference_pairs(attempted)
        if isinstance(made, str):
            skipped[made] += 1
        else:
            yield made if isinstance(made, list) else [made]


def _unique(groups: Iterable[list[Example]]) -> Iterator[Example]:
    """Yield the examples whose case is not a near-duplicate of an earlier one. Those of one conversation are not compared."""
    index = NearDuplicateIndex()
    for group in groups:
        if index.add(sketch(group[0].case)) is None:
            yield from group


def _stratified(items: Sequence[T], stratum: Callable[[T], tuple[str, str]], limit: int | None, seed: int) -> list[T]:
    """Return all items in order, or `limit` of them: in turns from each stratum, in a random order within it."""
    if limit is None or len(items) <= limit:
        return list(items)
    random = Random(seed)
    strata: defaultdict[tuple[str, str], list[T]] = defaultdict(list)
    for item in items:
        strata[stratum(item)].append(item)
    for each in strata.values():
        random.shuffle(each)
    chosen: list[T] = []
    while len(chosen) < limit:
        for name in sorted(strata, key=lambda name: -len(strata[name])):
            if strata[name] and len(chosen) < limit:
                chosen.append(strata[name].pop())
    order = {id(item): index for index, item in enumerate(items)}
    return sorted(chosen, key=lambda item: order[id(item)])


def _stratum(attempted: AttemptedCase) -> tuple[str, str]:
    worst = attempted.worst
    faults = worst.grade.faults if worst is not None else ()
    expected = attempted.case.expected
    return expected[0].name if expected else "", faults[0].kind if faults else ""


def _nothing(attempted: Sequence[AttemptedCase], failed: Sequence[AttemptedCase], leaks: Counter[Leak], skipped: Counter[Skipped]) -> str:
    if not failed:
        return f"none of {len(attempted):,} cases failed, so there is nothing to learn from"
    if sum(leaks.values()) == len(failed):
        return f"all {len(failed):,} failed cases are in the evaluation file, so nothing is left to train on"
    why = ", ".join(pluralize(count, *REASONS[reason]) for reason, count in skipped.most_common())
    return f"no training data can be made from {len(failed):,} failed cases ({why or 'all are near-duplicates'})"
