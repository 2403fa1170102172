"""The page about agreement lists every difference that `make parity` checks, and callmark's numbers in it hold. No package is needed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from parity_cases import ParityCase, generate  # noqa: E402
from parity_lob import DIFFERENCES, check_differences  # noqa: E402
from parity_systems import SYSTEMS, Difference, System, our_number  # noqa: E402

sys.path.remove(str(ROOT / "benchmarks"))  # its azure.py would hide the package of that name from other tests

PAGE = (ROOT / "docs" / "reference" / "parity.md").read_text(encoding="utf-8")
LISTED = [pytest.param(system, one, id=f"{system.package}: {one.title}") for system in SYSTEMS for one in system.differences]


@pytest.mark.parametrize(("system", "difference"), LISTED)
def test_number_of_callmark_is_as_listed(system: System, difference: Difference) -> None:
    case = ParityCase(difference.expected, difference.actual)
    assert our_number(case, difference.equivalent or system.metrics[difference.metric]) == pytest.approx(difference.ours)


@pytest.mark.parametrize(("system", "difference"), LISTED)
def test_reason_is_on_the_page(system: System, difference: Difference) -> None:
    assert any(system.package in line and difference.reason in line for line in PAGE.splitlines())


@pytest.mark.parametrize("difference", [one for system in SYSTEMS for one in system.differences if one.predicts], ids=lambda one: one.title)
def test_prediction_of_a_reason_is_the_number_of_the_system(difference: Difference) -> None:
    case = ParityCase(difference.expected, difference.actual)
    assert difference.applies
    assert difference.predicts
    assert difference.applies(difference.metric, case)
    assert difference.predicts(difference.metric, case) == pytest.approx(difference.theirs)


def test_differences_from_the_lob_evaluation_are_as_listed() -> None:
    assert check_differences() == []
    assert all(difference.reason in PAGE for difference in DIFFERENCES)


def test_generated_cases_are_the_same_for_the_same_seed() -> None:
    assert generate(50, 3) == generate(50, 3) != generate(50, 4)
