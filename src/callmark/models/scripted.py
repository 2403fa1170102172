"""Scripted models with known fault rates: `scripted:perfect`, `hasty`, `forgetful`, `chatty`. They see the expected calls.

They are for trying callmark without a model and for checking its metrics: `RATES` defines how often each fault occurs. A prediction has at
most one fault. A rate applies to the cases in which the fault can occur: no argument can be missing if there are none.

A prediction depends only on the seed, the kind, the case id and the trial.
"""

import asyncio
from collections.abc import Mapping
from random import Random
from types import TracebackType
from typing import Literal, Self, get_args

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelSettings
from callmark.models.provider import Provider, Spec
from callmark.types import Case, FaultKind, Prediction
from callmark.wording import did_you_mean

ScriptedKind = Literal["perfect", "hasty", "forgetful", "chatty"]

RATES: Mapping[ScriptedKind, Mapping[FaultKind, float]] = {
    "perfect": {},
    "hasty": {"wrong_tool": 0.08, "wrong_value": 0.15, "extra_argument": 0.03, "malformed_call": 0.02},
    "forgetful": {"no_call": 0.10, "missing_argument": 0.15},
    "chatty": {"no_call": 0.12, "repeated_call": 0.06, "extra_call": 0.06, "unexpected_call": 0.25},
}
KINDS: tuple[ScriptedKind, ...] = get_args(ScriptedKind)

_CAPABILITIES = Capabilities(8, supports_simulation=False)
_YIELD_EVERY = 64  # predictions after which other tasks may run
_TEXTS_WITH_CALLS = ("", "One moment.", "Let me look that up.", "I'll take care of that.")
_TEXTS_INSTEAD_OF_CALLS = ("Happy to help! Could you tell me a little more first?", "Sure. Just to confirm: is that what you want?")
_TEXTS_WITHOUT_CALLS = ("Is there anything else I can do for you?", "You're welcome.", "Let me know how you would like to proceed.")


class ScriptedModel:
    """Predicts the expected calls, with faults at the rates of a kind. Raises `BadInput` for an unknown kind.

    `predict` raises `ModelError` if no call can satisfy an expected call.
    """

    capabilities = _CAPABILITIES

    def __init__(self, kind: str, *, seed: int = 0) -> None:
        known = next((name for name in KINDS if name == kind), None)
        if known is None:
            raise BadInput(f"unknown scripted model {kind!r}{did_you_mean(kind, KINDS)}", f"Supported: {', '.join(KINDS)}.")
        self.label = f"scripted-{kind}"
        self._kind: ScriptedKind = known
        self._seed = seed
        self._count = 0

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: computing a prediction is faster than reading the cache."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the expected calls, possibly with a fault."""
        from callmark.models.fault_injection import Scene  # the grader is slow to import

        self._count += 1
        if not self._count % _YIELD_EVERY:
            await asyncio.sleep(0)
        random = Random(f"{self._seed} {self._kind} {trial} {scrub(case.id)}")
        scene = Scene.of(case, random)
        fault = self._draw_fault(random)
        calls = scene.inject(fault) if fault else scene.correct
        texts = _TEXTS_WITH_CALLS if calls else _TEXTS_INSTEAD_OF_CALLS if case.expected else _TEXTS_WITHOUT_CALLS
        return Prediction(case.id, trial, calls, random.choice(texts))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def _draw_fault(self, random: Random) -> FaultKind | None:
        drawn = random.random()
        for fault, rate in RATES[self._kind].items():
            if drawn < rate:
                return fault
            drawn -= rate
        return None


class ScriptedProvider(Provider, frozen=True, kw_only=True):
    """Scripted models, given by kind."""

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        seed = settings.params.get("seed", 0)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise BadInput(f"params.seed: expected an integer, got {seed!r}")
        return ScriptedModel(spec.name, seed=seed)


PROVIDER = ScriptedProvider(name="scripted", example="scripted:hasty", capabilities=_CAPABILITIES, params=("seed",), acts=False)
