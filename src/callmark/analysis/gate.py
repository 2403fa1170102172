"""A gate: conditions that a run must meet, each judged with both numbers.

`min`: a metric is at least so much; `max_drop`: it is not lower than the baseline's by more than so much, on the cases that both have;
`max_errors`: so many errors at most. With `significant`, a drop counts only where it is no noise. A run with no scored case meets no
condition on a metric, and no gate at all. An unknown metric raises `BadInput` with the nearest.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from callmark.analysis.compare import Comparison
from callmark.analysis.summary import Summary
from callmark.errors import BadInput
from callmark.wording import counted, nearest

_EPSILON = 1e-9  # that rounding may cost: .9 is met by nine tenths


class Gate(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions, as the command line or the table `[gate]` of `callmark.toml` says them; `baseline` is the folder of a run."""

    min: dict[str, float] = {}
    max_drop: dict[str, float] = {}
    max_errors: int | None = None
    baseline: str = ""
    significant: bool = False


class Verdict(Struct, frozen=True):
    """One condition: what it is called, whether it is met, and the numbers in words."""

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
                raise BadInput(f"no metric called {name!r}{nearest(name, metrics) or '.'} (callmark gate RUN --list)")
            if option == "max-drop" and not bound >= 0:
                raise BadInput(f"--max-drop {name}={bound:g}: a drop is 0 or more")
    if gate.max_drop and not gate.baseline:
        raise BadInput("--max-drop needs something to drop from", "--baseline RUN names it.")
    if gate.max_errors is not None and gate.max_errors < 0:
        raise BadInput(f"--max-errors is {gate.max_errors}, 0 or more was expected")


def judge(gate: Gate, summary: Summary, comparison: Comparison | None = None) -> list[Verdict]:
    """A verdict for each condition, and one more where nothing was scored. `comparison` is the run against the baseline."""
    verdicts = [] if summary.scored else [Verdict("scored cases", False, "none: there is nothing to judge by")]
    verdicts += [_at_least(name, bound, summary) for name, bound in gate.min.items()]
    if comparison is not None:
        verdicts += [_not_lower(name, bound, comparison, gate.significant) for name, bound in gate.max_drop.items()]
    if gate.max_errors is not None:
        met = summary.errors <= gate.max_errors
        verdicts.append(
            Verdict(
                "errors", met, f"{summary.errors:,}, at most {gate.max_errors:,}" if met else f"{summary.errors:,} > {gate.max_errors:,}"
            )
        )
    return verdicts


def _at_least(name: str, bound: float, summary: Summary) -> Verdict:
    found = summary.metrics.get(name)
    if found is None:
        return Verdict(name, False, f"not measured, at least {number(bound)} was expected")
    met = found.mean >= bound - _EPSILON
    return Verdict(name, met, f"{number(found.mean)} {'≥' if met else '<'} {number(bound)}")


def _not_lower(name: str, bound: float, comparison: Comparison, significant: bool) -> Verdict:
    found = comparison.metrics.get(name)
    if found is None:
        return Verdict(name, False, f"not measured in both, a drop of at most {number(bound)} was allowed")
    drop = found.before - found.after
    within = drop <= bound + _EPSILON
    met = within or (significant and found.noise)
    said = f"{number(found.after)}, was {number(found.before)}"
    if not within:
        said += f": lower by {number(drop)}, at most {number(bound)}" + (", but within noise" if met else "")
    return Verdict(name, met, said)


def number(value: float) -> str:
    """`.784`, `1`, `0`: as many places as tell it from its bound."""
    return f"{value:.4f}".rstrip("0").rstrip(".").replace("0.", ".", 1) if 0 < abs(value) < 1 else f"{value:g}"


def bounds_of(given: Sequence[str], option: str) -> Mapping[str, float]:
    """`call.score=0.9` as a name and a number; anything else raises `BadInput`."""
    found: dict[str, float] = {}
    for text in given:
        name, separator, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            separator = ""
        if not separator or not name.strip() or found[name.strip()] != found[name.strip()]:
            raise BadInput(f"--{option} {text} is not METRIC=NUMBER", f"For example --{option} call.score=0.9")
    return found


def headline(verdicts: Sequence[Verdict]) -> str:
    """`2 of 3 conditions are met`."""
    met = sum(verdict.met for verdict in verdicts)
    return f"{met:,} of {counted(len(verdicts), 'condition')} met"
