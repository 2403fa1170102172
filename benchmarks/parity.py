"""Do callmark's numbers agree with those of other systems? Every system runs in its own environment, on the same generated cases.

Evaluator `trajectory` is compared with agentevals, google-adk, pydantic-evals, ragas, deepeval and azure-ai-evaluation; evaluator `schema`
with DeepFabric; the evaluators of `callmark.compat.lob` with the formulas of the original LOB evaluation. Exits with status 1 if a number
differs without a listed reason, a listed difference is not as documented, or a system has no environment.

The cases of a package's own tests are compared too, if its source archive has some. `--page` writes the tables into the documentation.

    python benchmarks/parity.py --environments .venv-peers [--cases 3000] [--seed 1] [--only NAME] [--page docs/reference/parity.md]
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import parity_deepfabric
import parity_lob
from parity_cases import ParityCase, generate
from parity_page import Compared, tables, write_page
from parity_systems import SYSTEMS, Difference, Number, System, our_number

PEERS = Path(__file__).parent / "peers"
SHOWN = 5  # unexplained differences that are printed for a system


def ask_peer(environments: Path, environment: str, cases: Sequence[ParityCase]) -> tuple[str, list[dict[str, Number]]]:
    """Return the version of the system and its numbers for each case."""
    script = PEERS / f"parity_{environment}.py"
    python = environments / environment / "bin" / "python"
    first, *lines = _run([str(python.absolute()), str(script)], "".join(case.line() + "\n" for case in cases)).splitlines()
    if len(lines) != len(cases):
        raise SystemExit(f"{script.name}: expected {len(cases)} lines, got {len(lines)}")
    return json.loads(first)["version"], [json.loads(line) for line in lines]


def own_cases(environments: Path, system: System) -> list[ParityCase]:
    """Return the cases of the package's own tests, each once."""
    if not system.own_tests:
        return []
    archives = list((environments / system.environment / "sources").glob("*.tar.gz"))
    if len(archives) != 1:
        raise SystemExit(f"{system.package}: expected one source archive in its environment's folder sources, found {len(archives)}")
    python = environments / system.environment / "bin" / "python"
    command = [str(python.absolute()), str(PEERS / "own_cases.py"), system.environment, str(archives[0].absolute()), *system.own_tests]
    lines = _run(command).splitlines()
    return [ParityCase(*([(call["name"], call["arguments"]) for call in calls] for calls in json.loads(line).values())) for line in lines]


def _run(command: Sequence[str], text: str = "") -> str:
    """Return the standard output of a script, run in an empty folder that is also the home folder. End the comparison if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        home = {**os.environ, "HOME": folder}
        done = subprocess.run(command, cwd=folder, env=home, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{Path(command[1]).name} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def compare(system: System, environments: Path, generated: Sequence[ParityCase]) -> Compared:
    """Compare every metric of the system on every case, and check its known differences."""
    examples = [ParityCase(one.expected, one.actual) for one in system.differences]
    own = own_cases(environments, system)
    cases = [*generated, *own]
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
            elif reason := _reason(system, metric, case, theirs[metric], ours):
                explained[reason.title] += 1
            else:
                unexplained.append(f"{metric}: {system.package} {theirs[metric]}, callmark {ours}: {case.line()}")
    undocumented = []
    for one, example, theirs in zip(system.differences, examples, numbers[len(cases) :], strict=True):
        ours = our_number(example, one.equivalent or system.metrics[one.metric])
        found = theirs.get(one.metric)
        if not (_is_equal(found, one.theirs, system.tolerance) and _is_equal(ours, one.ours, 1e-9)):
            undocumented.append(f"{one.title}: listed {one.theirs} and {one.ours}, found {found} and {ours}")
    return Compared(system.package, version, len(generated), len(own), compared, equal, explained, unexplained, undocumented)


def _reason(system: System, metric: str, case: ParityCase, theirs: Number, ours: float) -> Difference | None:
    """Return the first known difference that explains the number of the system."""
    for one in system.differences:
        if one.applies and one.applies(metric, case):
            if one.predicts:
                explained = _is_equal(theirs, one.predicts(metric, case), system.tolerance)
            elif isinstance(theirs, float | int) and isinstance(one.theirs, float | int):
                explained = (theirs > ours) == (one.theirs > one.ours)
            else:
                explained = theirs == one.theirs
            if explained:
                return one
    return None


def _is_equal(one: Number, other: Number, tolerance: float) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) <= tolerance
    return one == other


def compare_deepfabric(environments: Path, samples: int, seed: int) -> Compared:
    """Compare evaluator `schema` with DeepFabric's metrics."""
    checked = parity_deepfabric.compare_package(str(environments / "deepfabric" / "bin" / "python"), samples, seed)
    return Compared(
        "deepfabric", checked.version, samples, 0, checked.numbers, checked.equal, Counter(), checked.unexplained, checked.undocumented
    )


def compare_lob(count: int, seed: int) -> Compared:
    """Compare `strict_original=True` with the formulas of the original LOB evaluation."""
    equal, unequal = parity_lob.compare_formulas(count, seed)
    numbers = equal + len(unequal)
    return Compared("LOB evaluation", "formulas", count, 0, numbers, equal, Counter(), unequal, parity_lob.check_differences())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=Path, required=True, help="folder with one environment for each system")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="name of an environment, or lob; may be repeated")
    parser.add_argument("--page", type=Path, help="page of the documentation to write the tables into")
    options = parser.parse_args()
    environments: Path = options.environments
    cases = generate(options.cases, options.seed)
    comparisons: dict[str, Callable[[], Compared]] = {
        system.environment: partial(compare, system, environments, cases) for system in SYSTEMS
    }
    comparisons["deepfabric"] = partial(compare_deepfabric, environments, options.cases, options.seed)
    comparisons["lob"] = partial(compare_lob, options.cases, options.seed)
    chosen = options.only or list(comparisons)
    if unknown := set(chosen) - set(comparisons):
        parser.error(f"--only: expected one of {', '.join(comparisons)}, got {', '.join(sorted(unknown))}")
    if missing := [name for name in chosen if name != "lob" and not (environments / name / "bin" / "python").exists()]:
        raise SystemExit(
            f"no environment in {environments} for: {', '.join(missing)}; make parity creates them, --only compares with others"
        )
    results = []
    for name in chosen:
        results.append(comparisons[name]())
        for line in [*results[-1].unexplained[:SHOWN], *results[-1].undocumented]:
            print(f"NOT AS LISTED: {results[-1].package}: {line}")
    text = tables(results)
    print(text)
    failed = [one.package for one in results if one.failed]
    if options.page and not failed:
        write_page(options.page, text)
    print(f"differences without a listed reason: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
