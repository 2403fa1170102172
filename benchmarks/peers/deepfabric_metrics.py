"""Compute DeepFabric's own metrics. Run by benchmarks/parity_deepfabric.py in an environment with deepfabric.

Its complete evaluation runs unchanged, from dataset to metrics, with its OpenAI backend; only the HTTP client is replaced by one that
returns recorded messages.

    python deepfabric_metrics.py GROUPS.json NUMBERS.json

GROUPS.json: `{name: {"weights", "rows": [{"sample", "message"}]}}`; a message with an `error` is raised as one.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.update(ANONYMIZED_TELEMETRY="False", HF_HUB_OFFLINE="1")  # before the import, which reads them

from deepfabric.evaluation import Evaluator, EvaluatorConfig, InferenceConfig, compute_metrics  # type: ignore[import-not-found]


class Recorded:
    """A client that returns the recorded messages in order."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self._messages = iter(messages)
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    async def _create(self, **_: Any) -> Any:
        message = next(self._messages)
        if "error" in message:
            raise RuntimeError(message["error"])
        calls = [SimpleNamespace(function=SimpleNamespace(**call["function"])) for call in message.get("tool_calls") or []]
        response = SimpleNamespace(content=message.get("content"), tool_calls=calls)
        return SimpleNamespace(choices=[SimpleNamespace(message=response, finish_reason="stop")])


def evaluate(rows: list[dict[str, Any]], weights: dict[str, float] | None) -> dict[str, Any]:
    """Return the metrics of all rows and of each row; `{"crash": …}` if the whole evaluation crashed."""
    model = InferenceConfig(model="recorded", backend="llm", provider="openai", api_key="none", rate_limit_config={"max_retries": 0})
    evaluator = Evaluator(EvaluatorConfig(inference_config=model, metric_weights=weights, save_predictions=False))
    evaluator.backend._client = Recorded([row["message"] for row in rows])
    try:
        result = evaluator.evaluate([row["sample"] for row in rows])
    except Exception as error:
        return {"crash": f"{type(error).__name__}: {error}"}
    return {
        "metrics": result.metrics.model_dump(),
        "samples": [{**compute_metrics([one], weights).model_dump(), "error": one.error} for one in result.predictions],
    }


def main() -> None:
    groups = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    numbers = {name: evaluate(group["rows"], group["weights"]) for name, group in groups.items()}
    Path(sys.argv[2]).write_text(json.dumps({"version": version("deepfabric"), "groups": numbers}), encoding="utf-8")


if __name__ == "__main__":
    main()
