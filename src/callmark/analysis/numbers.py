"""Numbers as text: scores, intervals, differences, p-values, counts and durations."""

from callmark.analysis.intervals import LEVEL
from callmark.wording import pluralize

_SMALLEST_P = 0.001


def format_number(value: float | None) -> str:
    """Return a number for people: integers with thousands separators, others with three decimals, `—` for None."""
    if value is None:
        return "—"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def format_score(value: float) -> str:
    """Return a number from 0 to 1 with three decimals: `.668`, `1`, `0`. Other numbers, which custom evaluators may return, are not cut."""
    if value in (0, 1):
        return str(int(value))
    if not 0 < value < 1:
        return f"{value:,.4g}"
    return f"{min(max(value, 0.001), 0.999):.3f}".lstrip("0")  # only 0 is shown as 0, and only 1 as 1


def format_interval(low: float | None, high: float | None) -> str:
    """Return `[.612, .701]`, or an empty text without an interval."""
    return "" if low is None or high is None else f"[{format_score(low)}, {format_score(high)}]"


def format_estimate(value: float, interval: tuple[float, float] | None) -> str:
    """Return `.667 [.612, .701]`, or the value alone without an interval."""
    return format_score(value) + ("" if interval is None else f" {format_interval(*interval)}")


def explain_interval(mean: float, low: float | None, conversations: int) -> str:
    """Return what to say in the place of an interval if there is none or if nothing is wrong; empty if the interval speaks for itself."""
    if low is None:
        return "too few conversations for an interval"
    return f"at least {format_score(low)}: {pluralize(conversations, 'conversation')}, none wrong" if mean == 1 else ""


def format_signed(value: float) -> str:
    """Return `+.116`, `-.020`, `0`."""
    return "0" if abs(value) < 0.0005 else f"{'+' if value > 0 else '-'}{format_score(abs(value))}"


def format_difference(difference: float, low: float | None, high: float | None) -> str:
    """Return `+.116 [+.083, +.149]`, or only the difference without an interval."""
    interval = "" if low is None or high is None else f" [{format_signed(low)}, {format_signed(high)}]"
    return f"{format_signed(difference)}{interval}"


def format_p_value(p: float) -> str:
    """Return `p < .001` or `p = .042`; `p < .05` where rounding to .050 would read as not significant."""
    if p < LEVEL <= round(p, 3):
        return "p < .05"
    return "p < .001" if p < _SMALLEST_P else f"p = {format_score(p)}"


def format_seconds(value: float) -> str:
    """Return `0.3 ms`, `840 ms`, `2.4 s`."""
    return f"{value:.2g} s" if 1 <= value < 10 else f"{value:,.0f} s" if value >= 10 else f"{value * 1000:.3g} ms"
