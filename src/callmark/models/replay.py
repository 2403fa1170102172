"""Recorded predictions as a model: `replay:FILE`, in any supported format.

They are matched to cases as in grading: by case id and trial, or by order if no row has a case id.
"""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.matching import MatchedPredictions, match_predictions
from callmark.formats.predictions import Predictions
from callmark.formats.row_source import open_rows
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelError, ModelSettings
from callmark.models.provider import Provider, Spec
from callmark.types import Case, Prediction, Usage

_YIELD_EVERY = 64  # predictions after which other tasks may run
_RUN_FILE = "predictions"  # the file name in a run folder, whose name is a better label
_CAPABILITIES = Capabilities(8, supports_simulation=False)


class ReplayModel:
    """Predictions from a file, which is read on entry; an invalid row raises `BadInput` then.

    A case or trial without a prediction, and a recorded error, raise `ModelError`.
    """

    capabilities = _CAPABILITIES

    def __init__(self, path: str, *, parse: str | None = None) -> None:
        if not path:
            raise BadInput("replay: the file is missing", "Pass a predictions file: replay:predictions.jsonl")
        file = Path(path)
        if path != "-" and (file.is_file() or file.is_dir() or not file.exists()):  # a pipe can be read only once
            open_rows(path).close()
        named = file.parent.name if file.stem == _RUN_FILE and file.parent.name else file.stem
        self.label = f"replay-{'standard-input' if path == '-' else scrub(named)}"
        self._file = Predictions(path, parse=parse)
        self._predictions = MatchedPredictions()
        self._count = 0

    def fingerprint(self, case: Case, trial: int) -> bytes | None:
        """Return None: the file may change."""
        return None

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the recorded prediction."""
        self._count += 1
        if not self._count % _YIELD_EVERY:
            await asyncio.sleep(0)
        found = self._predictions.find(case, trial)
        if found is None:
            which = f", trial {trial}" if trial else ""
            raise ModelError(f"no recorded prediction for case {scrub(case.id)}{which}")
        if found.error:
            raise ModelError(found.error)
        recorded = found.usage
        usage = Usage(0.0, recorded.input_tokens, recorded.output_tokens) if recorded else None
        return Prediction(case.id, trial, found.calls, found.text, found.thinking, finish_reason=found.finish_reason, usage=usage)

    async def __aenter__(self) -> Self:
        self._predictions = match_predictions(self._file)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._predictions = MatchedPredictions()


class ReplayProvider(Provider, frozen=True, kw_only=True):
    """Predictions from a file."""

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return ReplayModel(spec.name, parse=settings.parse)


PROVIDER = ReplayProvider(name="replay", example="replay:predictions.jsonl", capabilities=_CAPABILITIES, acts=False)
