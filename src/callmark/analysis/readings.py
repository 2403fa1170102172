"""What numbers mean in words, and what to check first: as documents 002 (bands, low scores) and 004 (precision against recall,
reliability across scenarios, the weakest functions) read them.

The documents say "high" and "low" without numbers; the constants here do. Metrics that are not there give no reading, an empty run none.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from callmark.analysis.breakdowns import OTHERS, Part
from callmark.analysis.functions import ArgumentSummary, FunctionSummary, FunctionTable
from callmark.grading.evaluators.schema import BANDS, READINGS, band
from callmark.wording import counted

HIGH, LOW = BANDS[0][0], BANDS[1][0]  # the least of excellent, and of good
APART = 0.1  # by so much one of two numbers is "high" against the other, unless both are high
VARIES = 0.25  # between the best scenario type and the worst
FEWEST = 5  # cases or calls below which a number of their own says nothing: one more or less would turn it
MANY_UNREADABLE = 0.05  # of all answers
MOST_NAMED = 3

_CHECKS = {
    "schema.tool_selection": [
        "the training data has clear patterns of tool use",
        "the tools have distinct uses",
        "the system prompt says when to use each tool",
    ],
    "schema.parameter_accuracy": [
        "the training examples show the right format of each parameter",
        "it is clear which parameters are required and which are optional",
        "complex parameters (lists, objects) are handled",
    ],
}
_UNREADABLE_CHECKS = [
    "the output format is the chat format that was expected",
    "the model writes valid JSON in its calls",
    "temperature and max_tokens fit: an answer that is cut short cannot be read",
]


class Reading(Struct, frozen=True):
    """What is being read (a metric, two of them, or what else), what it says, and what to check first, which may be nothing."""

    of: str
    says: str
    check_first: list[str] = []


class _Against(Struct, frozen=True):
    """What precision against recall says."""

    precision: str
    recall: str
    high_low: str
    low_high: str
    low_low: str


_CALLS = _Against(
    "process.precision",
    "process.recall",
    "makes correct calls but misses some that are required",
    "covers the expected calls but makes unnecessary ones",
    "fundamental issues: it is not understood which function is to be called when",
)
_ARGUMENTS = _Against(
    "process.args_precision",
    "process.args_recall",
    "the arguments it gives are correct, but incomplete",
    "the expected arguments are there, but wrong ones as well",
    "significant issues with arguments: they are wrong or missing",
)


def readings(
    means: Mapping[str, float],
    *,
    scenario_types: Sequence[Part] = (),
    functions: FunctionTable | None = None,
    graded: int = 0,
    errors: int = 0,
    malformed: int = 0,
) -> list[Reading]:
    """All that there is to say of a run, from the mean of each metric; more, where its parts and functions are given, and of its `graded`
    answers how many are errors, and how many calls are malformed.
    """
    found = [*read_bands(means), *read_processing(graded, errors, malformed)]
    found += [*read_precision_and_recall(means), *read_reliability(means, scenario_types)]
    if functions is not None:
        found += [*read_functions(functions.functions), *read_arguments(functions.arguments)]
    return found


def read_bands(means: Mapping[str, float]) -> list[Reading]:
    """The band of `schema.overall`; and of each metric that is below excellent what to check first, as document 002 lists it."""
    found = [Reading("schema.overall", _band(means["schema.overall"]))] if "schema.overall" in means else []
    found += [Reading(name, _band(means[name]), list(checks)) for name, checks in _CHECKS.items() if means.get(name, 1.0) < HIGH]
    return found


def read_processing(graded: int, errors: int, malformed: int) -> list[Reading]:
    """Document 002's "high processing errors": many answers that are errors, or calls that cannot be read."""
    if not errors + malformed or errors + malformed < MANY_UNREADABLE * graded:
        return []
    said = f"{counted(errors, 'error')} and {counted(malformed, 'malformed call')} in {counted(graded, 'answer')}"
    return [Reading("processing errors", said, list(_UNREADABLE_CHECKS))]


