"""Work with finished runs: check thresholds, write a report, view them in the browser.

Every run argument can be a `Run` or the path of its folder.
"""

import getpass
import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from msgspec import Struct, structs

from callmark.analysis.compare import MetricChange
from callmark.analysis.gate import Gate, GateCheck, Measured, check_gate, gate_measures, is_passed_by_noise, power_warning
from callmark.analysis.measures import CaseValues, Measure, parse_measure
from callmark.analysis.outcomes import CaseOutcome, case_outcomes
from callmark.calls.strict import scrub
from callmark.config import FILE_NAME, read_config
from callmark.errors import BadInput
from callmark.reporting.junit import CaseResults, junit, markdown
from callmark.reporting.safety import one_line
from callmark.runs.baseline import LATEST, find_latest
from callmark.runs.compare import compare, other_cases, refuse_other_cases
from callmark.runs.manifest import resume_command
from callmark.runs.run import Run
from callmark.wording import pluralize

RunSource = str | PathLike[str] | Run


class GateResult(Struct, frozen=True):
    """The result of `gate`. It is true if the gate passed.

    Attributes:
        run: Label of the run.
        folder: Folder of the run.
        checks: One check per threshold, with both numbers.
        warnings: Sentences about the comparison, such as different grading settings.
        coverage: How many predictions are scored, and the number of errors; empty without errors.
        faults: Number of faults of the run, by kind.
        baseline: Folder of the baseline; empty without one.
        broken: Ids of the cases that passed in the baseline, and do not pass in the run.
    """

    run: str
    folder: str
    checks: list[GateCheck]
    warnings: list[str]
    coverage: str = ""
    faults: dict[str, int] = {}
    baseline: str = ""
    broken: list[str] = []

    @property
    def passed(self) -> bool:
        """Whether every threshold is met."""
        return all(check.met for check in self.checks)

    def __bool__(self) -> bool:
        return self.passed

    def outcomes(self) -> list[CaseOutcome]:
        """Read whether each case of the run passed, and what went wrong, from its folder."""
        run = Run(self.folder)
        return list(case_outcomes(run.grades(), run.info.metrics))

    def to_junit(self) -> str:
        """Return JUnit XML: a suite with a test per threshold, and a suite with a test per case; the number of faults as properties."""
        return junit(self.run, self.checks, self._cases())

    def to_markdown(self, *, report: str = "") -> str:
        """Return the checks and the failed cases as Markdown, for a pull request. `report` is the URL of the report, for a link."""
        return markdown(self.run, self.checks, self._cases(), coverage=self.coverage, baseline=self.baseline, report=report)

    def _cases(self) -> CaseResults:
        return CaseResults(self.outcomes(), self.faults, Run(self.folder).info.dataset.name, self.broken)


class ReportFile(Struct, frozen=True):
    """A report that was written. It can be used as a path: `open(report)`.

    Attributes:
        path: Path of the file.
        size: Size in bytes; 0 for standard output.
        left_out: Number of conversations that did not fit, by run.
        warnings: A sentence for each run whose dataset is missing or has changed, so that parts of its cases are not shown, and for each
            run with another dataset than the first.
    """

    path: str
    size: int
    left_out: dict[str, int]
    warnings: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return self.path


