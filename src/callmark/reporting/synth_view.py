"""Print the result of a synthesis: conversations kept and rejected, coverage, next commands."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from callmark.reporting.safety import one_line, short_name
from callmark.reporting.terminal import bar, name_cells, plain_table
from callmark.synthesis.coverage import Coverage
from callmark.synthesis.quality_filter import REASONS
from callmark.synthesis.report import REJECTED, REPORT, TRAIN, VALID, SynthesisReport
from callmark.wording import pluralize

_MAX_NAME, _MAX_SENTENCE, _MAX_LIST, _BAR_WIDTH = 44, 110, 400, 24


def show_synthesis(console: Console, report: SynthesisReport, out: str, quoted: str) -> None:
    """Print a synthesis. `quoted` is the output folder quoted for a shell."""
    participants = f"{short_name(report.agent, _MAX_NAME)} and {short_name(report.user, _MAX_NAME)}"
    console.print(
        Text.assemble(
            (f"{pluralize(report.accepted, 'conversation')} → {one_line(out, 200)}", "bold"),
            f"   ({short_name(report.world, _MAX_NAME)}, {participants}, seed {report.seed})",
        ),
        soft_wrap=True,
    )
    console.print(f"  {len(report.train):>6,} {TRAIN}")
    console.print(f"  {len(report.valid):>6,} {VALID}")
    if report.mocked:
        console.print('  Tool results are mocked from schemas; every row is marked with "results": "mocked"', style="dim")
    if report.judged_by_calls:
        console.print(f"  {report.judged_by_calls:,} checked by their calls, because the end state of their plans is unknown", style="dim")
    if report.bad_plans:
        bad = f"{pluralize(report.bad_plans, 'invalid plan')} discarded, first: {one_line(report.first_bad_plan, _MAX_SENTENCE)}"
        console.print(Text(f"  {bad}", style="yellow"), soft_wrap=True)
    if report.refused_calls:
        refused = pluralize(report.refused_calls, "call")
        console.print(f'  {refused} that the tools refused, as planned; their rows list them under "refused_calls"', style="dim")
    _rejections(console, report, quoted)
    _coverage(console, report.coverage)
    _shortfall(console, report)
    if report.accepted:
        _next(console, quoted)


def _rejections(console: Console, report: SynthesisReport, quoted: str) -> None:
    spare = report.simulated - report.accepted - report.rejected
    parts = [*([f"{report.rejected:,} rejected"] if report.rejected else []), *([f"{spare:,} not needed"] if spare else [])]
    console.print()
    console.print(Text.assemble((f"{report.simulated:,} simulated, {report.accepted:,} kept", "bold"), *(f", {part}" for part in parts)))
    for code, rejection in report.reasons.items():
        console.print(Text.assemble(f"  {rejection.count:>6,} ", (code, "yellow"), f"  {REASONS[code]}"), soft_wrap=True)
        console.print(
            Text(f"         {short_name(rejection.plan, _MAX_NAME)}: {one_line(rejection.sentence, _MAX_SENTENCE)}", style="dim"),
            soft_wrap=True,
        )
    if report.reasons:
        line = next(iter(report.reasons.values())).line
        console.print(Text(f"         callmark show {quoted}/{REJECTED} --row {line}", style="dim"), soft_wrap=True)


def _coverage(console: Console, found: Coverage) -> None:
    if not sum(found.tools.values()):
        return
    table = plain_table("Tool", "calls", "", "parameters given")
    table.columns[2].justify = table.columns[3].justify = "left"
    table.columns[3].overflow = "fold"
    most = max(found.tools.values())
    for cell, (name, calls) in zip(name_cells(list(found.tools), _MAX_NAME), found.tools.items(), strict=True):
        given = found.parameters[name]
        always = [parameter for parameter, times in given.items() if times == calls]
        sometimes = [f"{parameter} ({times:,})" for parameter, times in given.items() if times != calls]
        texts = [*([f"{', '.join(always)} (always)"] if always else []), *sometimes] if calls else []
        table.add_row(
            cell,
            f"{calls:,}",
            Text(bar(calls / most, _BAR_WIDTH), style="cyan"),
            one_line("; ".join(texts), _MAX_LIST),
        )
    console.print()
    console.print(table)
    if found.branches:
        table = plain_table("Policy branch", "")
        table.columns[1].justify = "left"
        table.columns[1].overflow = "fold"
        for group, taken in _grouped(found.branches).items():
            ways = " · ".join(f"{one_line(name, _MAX_NAME)} {times:,}" for name, times in taken.items() if times)
            table.add_row(one_line(group, _MAX_NAME), ways or "never")
        console.print()
        console.print(table)
    untaken = [f"{group} ({' · '.join(names)})" for group, names in _grouped(dict.fromkeys(found.never_taken, 0)).items()]
    never = (("Tools never called", found.never_called), ("Parameters never given", found.never_given), ("Branches never taken", untaken))
    console.print()
    for what, names in never:
        if names:
            listed = one_line(", ".join(names), _MAX_LIST)
            more = f" ({REPORT} lists all)" if listed.endswith("…") else ""
            console.print(Text.assemble((f"{what}: ", "bold yellow"), f"{listed}{more}"), soft_wrap=True)
    if not any(names for _, names in never):
        what = "every tool, parameter and policy branch" if found.branches else "every tool and parameter"
        console.print(Text(f"Full coverage: {what}", style="green"))


def _grouped(branches: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Group branches by the part before their colon: `return: one item`."""
    groups: dict[str, dict[str, int]] = {}
    for branch, times in branches.items():
        group, colon, name = branch.partition(": ")
        groups.setdefault(group, {})[name if colon else group] = times
    return groups


def _shortfall(console: Console, report: SynthesisReport) -> None:
    """Print why there are fewer conversations than requested, and what to do."""
    if report.stopped:
        console.print(Text(f"Stopped: {one_line(report.stopped, _MAX_SENTENCE)}", style="red"), soft_wrap=True)
    if report.errors:
        text = f"{pluralize(report.errors, 'error')}, first: {one_line(report.first_error, _MAX_SENTENCE)}   (--resume retries them)"
        console.print(Text(text, style="red"), soft_wrap=True)
    if report.missing:
        reasons = [
            (report.stopped, "the simulation was stopped"),
            (report.errors, f"{pluralize(report.errors, 'conversation')} ended in an error"),
            (report.rejected, f"{report.rejected:,} of {report.simulated:,} were rejected"),
            (report.exhausted, "no plans are left"),
        ]
        why = " and ".join(sentence for applies, sentence in reasons if applies) or "--resume continues"
        missing = f"{report.missing:,} of {pluralize(report.requested, 'conversation')} missing"
        console.print(Text(f"{missing}: {why}", style="red"), soft_wrap=True)


def _next(console: Console, quoted: str) -> None:
    console.print(Text("\nNext:", style="dim"))
    for line in (
        f"callmark show {quoted}/{TRAIN}",
        f"callmark stats {quoted}/{TRAIN} {quoted}/{VALID}",
        f"callmark lint --train {quoted}/{TRAIN} --valid {quoted}/{VALID}",
        f"callmark expand {quoted}/{VALID} -o {quoted}/eval.jsonl",
    ):
        console.print(Text(f"  {line}", style="dim"), soft_wrap=True)
