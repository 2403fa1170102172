"""`callmark gate`: check a run against thresholds; exit status 0 or 1."""

import re
from pathlib import Path

import click

from callmark.cli.dataset_options import JSON_HELP, print_warning
from callmark.cli.exit_status import CHECK_FAILED, set_status
from callmark.cli.help import Command, argument, option
from callmark.cli.numbers import Integer
from callmark.errors import BadInput, StorageError
from callmark.reporting.safety import indent_breaks

_PARAMETER = re.compile(r"^(?:min|max_drop|max_errors|baseline|significant)\b(?=: | needs| has no)|(?<= without )max_drop$")


@click.command(
    "gate",
    cls=Command,
    exit_status={0: "Every threshold is met.", 1: "A threshold is not met.", 2: "Invalid input."},
    examples=(
        "callmark gate runs/tuned --min call.score=0.9 --max-errors 0",
        "callmark gate runs/tuned --baseline runs/base --max-drop call.score=0.02",
        "callmark gate runs/new --baseline latest:main --max-drop call.score=0.02",
    ),
)
@argument("run", metavar="RUN", text="Run folder to check.")
@option(
    "--min",
    "minimums",
    group="Thresholds",
    multiple=True,
    metavar="METRIC=NUMBER",
    help="Fail if METRIC is below NUMBER. Repeatable.",
)
@option("--max-errors", group="Thresholds", metavar="N", type=Integer(), help="Fail if there are more than N errors.")
@option(
    "--baseline",
    group="Thresholds",
    metavar="RUN",
    help="Baseline run for --max-drop, compared on the cases that both runs have. latest:KEY[=VALUE] is the newest finished run with this "
    "tag, on the same dataset, in the same parent folder as RUN.",
)
@option(
    "--max-drop",
    "drops",
    group="Thresholds",
    multiple=True,
    metavar="METRIC=NUMBER",
    help="Fail if METRIC is more than NUMBER below the baseline. Repeatable.",
)
@option(
    "--significant",
    group="Thresholds",
    is_flag=True,
    help="Ignore drops that are within noise: p is .05 or more, or the interval includes 0. Warns if there are too few cases to tell.",
)
@option("--junit", group="Output", metavar="FILE", help="Write JUnit XML: a test for each threshold and for each case.")
@option("--summary", group="Output", metavar="FILE", help="Append a Markdown summary to FILE, for example for a pull request.")
@option("--report-url", group="Output", metavar="URL", help="URL of the report; the summary links to it.")
@option("--list", "list_metrics", group="Output", is_flag=True, help="List the metrics of the run and exit.")
@option("--json", "as_json", group="Output", is_flag=True, help=JSON_HELP)
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def command(
    run: str,
    minimums: tuple[str, ...],
    max_errors: int | None,
    baseline: str | None,
    drops: tuple[str, ...],
    significant: bool,
    junit: str | None,
    summary: str | None,
    report_url: str | None,
    list_metrics: bool,
    config: str | None,
    as_json: bool,
) -> int:
    """Check a run against thresholds, for CI.

    Prints one line per threshold. Set thresholds on the command line or under [gate] in callmark.toml; the command line overrides the
    file. METRIC is a metric from --list, or METRIC:TYPE for one scenario type. pass^3 is the probability that all three trials pass;
    pass@3 is the probability that at least one of three passes. A run that is unfinished or has no scored cases never passes.
    """
    from callmark.analysis.gate import parse_thresholds
    from callmark.api.runs import gate, open_run
    from callmark.formats import write_lines
    from callmark.reporting.gate_view import show_gate, show_measures
    from callmark.reporting.terminal import make_console

    opened = open_run(run)
    if list_metrics:
        show_measures(make_console(), opened.info.metrics, opened.summary(detailed=True))
        return 0
    if report_url and not summary:
        raise BadInput("--report-url has no effect without --summary")
    try:
        result = gate(
            opened,
            min=parse_thresholds(minimums, "min"),
            max_drop=parse_thresholds(drops, "max-drop"),
            max_errors=max_errors,
            baseline=baseline,
            significant=significant,
            config=config,
        )
    except BadInput as error:
        raise BadInput(_with_option_names(str(error)), error.hint) from None
    text = result.to_markdown(report=report_url or "") if summary else ""
    set_status(0 if result.passed else CHECK_FAILED)
    for warning in result.warnings:
        print_warning(f"{indent_breaks(warning)}.")
    if junit:
        write_lines(junit, result.to_junit().rstrip("\n").encode().split(b"\n"))
    if summary:
        _append(summary, text)
    if as_json:
        import msgspec

        click.echo(
            msgspec.json.encode(
                {"run": result.folder, "passed": result.passed, "checks": result.checks, "coverage": result.coverage}
                | ({"baseline": result.baseline, "broken": result.broken} if result.baseline else {})
            )
        )
    else:
        show_gate(make_console(), result.checks, result.coverage, baseline=result.baseline if baseline != result.baseline else "")
    return 0 if result.passed else CHECK_FAILED


def _with_option_names(sentence: str) -> str:
    """Return a sentence about a parameter of `callmark.gate` with the name of its option; other sentences are unchanged."""
    return _PARAMETER.sub(lambda found: f"--{found[0].replace('_', '-')}", sentence)


def _append(path: str, text: str) -> None:
    """Append to a file, because in CI every step adds to the same summary; `-` is standard output."""
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
        raise StorageError(f"{path}: expected a file to write, got a directory") from None
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
