"""Terminal, page, CSV, JUnit and Python report the same faults for one run: of the chatbot demo, which has an ignore list."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from callmark.cli import demo
from callmark.grading.ignored_functions import is_ignored
from callmark.runs.run import Run
from callmark.types import FaultKind
from callmark.viewer.graded_rows import GradedRows
from tests.conftest import Cli

Faults = dict[str, int]
EVALUATORS = [[], ["-e", "call", "-e", "process"], ["-e", "call", "-e", "schema", "-e", "process", "-e", "trajectory"]]


def of_terminal(cli: Cli, run: Path, *options: str) -> Faults:
    lines = re.findall(
        r"^    ([a-z ]+?) +([\d,]+)   ", cli("grade", run, "--config", "callmark-demo/callmark.toml", *options).out, re.MULTILINE
    )
    kinds = {kind.replace("_", " "): kind for kind in get_args(FaultKind)}
    return {kinds[kind]: int(count.replace(",", "")) for kind, count in lines if kind in kinds}


def of_page(run: Path) -> Faults:
    rows = GradedRows(Run(run))
    for _ in rows.read():
        pass
    names = rows.columns.names()["faults"]
    return Counter(names[index] for found in rows.columns.chunk(0, len(rows.columns))["faults"] for index in found)


def of_csv(cli: Cli, run: Path, folder: Path) -> Faults:
    cli("export", "results", run, "--to", "csv", "-o", folder / "results.csv")
    rows = csv.DictReader((folder / "results.csv").read_text(encoding="utf-8").splitlines())
    return Counter(fault.split()[0] for row in rows for fault in row["faults"].split("; ") if fault)


def of_junit(cli: Cli, run: Path, folder: Path) -> Faults:
    cli("gate", run, "--max-errors", "0", "--junit", folder / "junit.xml")
    found = ElementTree.parse(folder / "junit.xml").iter("property")
    return {one.attrib["name"].removeprefix("faults."): int(one.attrib["value"]) for one in found}


def of_python(run: Path) -> Faults:
    return {fault.kind: fault.count for fault in Run(run).summary().faults}


def test_terminal_page_csv_junit_and_python_report_the_same_faults(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = tuple(step._replace(command=step.command.replace("--trials 3 ", "")) for step in demo.DEMOS["chatbot"].steps)
    monkeypatch.setitem(demo.DEMOS, "chatbot", demo.DEMOS["chatbot"]._replace(steps=steps))
    assert cli("demo", "chatbot").status == 0
    (run,) = Path("callmark-demo/runs").glob("sloppy-*")
    ignore = Run(run).info.grading.ignore
    assert any(is_ignored(name, ignore) for grade in Run(run).grades() for name in grade.actual)
    kinds: set[str] = set()
    for options in EVALUATORS:
        terminal = of_terminal(cli, run, *options)
        assert terminal == of_page(run) == of_csv(cli, run, tmp_path) == of_junit(cli, run, tmp_path) == of_python(run), options
        assert terminal
        kinds |= terminal.keys()
        assert Run(run).info.grading.ignore == ignore
        for grade in Run(run).grades():
            assert all(fault.evaluators for fault in grade.faults)
            if options == []:
                assert not any(is_ignored(grade.actual[one.actual_index], ignore) for one in grade.faults if one.actual_index is not None)
    assert not kinds & {"wrong_tool", "no_call", "unexpected_call"}  # they are whole conversations
