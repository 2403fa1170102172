"""Print a graded run: the headline metric, every evaluator, the top faults, the weakest tools, errors, and what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from callmark.analysis.breakdowns import NO_CALL
from callmark.analysis.interpretations import MIN_CASES
from callmark.analysis.labels import category_label, metric_label, pooled_label
from callmark.analysis.numbers import explain_interval, format_estimate, format_interval, format_score
from callmark.analysis.summary import Estimate, FaultExample, FaultSummary, Summary
from callmark.analysis.verdict import headline_counts, judge_run
from callmark.grading.evaluator import Metric
from callmark.grading.settings import counts_faults, find_source
from callmark.reporting.run_notices import no_calls_notice, run_notices, show_next, usage_line
from callmark.reporting.safety import one_line, short_name, short_names
from callmark.reporting.terminal import bar, name_cells, plain_table, print_parts, print_sentence
from callmark.runs.manifest import Manifest
from callmark.wording import pluralize

if TYPE_CHECKING:
    from callmark.runs.partitioned import PartitionedRun

_MAX_EXAMPLES = 3  # of a kind of fault
_MAX_TOOLS = 5
_MAX_ERRORS = 5
_MAX_FILES = 20
_MAX_NAME = 34
_NAME_LIMITS = range(_MAX_NAME, 11, -2)  # of the names in an example: as long as the line allows
_MIN_LABEL, _MAX_LABEL = 12, 50
_BAR_WIDTH = 12
_ARGUMENTS = ("process.args_precision", "process.args_recall")
_TWO_TOOLS = ("wrong_tool", "unknown_tool")  # faults whose example names the expected and the actual tool


def show_run(console: Console, folder: str, info: Manifest, summary: Summary, *, details: bool = True, disagreements: bool = False) -> None:
    """Print the header, notices, the summary, its details and disagreements where they are wanted and known, and the next commands."""
    _show_graded(console, folder, info, summary, details=details, disagreements=disagreements)
    show_next(console, [folder])


def show_partitioned_run(console: Console, run: "PartitionedRun") -> None:
    """Print the same of a dataset that was graded in parts, and where the grades are."""
    _show_graded(console, run.folder, run.info, run.summary)
    parts = pluralize(run.parts, "part") + (f", {run.graded_before:,} of them graded before" if run.graded_before else "")
    print_sentence(console, Text(f"Saved to {run.folder} ({parts}): grades/*.parquet, summary.json"))


def _show_graded(
    console: Console, folder: str, info: Manifest, summary: Summary, *, details: bool = True, disagreements: bool = False
) -> None:
    scenarios = info.dataset.kind == "scenarios"
    head = Text(short_name(info.predictions.name or folder, 80), style="bold")
    verdict = judge_run(summary, "process.reliability" if scenarios else "call.score", scenarios=scenarios)
    head.append(f" · {verdict.scope}", style="not bold")
    if notice := no_calls_notice(info.predictions):
        print_sentence(console, Text(notice, style="bold yellow"))
    console.print(head, soft_wrap=True)
    for line in run_notices(info):
        print_sentence(console, Text(line, style="dim"), indent=2)
    show_summary(console, summary, info.metrics, scenarios=scenarios, evaluators=info.grading.evaluators)
    if details and summary.details is not None:
        from callmark.reporting.details_view import show_details

        show_details(console, summary.details, headline="process.reliability" if scenarios else "call.score")
    if disagreements and summary.details is not None:
        from callmark.reporting.disagreements_view import show_disagreements

        show_disagreements(console, summary.details.disagreements)
    if summary.usage is not None and (line := usage_line(summary.usage, "conversation" if scenarios else "prediction")):
        console.print()
        print_sentence(console, Text(line, style="dim"), indent=2)
    console.print()


def show_summary(
    console: Console, summary: Summary, metrics: Mapping[str, Metric], *, scenarios: bool, evaluators: Sequence[str] = ()
) -> None:
    """Print the metrics, faults, weakest tools and errors of a run; only the errors of a run without scores.

    `evaluators` are the names of those that were selected: one that applies to no decision point is reported.
    """
    if not summary.scored:
        console.print(Text(f"  No scores: {_no_scores(summary)}", style="bold red"))
    else:
        headline = "process.reliability" if scenarios else "call.score"
        measured = {name.rpartition(".")[0]: None for name in summary.metrics}
        shown = [*([headline] if headline in summary.metrics else []), *(short_name(name, _MAX_NAME) for name in measured)]
        width = max([_MIN_LABEL, *map(len, shown)]) + 2
        _headline(console, summary, headline, width)
        _evaluators(console, summary, metrics, headline, width)
        _matrices(console, summary, width)
        if not scenarios:
            _not_applicable(console, summary, evaluators)
        _conversations(console, summary, width)
        _faults(console, summary)
        _tools(console, summary)
    _files(console, summary, "process.reliability" if scenarios else "call.score")
    _errors(console, summary)


def _no_scores(summary: Summary) -> str:
    """Return why nothing is scored: errors, or evaluators that failed everywhere."""
    failed = [short_name(name, _MAX_NAME) for name in summary.evaluator_errors]
    if summary.errors == summary.graded or not failed:
        return "every prediction is an error"
    where = "on every prediction" if not summary.errors else "on every prediction that is not an error"
    return f"the evaluator {failed[0]} failed {where}" if len(failed) == 1 else f"the evaluators {', '.join(failed)} failed {where}"


def _headline(console: Console, summary: Summary, name: str, width: int) -> None:
    if name not in summary.metrics:
        return
    estimate = summary.metrics[name]
    explained = explain_interval(estimate.mean, estimate.low, summary.scored_conversations)
    interval = "" if explained else f"{format_interval(estimate.low, estimate.high):<16} "
    label = Text.assemble("  ", (f"{name:<{width}}", "bold"), (f"{format_score(estimate.mean):<6} ", "bold cyan"), interval)
    counts = headline_counts(summary, name)
    console.print()
    print_parts(console, label, [*([Text(explained)] if explained else []), *(Text(count, style="dim") for count in counts)])


def _evaluators(console: Console, summary: Summary, definitions: Mapping[str, Metric], headline: str, width: int) -> None:
    by_evaluator: dict[str, dict[str, Estimate]] = {}
    for name, estimate in summary.metrics.items():
        evaluator, _, metric = name.rpartition(".")
        by_evaluator.setdefault(evaluator, {})[metric] = estimate
    console.print()
    for evaluator, metrics in by_evaluator.items():
        texts = [*_metric_texts(evaluator, metrics, definitions, headline, summary.scored), *_pooled_texts(evaluator, summary, definitions)]
        if texts:
            print_parts(console, Text(f"  {short_name(evaluator, _MAX_NAME):<{width}}"), texts)


def _not_applicable(console: Console, summary: Summary, evaluators: Sequence[str]) -> None:
    """Print the evaluators that have no metric for any case, and why. Those of `module:Name` are not imported, and left out."""
    measured = {name.partition(".")[0] for name in summary.metrics} | summary.evaluator_errors.keys()
    for name in evaluators:
        if ":" not in name and name not in measured:
            reason = getattr(find_source(name), "not_applicable", "")
            why = f", because {reason}" if reason else ": it applies to none of these cases"
            print_sentence(console, Text(f"{name}: no metrics{why}", style="yellow"), indent=2)


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
            text = _labeled("arguments", f"{format_score(estimate.mean)} / {format_score(metrics['args_recall'].mean)}")
        else:
            text = _labeled(short_name(metric_label(name, definition), _MAX_LABEL), format_score(estimate.mean))
        if definition is not None and definition.headline and (interval := format_interval(estimate.low, estimate.high)):
            text.append(f" {interval}", style="dim")
        if definition is not None and definition.bands and not definition.checks:
            text.append(f" ({definition.band_range(estimate.mean, estimate.low, estimate.high)})", style="dim")
        if estimate.n < scored:  # not applicable to every case
            text.append(f" ({estimate.n:,} of {scored:,} predictions)", style="dim")
        yield text


def _pooled_texts(evaluator: str, summary: Summary, definitions: Mapping[str, Metric]) -> Iterator[Text]:
    """Yield the metrics of an evaluator that are pooled over the run, if that makes a difference."""
    for name, pooled in summary.pooled.items():
        owner = name.rpartition(".")[0]
        mean = summary.metrics[name].mean if name in summary.metrics else None
        if owner == evaluator and pooled.value is not None and (mean is None or format_score(mean) != format_score(pooled.value)):
            yield _labeled(short_name(pooled_label(name, definitions.get(name)), _MAX_LABEL), format_score(pooled.value))


def _matrices(console: Console, summary: Summary, width: int) -> None:
    """Print, for each evaluator with categories, how often each category was expected, and what it became."""
    for evaluator, matrix in summary.categories.items():
        for expected, counts in matrix.items():
            shown = [f"{_category(actual)} {count:,}" for actual, count in counts.items()]
            print_parts(
                console,
                Text(f"  {short_name(evaluator, _MAX_NAME):<{width}}"),
                [Text(f"expected {_category(expected)}: got {', '.join(shown)}")],
            )


def _category(name: str) -> str:
    return short_name(category_label(name), _MAX_NAME)


def _labeled(label: str, value: str) -> Text:
    return Text.assemble(f"{label} ", (value, "cyan"))


def _conversations(console: Console, summary: Summary, width: int) -> None:
    """Print how conversations ended, how long they were, and pass^k over trials."""
    endings = [f"{one_line(ending, _MAX_NAME)} {count:,}" for ending, count in summary.endings.items()]
    if summary.turns is not None:
        turns = f"{summary.turns:.3g}"
        endings.append(f"{turns} user {'turn' if turns == '1' else 'turns'} on average")
    if endings:
        print_parts(console, Text(f"  {'endings':<{width}}"), list(map(Text, endings)))
    trials = summary.details.trials if summary.details else None
    if trials is not None and len(trials.pass_rates) > 1:
        parts = [f"pass^{passes.k} {format_estimate(passes.every, passes.every_interval)}" for passes in trials.pass_rates]
        consistency = trials.trial_consistency
        parts.append(f"same outcome in every trial for {consistency.same:,} of {consistency.n:,}")
        print_parts(console, Text(f"  {'trials':<{width}}"), list(map(Text, parts)))
    if summary.misses:
        print_sentence(console, Text(f"{pluralize(summary.misses, 'call')} without a recorded result", style="yellow"), indent=2)
    if unknown := summary.notes.get("state_unknown"):
        sentence = f"Expected end state unknown for {pluralize(unknown, 'prediction')}: the notes in grades.jsonl say why"
        print_sentence(console, Text(sentence, style="yellow"), indent=2)


def _faults(console: Console, summary: Summary) -> None:
    if not summary.faults:
        if counts_faults(summary.metrics):
            console.print(Text("\n  No faults", style="green"))
        return
    console.print(Text("\n  Top faults", style="bold"))
    kinds = {fault.kind: fault.kind.replace("_", " ") for fault in summary.faults}
    width = max(map(len, kinds.values()))
    for fault in summary.faults:
        line = f"    {kinds[fault.kind]:<{width}}  {fault.count:>6,}   "
        console.print(Text(line) + Text(_examples(fault, console.width - len(line)), style="dim"), soft_wrap=True)


def _examples(fault: FaultSummary, width: int) -> str:
    """Return as many examples as fit the width, and at least one."""
    for limit in _NAME_LIMITS:
        examples = [_example(fault, example, limit) for example in fault.examples[:_MAX_EXAMPLES]]
        if len(examples[0]) + 2 <= width:
            break
    shown = examples[:1]
    for example in examples[1:]:
        if len(" · ".join([*shown, example])) + 2 > width:
            break
        shown.append(example)
    return " · ".join(shown) + (" …" if len(shown) < len(fault.examples) else "")


def _example(fault: FaultSummary, example: FaultExample, limit: int) -> str:
    origins = [f"{example.hallucinated:,} hallucinated"] if example.hallucinated else []
    origins += [f"{example.format:,} format"] if example.format else []
    origins += [f"{example.elsewhere:,} from elsewhere in the conversation"] if example.elsewhere else []
    expected, arrow, actual = example.name.partition(" → ")
    if fault.kind in _TWO_TOOLS and arrow:
        first, second = short_names([expected, actual], limit)
        name = f"expected {first}, got {second or '(no name)'}"
    else:
        name = short_name(example.name, limit * 2)
    return f"{name} ({example.count:,}×{': ' + ', '.join(origins) if origins else ''})"


def _tools(console: Console, summary: Summary) -> None:
    weak = [tool for tool in summary.tools if tool.score < 1 and tool.n >= MIN_CASES][:_MAX_TOOLS]
    if not weak:
        return
    table = plain_table("  Weakest tools", "n", "score", "")
    table.columns[3].justify = "left"
    table.columns[0].header_style = "bold"
    for tool, name in zip(weak, name_cells([_tool_name(tool.tool) for tool in weak], _MAX_NAME, indent=4), strict=True):
        table.add_row(name, f"{tool.n:,}", format_score(tool.score), Text(bar(tool.score, _BAR_WIDTH), style="cyan"))
    console.print()
    console.print(table)


def _files(console: Console, summary: Summary, headline: str) -> None:
    """Print the numbers by file, for scenarios from a folder."""
    if not summary.by_file:
        return
    table = plain_table("  By file", "scenarios", "scored", "errors", headline, "")
    table.columns[5].justify = "left"
    table.columns[0].header_style = "bold"
    shown = summary.by_file[:_MAX_FILES]
    for file, name in zip(shown, name_cells([file.name for file in shown], _MAX_NAME, indent=4), strict=True):
        mean = file.means.get(headline)
        score, drawn = ("-", "") if mean is None else (format_score(mean), bar(mean, _BAR_WIDTH))
        table.add_row(name, f"{file.cases:,}", f"{file.scored:,}", f"{file.errors:,}", score, Text(drawn, style="cyan"))
    console.print()
    console.print(table)
    if len(summary.by_file) > _MAX_FILES:
        console.print(Text(f"    … and {len(summary.by_file) - _MAX_FILES:,} more; --json has them all", style="dim"))


def _tool_name(name: str) -> str:
    return "(none expected)" if name == NO_CALL else name


def _errors(console: Console, summary: Summary) -> None:
    for evaluator, errors in summary.evaluator_errors.items():
        line = f"Evaluator {short_name(evaluator, _MAX_NAME)}: {pluralize(errors.count, 'error')}, excluded from its metrics; first: "
        console.print()
        first = f"{short_name(errors.case, _MAX_NAME)}: {one_line(errors.error, 300)}"
        print_sentence(console, Text(f"{line}{first}", style="bold red"), indent=2)
    if not summary.errors:
        return
    console.print(Text(f"\n  {pluralize(summary.errors, 'error')}, excluded from every metric", style="bold red"))
    for text, count in list(summary.error_texts.items())[:_MAX_ERRORS]:
        print_sentence(console, Text(f"{count:,}×  {one_line(text, 300)}", style="dim"), indent=4)
