"""`callmark gate`: a run against conditions; exit status 0 or 1."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from callmark.cli.reading import say
from callmark.errors import BadInput

if TYPE_CHECKING:
    from callmark.runs.run import Run

NOT_MET = 1  # exit status


@click.command(name="gate", short_help="Hold a run against conditions: exit status 0 or 1.")
@click.argument("run", metavar="RUN")
@click.option("--min", "least", multiple=True, metavar="METRIC=NUMBER", help="The metric is at least so much. May be repeated.")
@click.option("--max-errors", metavar="N", type=int, help="So many errors at most.")
@click.option("--baseline", metavar="RUN", help="The run that --max-drop compares with, on the cases that both have.")
@click.option("--max-drop", "drops", multiple=True, metavar="METRIC=NUMBER", help="The metric is not lower by more than so much.")
@click.option("--significant", is_flag=True, help="A drop counts only where it is not within noise.")
@click.option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML.")
@click.option("--summary", metavar="FILE", help="Write them as Markdown, for a pull request, at the end of what is in it.")
@click.option("--list", "listed", is_flag=True, help="Show the metrics that there are, and judge nothing.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def command(
    run: str,
    least: tuple[str, ...],
    max_errors: int | None,
    baseline: str | None,
    drops: tuple[str, ...],
    significant: bool,
    junit: str | None,
    summary: str | None,
    listed: bool,
    config: str | None,
    as_json: bool,
) -> int:
    """One line for each condition with both numbers. Conditions stand on the command line, or in the table [gate] of callmark.toml. A run
    with no scored case never passes, nor does one that is not finished.

    \b
    callmark gate runs/tuned --min call.score=0.9 --max-errors 0
    callmark gate runs/tuned --baseline runs/base --max-drop call.score=0.02 --significant
    """
    from msgspec import structs
    from rich.text import Text

    from callmark.analysis.gate import bounds_of, check, judge
    from callmark.config import read_config
    from callmark.formats import write_lines
    from callmark.reporting import junit as written
    from callmark.reporting.safety import one_line
    from callmark.reporting.terminal import console
    from callmark.runs.compare import compared
    from callmark.runs.run import Run

    found = Run(run)
    if listed:
        for name in found.info.metrics:
            click.echo(name)
        return 0
    configured = read_config(config).gate
    gate = structs.replace(
        configured,
        min={**configured.min, **bounds_of(least, "min")},
        max_drop={**configured.max_drop, **bounds_of(drops, "max-drop")},
        max_errors=configured.max_errors if max_errors is None else max_errors,
        baseline=baseline or configured.baseline,
        significant=significant or configured.significant,
    )
    for option, given in (("--baseline", baseline), ("--significant", significant)):
        if given and not gate.max_drop:
            raise BadInput(f"{option} alone is no condition", "--max-drop METRIC=NUMBER says how much lower the run may be.")
    check(gate, found.info.metrics)
    means = found.summary(detailed=False)
    against = None
    if gate.max_drop and means.scored:
        before = Run(gate.baseline)
        against = compared([before, found])[0]
        if against.settings:
            say(f"callmark: {found.folder} and {before.folder} were graded by other settings: {', '.join(against.settings)}.")
        if left := _unfinished(before):
            say(f"callmark: the baseline is not finished: {left}.")
    verdicts = judge(gate, means, against.comparison if against else None, unfinished=_unfinished(found))
    if junit:
        write_lines(junit, written.junit(found.label, verdicts).rstrip("\n").encode().split(b"\n"))
    if summary:
        _append(summary, written.markdown(found.label, verdicts))
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"run": str(found.folder), "met": all(one.met for one in verdicts), "conditions": verdicts}))
    else:
        screen = console()
        width = max(len(one.name) for one in verdicts)
        for one in verdicts:
            mark = Text("✓ ", style="green") if one.met else Text("✗ ", style="bold red")
            screen.print(mark + Text(f"{one_line(one.name, 80):<{width}}   {one.said}"), soft_wrap=True)
    return 0 if all(one.met for one in verdicts) else NOT_MET


def _unfinished(run: "Run") -> str:
    """What is left of a run, and how to go on with it; nothing where it is complete."""
    from callmark.reporting.safety import one_line
    from callmark.runs.store import command_of
    from callmark.wording import counted

    status, asked = run.info.status, run.info.asked
    if status == "complete":
        return ""
    why = "still running, or killed" if status == "running" else str(status)
    if asked is not None and status != "running":  # the counts are those of its end
        reason = f" ({one_line(asked.stopped, 200)})" if asked.stopped else ""
        why += f"{reason} with {asked.answers:,} of {counted(asked.questions, 'conversation' if asked.simulated else 'answer')}"
    return f"{why}: {command_of(run.info)} {one_line(str(run.folder), 200)} --resume goes on"


def _append(path: str, text: str) -> None:
    """Write at the end of a file: in a CI, every step adds to the same summary. `-` is standard output."""
    if path == "-":
        click.echo(text, nl=False)
        return
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_file() and target.stat().st_size:
            text = f"\n{text}"
        with target.open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except IsADirectoryError:
        raise BadInput(f"{path} is a directory, a file to write was expected") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
