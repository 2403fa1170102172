"""The result of a gate as JUnit XML and as Markdown."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from markdown_it import MarkdownIt

from callmark.analysis.gate import GateCheck
from callmark.analysis.outcomes import CaseOutcome
from callmark.errors import BadInput
from callmark.reporting.junit import CaseResults, junit, markdown
from callmark.reporting.safety import one_line

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "junit.xsd")
CHECKS = [
    GateCheck("min", "call.score", False, ".784 < .8"),
    GateCheck("max_drop", "call.score", True, ".784, baseline .742"),
    GateCheck("max_errors", "errors", True, "0 ≤ 0"),
]
WRONG = 'create_ticket: priority: expected "High", got "Low"'
CASES = [
    CaseOutcome("create-01", "passed", seconds=1.25, scenario_type="create ticket"),
    CaseOutcome("create-02", "failed", (WRONG, "expected close(), which was not called"), 4, 1, 2.5, "create ticket"),
    CaseOutcome("close-01", "error", ("HTTP 503",), 0, 0, 0.5),
    CaseOutcome("close-02", "skipped", ("no verdict",)),
]
RESULTS = CaseResults(CASES, {"wrong_value": 3}, "data/scenarios.jsonl")
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


def suites(text: str) -> list[TestSuite]:
    """Return the suites, as junitparser reads them."""
    found = list(JUnitXml.fromstring(text.encode()))
    assert all(isinstance(suite, TestSuite) for suite in found)
    return found


def gate_tests(text: str) -> list[TestCase]:
    return list(suites(text)[0])


def test_report_is_valid_and_has_every_threshold() -> None:
    text = junit("tuned", CHECKS, CaseResults())
    SCHEMA.validate(text)
    root = ElementTree.fromstring(text.encode())
    for element in (root, root[0]):
        assert {name: element.get(name) for name in ("tests", "failures", "errors")} == {"tests": "3", "failures": "1", "errors": "0"}
    assert root[0].get("name") == "gate tuned"
    first, *others = gate_tests(text)
    assert [(one.classname, one.name, one.is_passed) for one in (first, *others)] == [
        ("callmark.gate", "min call.score", False),
        ("callmark.gate", "max_drop call.score", True),
        ("callmark.gate", "max_errors errors", True),
    ]
    (failure,) = first.result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.text, failure.type) == (".784 < .8", ".784 < .8", "gate")
    assert others[0].system_out == ".784, baseline .742"


def test_cases_are_a_suite_of_their_own_with_messages_and_durations() -> None:
    text = junit("tuned", CHECKS, RESULTS)
    SCHEMA.validate(text)
    gate, cases = suites(text)
    assert [(suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) for suite in (gate, cases)] == [
        ("gate tuned", 3, 1, 0, 0),
        ("tuned", 4, 1, 1, 1),
    ]
    assert cases.time == 4.25
    assert [(one.classname, one.name, one.time) for one in cases] == [
        ("scenarios.create ticket", "create-01", 1.25),
        ("scenarios.create ticket", "create-02", 2.5),
        ("scenarios", "close-01", 0.5),
        ("scenarios", "close-02", 0),
    ]
    (passed, failed, error, skipped) = [list(one.result) for one in cases]
    assert passed == []
    assert isinstance(failed[0], Failure)
    assert failed[0].message == f"3 of 4 trials failed: {WRONG} (and 1 more)"
    assert failed[0].text == f"{WRONG}\nexpected close(), which was not called"
    assert isinstance(error[0], Error)
    assert error[0].message == "HTTP 503"
    assert isinstance(skipped[0], Skipped)
    properties = ElementTree.fromstring(text.encode()).iter("property")
    assert [(one.get("name"), one.get("value")) for one in properties] == [("faults.wrong_value", "3")]


@pytest.mark.parametrize(
    "text",
    [
        junit("x", CHECKS, RESULTS).replace('tests="3"', 'tests="three"'),
        "<testsuites/>",
        junit("x", CHECKS[:1] * 2, CaseResults()),
        junit("x", CHECKS, CaseResults(CASES[:1] * 2)),
    ],
)
def test_schema_refuses_an_invalid_report(text: str) -> None:
    assert not SCHEMA.is_valid(text)


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
@pytest.mark.parametrize("met", [True, False])
def test_hostile_names_keep_the_report_valid(hostile: str, met: bool) -> None:
    outcome = CaseOutcome(hostile, "passed" if met else "failed", () if met else (hostile, hostile), scenario_type=hostile)
    results = CaseResults([outcome], {hostile or "x": 1}, hostile)
    text = junit(hostile, [GateCheck("min", hostile, met, hostile)], results)
    SCHEMA.validate(text)
    root = ElementTree.fromstring(text.encode())
    outcomes = [["system-out"] if hostile else [], []] if met else [["failure"], ["failure"]]
    assert [element.tag for element in root.iter()] == [
        *("testsuites", "testsuite", "testcase", *outcomes[0]),
        *("testsuite", "properties", "property", "testcase", *outcomes[1]),
    ]
    (case,) = gate_tests(text)
    assert case.is_passed is met
    if hostile.isprintable():
        assert (root[0].get("name"), case.name) == (f"gate {hostile}", f"min {hostile}")
        assert [one.name for one in suites(text)[1]] == [hostile or "(empty)"]


def test_what_xml_cannot_hold_is_written_out() -> None:
    (case,) = gate_tests(junit("x", [GateCheck("min", "\x00\x1b\ud800\uffff", True, "")], CaseResults()))
    assert case.name == r"min \x00\x1b\ud800\uffff"


def test_markdown_is_a_heading_and_a_table() -> None:
    assert markdown("tuned", CHECKS, CaseResults()) == (
        "### ❌ callmark gate: `tuned`\n\n2 of 3 thresholds met.\n\n| | threshold | result |\n|---|---|---|\n"
        "| ✗ | `call.score` | `.784 < .8` |\n| ✓ | `call.score` | `.784, baseline .742` |\n| ✓ | `errors` | `0 ≤ 0` |\n"
    )
    assert markdown("tuned", CHECKS[1:], CaseResults()).startswith("### ✅ callmark gate: `tuned`\n\n2 of 2 thresholds met.\n")


def test_markdown_names_what_broke_and_links_to_the_report() -> None:
    results = CaseResults([*CASES, CaseOutcome("z", "failed", ("broke",))], broken=["z"])
    text = markdown("tuned", CHECKS, results, coverage="scored 3 of 4", baseline="runs/base", report="https://ci.example/runs/1?a=b#x")
    assert "2 of 3 thresholds met (scored 3 of 4), compared with `runs/base`.\n" in text
    assert text.endswith(
        "2 of 5 cases failed, 1 error; 1 of them passed in the baseline.\n\n| | case | what went wrong |\n|---|---|---|\n"
        f"| new | `z` | `broke` |\n| failed | `create-02` | `3 of 4 trials failed: {WRONG} (and 1 more)` |\n"
        "| error | `close-01` | `HTTP 503` |\n\n[Open the report](https://ci.example/runs/1?a=b#x)\n"
    )


def test_markdown_lists_the_first_cases_only() -> None:
    text = markdown("x", CHECKS, CaseResults([CaseOutcome(f"c{number}", "failed", ("x",)) for number in range(25)]))
    assert (text.count("| failed |"), text.endswith("\n\nAnd 5 cases more.\n")) == (20, True)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://a.example/) [x](b", "//a.example", "https://a.example/ b", "http://", "file:///a"]
)
def test_address_that_is_not_plain_http_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="report URL: expected an HTTP or HTTPS URL, got "):
        markdown("x", CHECKS, CaseResults(), report=url)


ACTIVE = ["@octocat and @org/team", "https://evil.example www.evil.example", "#12 org/repo#1 GH-7", "0123456789abcdef" * 2 + "01234567"]
OPEN_CODE = ["`", "``x```", "` x `", "\\", "a\\|b", "\\`@x`"]


@pytest.mark.parametrize("hostile", HOSTILE + ACTIVE + OPEN_CODE, ids=ascii)
def test_text_from_data_is_only_ever_code_in_markdown(hostile: str) -> None:
    """GitHub looks for mentions, addresses, issues and commits in text, and not in code."""
    results = CaseResults([CaseOutcome(hostile, "failed", (hostile,))], broken=[hostile])
    text = markdown(hostile, [GateCheck("min", hostile, True, hostile)], results, baseline=hostile or " ", report="https://ci.example/1")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [[part for part in token.children or () if part.content] for token in tokens if token.type == "inline"]
    heading, sentence, *cells = [[(part.type, part.content) for part in parts] for parts in inline]
    shown = "".join(content for _, content in heading[1:])
    code = [("code_inline", shown)]
    assert heading == [("text", "✅ callmark gate: "), *code]
    assert sentence == [("text", "1 of 1 threshold met, compared with "), *code, ("text", ".")]
    head = [[], [("text", "threshold")], [("text", "result")]]
    cases = [[("text", "1 of 1 case failed; 1 of them passed in the baseline.")], [], [("text", "case")], [("text", "what went wrong")]]
    assert cells[:-3] == [*head, [("text", "✓")], code, code, *cases, [("text", "new")]]
    assert cells[-3:-1] == [code, code]
    assert cells[-1] == [("text", "Open the report")]
    assert [token.attrs["href"] for line in tokens for token in line.children or () if token.type == "link_open"] == [
        "https://ci.example/1"
    ]
    assert shown.replace(r"\x7c", "|") == (one_line(hostile, 300) or "(empty)")
