"""`Reward`: the grader as a reward function.

A completion earns the value of one metric, or the weighted sum of several, as `callmark.grade` gives them. Whether a metric applies is
decided by what is expected, never by the completion: one that does not apply to the expected calls themselves is left out, and the weights
of the others count for it; one that applies to them, but not to the completion (`call.arguments` where the wrong tool was called), counts
as its worst value. So a policy gains nothing by avoiding a metric.

A completion that has only malformed calls, or whose tool-call format is not recognized, earns `malformed`. Only a completion that is an
error of the infrastructure (None, or a prediction with an error) earns `error`; None excludes it from training.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import Any

from msgspec import Struct

from callmark.errors import BadInput
from callmark.rewards.columns import EXPECTED, TOOLS, column_values
from callmark.rewards.scorer import Outcome, Scorer
from callmark.types import Case

DEFAULT_METRIC = "call.score"
_TOLERANCE = 1e-9  # of the sum of the weights
_PREFIX = "callmark/"  # of what is logged


class Reward(Struct, frozen=True, dict=True, kw_only=True):
    """A reward for tool calls, for TRL and other trainers. It can be pickled.

        reward = Reward()
        reward = Reward(weights={"call.score": 0.7, "call.arguments": 0.3}, malformed=-0.5)
        GRPOTrainer(model, reward_funcs=reward, train_dataset=dataset)   # with the columns expected_output and tools

    Attributes:
        metric: Full name of the metric that a completion earns.
        weights: Several metrics instead of one, with their weights, which add up to 1.
        malformed: What a completion earns that has only malformed calls, or calls in a format that is not recognized.
        error: What an error of the infrastructure earns; None excludes it.
        match: Match rules, as in the table `[match]` of `callmark.toml`.
        options: Options of evaluators, by name: `{"call": {"threshold": 0.9}}`.
        evaluators: Evaluators to use, where their names are not those of the metrics: `module:Name` of your own.

    Raises:
        BadInput: A metric is unknown or better when it is lower, the weights do not add up to 1, or a number is not finite.
    """

    metric: str = DEFAULT_METRIC
    weights: dict[str, float] = {}
    malformed: float = 0.0
    error: float | None = None
    match: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    evaluators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("malformed", self.malformed), ("error", 0.0 if self.error is None else self.error)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise BadInput(f"{name}: expected a finite number, got {value!r}")
        if self.weights:
            self._check_weights()
        self._scorer.check()

    def _check_weights(self) -> None:
        if self.metric != DEFAULT_METRIC:
            raise BadInput(f"metric {self.metric!r} cannot be combined with weights", "Add it to the weights.")
        for name, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight <= 0:
                raise BadInput(f"weights: {name}: expected a number above 0, got {weight!r}")
        if abs(sum(self.weights.values()) - 1) > _TOLERANCE:
            raise BadInput(f"weights: expected a sum of 1, got {sum(self.weights.values()):g}")

    @property
    def __name__(self) -> str:
        """The name under which trainers log the reward."""
        return self.metric if not self.weights else "+".join(self.weights)

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Any = None,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the reward of each completion, as TRL calls it.

        `completions` are texts, or lists of messages. Of the columns, `expected_output` and `tools` are used, as objects or JSON text.
        A dataset is a table, which pads objects with nulls: in the arguments of expected calls, a null counts as missing unless the tool
        requires it; JSON text is not padded.
        """
        expected = column_values(columns, EXPECTED, len(completions))
        tools = column_values(columns, TOOLS, len(completions))
        asked = prompts if len(prompts) == len(completions) else [None] * len(completions)
        outcomes = [
            self.outcome(completion, output, tools=known, prompt=prompt, padded=True, index=index)
            for index, (completion, output, known, prompt) in enumerate(zip(completions, expected, tools, asked, strict=True))
        ]
        if log_metric is not None and outcomes:
            for kind in ("malformed", "unrecognized", "no_call", "error", "evaluator_error"):
                log_metric(f"{_PREFIX}{kind}", sum([outcome.kind == kind for outcome in outcomes]) / len(outcomes))
        if log_extra is not None:
            log_extra(f"{_PREFIX}calls", [outcome.calls_text for outcome in outcomes])
        return [outcome.reward for outcome in outcomes]

    def score(self, completion: Any, expected_output: Any, *, tools: Any = None, prompt: Any = None) -> float | None:
        """Return the reward of one completion: a text, a message, a list of messages or calls, or a `Prediction`."""
        return self.outcome(completion, expected_output, tools=tools, prompt=prompt).reward

    def of_case(self, case: Case, prediction: Any) -> float | None:
        """Return the reward of a prediction for a case or scenario."""
        return self._scorer.score(case, prediction, malformed=self.malformed, error=self.error).reward

    @property
    def needs_states(self) -> bool:
        """Whether a metric is about the end state of a conversation."""
        return any(name.startswith("state.") for name in self.weights or (self.metric,))

    def outcome(
        self, completion: Any, expected_output: Any, *, tools: Any = None, prompt: Any = None, padded: bool = False, index: int = 0
    ) -> Outcome:
        """Return the reward of one completion with its calls and why it earns that. `index` is its number, for error messages."""
        scorer = self._scorer
        case = scorer.reader.read(expected_output, tools, prompt, padded=padded, index=index)
        outcome = scorer.score(case, completion, malformed=self.malformed, error=self.error)
        if outcome.kind == "evaluator_error":
            warnings.warn(
                f"reward {self.__name__}: an evaluator failed, so the completion earns {self.malformed:g}: {outcome.reason}", stacklevel=2
            )
        return outcome

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self.weights or {self.metric: 1.0}, match=self.match, options=self.options, evaluators=self.evaluators)


def as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as the columns that a trainer passes; a key that a row lacks is None."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
