"""`make finetune`: fine-tune the small local LLM on conversations with a retail store, and measure base against tuned.

    python -m examples.finetune --python .venv-peers/training/bin/python --budget 20m -o callmark-demo/finetune

1. Synthesize conversations, filter and split them (`data.py`). The held-out ones are never trained on.
2. Run the base model on the held-out decision points.
3. Train with LoRA on the CPU (`train.py`, in the environment of `--python`), for what is left of the budget.
4. Run the tuned model (`local:tuned.gguf`) on the same decision points, with the same prompts; compare and report.
5. Run the checkpoints on the validation decision points as far as the budget allows, for the history by step.

Both models get the same requests: tools in the prompt, free output, at most `MAX_TOKENS` tokens. Everything stays below the budget unless
the machine becomes much slower during the last run. Writes `result.json`, `report.html` and `curve.svg`. An earlier result in the output
folder is removed first; a folder with anything else is refused.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

import callmark
from callmark.models.local import weights_file
from examples.finetune.curve import draw_curve
from examples.finetune.data import Sizes, prepare

MAX_TOKENS = 128  # of a reply; calls have fewer
TRAIN_AT_LEAST = 120.0  # seconds; less teaches nothing
_RESERVED = 1.0  # time for the run of the tuned model, in runs of the base; its replies are shorter, its weights larger
_MARGIN = 30.0  # seconds for comparing and reporting
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_SETTINGS = ("--tools-in-prompt", "--param", f"max_tokens={MAX_TOKENS}", "--param", "repeat_penalty=1", "--no-cache")  # calls repeat IDs


class Counted(Struct, frozen=True):
    """What a run has: the mean call score, calls that are exactly right, and turns without a call that got one."""

    score: float
    calls: int
    right_calls: int
    replies: int
    called_instead: int


class Result(Struct, frozen=True):
    """The outcome: both runs, the mean difference of the call score with its 95% interval and p-value, and what it took."""

    base: Counted
    tuned: Counted
    difference: float
    low: float | None
    high: float | None
    p: float
    conversations: int
    seconds: float
    training_seconds: float


class RefusedError(Exception):
    """The options cannot be used. Its text is for the user."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.finetune", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True, help="Python with torch, transformers, peft and gguf")
    parser.add_argument("--budget", type=read_budget, default="20m", help="time for everything: 20m, 1800s or 0.5h")
    parser.add_argument("-o", "--out", type=Path, default=Path("callmark-demo/finetune"))
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args(arguments)
    try:
        fine_tune(options.python, options.budget, options.out, seed=options.seed)
    except RefusedError as problem:
        print(f"finetune: {problem}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"finetune: this command failed with status {failed.returncode}: {' '.join(map(str, failed.cmd))}", file=sys.stderr)
        return 1
    return 0


def read_budget(text: str) -> float:
    """Return the seconds of `20m`, `1800s` or `0.5h`."""
    found = _BUDGET.fullmatch(text.strip())
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"expected a time such as 20m, 1800s or 0.5h, got {text!r}")
    return float(found[1]) * _UNITS[found[2]]


def training_time(budget: float, passed: float, base_run: float) -> float:
    """Return the seconds for training: what the run of the tuned model leaves of the budget. Too little raises `RefusedError`."""
    seconds = budget - passed - _RESERVED * base_run - _MARGIN
    if seconds < TRAIN_AT_LEAST:
        needed = (budget - seconds + TRAIN_AT_LEAST) / 60
        raise RefusedError(f"the runs of the models leave {max(seconds, 0):.0f} s for training; try BUDGET={int(needed) + 1}m")
    return seconds


