"""`make training-proof`: the reward in TRL, in verifiers and as a Python grader gives the numbers of `callmark.grade`, to the bit.

    python -m tests.rewards.packages --environments .venv-peers

One corpus of 2,000 completions passes through TRL's own calculation of rewards, through `Task.score` of verifiers, and (the messages in
it) through the exported Python grader, run with the limits of the service. Then one step of `GRPOTrainer` with the reward and one in a
simulated conversation, one step of `SFTTrainer` and `DPOTrainer` on exported files, and two evaluations by `vf-eval`: one with known
answers, one of a tiny model on the CPU. Exits with status 1 if a number differs or something fails.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

import callmark
from callmark.errors import BadInput
from callmark.rewards import python_grader
from tests.rewards.corpus import Completion, completions
from tests.rewards.failed_run import failed_run, hotel_cases, write_rows

HERE = Path(__file__).parent
UNRECOGNIZED = 0.0  # what a completion in an unrecognized format earns: as much as a malformed call
TIMEOUT = 1200.0  # seconds for a script


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", default=".venv-peers", metavar="DIR")
    environments = Path(parser.parse_args().environments).absolute()
    corpus = list(completions())
    expected = [graded(each) for each in corpus]
    print(f"{len(corpus):,} completions: " + ", ".join(f"{expected.count(value):,} × {value:g}" for value in sorted(set(expected))))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problems = [*_python_grader(corpus, expected, folder)]
        problems += _prepare(corpus, folder)
        problems += _trl(environments / "training/bin/python", expected, folder)
        problems += _verifiers(environments, expected, folder)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


def graded(each: Completion) -> float:
    """Return what `callmark.grade` gives for a completion."""
    try:
        return callmark.grade(each.expected_output["tool_calls"], each.completion, tools=each.tools).metrics["call.score"]
    except BadInput as error:
        if "unrecognized tool-call format" not in str(error):
            raise
        return UNRECOGNIZED


def service_input(each: Completion) -> dict[str, Any]:
    """Return what a service passes to a grader for a completion that is a message."""
    message = each.completion[0]
    sample = {"output_text": message["content"], "output_tools": message.get("tool_calls", [])}
    return {"sample": sample, "item": {"expected_output": each.expected_output, "tools": each.tools}}


def run_service(grader: dict[str, Any], inputs: list[dict[str, Any]], folder: Path) -> list[float]:
    """Return the rewards of a grader that runs as the service runs it."""
    (folder / "grader.json").write_text(json.dumps(grader), encoding="utf-8")
    write_rows(folder / "inputs.jsonl", inputs)
    command = [sys.executable, "-I", "-S", str(HERE / "service.py"), str(folder / "grader.json"), str(folder / "inputs.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return list(json.loads(done.stdout))


def _python_grader(corpus: list[Completion], expected: list[float], folder: Path) -> Iterator[str]:
    messages = [(each, value) for each, value in zip(corpus, expected, strict=True) if each.form == "messages"]
    found = run_service(python_grader(), [service_input(each) for each, _ in messages], folder)
    yield from _differences("Python grader (messages)", found, [value for _, value in messages])


def _prepare(corpus: list[Completion], folder: Path) -> Iterator[str]:
    write_rows(folder / "corpus.jsonl", [msgspec.to_builtins(each) for each in corpus])
    run = failed_run(folder, hotel_cases(0, 16))
    (folder / "trl").mkdir()
    for kind in ("sft", "dpo"):
        callmark.export_training(run, folder / "trl" / f"{kind}.jsonl", kind=kind, to="trl", allow_test=True)
    callmark.synth_scenarios(str(folder / "scenarios.jsonl"), number=3, seed=1)
    yield from ()


def _trl(python: Path, expected: list[float], folder: Path) -> Iterator[str]:
    tools = f"mcp:{sys.executable} -m callmark.worlds.helpdesk"
    arguments = [str(folder / "corpus.jsonl"), str(folder / "trl"), str(folder / "scenarios.jsonl"), tools, str(folder / "trl.json")]
    if problem := _script(python, "trl_steps.py", arguments):
        yield problem
        return
    found = json.loads((folder / "trl.json").read_text(encoding="utf-8"))
    yield from _differences("TRL, reward function", found["rewards"], expected)
    yield from _differences(
        "TRL, tensor of the trainer", found["tensor"], [struct.unpack("f", struct.pack("f", each))[0] for each in expected]
    )
    print(f"GRPOTrainer: step {found['grpo']['step']:g}, rewards/call.score/mean {found['grpo']['rewards/call.score/mean']:g}")
    environment = found["environment"]
    print(f"GRPOTrainer with an environment: step {environment['logged']['step']:g}, {len(environment['tools'])} tools")
    for kind in ("sft", "dpo"):
        written = [json.loads(line) for line in (folder / "trl" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()]
        if found[f"{kind}_rows"] != written:
            yield f"{kind}: datasets reads other rows than were written"
        print(f"{kind.upper()}Trainer: step {found[kind]['step']:g}, loss {found[kind]['loss']}, {len(written)} rows read as written")


def _verifiers(environments: Path, expected: list[float], folder: Path) -> Iterator[str]:
    with _model_server(environments / "training/bin/python", folder / "cases.jsonl") as url:
        arguments = [str(folder / "corpus.jsonl"), str(folder / "cases.jsonl"), url, str(folder / "verifiers.json")]
        problem = _script(environments / "verifiers/bin/python", "verifiers_eval.py", arguments)
    if problem:
        yield problem
        return
    found = json.loads((folder / "verifiers.json").read_text(encoding="utf-8"))
    yield from _differences("verifiers, Task.score", found["rewards"], expected)
    cases = {row["id"]: row["expected_output"]["tool_calls"] for row in hotel_cases(0, 16)}
    for number, (case, result) in enumerate(sorted(found["replayed"].items(), key=lambda item: list(cases).index(item[0]))):
        right = 1.0 if number % 2 == 0 or not cases[case] else 0.0
        if result["reward"] != right or not result["ok"]:
            yield f"vf-eval, known answers: {case}: expected {right}, got {result}"
    for name in ("replayed", "model"):
        rewards = [result["reward"] for result in found[name].values()]
        if not rewards or None in rewards:
            yield f"vf-eval, {name}: not every task has a reward: {rewards}"
        else:
            print(f"vf-eval, {name}: {len(rewards)} tasks, mean reward {sum(rewards) / len(rewards):.3f}")
    invalid = [case for case, valid in found["valid"].items() if not valid]
    print(f"Task.validate: {len(invalid)} of {len(found['valid'])} cases have an expected call that cannot be made: {', '.join(invalid)}")


def _differences(name: str, found: list[float], expected: list[float]) -> Iterator[str]:
    different = [index for index, (one, other) in enumerate(zip(found, expected, strict=True)) if one != other]
    print(f"{name}: {len(found) - len(different):,} of {len(found):,} rewards are the same")
    if different:
        first = different[0]
        yield f"{name}: {len(different):,} rewards differ; completion {first}: expected {expected[first]}, got {found[first]}"


def _script(python: Path, script: str, arguments: list[str]) -> str:
    """Run a script in an environment; return what went wrong."""
    done = subprocess.run([str(python), str(HERE / script), *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    return f"{script}: {done.stderr[-3000:]}" if done.returncode else ""


@contextmanager
def _model_server(python: Path, prompts: Path) -> Iterator[str]:
    """Serve the tiny model, and yield its address."""
    command = [str(python), str(HERE / "model_server.py"), str(prompts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
