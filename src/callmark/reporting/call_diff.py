"""The difference between expected and actual calls as a diff, argument by argument, for the messages of tests.

      create_ticket(
          title="Server down",
    -     priority="High",
    +     priority="Medium",
      )

Lines with `-` are expected, lines with `+` actual. Calls that agree are on one line. Text from data is escaped, and long values are cut.
"""

from collections.abc import Iterator, Sequence

from callmark.calls.display import show_expected, show_expected_call
from callmark.calls.strict import dump
from callmark.reporting.safety import escape_breaks
from callmark.types import Call, Fault
from callmark.wording import shorten_middle

LEGEND = "- expected  + actual"
_MAX_LINE = 300
_MAX_TEXT = 300

Pairs = Sequence[tuple[int, int, bool]]  # indexes of an expected and an actual call, and whether all arguments agree


def call_diff(expected: Sequence[Call], actual: Sequence[Call], pairs: Pairs, faults: Sequence[Fault]) -> list[str]:
    """Return the lines of the diff, in the order of the expected calls; then the actual calls that are paired with none.

    An actual call in the place of an expected one (a wrong tool) follows it. Without calls on either side there are no lines.
    """
    paired = {one: (other, agrees) for one, other, agrees in pairs}
    left = dict.fromkeys(index for index in range(len(actual)) if index not in {other for _, other, _ in pairs})
    lines: list[str] = []
    for index, call in enumerate(expected):
        if index in paired:
            other, agrees = paired[index]
            lines += [f"  {_shown(show_expected_call(call))}"] if agrees else _argument_diff(call, actual[other], _differing(faults, index))
            continue
        lines.append(f"- {_shown(show_expected_call(call))}")
        instead = next((fault.actual_index for fault in faults if fault.expected_index == index and fault.actual_index in left), None)
        if instead is not None:
            left.pop(instead)
            lines.append(f"+ {_shown(str(actual[instead]))}")
    return lines + [f"+ {_shown(str(actual[index]))}" for index in left]


def shown_reply(text: str) -> str:
    """Return the text of a reply on one line, as JSON, cut where it is long."""
    return shorten_middle(dump(escape_breaks(text[: 2 * _MAX_TEXT])), _MAX_TEXT)


def _differing(faults: Sequence[Fault], expected_index: int) -> set[str]:
    """Return the names of the arguments that have a fault: `guests` for the path `guests[0].name`."""
    paths = [fault.argument for fault in faults if fault.expected_index == expected_index and fault.argument is not None]
    return {path.partition(".")[0].partition("[")[0] for path in paths} | set(paths)


def _argument_diff(expected: Call, actual: Call, differing: set[str]) -> Iterator[str]:
    """Yield a paired call, with each argument that differs as two lines."""
    yield f"  {_shown(expected.name)}("
    for key in dict.fromkeys((*expected.arguments, *actual.arguments)):
        ours = f"{key}={show_expected(expected.arguments[key])}," if key in expected.arguments else ""
        theirs = f"{key}={dump(actual.arguments[key])}," if key in actual.arguments else ""
        if key not in differing and theirs:
            yield f"      {_shown(theirs)}"
            continue
        if ours and key in differing:
            yield f"-     {_shown(ours)}"
        if theirs:
            yield f"+     {_shown(theirs)}"
    yield "  )"


def _shown(text: str) -> str:
    return shorten_middle(escape_breaks(text), _MAX_LINE)
