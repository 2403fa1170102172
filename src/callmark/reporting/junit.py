"""The verdicts of a gate for others: JUnit XML, which every CI reads, and Markdown for a pull request.

Everything that came from data is text: escaped in XML, in which characters that it cannot have are written out, and in Markdown.
"""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from callmark.analysis.gate import Verdict, headline
from callmark.reporting.safety import one_line

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def junit(run: str, verdicts: Sequence[Verdict]) -> str:
    """A test suite with a test for each condition, by a name of its own; one that is not met is a failure with its numbers."""
    failed = sum(not verdict.met for verdict in verdicts)
    counts = f'tests="{len(verdicts)}" failures="{failed}" errors="0" skipped="0"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="callmark gate" {counts} time="0">']
    lines.append(f'  <testsuite name={_quoted(run)} {counts} time="0">')
    for verdict in verdicts:
        case = f'    <testcase classname="callmark.gate" name={_quoted(f"{verdict.condition} {verdict.name}")} time="0"'
        if verdict.met:
            lines.append(f"{case}><system-out>{_text(verdict.said)}</system-out></testcase>")
        else:
            lines.append(f'{case}><failure message={_quoted(verdict.said)} type="gate">{_text(verdict.said)}</failure></testcase>')
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def markdown(run: str, verdicts: Sequence[Verdict]) -> str:
    """A heading that says whether the gate let it through, and a table of the conditions."""
    passed = all(verdict.met for verdict in verdicts)
    lines = [
        f"### {'✅' if passed else '❌'} callmark gate: {_plain(run)}",
        "",
        f"{headline(verdicts)}.",
        "",
        "| | condition | |",
        "|---|---|---|",
    ]
    lines += [f"| {'✓' if verdict.met else '✗'} | {_plain(verdict.name)} | {_plain(verdict.said)} |" for verdict in verdicts]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return quoteattr(_written_out(text))


def _text(text: str) -> str:
    return escape(_written_out(text))


def _written_out(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text, 300))