def open_run(run: RunSource) -> Run:
    """Open a run folder; return a `Run` unchanged. A folder that is not a graded run raises `BadInput`."""
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
    """Check a run against thresholds, for CI.

        if not callmark.gate("runs/tuned", min={"call.score": 0.9}, max_errors=0):
            sys.exit(1)

    Thresholds are combined with the table `[gate]` of `callmark.toml`, and override those with the same metric. A run without scored cases
    and an unfinished run never pass.

    Args:
        run: A `Run`, or the path of its folder.
        min: Least mean of each metric. `METRIC:TYPE` is a metric of one scenario type; `pass^3` and `pass@3` are over trials.
        max_drop: Greatest drop of each of these from the baseline, on the cases that both runs have.
        max_errors: Greatest number of errors.
        baseline: The run to compare with; required for `max_drop`. `latest:KEY` or `latest:KEY=VALUE` is the newest finished run with
            this tag, of the same dataset, in the folder that the run is in.
        significant: A drop only counts if it is not within noise. There is a warning if there are too few cases to tell.
        config: Path of the configuration file; `callmark.toml` by default.

    Returns:
        The checks and warnings, with `passed`, `to_junit()` and `to_markdown()`.

    Raises:
        BadInput: There is no threshold, a metric is unknown, a threshold is out of range, `max_drop` has no baseline, the runs have
            different cases, or a folder is not a graded run.
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
    for option, given in (("baseline", base), ("significant", significant)):
        if given and not thresholds.max_drop:
            raise BadInput(f"{option} has no effect without max_drop", "Pass --max-drop METRIC=NUMBER, the largest drop allowed.")
    measures = _gate_measures(thresholds, configured, opened, config or FILE_NAME)
    of_cases = [measure for name, measure in measures.items() if name not in opened.info.metrics]
    values = CaseValues(of_cases, opened.grades() if of_cases else ())
    values.check_scenario_types()
    tally = opened.tally(detailed=False)  # counted anew: a summary that is stored in the folder decides nothing
    for grade in opened.grades():
        tally.add(grade)
    summary = tally.summary()
    estimates = {**summary.metrics, **{measure.name: values.estimate(measure) for measure in of_cases}}
    changes: dict[str, MetricChange | None] = {}
    warnings: list[str] = []
    broken: list[str] = []
    before: Run | None = None
    if thresholds.max_drop and summary.scored:
        before, warnings = _open_baseline(baseline if isinstance(baseline, Run) else thresholds.baseline, opened)
        refuse_other_cases(before, opened, "Run the baseline model on the same dataset.")
        (against,) = compare(before, opened)
        base_values = CaseValues(of_cases, before.grades() if of_cases else ())
        broken = against.comparison.broken
        changes = {**against.comparison.metrics, **{measure.name: values.compare(base_values, measure) for measure in of_cases}}
        if against.differing_settings:
            settings = ", ".join(against.differing_settings)
            warnings.append(f"{opened.folder} and {before.folder} were graded with different settings: {settings}")
        if unfinished := _unfinished(before):
            warnings.append(f"the baseline is unfinished: {unfinished}")
        if thresholds.significant:
            warnings += _power_warnings(thresholds.max_drop, changes, measures, before, opened)
    measured = Measured(summary.scored, summary.errors, estimates, changes, measures, values.trials)
    checks = check_gate(thresholds, measured, unfinished=_unfinished(opened))
    coverage = f"scored {summary.scored:,} of {summary.graded:,}, {pluralize(summary.errors, 'error')}" if summary.errors else ""
    faults: dict[str, int] = {fault.kind: fault.count for fault in summary.faults}
    return GateResult(
        opened.label, str(opened.folder), checks, warnings, coverage, faults, "" if before is None else str(before.folder), broken
    )


def report(runs: RunSource | Sequence[RunSource], *, out: str | PathLike[str] | None = None, history: bool = False) -> ReportFile:
    """Write an HTML report of one or more runs, as a single file that opens from disk without a server.

        callmark.report(["runs/base", "runs/tuned"], out="report.html")

    With several runs, each is compared with the first.

    Args:
        runs: One or more runs: `Run` objects, or paths of their folders.
        out: Output file; `report.html` in the folder of the first run by default, `history.html` beside it for the history. `-` is standard
            output.
        history: Write the numbers of the runs over time, a leaderboard and cost against score, instead of their cases.

    Returns:
        The report: its path, its size, and the number of conversations that did not fit.

    Raises:
        BadInput: No run is given, a run is given twice, a folder is not a graded run, or `out` is a file of a run.
        StorageError: The file cannot be written.
    """
    from callmark.viewer.report import write_report

    opened = [open_run(run) for run in ([runs] if isinstance(runs, str | PathLike | Run) else runs)]
    name = "history.html" if history else "report.html"
    target = fspath(out) if out is not None else (opened[0].folder.file(name) if opened else name)
    for run in opened:
        refuse_run_file(run, target)
    others = () if history else opened[1:]
    warnings = [f"{sentence}: their cases are matched by ID." for run in others if (sentence := other_cases(opened[0], run))]
    left_out = write_report(opened, target, warn=warnings.append, replace=out is None, history=history)
    return ReportFile(target, Path(target).stat().st_size if target != "-" else 0, left_out, tuple(warnings))


def view(
    folder: str | PathLike[str] = "runs",
    *,
    port: int = 0,
    open_browser: bool = True,
    author: str | None = None,
    read_only: bool = False,
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the viewer for a folder of runs on this machine, until Ctrl-C.

        callmark.view("runs")

    New runs, and runs in progress, appear without a restart. An empty folder shows an empty list.

    Args:
        folder: Folder with runs, or the folder of one run.
        port: Port to listen on; 0 is any free port.
        open_browser: Open the page in the browser.
        author: Your name, saved with each label and correction; the name of the user by default.
        read_only: Write no labels and no corrections.
        on_ready: Called with the address, which contains an access token.

    Raises:
        BadInput: The folder does not exist, or the port is in use.
    """
    from callmark.viewer.run_collection import RunCollection
    from callmark.viewer.server import HOST, listen, new_token, serve

    runs = RunCollection(fspath(folder), author=_user() if author is None else author, read_only=read_only)
    listener = listen(port)
    token = new_token()
    address = f"http://{HOST}:{listener.getsockname()[1]}/?token={token}"

    def ready() -> None:
        on_ready(address)
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(runs, listener, token, on_ready=ready)


