"""Collect the cases of a package's own tests. Run by benchmarks/parity.py in the package's environment, with pytest.

The tests run unchanged, from the source archive; the package's evaluator is wrapped to record what it is given. Prints each case once, as
a line of JSON. Ground truth that is a list of names is taken as calls without arguments. Inputs that the evaluator rejects are left out.

    python own_cases.py NAME ARCHIVE.tar.gz TEST…
"""

import json
import logging
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false", LANGSMITH_TEST_TRACKING="false", RAGAS_DO_NOT_TRACK="true")
Record = Callable[[Any, Any], None]  # expected and actual calls, each a list of names and arguments


def watch_agentevals(record: Record) -> None:
    import agentevals.trajectory.match as module  # type: ignore[import-not-found, unused-ignore]
    from agentevals.trajectory.utils import (  # type: ignore[import-not-found, unused-ignore]
        _extract_tool_calls,
        _normalize_to_openai_messages_list,
    )

    original = module.create_trajectory_match_evaluator

    def calls(messages: Any) -> list[tuple[str, Any]]:
        return [(call["name"], call["args"]) for call in _extract_tool_calls(_normalize_to_openai_messages_list(messages))]

    def create(**options: Any) -> Any:
        evaluate = original(**options)

        def recorded(*, outputs: Any, reference_outputs: Any, **others: Any) -> Any:
            result = evaluate(outputs=outputs, reference_outputs=reference_outputs, **others)
            record(calls(reference_outputs), calls(outputs))
            return result

        return recorded

    module.create_trajectory_match_evaluator = create


def watch_azure(record: Record) -> None:
    from azure.ai.evaluation._evaluators._task_navigation_efficiency import (  # type: ignore[import-not-found, unused-ignore]
        _TaskNavigationEfficiencyEvaluator as Evaluator,
    )

    original = Evaluator._do_eval

    async def recorded(self: Any, eval_input: Any) -> Any:
        result = await original(self, eval_input)
        truth = eval_input["ground_truth"]
        names, parameters = truth if isinstance(truth, tuple) else (truth, {})
        record(
            [(name, parameters.get(name, {})) for name in names], self._extract_tool_names_and_params_from_response(eval_input["response"])
        )
        return result

    Evaluator._do_eval = recorded


def watch_ragas(record: Record) -> None:
    from ragas.metrics.collections import ToolCallAccuracy, ToolCallF1  # type: ignore[import-not-found, unused-ignore]

    for metric in (ToolCallAccuracy, ToolCallF1):
        _watch_ragas_metric(metric, record)


def _watch_ragas_metric(metric: Any, record: Record) -> None:
    original = metric.ascore

    async def recorded(self: Any, user_input: Any, reference_tool_calls: Any) -> Any:
        result = await original(self, user_input, reference_tool_calls)
        actual = [call for message in user_input for call in getattr(message, "tool_calls", None) or []]
        record(*([(call.name, call.args) for call in calls] for calls in (reference_tool_calls, actual)))
        return result

    metric.ascore = recorded


def main(name: str, archive: str, tests: Iterable[str]) -> int:
    """Print the cases. Return the exit status of pytest."""
    import pytest

    logging.disable()
    found: dict[str, None] = {}

    def record(expected: Any, actual: Any) -> None:
        sides = {"expected": expected, "actual": actual}
        case = {side: [{"name": name, "arguments": arguments} for name, arguments in calls] for side, calls in sides.items()}
        found[json.dumps(case)] = None

    {"agentevals": watch_agentevals, "azure": watch_azure, "ragas": watch_ragas}[name](record)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
        (root,) = Path(folder).iterdir()
        out, sys.stdout = sys.stdout, sys.stderr
        options = ["-q", "--noconftest", "-c", os.devnull, "--rootdir", folder, "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
        status = pytest.main([*options, *(str(root / test) for test in tests)])
    out.write("".join(line + "\n" for line in found))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
