"""The question files of the Berkeley Function Calling Leaderboard, joined with its other files in the same folder.

    BFCL_v4_NAME.json                    {"id", "question", "function"}, and for several turns {"involved_classes"}
    possible_answer/BFCL_v4_NAME.json    {"id", "ground_truth"}, in the order of the questions
    multi_turn_func_doc/CLASS.json       the tools of a class

The rows are those of one file that has everything, so that a digest covers all of it. Answers in another order, too few or too many raise
`BadInput`; files that are missing are left out, and a row that needs them is refused when it is read.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from callmark.errors import BadInput
from callmark.formats.compression import Compression
from callmark.formats.rows import Rows
from callmark.types import Place, PlaceUnit

_QUESTIONS = re.compile(r"BFCL_v\d+_\w+\.json")
_DOCUMENTS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_names = msgspec.json.Decoder(list[str]).decode
_encode = msgspec.json.Encoder().encode


def joins(path: str) -> bool:
    """Return whether a path is a question file that has other files of the leaderboard beside it."""
    if _QUESTIONS.fullmatch(os.path.basename(path)) is None:
        return False
    return os.path.isfile(_answers_path(path)) or os.path.isdir(os.path.join(os.path.dirname(path), "multi_turn_func_doc"))


class JoinedRows:
    """The rows of an open question file, as `(number, JSON)`, with `ground_truth` and `function`."""

    compression: Compression | None = None
    rereadable = True

    def __init__(self, rows: Rows, path: str, *, regular: bool = False) -> None:
        self._rows = rows
        self._path = path
        self._regular = regular
        self._documents: dict[str, list[Raw]] = {}
        self.name = rows.name
        self.unit: PlaceUnit = "row"
        self.size = rows.size

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        answers = self._answers()
        count = 0
        for number, row in self._rows:
            count += 1
            yield number, self._joined(row, next(answers, None), number)
        if next(answers, None) is not None:
            raise BadInput(f"{_answers_path(self._path)} has more answers than {self.name} has questions ({count:,})")

    @property
    def position(self) -> int:
        return self._rows.position

    def place(self, number: int) -> Place:
        return Place(self.name, number, self._rows.unit)

    def close(self) -> None:
        self._rows.close()

    def _answers(self) -> Iterator[bytes]:
        path = _answers_path(self._path)
        if os.path.isfile(path):
            yield from (row for _, row in Rows(path, regular=self._regular))

    def _joined(self, row: bytes, answer: bytes | None, number: int) -> bytes:
        try:
            fields = _decode_fields(row)
            if answer is not None:
                found = _decode_fields(answer)
                if found.get("id") != fields.get("id"):
                    raise BadInput(
                        f"{self.name}, line {number}: the answer on the same line of {_answers_path(self._path)} has a different id"
                    )
                fields = {**fields, **{key: found[key] for key in ("ground_truth",) if key in found}}
            if "involved_classes" in fields and "function" not in fields:
                fields["function"] = Raw(_encode([tool for name in _classes(fields) for tool in self._tools(name)]))
            fields.pop("initial_config", None)  # the state of the leaderboard's simulated programs
        except (ValueError, RecursionError):
            return row  # reported when it is read
        return _encode(fields)

    def _tools(self, name: str) -> list[Raw]:
        if name not in self._documents:
            path = os.path.join(os.path.dirname(self._path), "multi_turn_func_doc", f"{_DOCUMENTS.get(name, name)}.json")
            is_known = name in _DOCUMENTS and os.path.isfile(path)
            self._documents[name] = [Raw(row.strip()) for _, row in Rows(path, regular=self._regular)] if is_known else []
        return self._documents[name]


def _answers_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), "possible_answer", os.path.basename(path))


def _classes(fields: dict[str, Any]) -> list[str]:
    return _decode_names(fields["involved_classes"])
