"""At the end of the tests: grade the predictions of all processes together, check the thresholds, and write the report."""

import os
from glob import glob
from os.path import join

import msgspec
from msgspec import Struct

import callmark
from callmark.errors import CallmarkError
from callmark.integrations.pytest_cases import read_cases
from callmark.integrations.pytest_sets import SET, SetInfo
from callmark.reporting.safety import escape_breaks, escape_log_commands
from callmark.runs.run import Run
from callmark.runs.store import folder_name
from callmark.wording import pluralize


class SetsSummary(Struct, frozen=True):
    """Lines for the terminal, each with whether it is a failure; `failed` says whether a threshold is not met or cannot be checked."""

    lines: list[tuple[str, bool]]
    failed: bool


def summarize_sets(folder: str, report: str | None) -> SetsSummary:
    """Return what to print about the sets whose predictions are in a folder. With `report`, write the report of all of them.

    Thresholds are checked over all cases of a set. If some of them did not run, because their tests were not selected or not reached, they
    are not checked, and a line says so.
    """
    lines: list[tuple[str, bool]] = []
    runs: list[Run] = []
    for path in sorted(glob(join(folder, "*", SET))):
        with open(path, "rb") as file:
            info = msgspec.json.decode(file.read(), type=SetInfo)
        try:
            if info.min or report:
                run = _grade_together(info, os.path.dirname(path))
                runs.append(run)
                lines += _check_thresholds(info, run) if info.min else []
        except CallmarkError as error:
            lines.append((f"{info.name}: {error}", True))
    if report and runs:
        try:
            callmark.report(runs, out=report)
            lines.append((f"report: {report}", False))
        except CallmarkError as error:
            lines.append((f"the report was not written: {error}", True))
    return SetsSummary(
        [(escape_log_commands(escape_breaks(text)), is_failure) for text, is_failure in lines], any(is_failure for _, is_failure in lines)
    )


def _grade_together(info: SetInfo, folder: str) -> Run:
    """Return a run with the predictions of all processes, for the cases that have one, in the order of the file."""
    files = sorted(glob(join(folder, "*.jsonl")))
    predicted = {case for file in files for case in _case_ids(file)}
    cases = [
        case for case in read_cases(info.path, format_name=info.format_name, tools=info.tools, limit=info.limit) if case.id in predicted
    ]
    name = folder_name(info.name.rpartition("::")[2])
    return callmark.grade(cases, predictions=files, out=folder, name=name, trust=True, **info.options)


def _case_ids(file: str) -> list[str]:
    with open(file, "rb") as lines:
        return [msgspec.json.decode(line, type=_CaseId).case for line in lines]


class _CaseId(Struct):
    case: str


def _check_thresholds(info: SetInfo, run: Run) -> list[tuple[str, bool]]:
    if run.info.cases < info.total:
        ran = f"{run.info.cases:,} of {pluralize(info.total, 'case')}"
        return [(f"{info.name}: thresholds not checked, because only {ran} ran", False)]
    result = callmark.gate(run, min=info.min, max_errors=info.max_errors, config=os.devnull)
    met = f"{sum(check.met for check in result.checks)} of {pluralize(len(result.checks), 'threshold')} met"
    lines = [(f"{info.name}: {met} over {pluralize(info.total, 'case')}", not result.passed)]
    return lines + [(f"  {'✓' if check.met else '✗'} {check.name}   {check.text}", not check.met) for check in result.checks]