def fine_tune(python: str, budget: float, out: Path, *, seed: int = 7) -> Result:
    """Do everything, print it, and return the outcome."""
    start = time.monotonic()
    if out.exists() and not (out / "data").is_dir():
        raise RefusedError(f"{out}: already exists, and is not the folder of a fine-tune; choose another folder with -o")
    shutil.rmtree(out, ignore_errors=True)
    data, runs = out / "data", out / "runs"
    data.mkdir(parents=True)
    counts = prepare(data, Sizes(), seed=seed)
    leaks = ", ".join(f"{count} {how}" for how, count in counts.leaks.items()) or "none"
    print(
        f"{counts.kept} of {counts.synthesized} conversations kept · train {counts.train} ({counts.train_turns:,} turns) · "
        f"held out {counts.held_out}: {counts.calls} calls and {counts.replies} turns without one · left out as leaks: {leaks}",
        flush=True,
    )
    held_out = data / "held-out.jsonl"
    began = time.monotonic()
    base = _run(held_out, "local:", "base", runs)
    base_run = time.monotonic() - began
    seconds = training_time(budget, time.monotonic() - start, base_run)
    base_file = weights_file()
    script = Path(__file__).with_name("train.py")
    began = time.monotonic()
    _command([python, str(script), str(base_file), str(data), str(out), "--seconds", f"{seconds:.0f}", "--seed", str(seed)])
    training = time.monotonic() - began
    curve = msgspec.json.decode((out / "curve.json").read_bytes())
    tuned = _run(held_out, f"local:{out / 'tuned.gguf'}", "tuned", runs)
    draw_curve(curve, out / "curve.svg")
    _callmark("compare", str(runs / "base"), str(runs / "tuned"))
    _callmark("report", str(runs / "base"), str(runs / "tuned"), "-o", str(out / "report.html"))
    (compared,) = callmark.compare(base, tuned)
    change = compared.comparison.metrics["call.score"]
    result = Result(
        _count(base),
        _count(tuned),
        change.difference,
        change.low,
        change.high,
        change.p,
        counts.held_out,
        round(time.monotonic() - start),
        round(training),
    )
    (out / "result.json").write_bytes(msgspec.json.format(msgspec.json.encode(result)))
    print(describe(result), flush=True)
    models = {int(file.stem.split("-")[1]): f"local:{file}" for file in out.glob("checkpoint-*.gguf")}
    models = dict(sorted({**models, 0: "local:", curve[-1]["step"]: f"local:{out / 'tuned.gguf'}"}.items()))
    _history(data / "validation.jsonl", models, out, base_run, deadline=start + budget)
    return result


def describe(result: Result) -> str:
    """Return the outcome as text."""
    base, tuned = result.base, result.tuned
    interval = "" if result.low is None or result.high is None else f" [{result.low:+.3f}, {result.high:+.3f}]"
    return (
        f"calls exactly right: base {base.right_calls} of {base.calls}, tuned {tuned.right_calls} of {tuned.calls}\n"
        f"calls where none is expected: base {base.called_instead} of {base.replies}, tuned {tuned.called_instead} of {tuned.replies}\n"
        f"call.score: base {base.score:.3f}, tuned {tuned.score:.3f}, difference {result.difference:+.3f}{interval}, p = {result.p:.2g} "
        f"({result.conversations} held-out conversations)\n"
        f"{result.seconds / 60:.1f} minutes, {result.training_seconds / 60:.1f} of them training"
    )


def _history(cases: Path, models: dict[int, str], out: Path, base_run: float, *, deadline: float) -> None:
    """Run checkpoints on the validation cases while there is time, the last and the first step first, and chart them by step."""
    rows, runs = len(cases.read_text(encoding="utf-8").splitlines()), out / "steps"
    held_out = len((cases.parent / "held-out.jsonl").read_text(encoding="utf-8").splitlines())
    needed = _RESERVED * base_run * rows / held_out
    done = 0
    for step in (*list(models)[-1:], *list(models)[:-1]):
        if time.monotonic() + needed > deadline:
            print("No time is left to run the other checkpoints on the validation cases.")
            break
        _run(cases, models[step], f"step-{step}", runs, "--tag", f"step={step}")
        done += 1
    if done > 1:
        _callmark("report", *map(str, sorted(runs.glob("step-*"))), "--history", "-o", str(out / "history.html"))


def _run(cases: Path, model: str, name: str, runs: Path, *more: str) -> callmark.Run:
    _callmark("run", str(cases), "--model", model, *_SETTINGS, *more, "--name", name, "-o", str(runs))
    return callmark.Run(runs / name)


def _count(run: callmark.Run) -> Counted:
    grades = [grade for grade in run.grades() if not grade.error]
    calls = [grade for grade in grades if grade.expected]
    replies = [grade for grade in grades if not grade.expected]
    return Counted(
        sum(grade.metrics["call.score"] for grade in grades) / len(grades),
        len(calls),
        sum(grade.metrics["call.score"] == 1 for grade in calls),
        len(replies),
        sum(bool(grade.actual) for grade in replies),
    )


def _callmark(*arguments: str) -> None:
    print(f"\n$ callmark {' '.join(arguments)}", flush=True)
    _command([sys.executable, "-m", "callmark", *arguments])


def _command(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