def read_precision_and_recall(means: Mapping[str, float]) -> list[Reading]:
    """One against the other, of calls and of arguments; nothing where both are high, or much the same and not both low."""
    return [*_read_against(means, _CALLS), *_read_against(means, _ARGUMENTS)]


def read_reliability(means: Mapping[str, float], scenario_types: Sequence[Part] = ()) -> list[Reading]:
    """Reliability across the scenario types that have enough cases; where there are not two of them, of the whole."""
    name = "process.reliability"
    if name not in means:
        return []
    parts = sorted([part for part in scenario_types if part.n >= FEWEST and name in part.means], key=lambda part: part.means[name])
    lowest, highest = (parts[0].means[name], parts[-1].means[name]) if len(parts) > 1 else (means[name], means[name])
    if lowest >= HIGH:
        return [Reading(name, "high: business processes are followed correctly")]
    if highest < LOW:
        low = "consistently low" if len(parts) > 1 else "low"
        return [Reading(name, f"{low}: fundamental issues with how business processes are carried out")]
    if round(highest - lowest, 9) < VARIES:
        return []
    said = f"variable: better at some workflows than at others ({parts[-1].name} {highest:.2f}, {parts[0].name} {lowest:.2f})"
    weak = [f"{part.name} ({part.means[name]:.2f} of {part.n:,})" for part in parts if part.means[name] < LOW]
    return [Reading(name, said, weak[:MOST_NAMED])]


def read_functions(functions: Sequence[FunctionSummary]) -> list[Reading]:
    """The functions with the lowest precision or recall, where these are not high."""
    weak = [(_weakness(one), one) for one in functions if one.name != OTHERS]
    weakest = sorted([pair for pair in weak if pair[0] < HIGH], key=lambda pair: (pair[0], -pair[1].expected, pair[1].name))
    if not weakest:
        return []
    return [Reading("functions", "the lowest precision and recall: improve these first", [_told(one) for _, one in weakest[:MOST_NAMED]])]


def read_arguments(arguments: Sequence[ArgumentSummary]) -> list[Reading]:
    """The arguments that are wrong again and again."""
    repeated = [one for one in arguments if one.count >= FEWEST and OTHERS not in (one.function, one.argument)]
    named = [f"{one.function}.{one.argument} ({_ways(one)})" for one in repeated[:MOST_NAMED]]
    return [Reading("arguments", "the same arguments are wrong again and again", named)] if named else []


def _read_against(means: Mapping[str, float], against: _Against) -> list[Reading]:
    if against.precision not in means or against.recall not in means:
        return []
    precision, recall = means[against.precision], means[against.recall]
    of = f"{against.precision}, {against.recall}"
    if precision < LOW and recall < LOW:
        return [Reading(of, against.low_low)]
    if min(precision, recall) >= HIGH or round(abs(precision - recall), 9) < APART:
        return []
    return [Reading(of, against.high_low if precision > recall else against.low_high)]


def _band(value: float) -> str:
    name = band(value)
    return f"{name}: {READINGS[name]}" if READINGS[name] else name


def _weakness(function: FunctionSummary) -> float:
    """The lower of precision and recall, of those that enough calls stand behind."""
    precision = function.precision if function.precision is not None and function.made >= FEWEST else 1.0
    recall = function.recall if function.recall is not None and function.expected >= FEWEST else 1.0
    return min(precision, recall)


def _told(function: FunctionSummary) -> str:
    numbers = [] if function.precision is None else [f"precision {function.precision:.2f} of {function.made:,}"]
    numbers += [] if function.recall is None else [f"recall {function.recall:.2f} of {function.expected:,}"]
    return f"{function.name}: {', '.join(numbers)}"


def _ways(argument: ArgumentSummary) -> str:
    counts = {
        "missing": argument.missing,
        "extra": argument.extra,
        "unknown": argument.unknown,
        "wrong type": argument.wrong_type,
        "wrong value": argument.wrong_value,
    }
    return ", ".join(f"{way} {count:,}×" for way, count in counts.items() if count)
