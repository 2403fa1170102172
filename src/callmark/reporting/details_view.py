"""A run in detail in the terminal: where it is strong and where it is weak, table by table, and what that says in words."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.breakdowns import Distribution, Part
from callmark.analysis.confusion import Confusion
from callmark.analysis.details import Details
from callmark.analysis.functions import ArgumentSummary, FunctionTable
from callmark.analysis.readings import Reading
from callmark.analysis.trials import Trials
from callmark.reporting.grade_view import share
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, table
from callmark.wording import counted

_NAME = 40
_VALUE = 40
_BAR = 20
_ROWS = 20  # of a table; --json has them all
_WAYS = ("missing", "extra", "unknown", "wrong_type", "wrong_value")


def show_details(console: Console, details: Details, *, headline: str) -> None:
    """Every table that has something in it; of a breakdown into one part nothing."""
    if details.scores is not None:
        _scores(console, details.scores)
    parts = details.parts
    _parts(console, "by tool", parts.by_tool, headline)
    _parts(console, "by kind of scenario", parts.by_scenario_type, headline)
    _parts(console, "by position in the conversation (message)", parts.by_position, headline)
    _parts(console, "by length of the prompt (characters)", parts.by_prompt_length, headline)
    _confusion(console, details.confusion)
    _functions(console, details.functions)
    _arguments(console, details.functions.arguments)
    if details.trials is not None:
        _trials(console, details.trials, details.recorded)
    _readings(console, details.readings)


def _scores(console: Console, scores: Distribution) -> None:
    most = max(scores.histogram)
    made = table("  how call.score is spread", "n", "")
    made.columns[2].justify = "left"
    for tenth, count in enumerate(scores.histogram):
        if count:
            name = f"    {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"
            made.add_row(name, f"{count:,}", Text(bar(count / most, _BAR), style="cyan"))
    _titled(console, made)
    told = "  ".join(f"{name} {share(value)}" for name, value in scores.percentiles.items())
    console.print(Text(f"    {told}", style="dim"))


def _parts(console: Console, title: str, parts: Sequence[Part], headline: str) -> None:
    shown = [part for part in parts[:_ROWS] if headline in part.means]
    if len(parts) < 2 or not shown:
        return
    made = table(f"  {title}", "n", headline, "")
    made.columns[3].justify = "left"
    for part in shown:
        mean = part.means[headline]
        made.add_row(f"    {one_line(part.name, _NAME)}", f"{part.n:,}", share(mean), Text(bar(mean, _BAR), style="cyan"))
    _titled(console, made)
    _rest(console, len(parts))


def _confusion(console: Console, confusion: Confusion) -> None:
    confused = confusion.most_confused(_ROWS)
    if confused:
        made = table("  which tool was called instead", "", "n")
        made.columns[1].justify = "left"
        for cell in confused:
            made.add_row(f"    {one_line(cell.expected, _NAME)}", f"→ {one_line(cell.made, _NAME)}", f"{cell.count:,}")
        _titled(console, made)
    calling = confusion.calling
    lines = []
    if calling.none_due:
        lines.append(f"no call was due in {counted(calling.none_due, 'case')}, it called something in {calling.called_anyway:,}")
    if calling.called_nothing:
        lines.append(f"a call was due in {counted(calling.due, 'case')}, it called nothing in {calling.called_nothing:,}")
    amiss = (("too many", calling.more, calling.too_many), ("too few", calling.fewer, calling.too_few))
    lines += [f"{what} calls in {counted(cases, 'case')} ({counted(calls, 'call')})" for what, cases, calls in amiss if cases]
    for line in lines:
        console.print(Text(f"    {line}", style="dim"), soft_wrap=True)


def _functions(console: Console, functions: FunctionTable) -> None:
    if not functions.functions:
        return
    made = table("  functions", "expected", "made", "precision", "recall", "all arguments right")
    for one in functions.functions[:_ROWS]:
        precision, recall = ("-" if value is None else share(value) for value in (one.precision, one.recall))
        right = f"{one.right:,} of {one.paired:,}"
        made.add_row(f"    {one_line(one.name, _NAME)}", f"{one.expected:,}", f"{one.made:,}", precision, recall, right)
    _titled(console, made)
    _rest(console, len(functions.functions))


def _arguments(console: Console, arguments: Sequence[ArgumentSummary]) -> None:
    if not arguments:
        return
    made = table("  arguments that were wrong", *(way.replace("_", " ") for way in _WAYS), "for example")
    made.columns[-1].justify = "left"
    for one in arguments[:_ROWS]:
        counts = [f"{getattr(one, way):,}" if getattr(one, way) else "·" for way in _WAYS]
        made.add_row(f"    {one_line(f'{one.function}.{one.argument}', _NAME)}", *counts, Text(_example(one), style="dim"))
    _titled(console, made)
    _rest(console, len(arguments))


def _example(argument: ArgumentSummary) -> str:
    if not argument.examples:
        return ""
    first = argument.examples[0]
    expected, actual = ("nothing" if value is None else one_line(value, _VALUE) for value in (first.expected, first.actual))
    return f"{actual}, expected {expected} ({one_line(first.case, _NAME)})"


def _trials(console: Console, trials: Trials, recorded: Trials | None) -> None:
    """What the trials give, by our own metric and beside it by the reward that was recorded."""
    judged = {one.k: one for one in recorded.passes} if recorded else {}
    made = table("  over trials", "pass@k", "pass^k", "cases", *(("pass@k by reward", "pass^k by reward") if judged else ()))
    for one in trials.passes:
        reward = judged.get(one.k)
        cells = (share(reward.any), share(reward.every)) if reward else ("-", "-") if judged else ()
        made.add_row(f"    k = {one.k}", share(one.any), share(one.every), f"{one.cases:,}", *cells)
    _titled(console, made)
    for what, found in (("cases", trials.over_trials), ("groups of similar cases", trials.over_groups)):
        if found.n:
            console.print(Text(f"    the same outcome every time in {found.same:,} of {found.n:,} {what}", style="dim"))


def _readings(console: Console, said: Sequence[Reading]) -> None:
    if said:
        console.print(Text("\n  what this says", style="bold"))
    for reading in said:
        console.print(Text.assemble("    ", (one_line(reading.of, 2 * _NAME), "bold"), f": {one_line(reading.says, 300)}"), soft_wrap=True)
        for check in reading.check_first:
            console.print(Text(f"      check first: {one_line(check, 200)}", style="dim"), soft_wrap=True)


def _titled(console: Console, made: Table) -> None:
    made.columns[0].header_style = "bold"
    console.print()
    console.print(made)


def _rest(console: Console, count: int) -> None:
    if count > _ROWS:
        console.print(Text(f"    … and {count - _ROWS:,} more (--json has them all)", style="dim"))
