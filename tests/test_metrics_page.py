"""The page about the metrics has every section, and its examples are run."""

import doctest
import re
from pathlib import Path

import pytest

NAME = "docs/reference/metrics.md"
PAGE = (Path(__file__).parents[1] / NAME).read_text(encoding="utf-8")
HEADING = re.compile(r"^## (\d+)\. .+$", re.MULTILINE)
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def sections() -> list[doctest.DocTest]:
    """One test for each section, in order: its examples share their names. Fences become blank lines, so that line numbers stay."""
    parser = doctest.DocTestParser()
    headings = list(HEADING.finditer(PAGE))
    ends = [heading.start() for heading in headings[1:]] + [len(PAGE)]
    return [
        parser.get_doctest(
            FENCE.sub("", PAGE[heading.start() : end]), {}, f"section {heading[1]}", NAME, PAGE.count("\n", 0, heading.start())
        )
        for heading, end in zip(headings, ends, strict=True)
    ]


@pytest.mark.parametrize("section", sections(), ids=lambda section: str(section.name))
def test_examples_of_a_section(section: doctest.DocTest) -> None:
    said: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(section, out=said.append)
    assert outcome.failed == 0, "".join(said)


def test_page_has_its_sections_in_order() -> None:
    assert [int(number) for number in HEADING.findall(PAGE)] == [*range(1, 23)]


def test_every_section_has_an_example() -> None:
    counts = {section.name: len(section.examples) for section in sections()}
    assert [name for name, count in counts.items() if count == 0] == []
    assert sum(counts.values()) >= 25


def test_no_example_is_outside_the_sections() -> None:
    assert sum(len(section.examples) for section in sections()) == len(re.findall(r"^>>> ", PAGE, re.MULTILINE))
