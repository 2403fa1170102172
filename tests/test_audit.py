"""The audit of licenses and vulnerabilities: what it accepts, what it refuses, and what it says of what it could not check."""

import json
from email.message import Message

import pytest

from tests.audit import installed, license_of, license_problem, read_report, vulnerabilities


@pytest.mark.parametrize(
    "expression, problem",
    [
        ("MIT", ""),
        ("Apache-2.0 AND MIT", ""),
        ("GPL-3.0-only OR MIT", ""),
        ("(BSD-3-Clause)", ""),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", ""),
        ("", "no license is stated"),
        ("GPL-3.0-or-later", "GPL-3.0-or-later is copyleft"),
        ("MIT AND LGPL-2.1", "MIT AND LGPL-2.1 is copyleft"),
        ("MPL-2.0", "MPL-2.0 is copyleft"),
        ("Proprietary", "Proprietary is not on the list of allowed licenses"),
    ],
)
def test_license_is_allowed_or_named(expression: str, problem: str) -> None:
    assert license_problem(expression) == problem


@pytest.mark.parametrize(
    "fields, expected",
    [
        ([("License-Expression", "MIT"), ("License", "GPL")], "MIT"),
        ([("License", "Apache 2.0")], "Apache-2.0"),
        ([("License", "x" * 5000), ("Classifier", "License :: OSI Approved :: MIT License")], "MIT"),
        ([("Classifier", "License :: OSI Approved"), ("Classifier", "License :: OSI Approved :: BSD License")], "BSD"),
        ([("Classifier", "Topic :: Text")], ""),
    ],
)
def test_license_is_read_from_every_field(fields: list[tuple[str, str]], expected: str) -> None:
    metadata = Message()
    for name, value in fields:
        metadata[name] = value
    assert license_of(metadata) == expected


def test_every_license_of_the_default_install_is_allowed() -> None:
    packages = list(installed())
    assert {"callmark", "msgspec", "mcp", "aiohttp"} <= {package.name for package in packages}
    assert not {"pytest", "altair", "numpy", "pandas"} & {package.name for package in packages}
    assert [package for package in packages if license_problem(package.license)] == []


def test_findings_and_gaps_are_told_apart() -> None:
    found = {"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
    skipped = {"name": "b", "skip_reason": "not found on PyPI"}
    report = json.dumps({"dependencies": [found, skipped, {"name": "c", "version": "2", "vulns": []}]})
    assert read_report(report, "", 3) == (["a 1: CVE-1", "a 1: CVE-2"], ["1 of 3 packages (b): not found on PyPI"])
    assert read_report("", "x\nConnectionError: no route", 3) == ([], ["all 3 packages: ConnectionError: no route"])
    assert read_report("null", "", 3) == ([], ["all 3 packages: pip-audit printed nothing"])


def test_missing_program_is_a_gap() -> None:
    found, gaps = vulnerabilities({"a": "1"}, "no-such-program")
    assert (found, len(gaps), "no-such-program" in gaps[0]) == ([], 1, True)
