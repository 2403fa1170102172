"""Write the checks of a gate as JUnit XML for CI, and as Markdown for a pull request.

All text from data is escaped: in XML, control characters are written as `\\x00`; in Markdown, text from data is code, so that it holds no
link, mention, image, issue or commit.
"""

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from callmark.analysis.gate import GateCheck, gate_headline
from callmark.reporting.safety import escape_controls, escape_log_commands, markdown_code

_NOT_XML = re.compile("[\ufffe\uffff]")  # what XML does not allow and `escape_controls` leaves
_MAX_TEXT = 300


def junit(run: str, checks: Sequence[GateCheck], faults: Mapping[str, int]) -> str:
    """Return a test suite with a test for each threshold; a threshold that is not met is a failure with its numbers.

    The numbers of faults of the run, by kind, are properties of the suite: `faults.wrong_value`. Without faults there are none.
    """
    failed = sum(not check.met for check in checks)
    counts = f'tests="{len(checks)}" failures="{failed}" errors="0" skipped="0"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="callmark gate" {counts} time="0">']
    lines.append(f'  <testsuite name={_attribute(run)} {counts} time="0">')
    if faults:
        counted = [f'      <property name={_attribute(f"faults.{kind}")} value="{count}"/>' for kind, count in faults.items()]
        lines += ["    <properties>", *counted, "    </properties>"]
    for check in checks:
        case = f'    <testcase classname="callmark.gate" name={_attribute(f"{check.condition} {check.name}")} time="0"'
        if check.met:
            lines.append(f"{case}><system-out>{_text(check.text)}</system-out></testcase>")
        else:
            lines.append(f'{case}><failure message={_attribute(check.text)} type="gate">{_text(check.text)}</failure></testcase>')
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def markdown(run: str, checks: Sequence[GateCheck], coverage: str = "") -> str:
    """Return a heading that says whether the gate passed, and a table of the thresholds. `coverage` says how much was scored."""
    passed = all(check.met for check in checks)
    lines = [
        f"### {'✅' if passed else '❌'} callmark gate: {markdown_code(run, _MAX_TEXT)}",
        "",
        f"{gate_headline(checks)}{f' ({coverage})' if coverage else ''}.",
        "",
        "| | threshold | result |",
        "|---|---|---|",
    ]
    for check in checks:
        name, result = markdown_code(check.name, _MAX_TEXT), markdown_code(check.text, _MAX_TEXT)
        lines.append(f"| {'✓' if check.met else '✗'} | {name} | {result} |")
    return "\n".join([*lines, ""])


def _attribute(text: str) -> str:
    return quoteattr(_escape_invalid(text))


def _text(text: str) -> str:
    return escape(_escape_invalid(text))


def _escape_invalid(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", escape_log_commands(escape_controls(text)))
