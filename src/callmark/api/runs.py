"""Runs that are there: check thresholds, write a report, look at them in the browser.

Wherever a run is expected, a `Run` or the path of its folder is accepted.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from msgspec import Struct, structs

from callmark.analysis.gate import GateCheck, check_gate, validate_gate
from callmark.config import read_config
from callmark.errors import BadInput
from callmark.reporting.junit import junit, markdown
from callmark.reporting.safety import one_line
from callmark.runs.compare import compare
from callmark.runs.manifest import resume_command
from callmark.runs.run import Run
from callmark.wording import pluralize

RunSource = str | PathLike[str] | Run


class GateResult(Struct, frozen=True):
    """The result of a gate: a check for each threshold, with both numbers. `warnings` are what a reader should know besides."""

    run: str
    folder: str
    checks: list[GateCheck]
    warnings: list[str]

    @property
    def passed(self) -> bool:
        """Whether every threshold is met."""
        return all(check.met for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def to_junit(self) -> str:
        """Return the checks as JUnit XML."""
        return junit(self.run, self.checks)

    def to_markdown(self) -> str:
        """Return the checks as Markdown, for a pull request."""
        return markdown(self.run, self.checks)


class ReportFile(Struct, frozen=True):
    """A written report: its path, its size in bytes, and how many conversations did not fit. It can be used as a path."""

    path: str
    size: int
    left_out: dict[str, int]

    def __fspath__(self) -> str:
        return self.path


def open_run(run: RunSource) -> Run:
    """Return a run as it is, or the run in a folder; a folder that is no graded run raises `BadInput`."""
    return run if isinstance(run, Run) else Run(run)


def gate(
    run: RunSource,
    *,
    min: Mapping[str, float] | None = None,  # noqa: A002 - as the option is called
    max_drop: Mapping[str, float] | None = None,
    max_errors: int | None = None,
    baseline: RunSource | None = None,
    significant: bool = False,
    config: str | None = None,
) -> GateResult:
    """Check a run against thresholds, for CI; those given replace the ones in the table `[gate]` of `callmark.toml`.

    `min`: lowest mean of a metric. `max_drop`: how much lower than the baseline it may be, on the cases that both have; with `significant`
    only where the drop is not within noise. A run without a scored case, and one that is not finished, never pass. No threshold at all, an
    unknown metric, and a drop without a baseline raise `BadInput`.
    """
    opened = open_run(run)
    configured = read_config(config).gate
    base = str(baseline.folder) if isinstance(baseline, Run) else fspath(baseline or "")
    thresholds = structs.replace(
        configured,
        min={**configured.min, **(min or {})},
        max_drop={**configured.max_drop, **(max_drop or {})},
        max_errors=configured.max_errors if max_errors is None else max_errors,
        baseline=base or configured.baseline,
        significant=significant or configured.significant,
    )
    for option, given in (("--baseline", base), ("--significant", significant)):
        if given and not thresholds.max_drop:
            raise BadInput(f"{option} alone is no condition", "--max-drop METRIC=NUMBER says how much lower the run may be.")
    validate_gate(thresholds, opened.info.metrics)
    summary = opened.summary(detailed=False)
    warnings: list[str] = []
    comparison = None
    if thresholds.max_drop and summary.scored:
        before = baseline if isinstance(baseline, Run) else Run(thresholds.baseline)
        (against,) = compare(before, opened)
        comparison = against.comparison
        if against.differing_settings:
            warnings.append(f"{opened.folder} and {before.folder} were graded by other settings: {', '.join(against.differing_settings)}")
        if unfinished := _unfinished(before):
            warnings.append(f"the baseline is not finished: {unfinished}")
    checks = check_gate(thresholds, summary, comparison, unfinished=_unfinished(opened))
    return GateResult(opened.label, str(opened.folder), checks, warnings)


def report(runs: RunSource | Sequence[RunSource], *, out: str | PathLike[str] | None = None) -> ReportFile:
    """Write runs as one HTML page that opens from disk, and return its path; `report.html` in the folder of the first run by default.

    Several runs are compared with the first. No run, the same run twice, and an `out` that is a file of a run raise `BadInput`.
    """
    from callmark.viewer.report import write_report

    opened = [open_run(run) for run in ([runs] if isinstance(runs, str | PathLike | Run) else runs)]
    target = fspath(out) if out is not None else (opened[0].folder.file("report.html") if opened else "report.html")
    for run in opened:
        refuse_run_file(run, target)
    left_out = write_report(opened, target)
    return ReportFile(target, Path(target).stat().st_size if target != "-" else 0, left_out)


def view(
    folder: str | PathLike[str] = "runs",
    *,
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a page over a folder of runs on this machine until Ctrl-C. `on_ready` gets the address, which holds a token.

    Port 0 is any free port. A folder that is not there raises `BadInput`.
    """
    from callmark.viewer.run_collection import RunCollection
    from callmark.viewer.server import HOST, listen, new_token, serve

    runs = RunCollection(fspath(folder))
    listener = listen(port)
    token = new_token()
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"

    def ready() -> None:
        on_ready(address)
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(runs, listener, token, on_ready=ready)


def refuse_run_file(run: Run, path: str) -> None:
    """Raise `BadInput` where a file to write is one of a run's own files."""
    if path != "-" and os.path.realpath(path) in map(os.path.realpath, run.folder.files()):
        raise BadInput(f"{path} cannot be both what is read and where the result goes")


def _unfinished(run: Run) -> str:
    """Return what is left of a run and the command that resumes it; empty where it is complete."""
    status, model_run = run.info.status, run.info.model_run
    if status == "complete":
        return ""
    why = "still running, or killed" if status == "running" else str(status)
    if model_run is not None and status != "running":  # the counts are written when it ends
        reason = f" ({one_line(model_run.stop_reason, 200)})" if model_run.stop_reason else ""
        unit = "conversation" if model_run.simulation else "answer"
        why += f"{reason} with {model_run.predictions:,} of {pluralize(model_run.requests, unit)}"
    return f"{why}: {resume_command(run.info)} {one_line(str(run.folder), 200)} --resume goes on"
