"""Format numbers, scores, intervals and durations for the terminal."""

from callmark.analysis.differences import LEVEL
from callmark.analysis.summary import Estimate

_SMALLEST_P = 0.001


def format_number(value: float | None) -> str:
    """Return a number for people: integers with thousands separators, others with three decimals, `—` for None."""
    if value is None:
        return "—"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def format_score(value: float) -> str:
    """Return a number from 0 to 1 with three decimals: `.668`, `1`, `0`; any other, as a user's evaluator may return, in full."""
    if value in (0, 1):
        return str(int(value))
    if not 0 < value < 1:
        return f"{value:,.4g}"
    return f"{min(max(value, 0.001), 0.999):.3f}".lstrip("0")  # never round to 0 or 1 what is neither


def format_interval(estimate: Estimate) -> str:
    """Return `.612-.701`, or nothing where the estimate has no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{format_score(estimate.low)}-{format_score(estimate.high)}"


def format_signed(value: float) -> str:
    """Return `+.116`, `-.02`, `0`."""
    return "0" if abs(value) < 0.0005 else f"{'+' if value > 0 else '-'}{format_score(abs(value))}"


def format_p_value(p: float) -> str:
    """Return `p < .001` or `p = .042`; `p < .05` where rounding to .050 would read as not significant."""
    if p < LEVEL <= round(p, 3):
        return "p < .05"
    return "p < .001" if p < _SMALLEST_P else f"p = {format_score(p)}"


def format_seconds(value: float) -> str:
    """Return `0.3 ms`, `840 ms`, `2.4 s`."""
    return f"{value:.2g} s" if 1 <= value < 10 else f"{value:,.0f} s" if value >= 10 else f"{value * 1000:.3g} ms"
