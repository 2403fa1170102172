"""The table of the page: a row for each grade, turned on its side, so that a hundred thousand of them are a few long lists.

What was expected and made stands there as code. A grade has names only: the arguments come from the predictions, and those that were
expected are the ones made, but for what the faults say. So the dataset, which is a hundred times larger, is not read for it.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from callmark.errors import BadInput
from callmark.formats.predictions import read_prediction
from callmark.grading.grader import GradeRecord
from callmark.types import Call, Fault, FaultKind
from callmark.viewer.page_json import exact, short, shown_id

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
OTHERS = "…"
MOST_NAMES = 1000  # tools and kinds of scenarios that are told apart; hostile names are endless
LONGEST_NAME, LONGEST_CODE, LONGEST_ERROR = 200, 200, 300
NO_CALL, UNKNOWN_TOOL = -1, -2
_PASSES = ("call.pass", "process.reliability")
_BUFFER = 1 << 18
_ONE_RIGHT = ((0, 0, True),)
_FAULT = {kind: place for place, kind in enumerate(FAULTS)}


class Names:
    """Names by the order in which they came; further ones than can be told apart are under the last."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        found = self._places.get(name)
        if found is None:
            found = min(len(self.all), MOST_NAMES - 1)
            if len(self.all) < MOST_NAMES:
                self.all.append(OTHERS if found == MOST_NAMES - 1 else short(name, LONGEST_NAME) or "(no name)")
                self._places[name] = found
        return found


_COLUMNS = (
    "id", "trial", "conversation", "message", "type", "tool", "made_tool", "score", "pass", "faults", "origins", "expected", "made",
    "seconds", "ending", "error",
)  # fmt: skip


class Columns:
    """Rows, taken one by one and given as columns. `counted` are the evaluators whose faults are told."""

    def __init__(self, metrics: Sequence[str], *, headline: str, counted: Collection[str]) -> None:
        self._headline = headline
        self._counted = frozenset(counted)
        in_order = _PASSES[::-1] if headline == _PASSES[1] else _PASSES
        self._passed = next((name for name in in_order if name in metrics), None)
        self._metrics = tuple(metrics)
        self._rows: list[tuple[Any, ...]] = []
        self._places: dict[tuple[str, Any], int] = {}  # of cases and trials among them
        self._numbers: list[tuple[float | None, ...]] = []  # the metrics of each row
        self._alike: dict[tuple[float | None, ...], tuple[float | None, ...]] = {}  # of which most are like another
        self._tools, self._types = Names(), Names()
        self.trials = 1

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, grade: GradeRecord, calls: Sequence[Call]) -> None:
        """Add the row of a grade, and of the calls that were made: none where they are not known."""
        told = [one for one in grade.faults if not self._counted or not self._counted.isdisjoint(one.evaluators)] if grade.faults else []
        expected, made = _codes(grade, calls, told[0] if told else None)
        metrics = grade.metrics
        self.trials = max(self.trials, grade.trial + 1)
        self._rows.append(
            (
                shown_id(grade.case),
                exact(grade.trial),
                short(grade.conversation, LONGEST_NAME) if grade.conversation is not None else "",
                None if grade.message is None else exact(grade.message),
                self._types.place(grade.scenario_type) if grade.scenario_type else -1,
                self._tools.place(grade.expected[0]) if grade.expected else NO_CALL,
                self._made_tool(grade),
                metrics.get(self._headline),
                self._pass(grade, told),
                [_FAULT[one.kind] for one in told],
                next((one.origin for one in told if one.origin), "") if told else "",
                expected,
                made,
                None if grade.usage is None else grade.usage.seconds,
                short(grade.ending, LONGEST_NAME),
                short(grade.error, LONGEST_ERROR),
            )
        )
        self._places[self._rows[-1][:2]] = len(self._rows) - 1
        numbers = tuple(metrics.values()) if tuple(metrics) == self._metrics else tuple([metrics.get(name) for name in self._metrics])
        self._numbers.append(self._alike.setdefault(numbers, numbers))

    def row_of(self, case: str, trial: int) -> int | None:
        """Where the row of a case, by its id as the page has it, and trial stands; the last, where there are several."""
        return self._places.get((case, trial))

    def chunk(self, start: int, stop: int) -> dict[str, Any]:
        """The rows from `start` up to `stop`, without saying how many there are in all."""
        rows, numbers = self._rows[start:stop], self._numbers[start:stop]
        return {
            **dict(zip(_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(_COLUMNS), strict=True)),
            "metrics": dict(zip(self._metrics, zip(*numbers, strict=True) if rows else [()] * len(self._metrics), strict=True)),
        }

    def names(self) -> dict[str, Sequence[str]]:
        return {"tools": list(self._tools.all), "types": list(self._types.all), "faults": FAULTS}

    def _made_tool(self, grade: GradeRecord) -> int:
        if not grade.made:
            return NO_CALL
        name = grade.made[0]
        if not name or any(one.kind == "unknown_tool" and one.actual_index == 0 for one in grade.faults):
            return UNKNOWN_TOOL
        return self._tools.place(name)

    def _pass(self, grade: GradeRecord, told: Sequence[Fault]) -> int | None:
        if grade.error:
            return None
        if self._passed is None:
            return int(not told)
        value = grade.metrics.get(self._passed)
        return None if value is None else int(value == 1)


