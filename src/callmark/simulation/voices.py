"""A model that takes part in conversations, as agent, user or judge: asked at its own pace, again where that helps, remembered."""

from types import TracebackType
from typing import Self

from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings, Question
from callmark.models.opening import open_model
from callmark.runs.cache import Cache
from callmark.runs.worker import ModelWorker
from callmark.types import Case, Prediction


class Voice:
    """Raises `BadInput` for a model that cannot be asked at all."""

    def __init__(self, settings: ModelSettings, keys: Keys, cache: Cache | None) -> None:
        self.model, self.spec = open_model(settings, keys)
        self._asking = ModelWorker(self.model, settings, lambda question, prediction: None, cache=cache, hide=keys.hide)

    @property
    def label(self) -> str:
        return self.model.label

    async def ask(self, case: Case, trial: int) -> Prediction:
        """What it answers to the messages of a case; raises `ModelError` after the last try."""
        answer = await self._asking.answer(Question(case, trial))
        if answer is None or answer.error:
            said = answer.error if answer else self._asking.stopped
            raise ModelError(said or "no more was asked", hopeless=self._asking.hopeless)
        return answer

    async def __aenter__(self) -> Self:
        await self.model.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.model.__aexit__(kind, error, trace)
