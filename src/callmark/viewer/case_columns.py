"""The case table of the page, stored by column, so that a hundred thousand rows are a few long lists.

Expected and actual calls are shown as code. A grade holds only the names of calls: actual arguments come from the predictions, and expected
arguments are the actual ones corrected by the faults. The table therefore never reads the dataset, which may be a hundred times larger.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from callmark.calls.display import show_expected_call
from callmark.grading.evaluator import Metric
from callmark.grading.record import GradeRecord
from callmark.types import Call, Fault, FaultKind
from callmark.viewer.page_json import page_id, safe_integer, truncate

FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
OTHER_NAMES = "…"
MAX_NAMES = 1000  # tools and scenario types with a number of their own: a hostile run may have any number
MAX_NAME, MAX_CODE, MAX_ERROR = 200, 200, 300
NO_CALL, UNKNOWN_TOOL = -1, -2
_ONE_CORRECT_PAIR = ((0, 0, True),)
_INDEX = re.compile(r"\[\d+\]")  # of an item in the path of an argument
_TOP = re.compile(r"[.\[]")
_FAULT_INDEX = {kind: index for index, kind in enumerate(FAULT_KINDS)}


class FailureGroup(NamedTuple):
    """What similar failures have in common: the kind of their first fault or note, the tool, the tool that was called instead, the argument
    and where its value came from. Empty where it does not apply.
    """

    kind: str
    tool: str = ""
    actual: str = ""
    argument: str = ""
    origin: str = ""


class GroupIndex:
    """Numbers groups in the order of their first use. Groups beyond `MAX_NAMES` share the last number."""

    def __init__(self) -> None:
        self.groups: list[FailureGroup] = []
        self._indexes: dict[FailureGroup, int] = {}

    def index_of(self, group: FailureGroup) -> int:
        """Return the number of a group; a new one gets the next."""
        found = self._indexes.get(group)
        if found is None:
            found = min(len(self.groups), MAX_NAMES - 1)
            if len(self.groups) < MAX_NAMES:
                is_last = found == MAX_NAMES - 1
                self.groups.append(FailureGroup(OTHER_NAMES) if is_last else FailureGroup(*[truncate(part, MAX_NAME) for part in group]))
                self._indexes[group] = found
        return found


class NameIndex:
    """Numbers names in the order of their first use. Names beyond `MAX_NAMES` share the last number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._indexes: dict[str, int] = {}

    def index_of(self, name: str) -> int:
        """Return the number of a name; a new one gets the next."""
        found = self._indexes.get(name)
        if found is None:
            found = min(len(self.names), MAX_NAMES - 1)
            if len(self.names) < MAX_NAMES:
                self.names.append(OTHER_NAMES if found == MAX_NAMES - 1 else truncate(name, MAX_NAME) or "(no name)")
                self._indexes[name] = found
        return found


_COLUMNS = (
    "id", "trial", "conversation", "message", "scenario_type", "file", "expected_tool", "actual_tool", "score", "pass", "faults",
    "origin", "group", "expected", "actual", "seconds", "ending", "error",
)  # fmt: skip


class CaseColumns:
    """Rows that are added one by one and returned as columns."""

    def __init__(self, metrics: Mapping[str, Metric], *, headline: str) -> None:
        self._headline = headline
        self._pass_metric = pass_metric(metrics, headline)
        self._metrics = tuple(metrics)
        self._rows: list[tuple[Any, ...]] = []
        self._row_indexes: dict[tuple[str, Any], int] = {}  # by case and trial
        self._values: list[tuple[float | None, ...]] = []  # the metrics of each row
        self._interned: dict[tuple[float | None, ...], tuple[float | None, ...]] = {}  # most rows have the values of another
        self._tools, self._scenario_types, self._files = NameIndex(), NameIndex(), NameIndex()
        self._groups = GroupIndex()
        self.trials = 1

    def __len__(self) -> int:
        return len(self._values)

    def add(self, grade: GradeRecord, calls: Sequence[Call]) -> None:
        """Add the row of a grade and its actual calls, which are empty if they are not known."""
        faults = grade.faults
        expected, actual = _expected_and_actual(grade, calls, faults[0] if faults else None)
        metrics = grade.metrics
        passed = self._pass(grade)
        group = None if passed == 1 else _failure_group(grade)
        self.trials = max(self.trials, grade.trial + 1)
        self._rows.append(
            (
                page_id(grade.case),
                safe_integer(grade.trial),
                truncate(grade.conversation, MAX_NAME) if grade.conversation is not None else "",
                None if grade.message is None else safe_integer(grade.message),
                self._scenario_types.index_of(grade.scenario_type) if grade.scenario_type else -1,
                self._files.index_of(grade.file) if grade.file else -1,
                self._tools.index_of(grade.expected[0]) if grade.expected else NO_CALL,
                self._actual_tool(grade),
                metrics.get(self._headline),
                passed,
                [_FAULT_INDEX[fault.kind] for fault in faults],
                next((fault.origin for fault in faults if fault.origin), "") if faults else "",
                -1 if group is None else self._groups.index_of(group),
                expected,
                actual,
                None if grade.usage is None else grade.usage.seconds,
                truncate(grade.ending, MAX_NAME),
                truncate(grade.error, MAX_ERROR),
            )
        )
        self._row_indexes[self._rows[-1][:2]] = len(self._rows) - 1
        values = tuple(metrics.values()) if tuple(metrics) == self._metrics else tuple([metrics.get(name) for name in self._metrics])
        self._values.append(self._interned.setdefault(values, values))

    def row_of(self, case: str, trial: int) -> int | None:
        """Return the row of a case, by its id on the page and its trial: the last of several, None if there is none."""
        return self._row_indexes.get((case, trial))

    def chunk(self, start: int, stop: int) -> dict[str, Any]:
        """Return the rows from `start` up to `stop` as columns; the columns are empty if there are no such rows."""
        rows, values = self._rows[start:stop], self._values[start:stop]
        return {
            **dict(zip(_COLUMNS, zip(*rows, strict=True) if rows else [()] * len(_COLUMNS), strict=True)),
            "metrics": dict(zip(self._metrics, zip(*values, strict=True) if rows else [()] * len(self._metrics), strict=True)),
        }

    def names(self) -> dict[str, Sequence[Any]]:
        """Return the names behind the numbers in the rows."""
        return {
            "tools": list(self._tools.names),
            "scenario_types": list(self._scenario_types.names),
            "files": list(self._files.names),
            "faults": FAULT_KINDS,
            "groups": list(self._groups.groups),
        }

    def _actual_tool(self, grade: GradeRecord) -> int:
        if not grade.actual:
            return NO_CALL
        name = grade.actual[0]
        if not name or any(fault.kind == "unknown_tool" and fault.actual_index == 0 for fault in grade.faults):
            return UNKNOWN_TOOL
        return self._tools.index_of(name)

    def _pass(self, grade: GradeRecord) -> int | None:
        if grade.error:
            return None
        if self._pass_metric is None:
            return int(not grade.faults)
        value = grade.metrics.get(self._pass_metric)
        return None if value is None else int(value == 1)


