"""Print the result of a gate: passed or failed, then a line for each threshold."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.gate import GateCheck, gate_headline
from callmark.reporting.safety import short_names
from callmark.reporting.terminal import print_sentence

_MAX_NAME = 60


def show_gate(console: Console, checks: Sequence[GateCheck]) -> None:
    """Print `Gate passed: 3 of 3 thresholds met`, and each threshold with both numbers."""
    passed = all(check.met for check in checks)
    headline = f"Gate {'passed' if passed else 'failed'}: {gate_headline(checks)}"
    console.print(Text(headline, style="bold green" if passed else "bold red"))
    names = short_names([check.name for check in checks], _MAX_NAME)
    width = max(map(len, names))
    for check, name in zip(checks, names, strict=True):
        mark = Text("✓ ", style="green") if check.met else Text("✗ ", style="bold red")
        print_sentence(console, mark + Text(f"{name:<{width}}   {check.text}"), indent=2)
