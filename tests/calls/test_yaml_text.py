"""YAML: plain values as in JSON, and hostile texts that are refused with their line."""

from typing import Any

import pytest
import yaml

from callmark.calls import yaml_text
from callmark.calls.yaml_text import InvalidYaml, read_yaml
from callmark.errors import BadInput


@pytest.mark.parametrize(
    "text, value",
    [
        ("", None),
        ("a: [1, -2, +3, 0x1F, 0b101, 017, 0o17, 1_000, 0]", {"a": [1, -2, 3, 31, 5, 15, 15, 1000, 0]}),
        ("[1.5, -.5, 1., 1e3, 1.5e-3, 1_0.5]", [1.5, -0.5, 1.0, 1000.0, 0.0015, 10.5]),
        ("[~, null, '', 'null', \"1\", !!str 1, ! 1]", [None, None, "", "null", "1", "1", "1"]),
        ("[true, True, yes, on, false, no, Off]", [True, True, True, True, False, False, False]),
        ("[2024-01-01, 12:30, 1:2:3, 1.2.3, '-', +a, .]", ["2024-01-01", "12:30", "1:2:3", "1.2.3", "-", "+a", "."]),
        ("[!!int 5, !!float 5, !!bool yes, !!null ~]", [5, 5.0, True, None]),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: &x {p: 1, q: 1}\nb: {q: 2, <<: *x, r: 3}", {"a": {"p": 1, "q": 1}, "b": {"p": 1, "q": 2, "r": 3}}),
        ("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}", {"a": {"p": 1}, "b": {"p": 2, "q": 2}, "c": {"p": 1, "q": 2}}),
        ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ("{a: b, c: [d]}", {"a": "b", "c": ["d"]}),
        ("200: {a: b}\nx:", {200: {"a": "b"}, "x": None}),
        ("text: |\n  one\n  two\nfolded: >\n  one\n  two\n", {"text": "one\ntwo\n", "folded": "one two\n"}),
    ],
)
def test_plain_values_are_read(text: str, value: Any) -> None:
    found = read_yaml(text, "x.yaml")
    assert found == value
    assert [type(item) for item in found or ()] == [type(item) for item in value or ()]


@pytest.mark.parametrize("text", ["a: [1, 2.5, x, ~]\nb: {c: 'd', e: \"f\\u00e9\"}", "- &a {x: 1}\n- <<: *a\n  y: 2\n", "a: |\n  b\n"])
def test_values_are_those_of_pyyaml(text: str) -> None:
    assert read_yaml(text, "x.yaml") == yaml.safe_load(text)


def test_only_true_and_false_are_booleans_on_request() -> None:
    assert read_yaml("[yes, no, on, true, FALSE]", "", json_booleans=True) == ["yes", "no", "on", True, False]


LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
LONG_TEXT = f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * 1000)}]"
REFUSED = {
    "billion laughs": (LAUGHS, "line 7: more than 5,000,000 values, with aliases resolved"),
    "merges that double": (MERGES, "more than 5,000,000 values, with aliases resolved"),
    "a long text many times": (LONG_TEXT, "line 2: more than 50,000,000 characters, with aliases resolved"),
    "a list in itself": ("a: &a [*a]", "line 1: the alias *a contains itself"),
    "a mapping in itself": ("&a\nb: {c: *a}", "line 2: the alias *a contains itself"),
    "a merge of itself": ("&a\n<<: *a", "line 2: the alias *a contains itself"),
    "an anchor that is missing": ("a: *b", "line 1: the alias *b has no anchor"),
    "100,000 lists": ("[" * 100_000, "line 1: nesting deeper than 200"),
    "100,000 dashes": ("- " * 100_000, "line 1: nesting deeper than 200"),
    "1,000 indents": ("".join(" " * n + "a:\n" for n in range(1000)), "line 201: nesting deeper than 200"),
    "python object": ("!!python/object/apply:os.system [ls]", "line 1: expected plain values, got the tag tag:yaml.org,2002:python/object"),
    "python name": ("a: !!python/name:os.system", "line 1: expected plain values, got the tag tag:yaml.org,2002:python/name:os.system"),
    "binary": ("a: !!binary aGVsbG8=", "line 1: expected plain values, got the tag tag:yaml.org,2002:binary"),
    "set": ("!!set {a, b}", "line 1: expected plain values, got the tag tag:yaml.org,2002:set"),
    "own tag": ("a: !secret b", "line 1: expected plain values, got the tag !secret"),
    "wrong tag": ("a: !!int x", "line 1: expected int, got 'x'"),
    "huge integer": ("a: " + "9" * 100_000, "line 1: number outside the double range"),
    "large integer": ("a: " + "9" * 320, "line 1: number outside the double range"),
    "large float": ("a: 1e999", "line 1: number outside the double range"),
    "infinity": ("a: -.inf", "line 1: expected a finite number, got -.inf"),
    "not a number": ("a: .nan", "line 1: expected a finite number, got .nan"),
    "duplicate key": ("b: 1\na: {x: 1, x: 2}", "line 2: duplicate key 'x'"),
    "duplicate key in JSON": ('{"x": 1, "x": 2}', "duplicate key 'x'"),
    "a list as a key": ("? [a]\n: b", "expected a plain key, got a collection"),
    "merge of a text": ("a: {<<: x}", "line 1: << expected a mapping, or a list of them"),
    "two documents": ("a: 1\n---\nb: 2", "line 2: expected one document, got several"),
    "open list": ("rules: [", "line 1: not valid YAML: did not find expected node content"),
    "control character": ("a: \x01", "not valid YAML"),
    "surrogate": ("a: \ud800", "not valid YAML"),
    "escaped surrogate": ('a: "\\ud800"', "not valid YAML"),
    "not UTF-8": (b"a: \xff", "not valid YAML"),
}


@pytest.mark.parametrize("text, sentence", REFUSED.values(), ids=list(REFUSED))
def test_hostile_yaml_is_refused_with_its_line(text: str | bytes, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        read_yaml(text, "x.yaml")
    assert str(error.value).startswith("x.yaml")
    assert sentence in str(error.value)


def test_a_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_CHARACTERS", 100)
    with pytest.raises(BadInput, match="x.yaml: expected at most 100 characters of YAML, got 200"):
        read_yaml("a" * 200, "x.yaml")


def test_yaml_that_is_not_yaml_has_its_own_error_and_hint() -> None:
    with pytest.raises(InvalidYaml) as error:
        read_yaml("a: {b} c", "", hint="Quote it.")
    assert (str(error.value).partition(":")[0], error.value.hint) == ("line 1", "Quote it.")
