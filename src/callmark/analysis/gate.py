"""A gate: conditions that a run must meet, each judged with both numbers.

`min`: a metric is at least so much; `max_drop`: it is not lower than the baseline's by more than so much, on the cases that both have;
`max_errors`: so many errors at most. With `significant`, a drop counts only where it is no noise. A run with no scored case meets no
condition on a metric, and no gate at all; nor does one that is not finished. An unknown metric raises `BadInput` with the nearest.
"""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Literal

from msgspec import Struct

from callmark.analysis.compare import Comparison
from callmark.analysis.summary import Summary
from callmark.errors import BadInput
from callmark.grading.evaluator import KNOWN
from callmark.wording import counted, nearest

_EPSILON = 1e-9  # that rounding may cost: .9 is met by nine tenths
_PLACES = range(3, 10)  # of a number that is shown: more only where fewer would tell it wrongly from its bound


class Gate(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions, as the command line or the table `[gate]` of `callmark.toml` says them; `baseline` is the folder of a run."""

    min: dict[str, float] = {}
    max_drop: dict[str, float] = {}
    max_errors: int | None = None
    baseline: str = ""
    significant: bool = False


class Verdict(Struct, frozen=True):
    """One condition: its kind and what it is about, which no two have in common; whether it is met; and the numbers in words."""

    condition: Literal["finished", "scored", "min", "max_drop", "max_errors"]
    name: str
    met: bool
    said: str


def check(gate: Gate, metrics: Collection[str]) -> None:
    """Refuse what no run could be judged by: no condition, unknown metrics, a drop without a baseline, bounds that are none."""
    if not gate.min and not gate.max_drop and gate.max_errors is None:
        raise BadInput("the gate has no condition: it would let everything through", "Give one: --min call.score=0.9")
    for option, bounds in (("min", gate.min), ("max-drop", gate.max_drop)):
        for name, bound in bounds.items():
            if name not in metrics:
                raise BadInput(f"no metric called {name!r}{nearest(name, metrics)}", "callmark gate RUN --list shows those of a run.")
            _check_bound(f"--{option} {name}={bound:g}", name, bound, drop=option == "max-drop")
    if gate.max_drop and not gate.baseline:
        raise BadInput("--max-drop needs something to drop from", "--baseline RUN names it.")
    if gate.max_errors is not None and gate.max_errors < 0:
        raise BadInput(f"--max-errors is {gate.max_errors}, 0 or more was expected")


def _check_bound(given: str, name: str, bound: float, *, drop: bool) -> None:
    """Refuse a bound that is always or never met: it was meant to be another, 90 for .9. An evaluator of one's own may go beyond 1."""
    if not isfinite(bound):
        raise BadInput(f"{given}: a number was expected")
    if drop and bound < 0:
        raise BadInput(f"{given}: a drop is 0 or more")
    if name.partition(".")[0] in KNOWN and name != "recorded.reward" and not 0 <= bound <= 1:
        raise BadInput(f"{given}: {name} goes from 0 to 1")


def judge(gate: Gate, summary: Summary, comparison: Comparison | None = None, *, unfinished: str = "") -> list[Verdict]:
    """A verdict for each condition, and one more where nothing was scored, or the run is `unfinished`, which says why. `comparison` is the
    run against the baseline; without one, no condition on a drop is met.
    """
    verdicts = [Verdict("finished", "run", False, unfinished)] if unfinished else []
    if not summary.scored:
        verdicts.append(Verdict("scored", "scored cases", False, "none: there is nothing to judge by"))
    verdicts += [_at_least(name, bound, summary) for name, bound in gate.min.items()]
    verdicts += [_not_lower(name, bound, comparison, gate.significant) for name, bound in gate.max_drop.items()]
    if gate.max_errors is not None:
        met = summary.errors <= gate.max_errors
        said = f"{summary.errors:,}, at most {gate.max_errors:,}" if met else f"{summary.errors:,} > {gate.max_errors:,}"
        verdicts.append(Verdict("max_errors", "errors", met, said))
    return verdicts


def _at_least(name: str, bound: float, summary: Summary) -> Verdict:
    found = summary.metrics.get(name)
    if found is None:
        return Verdict("min", name, False, f"not measured, at least {_number(bound)} was expected")
    met = found.mean >= bound - _EPSILON
    return Verdict("min", name, met, f"{_beside(found.mean, bound)} {'≥' if met else '<'} {_number(bound)}")


def _not_lower(name: str, bound: float, comparison: Comparison | None, significant: bool) -> Verdict:
    found = comparison.metrics.get(name) if comparison is not None else None
    if found is None:
        return Verdict("max_drop", name, False, f"not measured in both, a drop of at most {_number(bound)} was allowed")
    drop = found.before - found.after
    within = drop <= bound + _EPSILON
    met = within or (significant and found.noise)
    said = f"{_beside(found.after, found.before)}, was {_beside(found.before, found.after)}"
    if not within:
        said += f": lower by {_beside(drop, bound)}, at most {_number(bound)}" + (", but within noise" if met else "")
    return Verdict("max_drop", name, met, said)


def _beside(value: float, bound: float) -> str:
    """The value in three places, or in as many as it takes to stand on the side of the bound that it is on."""
    if abs(value - bound) <= _EPSILON:
        return _number(bound)
    return next((text for places in _PLACES if _side(float(text := _places(value, places)), bound) == _side(value, bound)), _number(value))


def _side(value: float, bound: float) -> int:
    return (value > bound) - (value < bound)


def _number(value: float) -> str:
    """A number as it was given: `.8`, `1`, `.8125`."""
    return _places(value, _PLACES.stop)


def _places(value: float, places: int) -> str:
    text = f"{value:.{places}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("0.", ".", 1) if abs(value) < 1 else text


def bounds_of(given: Sequence[str], option: str) -> Mapping[str, float]:
    """`call.score=0.9` as a name and a number; anything else, and a name that comes twice, raises `BadInput`."""
    found: dict[str, float] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            bound = float(value)
        except ValueError:
            bound = float("nan")
        if not name or not isfinite(bound):
            raise BadInput(f"--{option} {text} is not METRIC=NUMBER", f"For example --{option} call.score=0.9")
        if name in found:
            raise BadInput(f"--{option} is given twice for {name}")
        found[name] = bound
    return found


def headline(verdicts: Sequence[Verdict]) -> str:
    """`2 of 3 conditions met`."""
    met = sum(verdict.met for verdict in verdicts)
    return f"{met:,} of {counted(len(verdicts), 'condition')} met"
