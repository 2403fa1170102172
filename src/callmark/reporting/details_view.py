"""Print the details of a run: tables by tool, position and function, and what they mean in words."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.breakdowns import Distribution, Slice
from callmark.analysis.confusion import Confusion
from callmark.analysis.details import Details
from callmark.analysis.functions import ArgumentSummary, FunctionTable
from callmark.analysis.interpretations import Interpretation
from callmark.analysis.reasons import MetricReasons
from callmark.analysis.trials import TrialSummary
from callmark.reporting.numbers import format_score
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, plain_table
from callmark.wording import pluralize

_MAX_NAME = 40
_MAX_VALUE = 40
_BAR_WIDTH = 20
_MAX_ROWS = 20  # of a table; --json has them all
_ARGUMENT_FAULTS = ("missing", "extra", "unknown", "wrong_type", "wrong_value")


def show_details(console: Console, details: Details, *, headline: str) -> None:
    """Print every table that is not empty. A breakdown into a single part is left out."""
    if details.score_distribution is not None:
        _scores(console, details.score_distribution)
    parts = details.breakdowns
    _parts(console, "by tool", parts.by_tool, headline)
    _parts(console, "by kind of scenario", parts.by_scenario_type, headline)
    _parts(console, "by position in the conversation (message)", parts.by_position, headline)
    _parts(console, "by length of the prompt (characters)", parts.by_prompt_length, headline)
    _confusion(console, details.confusion)
    _functions(console, details.functions)
    _arguments(console, details.functions.arguments)
    if details.trials is not None:
        _trials(console, details.trials, details.recorded_trials)
    _reasons(console, details.reasons)
    _interpretations(console, details.interpretations)


def _scores(console: Console, scores: Distribution) -> None:
    most = max(scores.histogram)
    table = plain_table("  how call.score is spread", "n", "")
    table.columns[2].justify = "left"
    for tenth, count in enumerate(scores.histogram):
        if count:
            name = f"    {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
            table.add_row(name, f"{count:,}", Text(bar(count / most, _BAR_WIDTH), style="cyan"))
    _print_titled(console, table)
    percentiles = "  ".join(f"{name} {format_score(value)}" for name, value in scores.percentiles.items())
    console.print(Text(f"    {percentiles}", style="dim"))


def _parts(console: Console, title: str, parts: Sequence[Slice], headline: str) -> None:
    shown = [part for part in parts[:_MAX_ROWS] if headline in part.means]
    if len(parts) < 2 or not shown:
        return
    table = plain_table(f"  {title}", "n", headline, "")
    table.columns[3].justify = "left"
    for part in shown:
        mean = part.means[headline]
        table.add_row(f"    {one_line(part.name, _MAX_NAME)}", f"{part.n:,}", format_score(mean), Text(bar(mean, _BAR_WIDTH), style="cyan"))
    _print_titled(console, table)
    _print_remainder(console, len(parts))


def _confusion(console: Console, confusion: Confusion) -> None:
    confused = confusion.most_confused(_MAX_ROWS)
    if confused:
        table = plain_table("  which tool was called instead", "", "n")
        table.columns[1].justify = "left"
        for cell in confused:
            table.add_row(f"    {one_line(cell.expected, _MAX_NAME)}", f"→ {one_line(cell.actual, _MAX_NAME)}", f"{cell.count:,}")
        _print_titled(console, table)
    calling = confusion.call_counts
    lines = []
    if calling.no_call_expected:
        lines.append(f"no call was due in {pluralize(calling.no_call_expected, 'case')}, it called something in {calling.called_anyway:,}")
    if calling.called_nothing:
        lines.append(f"a call was due in {pluralize(calling.call_expected, 'case')}, it called nothing in {calling.called_nothing:,}")
    surplus = (
        ("too many", calling.cases_with_extra_calls, calling.extra_calls),
        ("too few", calling.cases_with_missing_calls, calling.missing_calls),
    )
    lines += [f"{label} calls in {pluralize(cases, 'case')} ({pluralize(calls, 'call')})" for label, cases, calls in surplus if cases]
    for line in lines:
        console.print(Text(f"    {line}", style="dim"), soft_wrap=True)


def _functions(console: Console, functions: FunctionTable) -> None:
    if not functions.functions:
        return
    table = plain_table("  functions", "expected", "actual", "precision", "recall", "all arguments right")
    for function in functions.functions[:_MAX_ROWS]:
        precision, recall = ("-" if value is None else format_score(value) for value in (function.precision, function.recall))
        correct = f"{function.correct:,} of {function.paired:,}"
        counts = (f"{function.expected:,}", f"{function.actual:,}")
        table.add_row(f"    {one_line(function.name, _MAX_NAME)}", *counts, precision, recall, correct)
    _print_titled(console, table)
    _print_remainder(console, len(functions.functions))


def _arguments(console: Console, arguments: Sequence[ArgumentSummary]) -> None:
    if not arguments:
        return
    table = plain_table("  arguments that were wrong", *(kind.replace("_", " ") for kind in _ARGUMENT_FAULTS), "for example")
    table.columns[-1].justify = "left"
    for argument in arguments[:_MAX_ROWS]:
        counts = [f"{getattr(argument, kind):,}" if getattr(argument, kind) else "·" for kind in _ARGUMENT_FAULTS]
        table.add_row(
            f"    {one_line(f'{argument.function}.{argument.argument}', _MAX_NAME)}", *counts, Text(_example(argument), style="dim")
        )
    _print_titled(console, table)
    _print_remainder(console, len(arguments))


def _example(argument: ArgumentSummary) -> str:
    if not argument.examples:
        return ""
    first = argument.examples[0]
    expected, actual = ("nothing" if value is None else one_line(value, _MAX_VALUE) for value in (first.expected, first.actual))
    return f"{actual}, expected {expected} ({one_line(first.case, _MAX_NAME)})"


def _trials(console: Console, trials: TrialSummary, recorded: TrialSummary | None) -> None:
    """Print pass@k and pass^k by our own metric, and beside them by the recorded reward where there is one."""
    rewards = {passes.k: passes for passes in recorded.pass_rates} if recorded else {}
    table = plain_table("  over trials", "pass@k", "pass^k", "cases", *(("pass@k by reward", "pass^k by reward") if rewards else ()))
    for passes in trials.pass_rates:
        reward = rewards.get(passes.k)
        cells = (format_score(reward.any), format_score(reward.every)) if reward else ("-", "-") if rewards else ()
        table.add_row(f"    k = {passes.k}", format_score(passes.any), format_score(passes.every), f"{passes.cases:,}", *cells)
    _print_titled(console, table)
    for unit, consistency in (("cases", trials.trial_consistency), ("groups of similar cases", trials.group_consistency)):
        if consistency.n:
            console.print(Text(f"    the same outcome every time in {consistency.same:,} of {consistency.n:,} {unit}", style="dim"))


def _interpretations(console: Console, interpretations: Sequence[Interpretation]) -> None:
    if interpretations:
        console.print(Text("\n  what this says", style="bold"))
    for interpretation in interpretations:
        console.print(
            Text.assemble("    ", (one_line(interpretation.subject, 2 * _MAX_NAME), "bold"), f": {one_line(interpretation.text, 300)}"),
            soft_wrap=True,
        )
        for check in interpretation.checks:
            console.print(Text(f"      check first: {one_line(check, 200)}", style="dim"), soft_wrap=True)


def _reasons(console: Console, reasons: Mapping[str, MetricReasons]) -> None:
    """Print the first reasons that evaluators gave, by metric."""
    for metric, found in list(reasons.items())[:_MAX_ROWS]:
        console.print(Text(f"\n  reasons for {one_line(metric, _MAX_NAME)}", style="bold"))
        for reason in found.examples:
            value = "-" if reason.value is None else format_score(reason.value)
            console.print(Text(f"    {one_line(reason.case, _MAX_NAME)} ({value}): {one_line(reason.text, 300)}"), soft_wrap=True)
        if found.count > len(found.examples):
            console.print(Text(f"    … and {found.count - len(found.examples):,} more (in grades.jsonl)", style="dim"))


def _print_titled(console: Console, table: Table) -> None:
    table.columns[0].header_style = "bold"
    console.print()
    console.print(table)


def _print_remainder(console: Console, count: int) -> None:
    if count > _MAX_ROWS:
        console.print(Text(f"    … and {count - _MAX_ROWS:,} more (--json has them all)", style="dim"))
