"""Compute deepeval's tool correctness. Run by benchmarks/parity.py in an environment with deepeval.

The metric is deterministic without `available_tools`; the model that it requires is never asked.
"""

import os
from typing import Any

from case_lines import Calls, Metric, answer

os.environ.update(
    DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_DISABLE_DOTENV="1", ERROR_REPORTING="NO"
)  # before the import, which reads them


def main() -> None:
    from deepeval.metrics import ToolCorrectnessMetric  # type: ignore[import-not-found, unused-ignore]
    from deepeval.models import DeepEvalBaseLLM  # type: ignore[import-not-found, unused-ignore]
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams  # type: ignore[import-not-found, unused-ignore]

    class NoModel(DeepEvalBaseLLM):  # type: ignore[misc, unused-ignore]
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "none"

        def generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError("a model was asked")

        async def a_generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError("a model was asked")

    model = NoModel()

    def tool_calls(calls: Calls) -> list[Any]:
        return [ToolCall(name=call["name"], input_parameters=call["arguments"]) for call in calls]

    def metric(arguments: bool, **options: Any) -> Metric:
        compared = [ToolCallParams.INPUT_PARAMETERS] if arguments else []

        def measure(expected: Calls, actual: Calls) -> Any:
            scorer = ToolCorrectnessMetric(model=model, evaluation_params=compared, async_mode=False, **options)
            case = LLMTestCase(input="Please.", actual_output="", tools_called=tool_calls(actual), expected_tools=tool_calls(expected))
            return scorer.measure(case, _show_indicator=False)

        return measure

    modes = {"default": {}, "ordering": {"should_consider_ordering": True}, "exact match": {"should_exact_match": True}}
    metrics = {name: metric(False, **options) for name, options in modes.items()}
    answer("deepeval", {**metrics, **{f"{name}, input parameters": metric(True, **options) for name, options in modes.items()}})


if __name__ == "__main__":
    main()
