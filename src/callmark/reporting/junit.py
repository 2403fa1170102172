"""Write the result of a gate as JUnit XML for CI, and as Markdown for a pull request.

All text from data is escaped: in XML, control characters are written as `\\x00`; in Markdown, text from data is code, so that it holds no
link, mention, image, issue or commit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from callmark.analysis.gate import GateCheck, gate_headline
from callmark.analysis.outcomes import CaseOutcome, count_outcomes
from callmark.errors import BadInput
from callmark.reporting.safety import escape_breaks, escape_controls, escape_log_commands, markdown_code, one_line
from callmark.wording import mark_heuristic, pluralize

_NOT_XML = re.compile("[\ufffe\uffff]")  # what XML does not allow and `escape_controls` leaves
_URL = re.compile(r"https?://[\w.:-]+(?:/[\w./?&=%#:+~@,;-]*)?", re.ASCII)  # nothing that Markdown or HTML could read as anything else
_MAX_TEXT = 300
_MAX_PROBLEM = 1000
_MAX_LISTED = 20  # cases in the Markdown summary


class CaseResults(Struct, frozen=True):
    """The outcome of every case of a run, the number of its faults by kind, its dataset, and the cases that passed in the baseline only."""

    outcomes: Sequence[CaseOutcome] = ()
    faults: Mapping[str, int] = {}
    dataset: str = ""
    broken: Sequence[str] = ()


def junit(run: str, checks: Sequence[GateCheck], cases: CaseResults) -> str:
    """Return two test suites: a test for each threshold, and a test for each case, with its latency.

    A threshold that is not met, and a case that did not pass, is a failure with a message. An error is an error. The numbers of faults are
    properties of the second suite: `faults.wrong_value`. Without cases there is only the first.
    """
    suites = [_Suite(f"gate {run}", list(map(_check_test, checks)))]
    if cases.outcomes:
        suites.append(_Suite(run, [_case_test(outcome, cases.dataset) for outcome in cases.outcomes], cases.faults))
    head = f'<testsuites name="callmark" {_counts([test for suite in suites for test in suite.tests])}>'
    lines = [line for suite in suites for line in suite.lines()]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *lines, "</testsuites>", ""])


def markdown(run: str, checks: Sequence[GateCheck], cases: CaseResults, *, coverage: str = "", baseline: str = "", report: str = "") -> str:
    """Return a heading that says whether the gate passed, a table of the thresholds, and the cases that failed, with what went wrong.

    With a baseline, those that passed in it come first. `coverage` says how much was scored, `report` is the URL of the report. A URL
    that is not plain HTTP or HTTPS raises `BadInput`.
    """
    if report and not _URL.fullmatch(report):
        raise BadInput(f"report URL: expected an HTTP or HTTPS URL, got {report!r:.120}", "For example: https://example.com/report.html")
    passed = all(check.met for check in checks)
    compared = f", compared with {markdown_code(baseline, _MAX_TEXT)}" if baseline else ""
    lines = [
        f"### {'✅' if passed else '❌'} callmark gate: {markdown_code(run, _MAX_TEXT)}",
        "",
        f"{gate_headline(checks)}{f' ({coverage})' if coverage else ''}{compared}.",
        "",
        "| | threshold | result |",
        "|---|---|---|",
        *(_row("✓" if check.met else "✗", check.name, check.text, heuristic=check.heuristic) for check in checks),
    ]
    if cases.outcomes:
        lines += ["", *_failed_cases(cases)]
    if report:
        lines += ["", f"[Open the report]({report})"]
    return "\n".join([*lines, ""])


def _failed_cases(cases: CaseResults) -> Iterator[str]:
    """Yield a sentence with the numbers, and a table of the cases that did not pass, those that passed in the baseline first."""
    broken = set(cases.broken)
    failed = sorted((each for each in cases.outcomes if each.status in ("failed", "error")), key=lambda each: each.case not in broken)
    since = f"; {len(broken):,} of them passed in the baseline" if broken else ""
    yield f"{count_outcomes(cases.outcomes)}{since}."
    if failed:
        yield from ("", "| | case | what went wrong |", "|---|---|---|")
        yield from (_row("new" if each.case in broken else each.status, each.case, each.message) for each in failed[:_MAX_LISTED])
    if len(failed) > _MAX_LISTED:
        yield from ("", f"And {pluralize(len(failed) - _MAX_LISTED, 'case')} more.")


def _row(word: str, name: str, text: str, *, heuristic: bool = False) -> str:
    """Return a row of a table: our own word, and two texts from data."""
    return f"| {word} | {mark_heuristic(markdown_code(name, _MAX_TEXT), heuristic)} | {markdown_code(text, _MAX_TEXT)} |"


class _Test(Struct, frozen=True):
    """A test case: its names, its outcome (empty: passed), the texts that explain it, and its time."""

    class_name: str
    name: str
    outcome: str = ""
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        names = f"classname={_attribute(self.class_name)} name={_attribute(self.name)}"
        start = f'    <testcase {names} time="{self.seconds:.3f}"'
        if not self.outcome:
            return f"{start}><system-out>{_text(self.text)}</system-out></testcase>" if self.text else f"{start}/>"
        if self.outcome == "skipped":
            return f"{start}><skipped>{_text(self.message)}</skipped></testcase>"
        why = f"message={_attribute(self.message)} type={_attribute(self.kind)}"
        return f"{start}><{self.outcome} {why}>{_text(self.text)}</{self.outcome}></testcase>"


class _Suite(Struct, frozen=True):
    name: str
    tests: list[_Test]
    properties: Mapping[str, int] = {}

    def lines(self) -> Iterator[str]:
        yield f"  <testsuite name={_attribute(self.name)} {_counts(self.tests)}>"
        if self.properties:
            listed = (f'      <property name={_attribute(f"faults.{kind}")} value="{count}"/>' for kind, count in self.properties.items())
            yield from ("    <properties>", *listed, "    </properties>")
        yield from (test.line() for test in self.tests)
        yield "  </testsuite>"


def _check_test(check: GateCheck) -> _Test:
    name = f"{check.condition} {check.label}"
    return _Test("callmark.gate", name, "" if check.met else "failure", "gate", check.text, check.text)


def _case_test(outcome: CaseOutcome, dataset: str) -> _Test:
    suite = ".".join(filter(None, (dataset.rpartition("/")[2].partition(".")[0] or "cases", outcome.scenario_type)))
    status = {"passed": "", "failed": "failure"}.get(outcome.status, outcome.status)
    text = "\n".join(one_line(problem, _MAX_PROBLEM) for problem in outcome.problems)  # a line break in data makes no line of its own
    return _Test(
        suite, escape_breaks(outcome.case) or "(empty)", status, "callmark", one_line(outcome.message, _MAX_PROBLEM), text, outcome.seconds
    )


def _counts(tests: Sequence[_Test]) -> str:
    outcomes = [test.outcome for test in tests]
    counts = {
        "tests": len(tests),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
    }
    return " ".join([*(f'{name}="{count}"' for name, count in counts.items()), f'time="{sum(test.seconds for test in tests):.3f}"'])


def _attribute(text: str) -> str:
    return quoteattr(_escape_invalid(text))


def _text(text: str) -> str:
    return escape(_escape_invalid(text))


def _escape_invalid(text: str) -> str:
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", escape_log_commands(escape_controls(text)))
