"""The learning curve as an SVG: the share of validation calls that would be exact, and their loss, against the steps."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 52, 34, 44
_EXACT, _LOSS, _TEXT, _LINE = "#1a7f37", "#8250df", "#57606a", "#d0d7de"


def draw_curve(curve: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the curve: points with `step`, `calls`, `exact_calls` and `loss`. With one point, it is a dot."""
    path.write_text(curve_svg(curve), encoding="utf-8")


def curve_svg(curve: Sequence[dict[str, Any]]) -> str:
    """Return the SVG."""
    last = max(each["step"] for each in curve) or 1
    most = max(each["loss"] for each in curve) or 1.0

    def x(step: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * step / last, 1)

    def y(share: float) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share, 1)

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for tenth in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y(tenth)}" y2="{y(tenth)}" stroke="{_LINE}"/>')
        parts.append(_label(_LEFT - 8, y(tenth) + 4, f"{tenth:.0%}", _EXACT, "end"))
        parts.append(_label(WIDTH - _RIGHT + 8, y(tenth) + 4, f"{tenth * most:.2f}", _LOSS, "start"))
    exact = [(x(each["step"]), y(each["exact_calls"] / each["calls"])) for each in curve]
    loss = [(x(each["step"]), y(each["loss"] / most)) for each in curve]
    for points, color, dash in ((loss, _LOSS, ' stroke-dasharray="5 4"'), (exact, _EXACT, "")):
        drawn = " ".join(f"{across},{up}" for across, up in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{across}" cy="{up}" r="3.5" fill="{color}"/>' for across, up in points]
    parts += [_label(x(each["step"]), HEIGHT - _BOTTOM + 18, str(each["step"]), _TEXT, "middle") for each in curve]
    parts.append(_label((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 8, "training steps", _TEXT, "middle"))
    parts.append(_label(_LEFT, 20, "● validation calls that would be exact", _EXACT, "start"))
    parts.append(_label(WIDTH - _RIGHT, 20, "● loss per token of them (dashed)", _LOSS, "end"))
    body = "\n".join(parts)
    title = escape(f"Learning curve over {last} steps")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">\n'
        f"<title>{title}</title>\n{body}\n</svg>\n"
    )


def _label(across: float, up: float, text: str, color: str, anchor: str) -> str:
    return f'<text x="{across}" y="{up}" fill="{color}" text-anchor="{anchor}">{escape(text)}</text>'
