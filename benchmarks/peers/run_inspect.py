"""Measure the speed of inspect-ai with its mock model. Run by benchmarks/running.py in an environment with inspect-ai.

The mock model returns the expected call at once, with its usage set, so that no tokens are counted. There is one tool and one generation
per sample; no call is executed; the scorer compares name and arguments. It is timed without samples in the log, which is the fastest way,
and again with samples logged, as callmark does. Nothing is displayed. The time of `eval` for one sample is subtracted. Prints one JSON
line.

    python benchmarks/peers/run_inspect.py CASES.jsonl [--at-once 100] [--passes 1]
"""

import argparse
import json
import os
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["INSPECT_DISPLAY"] = "none"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--passes", type=int, default=1)
    options = parser.parse_args()
    cases = [json.loads(line) for line in Path(options.cases).read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        evaluate(cases[:1], options.at_once, folder, recorded=True)  # imports at first use are not timed
        speeds = {}
        right = 0
        for recorded in (False, True):
            alone = best = float("inf")
            for _ in range(options.passes):
                alone = min(alone, evaluate(cases[:1], options.at_once, folder, recorded=recorded)[0])
                seconds, right = evaluate(cases, options.at_once, folder, recorded=recorded)
                best = min(best, seconds)
            speeds[recorded] = len(cases) / (best - alone)
    line = {
        "name": "inspect-ai",
        "version": metadata.version("inspect-ai"),
        "per_second": speeds[False],
        "recorded_per_second": speeds[True],
        "right": right,
        "note": f"eval() with mockllm/model, max_connections and max_samples {options.at_once}, display none, log_realtime off",
    }
    print(json.dumps(line))


def evaluate(cases: list[dict[str, Any]], at_once: int, folder: str, *, recorded: bool) -> tuple[float, int]:
    """Return the seconds of `eval` and the number of correct samples; raise if the run failed."""
    from inspect_ai import Task, eval  # type: ignore[import-not-found, unused-ignore]  # noqa: A004 - its name
    from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found, unused-ignore]
    from inspect_ai.model import ModelOutput, ModelUsage, get_model  # type: ignore[import-not-found, unused-ignore]
    from inspect_ai.scorer import Score, accuracy, scorer  # type: ignore[import-not-found, unused-ignore]
    from inspect_ai.solver import generate, use_tools  # type: ignore[import-not-found, unused-ignore]
    from inspect_ai.tool import ToolDef, ToolParams  # type: ignore[import-not-found, unused-ignore]

    answers = {}
    samples = []
    for case in cases:
        asked, call = case["messages"][-1]["content"], case["expected_output"]["tool_calls"][0]["function"]
        answers[asked] = (call["name"], json.loads(call["arguments"]))
        samples.append(Sample(id=case["id"], input=asked, target=json.dumps([call["name"], json.loads(call["arguments"])])))
    function = cases[0]["tools"][0]["function"]

    async def carry_out(order_id: str) -> str:
        return ""

    tool = ToolDef(carry_out, function["name"], function["description"], ToolParams.model_validate(function["parameters"])).as_tool()

    def answer(messages: Any, *_: Any) -> Any:
        output = ModelOutput.for_tool_call("mockllm/model", *answers[messages[-1].text])
        output.usage = ModelUsage(input_tokens=85, output_tokens=12, total_tokens=97)
        return output

    @scorer(metrics=[accuracy()])  # type: ignore[untyped-decorator, unused-ignore]
    def same_call() -> Any:
        async def score(state: Any, target: Any) -> Any:
            made = [[call.function, call.arguments] for call in state.output.message.tool_calls or []]
            return Score(value=1 if made == [json.loads(target.text)] else 0)

        return score

    task = Task(dataset=MemoryDataset(samples), solver=[use_tools(tool), generate(tool_calls="none")], scorer=same_call())
    began = time.perf_counter()
    log = eval(
        task,
        model=get_model("mockllm/model", custom_outputs=answer, memoize=False),
        display="none",
        log_dir=folder,
        log_samples=recorded,
        log_realtime=False,
        log_model_api=False,
        log_level="error",
        log_level_transcript="error",
        score_display=False,
        max_samples=at_once,
        max_connections=at_once,
    )[0]
    seconds = time.perf_counter() - began
    if log.status != "success" or log.results is None:
        raise RuntimeError(f"inspect-ai did not finish: {log.error.message if log.error else log.status}")
    return seconds, round(log.results.scores[0].metrics["accuracy"].value * len(cases))


if __name__ == "__main__":
    main()
