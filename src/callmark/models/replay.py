"""Answers that were recorded, asked for again: `replay:FILE`, in any shape that predictions are read in.

They are found by case and trial, or, where no row says its case, by the place of the case among all. A file in which only some rows say
it raises `BadInput`. Of repeated answers the first that is no error counts.
"""

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from callmark.calls.parsing import Dialect
from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats.predictions import Predictions
from callmark.formats.rows import Rows
from callmark.models.model import ModelError, Question, Reply
from callmark.types import Prediction, Usage

_TURNS = 64  # replies after which others get a chance to run
_OWN_NAME = "predictions"  # of the file in every run folder, so the folder tells more


class ReplayModel:
    """Replies with what stands in a file, which is read on entering; a broken row raises `BadInput` then.

    A case without an answer, a trial that was not recorded and a recorded error are no reply.
    """

    concurrency = 8

    def __init__(self, path: str, *, parse: Dialect | None = None) -> None:
        if not path:
            raise BadInput("replay: names no file", "Name the file of recorded answers: replay:predictions.jsonl.")
        file = Path(path)
        if path != "-" and (file.is_file() or file.is_dir() or not file.exists()):  # a pipe can be read once, and not yet
            Rows(path).close()
        named = file.parent.name if file.stem == _OWN_NAME and file.parent.name else file.stem
        self.label = f"replay-{'standard-input' if path == '-' else scrub(named)}"
        self._file = Predictions(path, parse=parse)
        self._answers: dict[tuple[str | int, int], Prediction] = {}  # by case or place, and trial
        self._in_order = False
        self._asked = 0

    def fingerprint(self, question: Question) -> bytes | None:
        """None: the file may be another tomorrow."""
        return None

    async def ask(self, question: Question) -> Reply:
        """What was recorded."""
        self._asked += 1
        if not self._asked % _TURNS:
            await asyncio.sleep(0)
        found = self._answers.get((question.ordinal if self._in_order else question.case.id, question.trial))
        if found is None:
            trial = f", trial {question.trial}" if question.trial else ""
            raise ModelError(f"no answer is recorded for case {scrub(question.case.id)}{trial}")
        if found.error:
            raise ModelError(found.error)
        usage = found.usage or Usage()
        return Reply(found.calls, found.text, found.thinking, found.finish, usage.input_tokens, usage.output_tokens)

    async def __aenter__(self) -> Self:
        self._read()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._answers = {}

    def _read(self) -> None:
        said: bool | None = None  # whether rows say their case
        placed = True  # whether every row says the place of its case
        for place, row in self._file:
            if said is None:
                said = row.case is not None
            elif said is not (row.case is not None):
                which = (
                    "does not say which case it is for, those before it do" if said else "says which case it is for, those before it do not"
                )
                raise BadInput(
                    f"{place}: the row {which}", "Either every row has the id of its case, or none: then they are taken in order."
                )
            placed = placed and row.position is not None
            position = self._file.good_rows - 1 if row.position is None else row.position
            key = (position if row.case is None else row.case, row.prediction.trial)
            before = self._answers.get(key)
            if before is None or (before.error and not row.prediction.error):
                self._answers[key] = row.prediction
        self._in_order = not said
        places = {place for place, _ in self._answers}
        if placed and places == set(range(1, len(places) + 1)):  # someone counted from 1
            self._answers = {(int(place) - 1, trial): found for (place, trial), found in self._answers.items()}