def _user() -> str:
    """Return the name of the user; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def refuse_run_file(run: Run, path: str) -> None:
    """Raise `BadInput` if an output file is one of the run's own files."""
    if path != "-" and os.path.realpath(path) in map(os.path.realpath, run.folder.files()):
        raise BadInput(f"{path}: cannot be overwritten, because it is a file of the run {run.folder}")


def _gate_measures(gate: Gate, configured: Gate, run: Run, file: str) -> dict[str, Measure]:
    """Return what the thresholds are about. For a problem in the table `[gate]`, `BadInput` names the file."""
    pass_metric = "process.reliability" if run.scenarios else "call.pass"
    for key, thresholds in (("min", configured.min), ("max_drop", configured.max_drop)):
        for name in thresholds:
            try:
                parse_measure(name, run.info.metrics, pass_metric=pass_metric)
            except BadInput as error:
                raise BadInput(f"{scrub(file)}: [gate] {key}: {error}", error.hint) from None
    if configured.min or configured.max_drop or configured.max_errors is not None:
        try:
            gate_measures(structs.replace(configured, baseline=gate.baseline), run.info.metrics, pass_metric=pass_metric)
        except BadInput as error:
            raise BadInput(f"{scrub(file)}: [gate] {error}", error.hint) from None
    return gate_measures(gate, run.info.metrics, pass_metric=pass_metric)


def _power_warnings(
    max_drop: Mapping[str, float], changes: Mapping[str, MetricChange | None], measures: Mapping[str, Measure], before: Run, after: Run
) -> list[str]:
    """Return a warning for each drop that passes as noise although there are too few cases to tell."""
    passed = {name: change for name, change in changes.items() if name in max_drop and is_passed_by_noise(max_drop[name], change)}
    if not passed:
        return []
    of_drops = [measures[name] for name in passed]
    base, values = (CaseValues(of_drops, run.grades()) for run in (before, after))
    found = (
        power_warning(name, max_drop[name], change, values.change_clusters(base, measures[name]))
        for name, change in passed.items()
        if change is not None
    )
    return [warning for warning in found if warning]


def _open_baseline(baseline: RunSource, run: Run) -> tuple[Run, list[str]]:
    """Return the baseline, which may be named by a tag, and a warning for each run beside it that could not be read."""
    if isinstance(baseline, str) and baseline.startswith(LATEST):
        latest = find_latest(run, baseline.removeprefix(LATEST))
        return latest.run, [f"skipped while looking for {baseline}: {problem}" for problem in latest.unreadable]
    return open_run(baseline), []


def _unfinished(run: Run) -> str:
    """Return why a run is unfinished and the command that resumes it; empty if it is complete."""
    status, model_run = run.info.status, run.info.model_run
    if status == "complete":
        return ""
    why = "still running, or killed" if status == "running" else str(status)
    if model_run is not None and status != "running":  # the counts are only written at the end
        reason = f" ({one_line(model_run.stop_reason, 200)})" if model_run.stop_reason else ""
        unit = "conversation" if model_run.simulation else "prediction"
        why += f"{reason} after {model_run.predictions:,} of {pluralize(model_run.requests, unit)}"
    return f"{why}. Resume with: {resume_command(run.info, one_line(str(run.folder), 200))}"
