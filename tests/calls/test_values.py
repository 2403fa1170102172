from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.pairing import compare_arguments
from callmark.calls.strict import NotStrict, parse
from callmark.calls.values import exact, without_defaults

SAME = [
    ("a", "a"),
    (" a\n", "a"),
    ("e\u0301", "é"),
    (1, 1.0),
    (2**70, float(2**70)),
    (True, True),
    (None, None),
    ([1, "a"], [1.0, " a"]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("5", 5),
    ("5.0", 5),
    (" 5 ", 5),
    ("true", True),
    ("null", None),
    ("[1, 2]", [1, 2]),
    ('{"a": "1"}', {"a": 1}),
    ({"a": "1"}, {"a": 1}),
    ("1e2", 100),
]
DIFFERENT = [
    ("a", "A"),
    ("a b", "a  b"),
    ("01234", "1234"),
    ("5", "5.0"),
    ("05", 5),
    ("5", True),
    (1, True),
    (0, False),
    (0, None),
    ("", None),
    ("False", False),
    ("NaN", 1),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": 1}, {"b": 1}),
    ([], {}),
    ({}, None),
    ([1], 1),
    ('"5"', 5),
    ("[1, 2", [1, 2]),
    (9007199254740993, 9007199254740992.0),
]


@pytest.mark.parametrize("one, other", SAME)
def test_values_that_are_exact(one: Any, other: Any) -> None:
    assert exact(one, other)
    assert exact(other, one)


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_values_that_are_not_exact(one: Any, other: Any) -> None:
    assert not exact(one, other)
    assert not exact(other, one)


def test_a_megabyte_of_brackets_is_compared_in_bounded_time() -> None:
    assert not exact("[" * 1_000_000, [])


PARAMETERS = {
    "properties": {
        "limit": {"type": "integer", "default": 10},
        "tag": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "old": {"type": "string", "nullable": True},
        "city": {"type": "string"},
        "free": {},
        "level": {"type": "integer", "default": 10},
    },
    "required": ["city"],
}


@pytest.mark.parametrize(
    "arguments, left",
    [
        ({"limit": 10}, {}),
        ({"limit": "10"}, {"limit": "10"}),  # a tool that takes an integer refuses it
        ({"limit": 10.0}, {}),
        ({"limit": 11}, {"limit": 11}),
        ({"tag": None}, {}),
        ({"level": None}, {}),
        ({"note": None}, {"note": None}),
        ({"maybe": None}, {"maybe": None}),
        ({"old": None}, {"old": None}),
        ({"free": None}, {"free": None}),
        ({"city": None}, {"city": None}),
        ({"unknown": None}, {"unknown": None}),
    ],
)
def test_arguments_equivalent_to_omission(arguments: dict[str, Any], left: dict[str, Any]) -> None:
    assert without_defaults(arguments, PARAMETERS) == left


def test_without_a_schema_no_argument_is_equivalent_to_omission() -> None:
    assert without_defaults({"a": None}, {}) == {"a": None}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["5", "true", "[1]", "null"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8
)


@pytest.mark.laws
@given(VALUES, VALUES)
def test_exact_is_symmetric_and_reflexive(one: Any, other: Any) -> None:
    assert exact(one, one)
    assert exact(one, other) == exact(other, one)


@pytest.mark.parametrize(
    "one, other, equal",
    [
        (0.1 + 0.2, 0.3, True),
        (1.5, 1.5 * (1 + 0.9e-9), True),
        (1.5, 1.5 * (1 + 2e-9), False),
        (2, 2.000000001, True),
        (2, 2.00000001, False),
        (10**15, 10**15 + 1, False),  # both are whole
        (2.0**53, 2.0**53 + 2, False),
        (10**9, 10**9 + 0.5, True),  # one is not
        (0, 1e-12, False),
        (-1.5, 1.5, False),
        (1.5, "1.5000000001", True),
        ([0.1 + 0.2], [0.3], True),
        (True, 1.0000000001, False),
        (float("inf"), 1.5, False),
        (float("nan"), float("nan"), False),
        (10**400, 1.5, False),
    ],
)
def test_numbers_within_the_tolerance_are_equal_unless_both_are_whole(one: Any, other: Any, equal: bool) -> None:
    assert exact(one, other) is exact(other, one) is equal


NESTED = {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}


@pytest.mark.parametrize(
    "schema, expected, actual, equal",
    [
        ({"type": "integer"}, 2, "2", False),  # a tool that takes an integer would refuse it
        ({"type": "integer"}, "2", 2, True),
        ({"type": "string"}, "2", 2, False),
        ({"type": "string"}, 2, "2", True),
        ({"type": "integer"}, "2", 2.0, True),
        ({"type": "integer"}, "2.5", 2.5, False),
        ({"type": "number"}, "2.5", 2.5, True),
        ({"type": ["integer", "string"]}, 2, "2", True),
        ({"type": "strange"}, 2, "2", True),  # unknown type words admit everything
        ({"type": ["strange", "integer"]}, 2, "2", True),
        ({}, 2, "2", True),
        ({"enum": [2]}, 2, "2", True),  # values are not looked at
        (True, 2, "2", True),
        (False, 2, "2", False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 2, "2", False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 2, "2", True),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, 2, "2", False),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, 2, "2", False),
        ({"allOf": [{"type": "string"}, {}]}, 2, "2", True),
        ({"$ref": "#/$defs/whole"}, 2, "2", False),
        ({"$ref": "#/$defs/none"}, 2, "2", True),
        ({"type": "string", "nullable": True}, "null", None, True),
        ({"type": "string"}, "null", None, False),
        ({"type": "boolean"}, True, "true", False),
        ({"type": "array"}, [1, 2], "[1, 2]", False),
        ({"type": "string"}, [1, 2], "[1, 2]", True),
        (NESTED, {"n": 2}, {"n": "2"}, False),
        (NESTED, {"n": "2"}, {"n": 2}, True),
        (NESTED, {"tags": [1]}, {"tags": ["1"]}, True),
        (NESTED, {"tags": ["1"]}, {"tags": [1]}, False),
        (NESTED, {"other": ["1"]}, {"other": [1]}, True),
        ({"anyOf": [{"type": "string"}, NESTED]}, {"n": 2}, {"n": "2"}, False),  # the object cannot be the string
        ({"anyOf": [{"type": "string"}, NESTED]}, {"n": 2}, '{"n": "2"}', True),  # the inside of a text has no schema
        ({"anyOf": [{"type": "object"}, NESTED]}, {"n": 2}, {"n": "2"}, True),
        ({"type": "integer"}, {"$one_of": [1, 2]}, "2", False),
        ({"type": "string"}, {"$one_of": [1, 2]}, "2", True),
        ({"type": "array", "items": {"type": "integer"}}, {"$set": [1, 2]}, ["2", 1], False),
        ({"type": "number"}, {"$approx": 2, "$abs": 0.1}, "2", False),
        ({"type": "string"}, {"$approx": 2, "$abs": 0.1}, "2", True),
        ({"type": "integer"}, {"$not": 2}, "2", True),
        ({"type": "integer"}, "two", "two", True),  # two strings are compared as strings
    ],
)
def test_a_string_differs_from_another_type_that_the_schema_does_not_admit(schema: Any, expected: Any, actual: Any, equal: bool) -> None:
    parameters = {"properties": {"a": schema}, "$defs": {"whole": {"type": "integer"}}}
    assert compare_arguments({"a": expected}, {"a": actual}, parameters=parameters).all_agree is equal
    assert (
        compare_arguments({"b": expected}, {"b": actual}, parameters=parameters).all_agree
        is compare_arguments({"b": expected}, {"b": actual}).all_agree
    ), "an argument that the schema does not know"


