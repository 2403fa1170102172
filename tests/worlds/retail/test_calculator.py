"""The calculator: exact to the cent, and safe for any input."""

from decimal import Decimal
from fractions import Fraction
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.worlds.retail import tools
from callmark.worlds.retail.store.calculator import calculate
from callmark.worlds.retail.store.store import Store
from callmark.worlds.tool_calls import ToolError


@pytest.mark.parametrize(
    "expression, value",
    [
        ("2 + 2", "4"),
        ("0.1 + 0.2", "0.3"),
        ("54.04*3", "162.12"),
        ("1 / 3", "0.33"),
        ("2 / 3", "0.67"),
        ("0.005", "0.01"),
        ("-0.001", "0"),
        ("10 - 4 - 3", "3"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("100 / 10 / 5", "2"),
        ("-(3 - 5) * 2", "4"),
        ("--5", "5"),
        ("2 * -3", "-6"),
        (".5 + 1", "1.5"),
        ("  ( 1 )  ", "1"),
        ("100", "100"),
        ("1.10", "1.1"),
        ("123456789012345 + 0.99", "123456789012345.99"),
        ("1 / 3 * 3", "1"),
        ("(" * 20 + "7" + ")" * 20, "7"),
    ],
)
def test_calculation_is_exact_to_the_cent(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        " ",
        "()",
        "1 +",
        "* 2",
        "1 2",
        "1.2.3",
        "5.",
        "(1",
        "1)",
        "2 ** 3",
        "9**9**9",
        "9//2",
        "1e9",
        "1_000",
        "1,000",
        "$5",
        "abs(1)",
        "a",
        "__import__('os').system('true')",
        "[].__class__",
        "1 if 1 else 2",
        "1\n+1",
        "٣ + ٤",
        "²",
        "1/0",
        "0/0",
        "1/(2-2)",
        "1e999999999",
        "1000000 * 1000000000",
        "9" * 400,
        "*".join(["999999999999"] * 38),
        "1" + "/0.0000001" * 40,
        "(" * 10_000 + "1" + ")" * 10_000,
        "(" * 200 + "1" + ")" * 200,
        "-" * 400 + "1",
        "(" * 10_000,
        "1+" * 500_000 + "1",
        "\x00",
        "\ud800",
    ],
    ids=lambda expression: ascii(expression[:20]),
)
def test_invalid_expression_is_refused_immediately(store: Store, expression: str) -> None:
    begin = process_time()
    result = store.call(tools.CALCULATE, {"expression": expression})
    assert process_time() - begin < 0.2
    assert result.is_error
    assert 20 < len(result.text) < 200
    assert "\n" not in result.text


AMOUNTS = st.integers(0, 10_000_00).map(lambda cents: f"{Decimal(cents) / 100:.2f}")
SUMS = st.recursive(
    AMOUNTS,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
    max_leaves=4,
)


@given(SUMS)
def test_calculation_agrees_with_exact_fractions(expression: str) -> None:
    """The reference is Python's own evaluation with fractions in place of numbers."""
    exact = eval(_in_fractions(expression), {"F": Fraction})
    try:
        value = Fraction(calculate(expression))
    except ToolError:
        assert abs(exact) >= 10**15
    else:
        assert abs(value - exact) <= Fraction(1, 200)


def _in_fractions(expression: str) -> str:
    return " ".join(f"F('{part}')" if part[0].isdigit() else part for part in expression.replace("(", "( ").replace(")", " )").split())
