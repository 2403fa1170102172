"""A graded run in the terminal: the headline, the evaluators, what went wrong with examples, the weakest tools."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from callmark.analysis.summary import SHOWN, Estimate, Example, FaultSummary, Summary, UsageSummary
from callmark.grading.evaluators.schema import READINGS, band
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, table
from callmark.runs.store import AskedInfo, RunInfo
from callmark.wording import counted

_EXAMPLES = 3  # of a kind of fault
_TOOLS = 5
_NAME = 34
_BAR = 12
FELT = 0.001  # seconds below which how long an answer took says nothing
_ARGUMENTS = ("process.args_precision", "process.args_recall")
_WORDS = {
    "schema.tool_selection": "tool selection",
    "schema.parameter_accuracy": "parameters",
    "schema.execution_success": "execution",
}


def share(value: float) -> str:
    """A number from 0 to 1 as three places: `.668`, `1`, `0`; any other, as an evaluator of one's own may have, in full."""
    if value in (0, 1):
        return str(int(value))
    if not 0 < value < 1:
        return f"{value:,.4g}"
    return f"{min(max(value, 0.001), 0.999):.3f}".lstrip("0")  # what is not 0 or 1 is not shown as if it were


def show_summary(console: Console, summary: Summary, *, scenarios: bool) -> None:
    """Everything that is worth knowing at first sight; of an empty run what to do about it."""
    if not summary.scored:
        console.print(Text("  nothing was scored: every case is an error", style="bold red"))
    else:
        _headline(console, summary, "process.reliability" if scenarios else "call.score")
        _evaluators(console, summary, "process.reliability" if scenarios else "call.score")
        _conversations(console, summary)
        _faults(console, summary)
        _tools(console, summary)
    _errors(console, summary)


def _headline(console: Console, summary: Summary, name: str) -> None:
    if name not in summary.metrics:
        return
    found = summary.metrics[name]
    line = Text.assemble("\n  ", (f"{name:<24} ", "bold"), (f"{share(found.mean):<6}", "bold cyan"), f" {interval(found):<14}")
    if name == "call.score":
        told = f"right tool and arguments in {summary.right:,}, right tool only in {summary.right_tools:,}"
    else:
        told = f"carried out to the letter in {round(found.mean * found.n):,} of {found.n:,}"
    line.append(f" {told}", style="dim")
    console.print(line, soft_wrap=True)


def _evaluators(console: Console, summary: Summary, headline: str) -> None:
    by_evaluator: dict[str, dict[str, Estimate]] = {}
    for name, found in summary.metrics.items():
        evaluator, _, metric = name.rpartition(".")
        by_evaluator.setdefault(evaluator, {})[metric] = found
    console.print()
    width = max(7, *(len(one_line(evaluator, _NAME)) for evaluator in by_evaluator))
    for evaluator, metrics in by_evaluator.items():
        line = Text(f"  {one_line(evaluator, _NAME):<{width}}   ")
        for words in _told(evaluator, metrics, headline, summary.scored):
            line.append(words)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _told(evaluator: str, metrics: dict[str, Estimate], headline: str, scored: int) -> Iterator[Text]:
    """The metrics of an evaluator, each with its name before it."""
    for metric, found in metrics.items():
        name = f"{evaluator}.{metric}"
        if name in (headline, _ARGUMENTS[1]):
            continue  # it stands above; it stands with its other half
        if name == _ARGUMENTS[0]:
            yield _named("arguments", f"{share(found.mean)} / {share(metrics['args_recall'].mean)}")
        else:
            yield _named(_WORDS.get(name, one_line(metric.replace("_", " "), _NAME)), share(found.mean))
        if name in SHOWN:
            yield Text(f"{interval(found)}   ", style="dim")
        if found.n < scored:  # it could not be told of all of them
            yield Text(f"(of {found.n:,} of {scored:,})   ", style="dim")
        if name == "schema.overall":
            reading = READINGS[band(found.mean)]
            yield Text(f"{band(found.mean)}{': ' if reading else ''}{reading}", style="dim")


def _named(name: str, value: str) -> Text:
    return Text.assemble((f"{name} ", ""), (value, "cyan"), "   ")


def _conversations(console: Console, summary: Summary) -> None:
    """Why conversations ended, how long they were, and what their trials give."""
    parts = [f"{one_line(ending, _NAME)} {count:,}" for ending, count in summary.endings.items()]
    if summary.turns is not None:
        parts.append(f"the user spoke {summary.turns:.3g}×")
    if parts:
        console.print(Text.assemble("\n  ended   ", " · ".join(parts)), soft_wrap=True)
    if summary.misses:
        console.print(Text(f"  no result was recorded for {counted(summary.misses, 'call')}", style="yellow"), soft_wrap=True)
    if unknown := summary.notes.get("state_unknown"):
        told = f"what the expected calls lead to is not known in {unknown:,}: their notes in grades.jsonl say why"
        console.print(Text(f"  {told}", style="yellow"), soft_wrap=True)
    trials = summary.details.trials if summary.details else None
    if trials is not None and len(trials.passes) > 1:
        told = " · ".join(f"pass^{one.k} {share(one.every)}" for one in trials.passes)
        same = trials.over_trials
        console.print(Text(f"  trials  {told} · the same outcome every time in {same.same:,} of {same.n:,}"), soft_wrap=True)


def _faults(console: Console, summary: Summary) -> None:
    if not summary.faults:
        console.print(Text("\n  nothing went wrong", style="green"))
        return
    console.print(Text("\n  what went wrong", style="bold"))
    made = table("", "", "")
    made.show_header = False
    made.columns[2].justify = "left"
    for fault in summary.faults:
        made.add_row(f"    {fault.kind.replace('_', ' ')}", f"{fault.count:,}", Text(_examples(fault), style="dim"))
    console.print(made)


