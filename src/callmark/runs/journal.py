"""What came back, written down as it comes: a line is written whole before its answer counts as done.

Killing the process at any moment loses at most what was in flight. A last line that was cut off is removed when the file is opened again,
and a second process on the same file is refused. A line in the middle that cannot be read raises `BadInput`, and so does a full disk.
"""

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from msgspec import structs

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.formats.predictions import Predictions, read_prediction
from callmark.runs.prediction_file import packed
from callmark.types import Call, Prediction

_PIECE = 1 << 16  # bytes looked at in one go for the end of the last line


class Journal:
    """A file of predictions that is appended to by one process at a time. Every line goes through `hide`, which takes keys out of it."""

    def __init__(self, path: str, *, hide: Callable[[bytes], bytes] = bytes) -> None:
        self.path = path
        self._hide = hide
        self.healed = False  # whether a line that was cut off has been removed
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise BadInput(f"{scrub(path)} cannot be written: {error.strerror}") from None
        try:
            _lock(self._file, path)
            self._heal()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others have it; a second time changes nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __iter__(self) -> Iterator[Prediction]:
        """What has been written so far, in that order."""
        if os.fstat(self._file).st_size:
            for _, row in Predictions(self.path):
                yield row.prediction

    def add(self, prediction: Prediction) -> None:
        """Write a prediction down."""
        line = packed(prediction)
        if self._hide(line) != line:
            line = packed(_without_keys(prediction, lambda text: self._hide(scrub(text).encode()).decode()))
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            raise BadInput(f"{scrub(self.path)} cannot be written: {error.strerror}", "What was written before is kept.") from None

    def _heal(self) -> None:
        """Remove a last line that has no end, unless it is whole but for that."""
        size = os.fstat(self._file).st_size
        if not size or os.pread(self._file, 1, size - 1) == b"\n":
            return
        begin = _begin_of_last_line(self._file, size)
        try:
            read_prediction(os.pread(self._file, size - begin, begin))
        except BadInput:
            self.healed = True
            os.ftruncate(self._file, begin)
        else:
            os.write(self._file, b"\n")


def _without_keys(prediction: Prediction, hide: Callable[[str], str]) -> Prediction:
    """The prediction without keys in what was said; its case and its counts stay, and a number in which one stands becomes text."""

    def hidden(value: Any) -> Any:
        match value:
            case str():
                return hide(value)
            case dict():
                return {hide(key): hidden(item) for key, item in value.items()}
            case list():
                return [hidden(item) for item in value]
            case int() | float() if not isinstance(value, bool) and hide(dump(value)) != dump(value):
                return hide(dump(value))
        return value

    def calls(made: tuple[Call, ...]) -> tuple[Call, ...]:
        return tuple(
            structs.replace(
                call, name=hide(call.name), arguments=hidden(call.arguments), id=call.id and hide(call.id), text=hide(call.text)
            )
            for call in made
        )  # fmt: skip

    said = {name: hide(getattr(prediction, name)) for name in ("text", "thinking", "error", "finish", "ending")}
    transcript = tuple(
        structs.replace(
            message,
            text=hide(message.text),
            calls=calls(message.calls),
            tool_call_id=message.tool_call_id and hide(message.tool_call_id),
            name=message.name and hide(message.name),
        )
        for message in prediction.transcript
    )
    states = prediction.states and structs.replace(
        prediction.states,
        reached=hidden(prediction.states.reached),
        expected=hidden(prediction.states.expected),
        new_reached=tuple(map(hide, prediction.states.new_reached)),
        new_expected=tuple(map(hide, prediction.states.new_expected)),
        unknown=hide(prediction.states.unknown),
    )
    return structs.replace(prediction, calls=calls(prediction.calls), transcript=transcript, states=states, **said)


def is_open(path: str) -> bool:
    """Whether another process is writing this file."""
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
    """Take the file for this process; the lock goes with the process, however it ends."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.exists(path) or not os.path.samestat(os.fstat(file), os.stat(path)):
            raise BlockingIOError  # whoever had it has just removed it
    except BlockingIOError:
        raise BadInput(
            f"another process is running into {scrub(os.path.dirname(path))}", "Wait for it, or choose another --name for a run of its own."
        ) from None
    except OSError:  # a file system that knows no locks
        pass


def _begin_of_last_line(file: int, size: int) -> int:
    end = size
    while end:
        begin = max(end - _PIECE, 0)
        at = os.pread(file, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0
