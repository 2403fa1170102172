"""Compute google-adk's trajectory score of one invocation. Run by benchmarks/parity.py in an environment with google-adk."""

from typing import Any

from case_lines import Calls, Metric, answer


def main() -> None:
    from google.adk.evaluation.eval_case import IntermediateData, Invocation  # type: ignore[import-not-found, unused-ignore]
    from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion  # type: ignore[import-not-found, unused-ignore]
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator  # type: ignore[import-not-found, unused-ignore]
    from google.genai import types  # type: ignore[import-not-found, unused-ignore]

    asked = types.Content(role="user", parts=[types.Part(text="")])

    def invocation(calls: Calls) -> Any:
        uses = [types.FunctionCall(name=call["name"], args=call["arguments"]) for call in calls]
        return Invocation(user_content=asked, intermediate_data=IntermediateData(tool_uses=uses))

    def metric(mode: str, arguments: str) -> Metric:
        match_type = ToolTrajectoryCriterion.MatchType[mode]
        criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match_type, ignore_args=arguments == "ignore")
        evaluator = TrajectoryEvaluator(eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion))
        return lambda expected, actual: evaluator.evaluate_invocations([invocation(actual)], [invocation(expected)]).overall_score

    modes = [(mode, arguments) for mode in ("EXACT", "IN_ORDER", "ANY_ORDER") for arguments in ("exact", "ignore")]
    answer("google-adk", {f"{mode}, {arguments}": metric(mode, arguments) for mode, arguments in modes})


if __name__ == "__main__":
    main()
