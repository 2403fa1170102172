"""A model that takes part in conversations as agent, user or judge: rate-limited, retried and cached like any other model."""

from types import TracebackType
from typing import Self

from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.models.specs import open_model
from callmark.runs.cache import Cache
from callmark.runs.worker import ModelWorker
from callmark.types import Case, Prediction


class ModelClient:
    """Sends requests to one model. Settings that cannot be used raise `BadInput`."""

    def __init__(self, settings: ModelSettings, keys: Keys, cache: Cache | None) -> None:
        self.model, self.spec = open_model(settings, keys)
        self._worker = ModelWorker(self.model, settings, lambda case, prediction: None, cache=cache, keys=keys)

    @property
    def label(self) -> str:
        return self.model.label

    async def predict(self, case: Case, trial: int) -> Prediction:
        """Return the model's prediction for a case; raise `ModelError` after the last attempt."""
        prediction = await self._worker.predict(case, trial)
        if prediction is None or prediction.error:
            problem = prediction.error if prediction else self._worker.stop_reason
            raise ModelError(problem or "no more requests were sent", fatal=self._worker.fatal)
        return prediction

    async def __aenter__(self) -> Self:
        await self.model.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.model.__aexit__(kind, error, trace)
