"""Print a graded run: the headline, every evaluator, faults with examples, the weakest tools, errors."""

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from callmark.analysis.summary import Estimate, FaultExample, FaultSummary, Summary, UsageSummary
from callmark.grading.evaluator import Metric
from callmark.reporting.numbers import format_interval, format_score, format_seconds
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, plain_table
from callmark.runs.manifest import Manifest, ModelRunInfo
from callmark.wording import pluralize

_MAX_EXAMPLES = 3  # of a kind of fault
_MAX_TOOLS = 5
_MAX_NAME = 34
_BAR_WIDTH = 12
MIN_SECONDS_SHOWN = 0.001  # shorter latencies mean nothing: no request was sent
_ARGUMENTS = ("process.args_precision", "process.args_recall")


def show_summary(console: Console, summary: Summary, metrics: Mapping[str, Metric], *, scenarios: bool) -> None:
    """Print the metrics, faults, weakest tools and errors of a run; of a run without scores only the errors."""
    if not summary.scored:
        console.print(Text("  nothing was scored: every case is an error", style="bold red"))
    else:
        _headline(console, summary, "process.reliability" if scenarios else "call.score")
        _evaluators(console, summary, metrics, "process.reliability" if scenarios else "call.score")
        _conversations(console, summary)
        _faults(console, summary)
        _tools(console, summary)
    _errors(console, summary)


def _headline(console: Console, summary: Summary, name: str) -> None:
    if name not in summary.metrics:
        return
    estimate = summary.metrics[name]
    line = Text.assemble(
        "\n  ", (f"{name:<24} ", "bold"), (f"{format_score(estimate.mean):<6}", "bold cyan"), f" {format_interval(estimate):<14}"
    )
    if name == "call.score":
        counts = f"right tool and arguments in {summary.correct:,}, right tool only in {summary.correct_tools_only:,}"
    else:
        counts = f"carried out to the letter in {round(estimate.mean * estimate.n):,} of {estimate.n:,}"
    line.append(f" {counts}", style="dim")
    console.print(line, soft_wrap=True)


def _evaluators(console: Console, summary: Summary, definitions: Mapping[str, Metric], headline: str) -> None:
    by_evaluator: dict[str, dict[str, Estimate]] = {}
    for name, estimate in summary.metrics.items():
        evaluator, _, metric = name.rpartition(".")
        by_evaluator.setdefault(evaluator, {})[metric] = estimate
    console.print()
    width = max(7, *(len(one_line(evaluator, _MAX_NAME)) for evaluator in by_evaluator))
    for evaluator, metrics in by_evaluator.items():
        line = Text(f"  {one_line(evaluator, _MAX_NAME):<{width}}   ")
        for text in _metric_texts(evaluator, metrics, definitions, headline, summary.scored):
            line.append(text)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _metric_texts(
    evaluator: str, metrics: dict[str, Estimate], definitions: Mapping[str, Metric], headline: str, scored: int
) -> Iterator[Text]:
    """Yield the metrics of an evaluator, each with its label."""
    for metric, estimate in metrics.items():
        name = f"{evaluator}.{metric}"
        if name in (headline, _ARGUMENTS[1]):
            continue  # shown above, or together with precision
        definition = definitions.get(name)
        if name == _ARGUMENTS[0]:
            yield _labeled("arguments", f"{format_score(estimate.mean)} / {format_score(metrics['args_recall'].mean)}")
        else:
            yield _labeled(_label(evaluator, metric, definition), format_score(estimate.mean))
        if definition is not None and definition.headline:
            yield Text(f"{format_interval(estimate)}   ", style="dim")
        if estimate.n < scored:  # not applicable to every case
            yield Text(f"(of {estimate.n:,} of {scored:,})   ", style="dim")
        if definition is not None and definition.bands and not definition.checks:
            yield Text(definition.band(estimate.mean), style="dim")


def _label(evaluator: str, metric: str, definition: Metric | None) -> str:
    """Return the label of a metric, without the name of the evaluator, which stands before it on the line."""
    label = definition.label if definition is not None else metric.replace("_", " ")
    return one_line(label.removeprefix(f"{evaluator} "), _MAX_NAME)


