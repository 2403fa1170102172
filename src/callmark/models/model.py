"""What a model is to callmark: it is asked a question and replies, or says why it cannot.

A reply is what the model did, right or wrong: calls that cannot be read and no call at all are replies. `ModelError` is everything that is
not the model's doing: a time-out, a refused connection, a server that is too busy, a crash in the user's own agent.
"""

from types import TracebackType
from typing import Any, Literal, Protocol, Self

from msgspec import Struct

from callmark.calls.parsing import Dialect
from callmark.types import Call, Case, EndStates, Message

ToolsInPrompt = Literal["no", "free", "constrained"]
TrailingAssistant = Literal["drop", "keep"]


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    """What a million tokens cost, going in and coming out, in whatever money."""

    input: float
    output: float


class ModelSettings(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How to ask a model, as the command line or a `[models.NAME]` table of `callmark.toml` says it. `model` is the spec.

    `params` go into the request as they are. `api_key_env` names the variable that holds the key; a key itself is never a setting. What is
    None is the provider's own choice. The fields after `price` change how fast it is asked, not what.
    """

    model: str = ""
    temperature: float | None = None
    tool_choice: str | dict[str, Any] | None = None
    params: dict[str, Any] = {}
    tools_in_prompt: ToolsInPrompt | None = None
    trailing_assistant: TrailingAssistant = "drop"
    parse: Dialect | None = None
    base_url: str = ""
    api_key_env: str = ""
    price: Price | None = None
    concurrency: int | None = None
    rpm: float | None = None
    timeout: float = 120.0
    retries: int = 5


class Question(Struct, frozen=True, gc=False):
    """One case, asked for the `trial`-th time; `ordinal` is its place among all cases, for answers that were recorded in order."""

    case: Case
    trial: int = 0
    ordinal: int = 0


class Reply(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a model did. `finish` is why it stopped, in its own word; tokens are 0 where nobody counted them. Of a whole conversation:
    how it went, why it ended, what it led to, how many calls no result was recorded for; and what it cost, where that does not follow from
    the tokens.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""
    finish: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    transcript: tuple[Message, ...] = ()
    ending: str = ""
    states: EndStates | None = None
    misses: int = 0


class ModelError(Exception):
    """Why there is no reply, in a sentence without any key in it.

    `again`: another try may help; `wait`: not before so many seconds, as the other side said; `crowded`: the other side has too much to
    do, so ask less at a time; `hopeless`: no other question will fare better (a wrong key, an unknown model, nobody there).
    """

    def __init__(self, sentence: str, *, again: bool = False, wait: float | None = None, crowded: bool = False, hopeless: bool = False):
        super().__init__(sentence)
        self.again = again
        self.wait = wait
        self.crowded = crowded
        self.hopeless = hopeless


class Model(Protocol):
    """Whatever can be asked. It is entered before the first question and left after the last, also when things go wrong."""

    @property
    def label(self) -> str:
        """What it is called in tables and folders; never with a key in it."""
        ...

    @property
    def concurrency(self) -> int:
        """How many questions it is asked at a time, unless the settings say otherwise."""
        ...

    def fingerprint(self, question: Question) -> bytes | None:
        """Everything that shapes its answer, the trial aside; None where that cannot be known, and so nothing may be remembered."""
        ...

    async def ask(self, question: Question) -> Reply:
        """Its reply; raises `ModelError`, and nothing else."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
