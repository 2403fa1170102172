"""Expected values and calls, shown as people wrote them."""

from typing import Any

import pytest

from callmark.calls.display import show_expected, show_expected_call
from callmark.calls.expected import read_expected_call
from callmark.types import Call

GLOB = {"$glob": "TKT-*", "$case": False}


@pytest.mark.parametrize(
    "value, shown",
    [
        ("High", '"High"'),
        (5, "5"),
        (GLOB, "TKT-*"),
        ({"$glob": "TKT-*"}, '{"$glob":"TKT-*"}'),
        ({"$glob": "TKT-*", "$case": True}, '{"$glob":"TKT-*","$case":true}'),
        ({"$regex": "a+"}, '{"$regex":"a+"}'),
        ({"$literal": "TKT-*"}, '"TKT-*"'),
        ({"$similar": "Ann"}, '"Ann"'),
        ({"$one_of": [GLOB, "none"]}, '{"$one_of": [TKT-*, "none"]}'),
        ({"ticket": {"id": GLOB, "n": [1, 2]}}, '{"ticket": {"id": TKT-*, "n": [1,2]}}'),
    ],
)
def test_expected_value(value: Any, shown: str) -> None:
    assert show_expected(value) == shown


def test_expected_call_of_a_scenario_shows_bare_globs() -> None:
    call = read_expected_call({"functionName": "create_ticket", "arguments": {"id": "TKT-*", "title": "Server down", "tags": ["a", "b"]}})
    assert show_expected_call(call) == 'create_ticket(id=TKT-*, title="Server down", tags=["a", "b"])'


def test_expected_call_without_matchers_is_shown_as_code() -> None:
    call = Call("f", {"a": {"$literal": {"$any": True}}, "b": {"x": [1, None]}})
    assert show_expected_call(call) == 'f(a={"$any": true}, b={"x": [1, null]})'
    assert show_expected_call(Call("f", {}, None, "truncated JSON", "{")) == "f(‹malformed: {›)"
