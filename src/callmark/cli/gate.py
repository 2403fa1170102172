"""`callmark gate`: check a run against thresholds; exit status 0 or 1."""

from pathlib import Path

import click

from callmark.cli.dataset_options import print_stderr
from callmark.cli.exit_status import CHECK_FAILED
from callmark.errors import StorageError


@click.command(name="gate", short_help="Hold a run against conditions: exit status 0 or 1.")
@click.argument("run", metavar="RUN")
@click.option("--min", "minimums", multiple=True, metavar="METRIC=NUMBER", help="The metric is at least so much. May be repeated.")
@click.option("--max-errors", metavar="N", type=int, help="So many errors at most.")
@click.option("--baseline", metavar="RUN", help="The run that --max-drop compares with, on the cases that both have.")
@click.option("--max-drop", "drops", multiple=True, metavar="METRIC=NUMBER", help="The metric is not lower by more than so much.")
@click.option("--significant", is_flag=True, help="A drop counts only where it is not within noise.")
@click.option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML.")
@click.option("--summary", metavar="FILE", help="Write them as Markdown, for a pull request, at the end of what is in it.")
@click.option("--list", "list_metrics", is_flag=True, help="Show the metrics that there are, and judge nothing.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def command(
    run: str,
    minimums: tuple[str, ...],
    max_errors: int | None,
    baseline: str | None,
    drops: tuple[str, ...],
    significant: bool,
    junit: str | None,
    summary: str | None,
    list_metrics: bool,
    config: str | None,
    as_json: bool,
) -> int:
    """One line for each condition with both numbers. Conditions stand on the command line, or in the table [gate] of callmark.toml. A run
    with no scored case never passes, nor does one that is not finished.

    \b
    callmark gate runs/tuned --min call.score=0.9 --max-errors 0
    callmark gate runs/tuned --baseline runs/base --max-drop call.score=0.02 --significant
    """
    from callmark.analysis.gate import parse_thresholds
    from callmark.api.runs import gate, open_run
    from callmark.formats import write_lines

    opened = open_run(run)
    if list_metrics:
        for name in opened.info.metrics:
            click.echo(name)
        return 0
    result = gate(
        opened,
        min=parse_thresholds(minimums, "min"),
        max_drop=parse_thresholds(drops, "max-drop"),
        max_errors=max_errors,
        baseline=baseline,
        significant=significant,
        config=config,
    )
    for warning in result.warnings:
        print_stderr(f"callmark: {warning}.")
    if junit:
        write_lines(junit, result.to_junit().rstrip("\n").encode().split(b"\n"))
    if summary:
        _append(summary, result.to_markdown())
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"run": result.folder, "passed": result.passed, "checks": result.checks}))
    else:
        from rich.text import Text

        from callmark.reporting.safety import one_line
        from callmark.reporting.terminal import make_console

        console = make_console()
        width = max(len(check.name) for check in result.checks)
        for check in result.checks:
            mark = Text("✓ ", style="green") if check.met else Text("✗ ", style="bold red")
            console.print(mark + Text(f"{one_line(check.name, 80):<{width}}   {check.text}"), soft_wrap=True)
    return 0 if result.passed else CHECK_FAILED


def _append(path: str, text: str) -> None:
    """Append to a file: in CI, every step adds to the same summary. `-` is standard output."""
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
        raise StorageError(f"{path} is a directory, a file to write was expected") from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
