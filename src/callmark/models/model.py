"""The model contract: a model predicts the next step of a case, or raises why it cannot.

A prediction is what the model did, right or wrong: malformed calls and no call at all are predictions. `ModelError` is everything that is
not the model's doing: a time-out, a refused connection, a rate limit, a crash in the user's own agent. `ModelFailure` is the model's doing
and is scored as a prediction without calls.
"""

from types import TracebackType
from typing import Any, Literal, Protocol, Self

from msgspec import Struct

from callmark.errors import CallmarkError
from callmark.types import Case, Prediction

ToolsInPrompt = Literal["no", "free", "constrained"]
TrailingAssistant = Literal["drop", "keep"]


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """Price of a million input tokens and of a million output tokens, in any currency."""

    input: float
    output: float


class ModelSettings(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of one model, from the command line or from a `[models.NAME]` table of `callmark.toml`. `model` is the spec.

    `params` go into the request unchanged. `api_key_env` names the variable that holds the key; a key itself is never a setting. None
    leaves the choice to the provider. The fields after `price` change how fast requests are sent, not what is sent.
    """

    model: str = ""
    temperature: float | None = None
    tool_choice: str | dict[str, Any] | None = None
    params: dict[str, Any] = {}
    tools_in_prompt: ToolsInPrompt | None = None
    trailing_assistant: TrailingAssistant = "drop"
    parse: str | None = None
    base_url: str = ""
    api_key_env: str = ""
    price: Price | None = None
    concurrency: int | None = None
    rpm: float | None = None
    timeout: float = 120.0
    retries: int = 5


class Capabilities(Struct, frozen=True):
    """Facts about a model that the rest of callmark acts on, so that nothing elsewhere looks at a provider's name.

    `concurrency` is the number of predictions under way at a time unless the settings say otherwise. `sends_requests`: it is sent a chat
    completion request, so the prompt rules (`trailing_assistant`) apply. `supports_trials`: a second trial may give another prediction.
    `supports_simulation`: it can hold a conversation with a simulated user. `calls_tools`: it takes tools that callmark executes.
    `reports_calls`: it may execute its calls itself and report them. `batch_path` is the `url` of its lines in a batch file; empty where it
    has no batch service.
    """

    concurrency: int = 8
    sends_requests: bool = False
    supports_trials: bool = True
    supports_simulation: bool = True
    calls_tools: bool = True
    reports_calls: bool = False
    batch_path: str = ""


class ModelError(CallmarkError):
    """Reason for a missing prediction that is not the model's doing, in a sentence without any key in it. It is excluded from scores.

    `retryable`: another attempt may help; `retry_after`: not before that many seconds, as the server said; `rate_limited`: the server is
    overloaded, so lower the concurrency; `fatal`: no other case will fare better (a wrong key, an unknown model, nobody listening).
    """

    def __init__(
        self, sentence: str, *, retryable: bool = False, retry_after: float | None = None, rate_limited: bool = False, fatal: bool = False
    ) -> None:
        super().__init__(sentence)
        self.retryable = retryable
        self.retry_after = retry_after
        self.rate_limited = rate_limited
        self.fatal = fatal


class ModelFailure(CallmarkError):  # noqa: N818 - an error is what is excluded from scores
    """Failure that is the model's doing: scored as a prediction without calls, whose text is the sentence."""


class Model(Protocol):
    """Anything that predicts. It is entered before the first case and exited after the last, also when something fails."""

    @property
    def label(self) -> str:
        """Name in tables and folders; never with a key in it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Facts about the model; they do not change while it is open."""
        ...

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return everything that shapes the prediction (the trial need not be part of it), as the cache key; None disables the cache."""
        ...

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return what the model did, with tokens and cost in `usage`; raise `ModelError` or `ModelFailure`, and nothing else.

        Seconds, attempts and the price are added by the caller.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