def test_the_schema_rule_does_not_apply_by_similar() -> None:
    parameters = {"properties": {"a": {"type": "integer"}}}
    assert compare_arguments({"a": 2}, {"a": "2"}, parameters=parameters, rule="similar").all_agree
    assert not compare_arguments({"a": 2}, {"a": "2"}, parameters=parameters).all_agree


def test_a_recursive_schema_and_a_huge_one_are_read_in_bounded_time() -> None:
    loop = {"$ref": "#/properties/a"}
    assert compare_arguments({"a": 2}, {"a": "2"}, parameters={"properties": {"a": loop}}).all_agree
    many = {"anyOf": [{"anyOf": [{"type": "integer"}]} for _ in range(20_000)]}
    assert compare_arguments({"a": 2}, {"a": "2"}, parameters={"properties": {"a": many}}).all_agree, (
        "a schema that large admits everything"
    )


@pytest.mark.parametrize(
    "expected, actual, counts",
    [  # counts: agree, expected, actual, named
        ({"n": {"$one_of": [10, 20]}}, {"n": 10}, (1, 1, 1, 1)),  # the matcher sees the value as given
        ({"n": {"$one_of": [10, 20]}}, {}, (0, 0, 0, 0)),  # it sees the default, which counts on neither side
        ({"n": {"$one_of": [20, 30]}}, {}, (0, 1, 0, 1)),
        ({"n": {"$one_of": [20, 30]}}, {"n": 10}, (0, 1, 1, 1)),
        ({"n": {"$optional": 20}}, {}, (0, 0, 0, 0)),
        ({"n": {"$optional": 20}}, {"n": 10}, (0, 1, 1, 1)),
        ({"n": {"$any": True}}, {"n": 10}, (1, 1, 1, 1)),
        ({"n": {"$any": True}}, {}, (0, 1, 0, 1)),
        ({"n": {"$not": 5}}, {"n": 10}, (1, 1, 1, 1)),
        ({"n": {"$not": 5}}, {}, (0, 1, 0, 1)),
        ({"n": {"$literal": 10}}, {}, (0, 0, 0, 0)),
        ({"n": {"$approx": 10.4, "$abs": 0.5}}, {}, (0, 0, 0, 0)),
        ({"o": {"x": {"$any": True}}}, {"o": {"x": 1}}, (1, 1, 1, 1)),  # at any depth
        ({"o": {"x": {"$any": True}}}, {}, (0, 0, 0, 0)),
        ({"t": {"$one_of": [None, "x"]}}, {"t": None}, (1, 1, 1, 1)),
        ({"t": {"$glob": "*"}}, {}, (0, 1, 0, 1)),  # no default
        ({"n": 10}, {}, (0, 0, 0, 0)),  # without a matcher, as ever
        ({}, {"n": 10.0, "t": None}, (0, 0, 0, 0)),
        ({}, {"n": "10"}, (0, 0, 1, 1)),  # a tool that takes an integer would refuse it
        ({"z": {"$any": True}}, {"n": 10}, (0, 1, 0, 1)),
    ],
)
def test_matchers_and_defaults(expected: dict[str, Any], actual: dict[str, Any], counts: tuple[int, ...]) -> None:
    fields = {"n": {"type": "integer", "default": 10}, "o": {"type": "object", "default": {"x": 1}}, "t": {"type": "string"}}
    for rule in ("exact", "similar"):
        found = compare_arguments(expected, actual, parameters={"properties": fields}, rule=rule)
        assert (found.agree, found.expected, found.actual, found.named) == counts


JSON_LIKE = st.text(st.sampled_from('{}[]":,019-+.eEtrufalsn \t\n\u00a0\ufeffNIx'), max_size=8)
OTHER_VALUES: list[Any] = [0, 1, True, False, None, [], {}, [1]]


@given(JSON_LIKE | st.sampled_from([" true", "null\n", " [1]", "-0"]))
def test_text_equals_another_value_only_if_strict_json_says_so(text: str) -> None:
    try:
        value = parse(text)
    except NotStrict:
        assert not any(exact(text, other) for other in OTHER_VALUES)
    else:
        assert isinstance(value, str) or exact(text, value)
