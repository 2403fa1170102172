"""The checks of a gate as JUnit XML and as Markdown."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import xmlschema
from junitparser import Failure, JUnitXml, TestCase, TestSuite
from markdown_it import MarkdownIt

from callmark.analysis.gate import GateCheck
from callmark.reporting.junit import junit, markdown
from callmark.reporting.safety import one_line

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "junit.xsd")
CHECKS = [
    GateCheck("min", "call.score", False, ".784 < .8"),
    GateCheck("max_drop", "call.score", True, ".784, baseline .742"),
    GateCheck("max_errors", "errors", True, "0 ≤ 0"),
]
HOSTILE = [
    '"><testcase name="x"/>',
    "]]><!--",
    "a&b <&amp;> 'quoted' \"twice\"",
    "tab\tline\nreturn\rend",
    "\x00\x07\x1b[2J\x7f\x85",
    "\ud800 \udfff",
    "\ufffe\uffff",
    "名前 \U0001f600 \u202e\u200b",
    "",
    "| a | [b](http://c) `d` *e* <script>",
]


def cases(text: str) -> list[TestCase]:
    """Return the tests, as junitparser reads them."""
    (suite,) = JUnitXml.fromstring(text.encode())
    assert isinstance(suite, TestSuite)
    return list(suite)


def test_report_is_valid_and_has_every_threshold() -> None:
    text = junit("tuned", CHECKS, {"wrong_value": 3})
    SCHEMA.validate(text)
    root = ElementTree.fromstring(text.encode())
    for element in (root, root[0]):
        assert {name: element.get(name) for name in ("tests", "failures", "errors")} == {"tests": "3", "failures": "1", "errors": "0"}
    assert root[0].get("name") == "tuned"
    assert [(one.get("name"), one.get("value")) for one in root.iter("property")] == [("faults.wrong_value", "3")]
    first, *others = cases(text)
    assert [(one.classname, one.name, one.is_passed) for one in (first, *others)] == [
        ("callmark.gate", "min call.score", False),
        ("callmark.gate", "max_drop call.score", True),
        ("callmark.gate", "max_errors errors", True),
    ]
    (failure,) = first.result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.text, failure.type) == (".784 < .8", ".784 < .8", "gate")
    assert others[0].system_out == ".784, baseline .742"


@pytest.mark.parametrize(
    "text", [junit("x", CHECKS, {}).replace('tests="3"', 'tests="three"'), "<testsuites/>", junit("x", CHECKS[:1] * 2, {})]
)
def test_schema_refuses_an_invalid_report(text: str) -> None:
    assert not SCHEMA.is_valid(text)


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("met", [True, False])
def test_hostile_names_keep_the_report_valid(hostile: str, met: bool) -> None:
    text = junit(hostile, [GateCheck("min", hostile, met, hostile)], {})
    SCHEMA.validate(text)
    root = ElementTree.fromstring(text.encode())
    assert [element.tag for element in root.iter()] == ["testsuites", "testsuite", "testcase", "system-out" if met else "failure"]
    (case,) = cases(text)
    assert case.is_passed is met
    if hostile.isprintable():
        assert (root[0].get("name"), case.name) == (hostile, f"min {hostile}")


def test_what_xml_cannot_hold_is_written_out() -> None:
    (case,) = cases(junit("x", [GateCheck("min", "\x00\x1b\ud800\uffff", True, "")], {}))
    assert case.name == r"min \x00\x1b\ud800\uffff"


def test_markdown_is_a_heading_and_a_table() -> None:
    assert markdown("tuned", CHECKS) == (
        "### ❌ callmark gate: `tuned`\n\n2 of 3 thresholds met.\n\n| | threshold | result |\n|---|---|---|\n"
        "| ✗ | `call.score` | `.784 < .8` |\n| ✓ | `call.score` | `.784, baseline .742` |\n| ✓ | `errors` | `0 ≤ 0` |\n"
    )
    assert markdown("tuned", CHECKS[1:]).startswith("### ✅ callmark gate: `tuned`\n\n2 of 2 thresholds met.\n")


ACTIVE = ["@octocat and @org/team", "https://evil.example www.evil.example", "#12 org/repo#1 GH-7", "0123456789abcdef" * 2 + "01234567"]
OPEN_CODE = ["`", "``x```", "` x `", "\\", "a\\|b", "\\`@x`"]


@pytest.mark.parametrize("hostile", HOSTILE + ACTIVE + OPEN_CODE, ids=ascii)
def test_text_from_data_is_only_ever_code_in_markdown(hostile: str) -> None:
    """GitHub looks for mentions, addresses, issues and commits in text, and not in code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown(hostile, [GateCheck("min", hostile, True, hostile)]))
    inline = [[part for part in token.children or () if part.content] for token in tokens if token.type == "inline"]
    heading, sentence, *cells = [[(part.type, part.content) for part in parts] for parts in inline]
    shown = "".join(content for _, content in heading[1:])
    assert heading == [("text", "✅ callmark gate: "), ("code_inline", shown)]
    assert sentence == [("text", "1 of 1 threshold met.")]
    assert cells == [[], [("text", "threshold")], [("text", "result")], [("text", "✓")], *[[("code_inline", shown)]] * 2]
    assert shown.replace(r"\x7c", "|") == (one_line(hostile, 300) or "(empty)")
