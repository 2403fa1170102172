"""Do callmark's numbers agree with those of other systems? Every system runs in its own environment, on the same generated cases.

Evaluator `trajectory` is compared with agentevals, google-adk, pydantic-evals, ragas, deepeval and azure-ai-evaluation; evaluator `schema`
with DeepFabric; the evaluators of `callmark.compat.lob` with the formulas of the original LOB evaluation. Exits with status 1 if a number
differs without a listed reason, a listed difference is not as documented, or a system has no environment.

    python benchmarks/parity.py --environments .venv-peers [--cases 3000] [--seed 1] [--only NAME] [--page docs/reference/parity.md]
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parity_cases import ParityCase, generate
from parity_systems import SYSTEMS, Difference, Number, System, our_number

PEERS = Path(__file__).parent / "peers"
SHOWN = 5  # unexplained differences that are printed for a system


class Compared(NamedTuple):
    """What was compared with a system, and what came of it."""

    package: str
    version: str
    cases: int
    numbers: int
    equal: int
    explained: Counter[str]  # differing numbers by the title of the difference
    unexplained: list[str]
    undocumented: list[str]  # differences that are not as documented

    @property
    def failed(self) -> bool:
        return bool(self.unexplained or self.undocumented)


def ask_peer(environments: Path, environment: str, cases: Sequence[ParityCase]) -> tuple[str, list[dict[str, Number]]]:
    """Return the version of the system and its numbers for each case."""
    script = PEERS / f"parity_{environment}.py"
    command = [str(environments / environment / "bin" / "python"), str(script)]
    text = "".join(case.line() + "\n" for case in cases)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "HOME": folder}, input=text, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stderr[-3000:]}")
    first, *lines = done.stdout.splitlines()
    if len(lines) != len(cases):
        raise SystemExit(f"{script.name}: expected {len(cases)} lines, got {len(lines)}")
    return json.loads(first)["version"], [json.loads(line) for line in lines]


def compare(system: System, environments: Path, cases: Sequence[ParityCase]) -> Compared:
    """Compare every metric of the system on every case, and check its known differences."""
    examples = [ParityCase(one.expected, one.actual) for one in system.differences]
    version, numbers = ask_peer(environments, system.environment, [*cases, *examples])
    explained: Counter[str] = Counter()
    unexplained = []
    compared = equal = 0
    for case, theirs in zip(cases, numbers, strict=False):
        for metric, equivalent in system.metrics.items():
            if metric not in theirs:
                continue
            compared += 1
            ours = our_number(case, equivalent)
            if _is_equal(theirs[metric], ours, system.tolerance):
                equal += 1
            elif reason := _reason(system, metric, case, theirs[metric]):
                explained[reason.title] += 1
            else:
                unexplained.append(f"{metric}: {system.package} {theirs[metric]}, callmark {ours}: {case.line()}")
    undocumented = []
    for one, example, theirs in zip(system.differences, examples, numbers[len(cases) :], strict=True):
        ours = our_number(example, one.equivalent or system.metrics[one.metric])
        found = theirs.get(one.metric)
        if not (_is_equal(found, one.theirs, system.tolerance) and _is_equal(ours, one.ours, 1e-9)):
            undocumented.append(f"{one.title}: listed {one.theirs} and {one.ours}, found {found} and {ours}")
    return Compared(system.package, version, len(cases), compared, equal, explained, unexplained, undocumented)


def _reason(system: System, metric: str, case: ParityCase, theirs: Number) -> Difference | None:
    """Return the first known difference that explains the number of the system."""
    for one in system.differences:
        if one.applies and one.applies(metric, case):
            as_read = one.as_read and our_number(one.as_read(case), system.metrics[metric])
            if as_read is None or _is_equal(theirs, as_read, system.tolerance):
                return one
    return None


def _is_equal(one: Number, other: Number, tolerance: float) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= tolerance
    return one == other


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=Path, required=True, help="folder with one environment for each system")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="name of an environment; may be repeated")
    options = parser.parse_args()
    cases = generate(options.cases, options.seed)
    failed = False
    results = []
    for system in SYSTEMS:
        if options.only and system.environment not in options.only:
            continue
        compared = compare(system, options.environments, cases)
        results.append(compared)
        failed |= compared.failed
        print(compared.package, compared.version, compared.cases, compared.numbers, compared.equal, dict(compared.explained))
        for line in [*compared.unexplained[:SHOWN], *compared.undocumented]:
            print("  ", line)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