def code(call: Call) -> str:
    """The call as code, as long as it may be in a row."""
    try:
        return short(str(call), LONGEST_CODE)
    except (ValueError, RecursionError):
        return short(f"{call.name}(…)", LONGEST_CODE)


def _codes(grade: GradeRecord, calls: Sequence[Call], fault: Fault | None) -> tuple[str, str]:
    """What was expected and made as code: the calls that this fault is about, without one the first of each."""
    if fault is None and len(calls) == 1 and grade.pairs == _ONE_RIGHT:
        both = code(calls[0])
        return both, both
    first = (0 if grade.expected else None, 0 if grade.made else None)
    wanted, made = first if fault is None else (fault.expected_index, fault.actual_index)
    expected_code = "" if wanted is None or wanted >= len(grade.expected) else _expected_code(grade, calls, wanted)
    if made is None or made >= len(grade.made):
        return expected_code, ""
    if made < len(calls):
        return expected_code, code(calls[made])
    whole = fault is not None and fault.argument is None and isinstance(fault.actual, str)
    return expected_code, short(str(fault.actual) if whole and fault else f"{grade.made[made]}(…)", LONGEST_CODE)


def _expected_code(grade: GradeRecord, calls: Sequence[Call], index: int) -> str:
    about = [one for one in grade.faults if one.expected_index == index]
    for fault in about:
        if fault.argument is None and isinstance(fault.expected, str):
            return short(fault.expected, LONGEST_CODE)
    for expected, made, agrees in grade.pairs:
        if expected == index and made < len(calls):
            arguments = calls[made].arguments
            return code(Call(grade.expected[index], arguments if agrees else _meant(arguments, about)))
    return short(f"{grade.expected[index]}(…)", LONGEST_CODE)


def _meant(arguments: Mapping[str, Any], faults: Sequence[Fault]) -> dict[str, Any]:
    """The arguments that were expected, from those that were given and what is wrong with them."""
    meant = dict(arguments)
    for fault in faults:
        if fault.argument is None:
            continue
        if fault.kind in ("extra_argument", "unknown_argument"):
            meant.pop(fault.argument, None)
        else:
            meant[fault.argument] = fault.expected
    return meant


class _Made(Struct, gc=False):
    """What a row needs of a prediction: a transcript, which may be long, is passed over."""

    case: str
    calls: tuple[Call, ...]
    trial: int = 0
    error: str = ""


_decode_made = msgspec.json.Decoder(_Made).decode


class MadeCalls:
    """The calls of a run's predictions, by case and trial: the file is read as far as it is asked for, and what comes earlier than it is
    needed is kept. Of several answers to one question the first counts, as everywhere. A file that is gone has none.
    """

    def __init__(self, path: str) -> None:
        self._lines = _made_in(Path(path))
        self._ahead: dict[tuple[str, int], tuple[int, tuple[Call, ...]]] = {}

    def of(self, case: str, trial: int) -> tuple[int, tuple[Call, ...]]:
        """Where the line of such a prediction begins, and its calls; -1 and none where there is no such prediction."""
        key = (case, trial)
        while key not in self._ahead:
            found = next(self._lines, None)
            if found is None:
                return -1, ()
            at, made = found
            if not made.error:
                self._ahead.setdefault((made.case, made.trial), (at, made.calls))
        return self._ahead.pop(key)

    def close(self) -> None:
        self._lines.close()


def _made_in(path: Path) -> Generator[tuple[int, _Made], None, None]:
    at = 0
    with suppress(OSError), path.open("rb", buffering=_BUFFER) as lines:
        for line in lines:
            made = made_by(line)
            if made is not None:
                yield at, made
            at += len(line)


def made_by(line: bytes) -> _Made | None:
    """What was made in a line of predictions; None where it cannot be read, or does not say its case."""
    if b'"calls":' in line:
        try:
            return _decode_made(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass  # it is in another form, or there is something in it that only the longer way can read
    try:
        answer = read_prediction(line, whole=True)
    except BadInput:
        return None
    said = answer.prediction
    return None if answer.case is None else _Made(answer.case, said.calls, said.trial, said.error)
