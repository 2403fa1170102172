"""Grade one corpus with two versions of callmark and compare every metric of every row.

python benchmarks/same_numbers.py --before REVISION [--data DIR]

The corpus: the retail conversations with 2,000 perturbed predictions, the recorded airline conversations (both from the shared data), and
two simulated help desk chatbots, with three trials per scenario. Each version runs from its own checkout with the packages of this
environment. Rows are matched by case and trial. Exits with status 1 if a row is missing, or if a metric, an error or the number of faults
differs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PERTURBED = 2_000
SHOWN = 10  # differences that are printed
Key = tuple[str, str, int]  # run, case, trial
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, help="the revision to compare with")
    parser.add_argument("--data", default=os.environ.get("CALLMARK_REAL_DATA") or str(ROOT.parent / "shared" / "data"))
    options = parser.parse_args()
    data = Path(options.data)
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, "checkout")
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "-q", "--detach", checkout, options.before], check=True)
        try:
            before = grade_corpus(Path(folder, "before"), checkout / "src", data)
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", checkout], check=True)
        after = grade_corpus(Path(folder, "after"), ROOT / "src", data)
    return report(before, after)


def grade_corpus(folder: Path, source: Path, data: Path) -> dict[Key, Row]:
    """Run the corpus with the callmark in `source` and return every grade."""
    folder.mkdir()
    python = environment(folder / "env", source)

    def callmark(*arguments: object) -> None:
        done = subprocess.run([python, "-m", "callmark", *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"callmark {' '.join(map(str, arguments))}: {done.stderr}")

    callmark("expand", data / "retail" / "valid.jsonl", "-o", "eval.jsonl")
    cases = [json.loads(line) for line in (folder / "eval.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps(prediction) for prediction in perturbed_predictions(cases)]
    (folder / "predictions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    callmark("grade", "eval.jsonl", "--predictions", "predictions.jsonl", "-o", "runs", "--name", "retail")
    callmark("grade", data / "airline" / "gpt-4o-first-12-tasks.json", "-o", "runs", "--name", "airline")
    callmark("demo", "chatbot", "-o", "chatbot")
    for run in (folder / "chatbot" / "runs").iterdir():
        shutil.move(run, folder / "runs" / run.name.partition("-")[0])
    return {
        (run.name, grade["case"], grade.get("trial", 0)): grade
        for run in sorted((folder / "runs").iterdir())
        for grade in map(json.loads, (run / "grades.jsonl").read_text(encoding="utf-8").splitlines())
    }


def environment(folder: Path, source: Path) -> Path:
    """Return the interpreter of an environment with that source and the packages of this environment."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    packages = next((folder / "lib").glob("python*/site-packages"))
    (packages / "source.pth").write_text(f"{source}\n{sysconfig.get_paths()['purelib']}\n")
    return python


def perturbed_predictions(cases: list[Row]) -> list[Row]:
    """Return predictions with every kind of fault, the same for the same cases. Trial 0 is correct."""
    found: list[Row] = []
    trial = 0
    while len(found) < PERTURBED:
        for case in cases[: PERTURBED - len(found)]:
            calls = [json.loads(json.dumps(call)) for call in case["expected_output"]["tool_calls"]]
            chance = Random(f"{case['id']} {trial}")
            if trial:
                calls = perturb(calls, [tool["function"]["name"] for tool in case["tools"]], chance)
            found.append({"id": case["id"], "trial": trial, "tool_calls": calls})
        trial += 1
    return found


def perturb(calls: list[Row], tools: list[str], chance: Random) -> list[Row]:
    """Return the calls with one change, which may not affect the score."""
    function = calls[0]["function"]
    arguments = json.loads(function["arguments"])
    name = chance.choice(sorted(arguments)) if arguments else ""
    match chance.randrange(12):
        case 0:
            return []
        case 1:
            return [*calls, *calls]
        case 2:
            return [*calls, {"function": {"name": chance.choice(tools), "arguments": "{}"}}]
        case 3:
            function["name"] = chance.choice(tools)
        case 4:
            function["name"] = "no_such_tool"
        case 5:
            function["arguments"] = function["arguments"][:-1]
        case 6:
            arguments.pop(name, None)
        case 7:
            arguments["extra"] = chance.randrange(100)
        case 8 if name:
            arguments[name] = [arguments[name]]
        case 9 if name:
            arguments[name] = f"{arguments[name]}{chance.randrange(10)}"
        case 10 if name:
            arguments[name] = str(arguments[name]).upper()
        case _ if name:
            arguments[name] = f" {arguments[name]} " if isinstance(arguments[name], str) else json.dumps(arguments[name])
    if function["arguments"].endswith("}"):
        function["arguments"] = json.dumps(arguments)
    return calls


def report(before: dict[Key, Row], after: dict[Key, Row]) -> int:
    """Print the number of compared rows and the differences."""
    differences = [f"{key}: only {'before' if key in before else 'after'}" for key in sorted(before.keys() ^ after.keys())]
    metrics = 0
    for key in sorted(before.keys() & after.keys()):
        old, new = before[key], after[key]
        metrics += len(old.get("metrics", {}))
        if old.get("metrics", {}) != new.get("metrics", {}):
            differences.append(f"{key}: {old.get('metrics')} before, {new.get('metrics')} after")
        elif old.get("error", "") != new.get("error", ""):
            differences.append(f"{key}: error {old.get('error')!r} before, {new.get('error')!r} after")
        elif len(old.get("faults", ())) != len(new.get("faults", ())):
            differences.append(f"{key}: {len(old.get('faults', ()))} faults before, {len(new.get('faults', ()))} after")
    runs = {key[0]: sum(other[0] == key[0] for other in before) for key in before}
    print(" · ".join(f"{run} {count:,} rows" for run, count in runs.items()))
    print(f"{metrics:,} metrics of {len(before):,} rows compared, {len(differences):,} rows differ")
    for line in differences[:SHOWN]:
        print(f"  {line}"[:400])
    return 1 if differences or not before else 0


if __name__ == "__main__":
    sys.exit(main())
