"""The model contract: a model predicts the next step of a case, or raises.

A prediction is what the model did, right or wrong: malformed calls and a missing call are predictions. `ModelError` is for everything that
is not the model's fault, such as a timeout, a refused connection, a rate limit or a crash in the user's own agent; it is excluded from
scores. `ModelFailure` is the model's fault and is scored as a malformed call.
"""

from types import TracebackType
from typing import Any, Literal, Protocol, Self

from msgspec import Struct

from callmark.errors import CallmarkError
from callmark.models.endpoint import EndpointSettings
from callmark.types import Case, Prediction

ToolsInPrompt = Literal["no", "free", "constrained"]
TrailingAssistant = Literal["drop", "keep"]


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """Price per million input tokens and per million output tokens, in any currency."""

    input: float
    output: float


class ModelSettings(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of one model, from Python, the command line, or a `[models.NAME]` table of `callmark.toml`.

    None means the provider's default. `concurrency`, `rpm`, `timeout` and `retries` affect how requests are sent, not their content.

    Attributes:
        model: Spec of the model, such as `openai:gpt-4.1-mini` or `vllm:tuned@http://localhost:8000`.
        temperature: Sampling temperature.
        tool_choice: `tool_choice` of the request.
        params: Other parameters, added to the request unchanged.
        tools_in_prompt: Describe the tools in the prompt instead of the request: `free` for free text, `constrained` for a grammar.
        trailing_assistant: `drop` or `keep` assistant text at the end of the prompt.
        parse: Text format of calls in the response, such as `hermes`.
        base_url: Address of the API.
        api_key_env: Name of the environment variable that holds the key. The key itself is never a setting.
        failures: Full names of exceptions of the user's own agent that are the model's fault, such as
            `agents.exceptions.ModelBehaviorError`, subclasses included. They are scored like `ModelFailure`.
        env: Names of the environment variables that a program (`cmd:COMMAND`) gets in addition to the path, home folder and locale.
        endpoint: How to talk to an agent at an address (`chatbot:URL`), from a `[agents.NAME]` table; None for the default protocol.
        price: Price per million tokens, for costs and `max_cost`.
        concurrency: Greatest number of requests in flight.
        rpm: Greatest number of requests per minute.
        timeout: Seconds until a request times out.
        retries: Number of retries after an error that may be temporary.
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
    failures: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    endpoint: EndpointSettings | None = None
    price: Price | None = None
    concurrency: int | None = None
    rpm: float | None = None
    timeout: float = 120.0
    retries: int = 5


class Capabilities(Struct, frozen=True):
    """What a model supports. The rest of callmark checks these fields, never the name of a provider.

    Attributes:
        concurrency: Default number of concurrent predictions.
        sends_requests: The model is sent chat completion requests, so the prompt settings (`trailing_assistant`) apply.
        supports_trials: Another trial may return a different prediction.
        supports_simulation: The model can take part in a simulated conversation.
        calls_tools: The model accepts tools that callmark executes.
        reports_calls: The model may execute its calls itself and report them.
        batch_path: `url` of the requests in a batch file; empty if the provider has no batch API.
        open_files: Number of files, connections and pipes that one prediction may keep open.
    """

    concurrency: int = 8
    sends_requests: bool = False
    supports_trials: bool = True
    supports_simulation: bool = True
    calls_tools: bool = True
    reports_calls: bool = False
    batch_path: str = ""
    open_files: int = 2


class ModelError(CallmarkError):
    """Error that is not the model's fault, such as a timeout or a rate limit. It is excluded from scores.

    The message must not contain a key.

    Attributes:
        retryable: Another attempt may succeed.
        retry_after: Seconds to wait first, as the server requested; None if it did not.
        rate_limited: The server is overloaded, so the concurrency is lowered.
        fatal: Every other case will fail too: a wrong key, an unknown model, a server that is down.
    """

    def __init__(
        self, sentence: str, *, retryable: bool = False, retry_after: float | None = None, rate_limited: bool = False, fatal: bool = False
    ) -> None:
        super().__init__(sentence)
        self.retryable = retryable
        self.retry_after = retry_after
        self.rate_limited = rate_limited
        self.fatal = fatal


class ModelFailure(CallmarkError):  # noqa: N818 - errors are excluded from scores, failures are not
    """Failure that is the model's fault. It is scored as a prediction without calls, with the message as its text."""


class Model(Protocol):
    """Protocol of a model: anything that predicts. Your own needs no base class.

    A model is an async context manager: it is entered before the first case and exited after the last, even after an error.
    """

    @property
    def label(self) -> str:
        """Name in tables and folders, without secrets."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the model supports; constant while it is open."""
        ...

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return everything that affects the prediction (except the trial) as a cache key; None disables the cache."""
        ...

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the prediction, with tokens and cost in `usage`. Raise only `ModelError` or `ModelFailure`.

        The caller adds latency and attempts, and the cost if it is missing.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