def _examples(fault: FaultSummary) -> str:
    told = [_example(example) for example in fault.examples[:_EXAMPLES]]
    return ", ".join(told) + (", …" if len(fault.examples) > _EXAMPLES else "")


def _example(example: Example) -> str:
    origins = [f"{example.hallucinated:,} hallucinated"] if example.hallucinated else []
    origins += [f"{example.elsewhere:,} taken from another message"] if example.elsewhere else []
    return f"{one_line(example.what, _NAME * 2)} ({example.count:,}×{': ' + ', '.join(origins) if origins else ''})"


def _tools(console: Console, summary: Summary) -> None:
    weak = [tool for tool in summary.tools if tool.score < 1][:_TOOLS]
    if not weak:
        return
    made = table("  weakest tools", "n", "score", "")
    made.columns[3].justify = "left"
    made.columns[0].header_style = "bold"
    for tool in weak:
        made.add_row(
            f"    {one_line(tool.tool, _NAME) or '(no name)'}", f"{tool.n:,}", share(tool.score), Text(bar(tool.score, _BAR), style="cyan")
        )
    console.print()
    console.print(made)


def _errors(console: Console, summary: Summary) -> None:
    if not summary.errors:
        return
    console.print(Text(f"\n  {counted(summary.errors, 'error')}, in no number above", style="bold red"))
    for text, count in list(summary.error_texts.items())[:_TOOLS]:
        console.print(Text(f"    {count:,}×  {one_line(text, 300)}", style="dim"), soft_wrap=True)


def interval(found: Estimate) -> str:
    return f"{share(found.low)}-{share(found.high)}" if found.low is not None and found.high is not None else ""


def usage_line(usage: UsageSummary, what: str = "answer") -> str:
    """Seconds, tokens, cost, as far as they were measured. `what` is what took so long."""
    parts = []
    if usage.median_seconds >= FELT:
        parts.append(
            f"{seconds(usage.median_seconds)} {'an' if what[0] == 'a' else 'a'} {what}, one in twenty over {seconds(usage.slow_seconds)}"
        )
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:,.4g}")
    if usage.asked_again:
        parts.append(f"asked again {usage.asked_again:,}×")
    return " · ".join(parts)


def seconds(value: float) -> str:
    """`0.3 ms`, `840 ms`, `2.4 s`."""
    return f"{value:.2g} s" if 1 <= value < 10 else f"{value:,.0f} s" if value >= 10 else f"{value * 1000:.3g} ms"


def _asked(asked: AskedInfo) -> Iterator[str]:
    if asked.stopped:
        yield f"stopped: {one_line(asked.stopped, 200)}"
    if asked.trials > 1:
        yield f"each {'held' if asked.simulated else 'asked'} {asked.trials} times"
    if asked.remembered:
        yield f"{counted(asked.remembered, 'answer')} remembered from an earlier run (--no-cache asks anew)"
    if asked.trailing:
        yield f"{counted(asked.trailing, 'prompt')} ended in words of the assistant, which were left out (--trailing-assistant keep)"


def show_run(console: Console, folder: str, info: RunInfo, summary: Summary, *, details: bool = True) -> None:
    """The head, what was noticed on the way, the summary, its details if they are wanted and there are any, and where to go from here."""
    scenarios = info.dataset.what == "scenarios"
    what = "scenario" if scenarios else "decision point"
    head = Text(one_line(info.predictions.name or folder, 120), style="bold")
    where = f" from {counted(summary.conversations, 'conversation')}" if not scenarios and summary.conversations < summary.scored else ""
    errors = f" of {summary.graded:,}, {counted(summary.errors, 'error')}" if summary.errors else ""
    head.append(f" · {counted(summary.cases, what)}{where} · scored {summary.scored:,}{errors}", style="not bold")
    console.print(head, soft_wrap=True)
    for line in noticed(info):
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
    show_summary(console, summary, scenarios=scenarios)
    if details and summary.details is not None:
        from callmark.reporting.details_view import show_details

        show_details(console, summary.details, headline="process.reliability" if scenarios else "call.score")
    if summary.usage is not None and (told := usage_line(summary.usage, "conversation" if scenarios else "answer")):
        console.print(Text(f"\n  {told}", style="dim"), soft_wrap=True)
    shown = one_line(folder, 120)
    console.print(Text.assemble("\n", (shown, "bold"), f"  ·  callmark report {shown}  ·  callmark view"), soft_wrap=True)


def noticed(info: RunInfo) -> Iterator[str]:
    """What should be known of how a run came about, a line each."""
    found = info.predictions
    if info.asked is not None:
        yield from _asked(info.asked)
    if info.dataset.cut:
        yield f"{one_line(info.dataset.name, 80)} holds conversations: they were cut into decision points on the way"
    if info.dataset.mended:
        yield f"lone surrogates written out in {counted(info.dataset.mended, 'row')}"
    if found.parsed:
        yield f"{counted(found.parsed, 'answer')} read out of raw text"
    if found.unparsed:
        yield f"{counted(found.unparsed, 'answer')} without a call whose text looks as if there were one: --parse auto reads them"
    if found.unused:
        yield f"{counted(found.unused, 'prediction')} for no case, the first for {one_line(found.first_unused, 60)}"
    if found.repeated:
        yield f"{counted(found.repeated, 'prediction')} for a case that had one already: the first counts, or the first that is no error"
    for pattern, touched in info.match.items():
        yield f"match {one_line(pattern, 60)}: {counted(touched, 'argument')}"
