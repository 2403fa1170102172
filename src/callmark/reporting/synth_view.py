"""Print the result of a synthesis: how many conversations were kept, why others were rejected, coverage, next commands."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from callmark.reporting.safety import one_line
from callmark.reporting.terminal import bar, plain_table
from callmark.synthesis.coverage import Coverage
from callmark.synthesis.quality_filter import REASONS
from callmark.synthesis.report import REJECTED, TRAIN, VALID, SynthesisReport
from callmark.wording import pluralize

_MAX_NAME, _MAX_SENTENCE, _MAX_LIST, _BAR_WIDTH = 44, 110, 400, 24


def show_synthesis(console: Console, made: SynthesisReport, out: str, quoted: str) -> None:
    """Print a synthesis. `quoted` is the output folder quoted for a shell."""
    who = f"{one_line(made.agent, _MAX_NAME)} and {one_line(made.user, _MAX_NAME)}"
    console.print(
        Text.assemble(
            (f"{pluralize(made.accepted, 'conversation')} → {one_line(out, 200)}", "bold"),
            f"   ({one_line(made.world, _MAX_NAME)}, {who}, seed {made.seed})",
        ),
        soft_wrap=True,
    )
    console.print(f"  {len(made.train):>6,} {TRAIN}")
    console.print(f"  {len(made.valid):>6,} {VALID}")
    if made.mocked:
        console.print("  their results are made up from schemas, and every row says so", style="dim")
    if made.judged_by_calls:
        console.print(f"  {made.judged_by_calls:,} judged by their calls: the tools do not tell what their plans lead to", style="dim")
    _rejections(console, made, quoted)
    _coverage(console, made.coverage)
    _shortfall(console, made)
    if made.accepted:
        _next(console, quoted)


def _rejections(console: Console, made: SynthesisReport, quoted: str) -> None:
    spare = made.simulated - made.accepted - made.rejected
    others = [*([f"{made.rejected:,} rejected"] if made.rejected else []), *([f"{spare:,} more than needed"] if spare else [])]
    console.print()
    console.print(Text.assemble((f"{made.simulated:,} held, {made.accepted:,} kept", "bold"), *(f", {other}" for other in others)))
    for code, one in made.reasons.items():
        console.print(Text.assemble(f"  {one.count:>6,} ", (code, "yellow"), f"  {REASONS[code]}"), soft_wrap=True)
        console.print(
            Text(f"         {one_line(one.plan, _MAX_NAME)}: {one_line(one.sentence, _MAX_SENTENCE)}", style="dim"), soft_wrap=True
        )
    if made.reasons:
        line = next(iter(made.reasons.values())).line
        console.print(Text(f"         callmark show {quoted}/{REJECTED} --row {line}", style="dim"), soft_wrap=True)


def _coverage(console: Console, found: Coverage) -> None:
    if not sum(found.tools.values()):
        return
    made = plain_table("tool", "calls", "", "parameters given")
    made.columns[2].justify = made.columns[3].justify = "left"
    made.columns[3].overflow = "fold"
    most = max(found.tools.values())
    for name, calls in found.tools.items():
        given = found.parameters[name]
        always = [one for one, times in given.items() if times == calls]
        others = [f"{one} {times:,}" for one, times in given.items() if times != calls]
        told = [*([f"{', '.join(always)} each time"] if always else []), *others] if calls else []
        made.add_row(
            one_line(name, _MAX_NAME), f"{calls:,}", Text(bar(calls / most, _BAR_WIDTH), style="cyan"), one_line("; ".join(told), _MAX_LIST)
        )
    console.print()
    console.print(made)
    if found.branches:
        made = plain_table("branches of the policy", "")
        made.columns[1].justify = "left"
        made.columns[1].overflow = "fold"
        for group, taken in _grouped(found.branches).items():
            ways = " · ".join(f"{one_line(name, _MAX_NAME)} {times:,}" for name, times in taken.items() if times)
            made.add_row(one_line(group, _MAX_NAME), ways or "never")
        console.print()
        console.print(made)
    untaken = [f"{group} ({' · '.join(names)})" for group, names in _grouped(dict.fromkeys(found.never_taken, 0)).items()]
    never = (("never called", found.never_called), ("never given", found.never_given), ("never taken", untaken))
    console.print()
    for what, names in never:
        if names:
            listed = ", ".join(one_line(name, _MAX_LIST) for name in names)
            console.print(Text.assemble((f"{what}: ", "bold yellow"), listed), soft_wrap=True)
    if not any(names for _, names in never):
        what = "every tool, every parameter and every branch" if found.branches else "every tool and every parameter"
        console.print(Text(f"covered: {what}", style="green"))


def _grouped(branches: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Group branches by the part before their colon: `return: one item`."""
    groups: dict[str, dict[str, int]] = {}
    for branch, times in branches.items():
        group, colon, name = branch.partition(": ")
        groups.setdefault(group, {})[name if colon else group] = times
    return groups


def _shortfall(console: Console, made: SynthesisReport) -> None:
    """Print why there are fewer conversations than requested, and what to do."""
    if made.stopped:
        console.print(Text(f"stopped: {one_line(made.stopped, _MAX_SENTENCE)}", style="red"), soft_wrap=True)
    if made.errors:
        said = f"{pluralize(made.errors, 'error')}, first: {one_line(made.first_error, _MAX_SENTENCE)}   (--resume tries them again)"
        console.print(Text(said, style="red"), soft_wrap=True)
    if made.missing:
        reasons = [
            (made.stopped, "the asking was stopped"),
            (made.errors, f"{pluralize(made.errors, 'conversation')} ended in an error"),
            (made.rejected, f"{made.rejected:,} of {made.simulated:,} were rejected"),
            (made.exhausted, "there were no more plans"),
        ]
        why = " and ".join(said for holds, said in reasons if holds) or "--resume goes on"
        console.print(Text(f"{made.missing:,} of {made.requested:,} are missing: {why}", style="red"), soft_wrap=True)


def _next(console: Console, quoted: str) -> None:
    console.print()
    for line in (
        f"callmark show {quoted}/{TRAIN}",
        f"callmark stats {quoted}/{TRAIN} {quoted}/{VALID}",
        f"callmark lint --train {quoted}/{TRAIN} --valid {quoted}/{VALID}",
        f"callmark expand {quoted}/{VALID} -o {quoted}/eval.jsonl",
    ):
        console.print(Text(line, style="dim"), soft_wrap=True)
