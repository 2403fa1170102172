"""Run `evaluate()` with callmark's five LOB evaluators, on recorded calls and on a target, in an environment with azure-ai-evaluation.

python azure_evaluate.py DATA FOLDER

Writes FOLDER/recorded.json, FOLDER/target.json and FOLDER/peer.json. Works offline: connection attempts are refused and counted.
"""

import json
import os
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

tried: list[str] = []


def refuse(_: socket.socket, address: Any) -> None:
    tried.append(str(address))
    raise ConnectionRefusedError("this run is offline")


socket.socket.connect = refuse  # type: ignore[assignment,method-assign]
socket.socket.connect_ex = refuse  # type: ignore[assignment,method-assign]
os.environ["PF_LOGGING_LEVEL"] = "CRITICAL"  # rows without a prediction are expected here

from azure.ai.evaluation import evaluate  # type: ignore[import-not-found]  # noqa: E402 - after the network is off

from callmark.compat.lob import (  # noqa: E402
    FunctionCallArgsPrecisionEvaluator,
    FunctionCallArgsRecallEvaluator,
    FunctionCallPrecisionEvaluator,
    FunctionCallRecallEvaluator,
    FunctionCallReliabilityEvaluator,
)

EVALUATORS = {
    "Precision_fn": FunctionCallPrecisionEvaluator(),
    "Recall_fn": FunctionCallRecallEvaluator(),
    "Precision_args": FunctionCallArgsPrecisionEvaluator(),
    "Recall_args": FunctionCallArgsRecallEvaluator(),
    "Reliability": FunctionCallReliabilityEvaluator(),
}


def config(actual: str) -> dict[str, Any]:
    return {"default": {"column_mapping": {"actual_function_calls": actual, "expected_function_calls": "${data.expected_function_calls}"}}}


def main(data: str, folder: str) -> None:
    recorded = {row["id"]: row for row in map(json.loads, Path(data).read_text(encoding="utf-8").splitlines())}

    def target(id: str, instructions: str) -> dict[str, Any]:  # noqa: A002 - the column's name
        """Replay the recorded calls; errors are caught and returned, as in the target of the LOB evaluation."""
        try:
            row = recorded[id]
            history = [{"role": "user", "content": instructions}]
            return {"chat_history": history, "function_calls": row["function_calls"], "error_message": row.get("error_message")}
        except Exception as error:
            return {"chat_history": [], "function_calls": [], "error_message": str(error)}

    evaluate(
        data=data, evaluators=EVALUATORS, evaluator_config=config("${data.function_calls}"), output_path=str(Path(folder, "recorded.json"))
    )
    truth = Path(folder, "truth.jsonl")
    kept = [{key: row[key] for key in ("id", "instructions", "expected_function_calls")} for row in recorded.values()]
    truth.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    evaluate(
        data=str(truth),
        target=target,
        evaluators=EVALUATORS,
        evaluator_config=config("${target.function_calls}"),
        output_path=str(Path(folder, "target.json")),
    )
    result = {"version": version("azure-ai-evaluation"), "connections": tried}
    Path(folder, "peer.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