def _labeled(label: str, value: str) -> Text:
    return Text.assemble((f"{label} ", ""), (value, "cyan"), "   ")


def _conversations(console: Console, summary: Summary) -> None:
    """Print why conversations ended, how long they were, and pass^k over trials."""
    parts = [f"{one_line(ending, _MAX_NAME)} {count:,}" for ending, count in summary.endings.items()]
    if summary.turns is not None:
        parts.append(f"the user spoke {summary.turns:.3g}×")
    if parts:
        console.print(Text.assemble("\n  ended   ", " · ".join(parts)), soft_wrap=True)
    if summary.misses:
        console.print(Text(f"  no result was recorded for {pluralize(summary.misses, 'call')}", style="yellow"), soft_wrap=True)
    if unknown := summary.notes.get("state_unknown"):
        sentence = f"what the expected calls lead to is not known in {unknown:,}: their notes in grades.jsonl say why"
        console.print(Text(f"  {sentence}", style="yellow"), soft_wrap=True)
    trials = summary.details.trials if summary.details else None
    if trials is not None and len(trials.pass_rates) > 1:
        pass_rates = " · ".join(f"pass^{passes.k} {format_score(passes.every)}" for passes in trials.pass_rates)
        consistency = trials.trial_consistency
        sentence = f"the same outcome every time in {consistency.same:,} of {consistency.n:,}"
        console.print(Text(f"  trials  {pass_rates} · {sentence}"), soft_wrap=True)


def _faults(console: Console, summary: Summary) -> None:
    if not summary.faults:
        console.print(Text("\n  nothing went wrong", style="green"))
        return
    console.print(Text("\n  what went wrong", style="bold"))
    table = plain_table("", "", "")
    table.show_header = False
    table.columns[2].justify = "left"
    for fault in summary.faults:
        table.add_row(f"    {fault.kind.replace('_', ' ')}", f"{fault.count:,}", Text(_examples(fault), style="dim"))
    console.print(table)


def _examples(fault: FaultSummary) -> str:
    shown = [_example(example) for example in fault.examples[:_MAX_EXAMPLES]]
    return ", ".join(shown) + (", …" if len(fault.examples) > _MAX_EXAMPLES else "")


def _example(example: FaultExample) -> str:
    origins = [f"{example.hallucinated:,} hallucinated"] if example.hallucinated else []
    origins += [f"{example.elsewhere:,} taken from another message"] if example.elsewhere else []
    return f"{one_line(example.name, _MAX_NAME * 2)} ({example.count:,}×{': ' + ', '.join(origins) if origins else ''})"


def _tools(console: Console, summary: Summary) -> None:
    weak = [tool for tool in summary.tools if tool.score < 1][:_MAX_TOOLS]
    if not weak:
        return
    table = plain_table("  weakest tools", "n", "score", "")
    table.columns[3].justify = "left"
    table.columns[0].header_style = "bold"
    for tool in weak:
        table.add_row(
            f"    {one_line(tool.tool, _MAX_NAME) or '(no name)'}",
            f"{tool.n:,}",
            format_score(tool.score),
            Text(bar(tool.score, _BAR_WIDTH), style="cyan"),
        )
    console.print()
    console.print(table)


def _errors(console: Console, summary: Summary) -> None:
    for evaluator, errors in summary.evaluator_errors.items():
        line = f"\n  evaluator {one_line(evaluator, _MAX_NAME)}: {pluralize(errors.count, 'error')}, in none of its numbers; the first: "
        console.print(Text(f"{line}{one_line(errors.case, _MAX_NAME)}: {one_line(errors.error, 300)}", style="bold red"), soft_wrap=True)
    if not summary.errors:
        return
    console.print(Text(f"\n  {pluralize(summary.errors, 'error')}, in no number above", style="bold red"))
    for text, count in list(summary.error_texts.items())[:_MAX_TOOLS]:
        console.print(Text(f"    {count:,}×  {one_line(text, 300)}", style="dim"), soft_wrap=True)


