"""`predictions.jsonl` of a run in progress: each line is written completely before its prediction counts as done.

If the process is killed, only requests in flight are lost. A truncated last line is removed when the file is opened again. A second process
on the same file raises `BadInput`, as does an invalid line in the middle; a full disk raises `StorageError`.
"""

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from msgspec import structs

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput, StorageError
from callmark.formats.prediction_lines import encode_prediction
from callmark.formats.predictions import Predictions, read_prediction
from callmark.types import Call, Prediction

_PIECE = 1 << 16  # bytes read at a time to find the start of the last line


class Journal:
    """A file of predictions that one process at a time appends to. `hide` removes keys from every line.

    `repaired` is True if a truncated line was removed.
    """

    def __init__(self, path: str, *, hide: Callable[[bytes], bytes] = bytes) -> None:
        self.path = path
        self._hide = hide
        self.repaired = False
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise StorageError(f"{scrub(path)}: cannot be written: {error.strerror}") from None
        try:
            _lock(self._file, path)
            self._repair()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close and unlock the file. Closing it again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Prediction]:
        """Yield the predictions recorded so far, in order."""
        if os.fstat(self._file).st_size:
            for _, row in Predictions(self.path):
                yield row.prediction

    def add(self, prediction: Prediction) -> None:
        """Record a prediction."""
        line = encode_prediction(prediction)
        if self._hide(line) != line:
            line = encode_prediction(_redact(prediction, lambda text: self._hide(scrub(text).encode()).decode()))
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise StorageError(f"{scrub(self.path)}: cannot be written: {error.strerror}", "Earlier predictions are saved.") from None

    def _repair(self) -> None:
        """Remove a truncated last line. If only its line break is missing, add it."""
        size = os.fstat(self._file).st_size
        if not size or os.pread(self._file, 1, size - 1) == b"\n":
            return
        begin = _last_line_start(self._file, size)
        try:
            read_prediction(os.pread(self._file, size - begin, begin))
        except BadInput:
            self.repaired = True
            os.ftruncate(self._file, begin)
        else:
            os.write(self._file, b"\n")


def _redact(prediction: Prediction, hide: Callable[[str], str]) -> Prediction:
    """Return the prediction without keys in its texts. Its case and counts are unchanged; a number that contains a key becomes text."""

    def redact(value: Any) -> Any:
        match value:
            case str():
                return hide(value)
            case dict():
                return {hide(key): redact(item) for key, item in value.items()}
            case list():
                return [redact(item) for item in value]
            case int() | float() if not isinstance(value, bool) and hide(dump(value)) != dump(value):
                return hide(dump(value))
        return value

    def redact_calls(calls: tuple[Call, ...]) -> tuple[Call, ...]:
        return tuple(
            structs.replace(
                call, name=hide(call.name), arguments=redact(call.arguments), id=call.id and hide(call.id), text=hide(call.text)
            )
            for call in calls
        )  # fmt: skip

    texts = {name: hide(getattr(prediction, name)) for name in ("text", "thinking", "error", "finish_reason", "ending")}
    transcript = tuple(
        structs.replace(
            message,
            text=hide(message.text),
            calls=redact_calls(message.calls),
            tool_call_id=message.tool_call_id and hide(message.tool_call_id),
            name=message.name and hide(message.name),
        )
        for message in prediction.transcript
    )
    states = prediction.states and structs.replace(
        prediction.states,
        reached=redact(prediction.states.reached),
        expected=redact(prediction.states.expected),
        new_reached=tuple(map(hide, prediction.states.new_reached)),
        new_expected=tuple(map(hide, prediction.states.new_expected)),
        unknown=hide(prediction.states.unknown),
    )
    return structs.replace(prediction, calls=redact_calls(prediction.calls), transcript=transcript, states=states, **texts)


def is_open(path: str) -> bool:
    """Return whether another process is writing this file."""
    if not os.path.exists(path):
        return False
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(file, path)
    except BadInput:
        return True
    finally:
        os.close(file)
    return False


def _lock(file: int, path: str) -> None:
    """Lock the file for this process. The lock is released when the process ends, even if it is killed."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.exists(path) or not os.path.samestat(os.fstat(file), os.stat(path)):
            raise BlockingIOError  # the process that held the lock has just removed the file
    except BlockingIOError:
        raise BadInput(
            f"{scrub(os.path.dirname(path))}: in use by another process", "Wait until it ends, or start a separate run with another --name."
        ) from None
    except OSError:  # the file system does not support locks
        pass


def _last_line_start(file: int, size: int) -> int:
    end = size
    while end:
        begin = max(end - _PIECE, 0)
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0