def _failure_group(grade: GradeRecord) -> FailureGroup | None:
    """Return the group of a grade that did not pass; None if nothing says why."""
    if grade.error:
        return FailureGroup("error", argument=grade.error)
    if not grade.faults:
        return FailureGroup(grade.notes[0].kind) if grade.notes else None
    fault = grade.faults[0]
    expected = grade.expected[fault.expected_index] if fault.expected_index is not None else ""
    actual = grade.actual[fault.actual_index] if fault.actual_index is not None else ""
    other = actual if expected and actual != expected else ""
    return FailureGroup(fault.kind, expected or actual, other, _INDEX.sub("[]", fault.argument or ""), fault.origin or "")


def pass_metric(metrics: Mapping[str, Metric], headline: str) -> str | None:
    """Return the full name of the metric that decides whether a case passed: a headline rate, preferably of the headline's evaluator.

    None if there is none; then a case without faults passes.
    """
    rates = [name for name, metric in metrics.items() if metric.kind == "rate" and metric.headline]
    if headline in rates:
        return headline
    evaluator = headline.rpartition(".")[0]
    own = [name for name in rates if name.rpartition(".")[0] == evaluator]
    return next(iter([*own, *rates]), None)


def _shortened(code: str, call: Call, fault: Fault | None, write: Callable[[Call], str]) -> str:
    """Return a call as code; of one that is too long only the argument at fault, so that it is not cut off."""
    name = _TOP.split(fault.argument or "")[0] if fault else ""
    if len(code) > MAX_CODE and name in call.arguments:
        only = call_code(Call(call.name, {name: call.arguments[name]}), write).removeprefix(f"{call.name}(")
        code = f"{call.name}(…, {only[:-1]}, …)"
    return truncate(code, MAX_CODE)


def call_code(call: Call, write: Callable[[Call], str] = str) -> str:
    """Return a call as code."""
    try:
        return write(call)
    except (ValueError, RecursionError):  # a number with more digits than Python writes
        return f"{call.name}(…)"


def _expected_and_actual(grade: GradeRecord, calls: Sequence[Call], fault: Fault | None) -> tuple[str, str]:
    """Return the expected and the actual call as code: those of the fault, or the first of each without a fault."""
    if fault is None and len(calls) == 1 and grade.pairs == _ONE_CORRECT_PAIR:
        both = truncate(call_code(calls[0]), MAX_CODE)
        return both, both
    first = (0 if grade.expected else None, 0 if grade.actual else None)
    expected_index, actual_index = first if fault is None else (fault.expected_index, fault.actual_index)
    has_expected = expected_index is not None and expected_index < len(grade.expected)
    expected = _expected_code(grade, calls, expected_index) if has_expected and expected_index is not None else ""
    if actual_index is None or actual_index >= len(grade.actual):
        return expected, ""
    if actual_index < len(calls):
        return expected, _shortened(call_code(calls[actual_index]), calls[actual_index], fault, str)
    is_whole_call = fault is not None and fault.argument is None and isinstance(fault.actual, str)
    return expected, truncate(str(fault.actual) if is_whole_call and fault else f"{grade.actual[actual_index]}(…)", MAX_CODE)


def _expected_code(grade: GradeRecord, calls: Sequence[Call], index: int) -> str:
    faults = [fault for fault in grade.faults if fault.expected_index == index]
    for fault in faults:
        if fault.argument is None and isinstance(fault.expected, str):
            return truncate(fault.expected, MAX_CODE)
    for expected_index, actual_index, agrees in grade.pairs:
        if expected_index == index and actual_index < len(calls):
            arguments = calls[actual_index].arguments
            expected = Call(grade.expected[index], arguments if agrees else _expected_arguments(arguments, faults))
            write = str if agrees else show_expected_call
            return _shortened(call_code(expected, write), expected, faults[0] if faults else None, write)
    return truncate(f"{grade.expected[index]}(…)", MAX_CODE)


def _expected_arguments(actual: Mapping[str, Any], faults: Sequence[Fault]) -> dict[str, Any]:
    """Return the expected arguments, from the actual ones and their faults. Values that nothing counts as wrong are the actual ones."""
    expected = dict(actual)
    for fault in faults:
        if fault.argument is None:
            continue
        if fault.kind in ("extra_argument", "unknown_argument"):
            expected.pop(fault.argument, None)
        else:
            expected[fault.argument] = fault.expected
    return expected