def usage_line(usage: UsageSummary, unit: str = "answer") -> str:
    """Return latency, tokens and cost, as far as they were measured. `unit` is what one latency is of."""
    parts = []
    if usage.median_seconds >= MIN_SECONDS_SHOWN:
        median, slow = format_seconds(usage.median_seconds), format_seconds(usage.p95_seconds)
        parts.append(f"{median} {'an' if unit[0] == 'a' else 'a'} {unit}, one in twenty over {slow}")
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.cost is not None:
        parts.append(f"cost {usage.cost:,.4g}")
    if usage.retries:
        parts.append(f"asked again {usage.retries:,}×")
    return " · ".join(parts)


def _model_run_notices(model_run: ModelRunInfo) -> Iterator[str]:
    if model_run.stop_reason:
        yield f"stopped: {one_line(model_run.stop_reason, 200)}"
    if model_run.trials > 1:
        yield f"each {'held' if model_run.simulation else 'asked'} {model_run.trials} times"
    if model_run.cache_hits:
        yield f"{pluralize(model_run.cache_hits, 'answer')} remembered from an earlier run (--no-cache asks anew)"
    if model_run.trailing_dropped:
        prompts = pluralize(model_run.trailing_dropped, "prompt")
        yield f"{prompts} ended in words of the assistant, which were left out (--trailing-assistant keep)"


def show_run(console: Console, folder: str, info: Manifest, summary: Summary, *, details: bool = True) -> None:
    """Print the header, notices, the summary, its details where they are wanted and known, and the next commands."""
    scenarios = info.dataset.kind == "scenarios"
    unit = "scenario" if scenarios else "decision point"
    head = Text(one_line(info.predictions.name or folder, 120), style="bold")
    where = f" from {pluralize(summary.conversations, 'conversation')}" if not scenarios and summary.conversations < summary.scored else ""
    errors = f" of {summary.graded:,}, {pluralize(summary.errors, 'error')}" if summary.errors else ""
    head.append(f" · {pluralize(summary.cases, unit)}{where} · scored {summary.scored:,}{errors}", style="not bold")
    console.print(head, soft_wrap=True)
    for line in run_notices(info):
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
    show_summary(console, summary, info.metrics, scenarios=scenarios)
    if details and summary.details is not None:
        from callmark.reporting.details_view import show_details

        show_details(console, summary.details, headline="process.reliability" if scenarios else "call.score")
    if summary.usage is not None and (line := usage_line(summary.usage, "conversation" if scenarios else "answer")):
        console.print(Text(f"\n  {line}", style="dim"), soft_wrap=True)
    path = one_line(folder, 120)
    console.print(Text.assemble("\n", (path, "bold"), f"  ·  callmark report {path}  ·  callmark view"), soft_wrap=True)


def run_notices(info: Manifest) -> Iterator[str]:
    """Yield what a reader should know about how the run was table, one line each."""
    predictions = info.predictions
    if info.model_run is not None:
        yield from _model_run_notices(info.model_run)
    if info.dataset.expanded:
        yield f"{one_line(info.dataset.name, 80)} holds conversations: they were cut into decision points on the way"
    if info.dataset.repaired_rows:
        yield f"lone surrogates written out in {pluralize(info.dataset.repaired_rows, 'row')}"
    if predictions.parsed:
        yield f"{pluralize(predictions.parsed, 'answer')} read out of raw text"
    if predictions.unparsed:
        yield f"{pluralize(predictions.unparsed, 'answer')} without a call whose text looks as if there were one: --parse auto reads them"
    if predictions.unmatched:
        yield f"{pluralize(predictions.unmatched, 'prediction')} for no case, the first for {one_line(predictions.first_unmatched, 60)}"
    if predictions.repeated:
        repeated = pluralize(predictions.repeated, "prediction")
        yield f"{repeated} for a case that had one already: the first counts, or the first that is no error"
    for pattern, touched in info.match_counts.items():
        yield f"match {one_line(pattern, 60)}: {pluralize(touched, 'argument')}"
