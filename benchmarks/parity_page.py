"""The tables of `make parity`, as Markdown: what agrees, every known difference, and where an original is wrong."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import parity_deepfabric
import parity_lob
from callmark.types import Call
from parity_cases import NamedCall
from parity_systems import SYSTEMS, Difference, Number

BEGIN, END = "<!-- written by make parity -->", "<!-- end of what make parity writes -->"


class Compared(NamedTuple):
    """What was compared with a system, and how many numbers are equal."""

    package: str
    version: str
    generated: int  # cases
    own: int  # cases of the package's own tests
    numbers: int
    equal: int
    explained: Counter[str]  # differing numbers by the title of the difference
    unexplained: list[str]
    undocumented: list[str]  # known differences that are not as documented

    @property
    def failed(self) -> bool:
        return bool(self.unexplained or self.undocumented or self.equal + self.explained.total() != self.numbers)


def tables(results: Sequence[Compared]) -> str:
    """Return the tables of the systems that were compared."""
    packages = {one.package: one for one in results}
    listed = [(system.package, one) for system in SYSTEMS for one in system.differences]
    listed += [("LOB evaluation", one) for one in parity_lob.DIFFERENCES]
    shown = [(package, one) for package, one in listed if package in packages]
    parts = ["### Agreement\n", *_agreement(results)]
    parts += ["\n### Where an original is wrong\n", *_flaws(shown, deepfabric="deepfabric" in packages)]
    parts += ["\n### Other differences\n", *_differences((package, one) for package, one in shown if not one.flaw)]
    counts = [(package, one, packages[package].explained[one.title]) for package, one in shown if one.applies]
    parts += ["\n### Numbers that differ, by reason\n", *_counts(counts)]
    if "deepfabric" in packages:
        parts += ["\n### DeepFabric and `schema`\n", *_deepfabric()]
    parts += ["\n### Equivalent metrics\n", *_equivalents(packages)]
    return "\n".join(parts)


def write_page(page: Path, text: str) -> None:
    """Replace what is between the two markers of the page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _agreement(results: Iterable[Compared]) -> Iterator[str]:
    yield "| System | Version | Generated cases | Its own test cases | Numbers | Equal | With a listed reason | Without |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for one in results:
        explained, without = one.explained.total(), one.numbers - one.equal - one.explained.total()
        share = f"{one.equal:,} ({100 * one.equal / one.numbers:.1f}%)"
        yield f"| {one.package} | {one.version} | {one.generated:,} | {one.own} | {one.numbers:,} | {share} | {explained:,} | {without:,} |"


def _flaws(differences: Iterable[tuple[str, Difference]], *, deepfabric: bool) -> Iterator[str]:
    yield "| Flaw | System and metric | Expected | Actual | Theirs | Ours | Reason |"
    yield "|---|---|---|---|---:|---:|---|"
    if deepfabric:
        title, (row,), theirs, ours = parity_deepfabric.DIFFERENCES[0]
        cells = f"{_expected_call(row)} | {_actual_call(row)} | {theirs[-1] if theirs else ''} | {ours[-1]}"
        yield f"| abstention is 0 | deepfabric, overall_score | {cells} | {title} |"
    for package, one in sorted(differences, key=lambda pair: pair[1].flaw):
        if one.flaw:
            yield f"| {one.flaw} | {package}, {_metric(one)} | {_input(one)} | {one.reason} |"


def _differences(differences: Iterable[tuple[str, Difference]]) -> Iterator[str]:
    yield "| System and metric | Difference | Expected | Actual | Theirs | Ours | Reason |"
    yield "|---|---|---|---|---:|---:|---|"
    for package, one in differences:
        yield f"| {package}, {_metric(one)} | {one.title} | {_input(one)} | {one.reason} |"


def _counts(counts: Iterable[tuple[str, Difference, int]]) -> Iterator[str]:
    yield "| System | Difference | Numbers that differ |"
    yield "|---|---|---:|"
    for package, one, count in counts:
        yield f"| {package} | {one.flaw or one.title}: {one.reason} | {count:,} |"


def _equivalents(packages: Iterable[str]) -> Iterator[str]:
    yield "| System | Metric | Metric of `trajectory`, mode for arguments |"
    yield "|---|---|---|"
    for system in SYSTEMS:
        if system.package in packages:
            for metric, equivalent in system.metrics.items():
                yield f"| {system.package} | {metric} | {equivalent} |"


def _deepfabric() -> Iterator[str]:
    yield "Tool selection, parameters, execution, overall score:\n"
    yield "| Difference | Expected | Actual | Theirs | Ours |"
    yield "|---|---|---|---|---|"
    for title, rows, theirs, ours in parity_deepfabric.DIFFERENCES:
        expected, actual = (", then ".join(side(row) for row in rows) for side in (_expected_call, _actual_call))
        yield f"| {title} | {expected} | {actual} | {_quadruple(theirs) if theirs else 'crashes'} | {_quadruple(ours)} |"


def _expected_call(row: dict[str, Any]) -> str:
    return _openai_calls(row["sample"]["messages"][-1])


def _actual_call(row: dict[str, Any]) -> str:
    return f"error: {row['message']['error']}" if "error" in row["message"] else _openai_calls(row["message"])


def _openai_calls(message: dict[str, Any]) -> str:
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return ", ".join(f"`{one['name']}({one['arguments']})`" for one in functions) or "no call"


def _quadruple(numbers: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in numbers)


def _metric(one: Difference) -> str:
    return f"{one.metric}; ours: {one.equivalent}" if one.equivalent else one.metric


def _input(one: Difference) -> str:
    """Return the cells for expected and actual calls, their number and ours."""
    return f"{_calls(one.expected)} | {_calls(one.actual)} | {_number(one.theirs)} | {_number(one.ours)}"


def _calls(calls: Sequence[NamedCall]) -> str:
    return ", ".join(f"`{Call(name, arguments)}`" for name, arguments in calls) or "no call"


def _number(number: Number) -> str:
    if number is None:
        return "cannot be expressed"
    return number if isinstance(number, str) else json.dumps(round(number, 4))
