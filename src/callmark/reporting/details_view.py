"""Print the details of a run: tables by tool, position, function and argument, and what they mean."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.breakdowns import Distribution, Slice
from callmark.analysis.confusion import Confusion
from callmark.analysis.details import Details
from callmark.analysis.functions import ArgumentSummary, FunctionTable
from callmark.analysis.interpretations import Interpretation
from callmark.analysis.numbers import format_estimate, format_score
from callmark.analysis.reasons import MetricReasons
from callmark.analysis.trials import PassRate, TrialSummary
from callmark.reporting.safety import one_line, short_name
from callmark.reporting.terminal import bar, name_cells, plain_table, print_sentence
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
    _parts(console, "By tool", parts.by_tool, headline)
    _parts(console, "By scenario type", parts.by_scenario_type, headline)
    _parts(console, "By position (message index)", parts.by_position, headline)
    _parts(console, "By prompt length (characters)", parts.by_prompt_length, headline)
    _confusion(console, details.confusion)
    _functions(console, details.functions)
    _arguments(console, details.functions.arguments)
    if details.trials is not None:
        _trials(console, details.trials, details.recorded_trials)
    _reasons(console, details.reasons)
    _interpretations(console, details.interpretations)


def _scores(console: Console, scores: Distribution) -> None:
    most = max(scores.histogram)
    table = plain_table("  Distribution of call.score", "n", "")
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
    for part, name in zip(shown, name_cells([part.name for part in shown], _MAX_NAME, indent=4), strict=True):
        mean = part.means[headline]
        table.add_row(name, f"{part.n:,}", format_score(mean), Text(bar(mean, _BAR_WIDTH), style="cyan"))
    _print_titled(console, table)
    _print_remainder(console, len(parts))


def _confusion(console: Console, confusion: Confusion) -> None:
    confused = confusion.most_confused(_MAX_ROWS)
    if confused:
        table = plain_table("  Expected tool", "called instead", "n")
        table.columns[1].justify = "left"
        expected = name_cells([cell.expected for cell in confused], _MAX_NAME, indent=4)
        actual = name_cells([cell.actual for cell in confused], _MAX_NAME)
        for cell, *names in zip(confused, expected, actual, strict=True):
            table.add_row(*names, f"{cell.count:,}")
        _print_titled(console, table)
    calling = confusion.call_counts
    lines = []
    if calling.no_call_expected:
        number = pluralize(calling.no_call_expected, "prediction")
        lines.append(f"No call expected for {number}, called anyway in {calling.called_anyway:,}")
    if calling.called_nothing:
        lines.append(f"Call expected for {pluralize(calling.call_expected, 'prediction')}, no call made in {calling.called_nothing:,}")
    counts = (
        ("More", calling.cases_with_extra_calls, f"{calling.extra_calls:,} extra"),
        ("Fewer", calling.cases_with_missing_calls, f"{calling.missing_calls:,} missing"),
    )
    lines += [f"{label} calls than expected in {pluralize(cases, 'prediction')} ({calls})" for label, cases, calls in counts if cases]
    for line in lines:
        print_sentence(console, Text(line, style="dim"), indent=4)


def _functions(console: Console, functions: FunctionTable) -> None:
    if not functions.functions:
        return
    table = plain_table("  Calls by tool", "expected", "actual", "precision", "recall", "correct arguments")
    shown = functions.functions[:_MAX_ROWS]
    for function, name in zip(shown, name_cells([function.name for function in shown], _MAX_NAME, indent=4), strict=True):
        precision, recall = ("-" if value is None else format_score(value) for value in (function.precision, function.recall))
        correct = f"{function.correct:,} of {function.paired:,}"
        counts = (f"{function.expected:,}", f"{function.actual:,}")
        table.add_row(name, *counts, precision, recall, correct)
    _print_titled(console, table)
    _print_remainder(console, len(functions.functions))


def _arguments(console: Console, arguments: Sequence[ArgumentSummary]) -> None:
    if not arguments:
        return
    shown = arguments[:_MAX_ROWS]
    kinds = [kind for kind in _ARGUMENT_FAULTS if any(getattr(argument, kind) for argument in shown)]
    table = plain_table("  Wrong arguments", *(kind.replace("_", " ") for kind in kinds), "example")
    table.columns[-1].justify, table.columns[-1].overflow = "left", "fold"
    names = name_cells([f"{argument.function}.{argument.argument}" for argument in shown], _MAX_NAME, indent=4)
    for argument, name in zip(shown, names, strict=True):
        counts = [f"{getattr(argument, kind):,}" if getattr(argument, kind) else "·" for kind in kinds]
        table.add_row(name, *counts, Text(_example(argument), style="dim"))
    _print_titled(console, table)
    _print_remainder(console, len(arguments))


def _example(argument: ArgumentSummary) -> str:
    if not argument.examples:
        return ""
    first = argument.examples[0]
    expected, actual = ("nothing" if value is None else one_line(value, _MAX_VALUE) for value in (first.expected, first.actual))
    return f"expected {expected}, got {actual} ({short_name(first.case, _MAX_NAME)})"


def _trials(console: Console, trials: TrialSummary, recorded: TrialSummary | None) -> None:
    """Print pass@k and pass^k by our own metric and, where rewards are recorded, by reward."""
    rewards = {passes.k: passes for passes in recorded.pass_rates} if recorded else {}
    table = plain_table("  Trials", "pass@k", "pass^k", "cases", *(("pass@k by reward", "pass^k by reward") if rewards else ()))
    for passes in trials.pass_rates:
        reward = rewards.get(passes.k)
        cells = _pass_cells(reward) if reward else ("-", "-") if rewards else ()
        table.add_row(f"    k = {passes.k}", *_pass_cells(passes), f"{passes.cases:,}", *cells)
    _print_titled(console, table)
    for unit, consistency in (("cases", trials.trial_consistency), ("groups of similar cases", trials.group_consistency)):
        if consistency.n:
            console.print(Text(f"    Same outcome in every trial for {consistency.same:,} of {consistency.n:,} {unit}", style="dim"))


def _pass_cells(passes: PassRate) -> tuple[str, str]:
    """Return pass@k and pass^k with their intervals."""
    return format_estimate(passes.any, passes.any_interval), format_estimate(passes.every, passes.every_interval)


def _interpretations(console: Console, interpretations: Sequence[Interpretation]) -> None:
    if interpretations:
        console.print(Text("\n  What this means", style="bold"))
    for interpretation in interpretations:
        subject = one_line(interpretation.subject, 2 * _MAX_NAME)
        print_sentence(console, Text.assemble((subject, "bold"), f"  {one_line(interpretation.text, 300)}"), indent=4)
        for check in interpretation.checks:
            print_sentence(console, Text(one_line(check, 200), style="dim"), indent=6)


def _reasons(console: Console, reasons: Mapping[str, MetricReasons]) -> None:
    """Print the first reasons that evaluators gave, by metric."""
    for metric, found in list(reasons.items())[:_MAX_ROWS]:
        console.print(Text(f"\n  Reasons for {short_name(metric, _MAX_NAME)}", style="bold"))
        for reason in found.examples:
            value = "-" if reason.value is None else format_score(reason.value)
            print_sentence(console, Text(f"{short_name(reason.case, _MAX_NAME)} ({value}): {one_line(reason.text, 300)}"), indent=4)
        if found.count > len(found.examples):
            console.print(Text(f"    … and {found.count - len(found.examples):,} more (in grades.jsonl)", style="dim"))


def _print_titled(console: Console, table: Table) -> None:
    table.columns[0].header_style = "bold"
    console.print()
    console.print(table)


def _print_remainder(console: Console, count: int) -> None:
    if count > _MAX_ROWS:
        console.print(Text(f"    … and {count - _MAX_ROWS:,} more (--json has all)", style="dim"))
