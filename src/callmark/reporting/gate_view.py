"""Print the result of a gate: passed or failed, then a line for each threshold."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from callmark.analysis.breakdowns import NO_SCENARIO_TYPE
from callmark.analysis.gate import GateCheck, gate_headline
from callmark.analysis.summary import Summary
from callmark.grading.evaluator import Metric
from callmark.reporting.safety import escape_breaks, one_line, short_names
from callmark.reporting.terminal import print_sentence
from callmark.wording import mark_heuristic

_MAX_NAME = 60


def show_gate(console: Console, checks: Sequence[GateCheck], coverage: str = "", *, baseline: str = "") -> None:
    """Print `Gate passed: 3 of 3 thresholds met`, how much was scored where there are errors, and each threshold with both numbers.

    `baseline` is the baseline if the user did not name its folder.
    """
    passed = all(check.met for check in checks)
    headline = f"Gate {'passed' if passed else 'failed'}: {gate_headline(checks)}"
    head = Text(headline, style="bold green" if passed else "bold red")
    console.print(head.append(f" ({coverage})" if coverage else "", style="not bold yellow"), soft_wrap=True)
    names = short_names([check.label for check in checks], _MAX_NAME)
    width = max(map(len, names))
    for check, name in zip(checks, names, strict=True):
        mark = Text("✓ ", style="green") if check.met else Text("✗ ", style="bold red")
        print_sentence(console, mark + Text(f"{name:<{width}}   {check.text}"), indent=2)
    if baseline:
        print_sentence(console, Text(f"Baseline: {one_line(baseline, _MAX_NAME * 2)}", style="dim"))


def show_measures(console: Console, metrics: Mapping[str, Metric], summary: Summary) -> None:
    """Print what thresholds can be set for: every metric with its label, pass^k and pass@k over trials, and the scenario types."""
    labels = {name: mark_heuristic(metric.label, metric.heuristic) for name, metric in metrics.items()}
    trials = summary.details.trials if summary.details else None
    if trials is not None and trials.pass_rates:
        most = max(rate.k for rate in trials.pass_rates)
        span = "" if most == 1 else f" … pass^{most}"
        labels[f"pass^1{span}"] = "all k trials pass"
        labels[f"pass@1{span.replace('^', '@')}"] = "at least one of k trials passes"
    names = {name: escape_breaks(name) for name in labels}  # in full: they are to be typed
    width = min(max(map(len, names.values()), default=0), _MAX_NAME)
    for name, label in labels.items():
        console.print(Text.assemble(f"{names[name]:<{width}}   ", (one_line(label, _MAX_NAME), "dim")), soft_wrap=True)
    types = [part.name for part in summary.details.breakdowns.by_scenario_type if part.name != NO_SCENARIO_TYPE] if summary.details else []
    if types:
        listed = ", ".join(map(escape_breaks, types))
        print_sentence(console, Text(f"METRIC:TYPE limits a metric to one scenario type: {listed}", style="dim"))
