import pytest

from callmark.calls import value_keys
from callmark.calls.globs import matches_glob
from callmark.calls.sequence import CallWithResult, find_pattern, last_calls, read_pattern
from callmark.errors import BadInput
from callmark.types import Call
from tests.rows import tool_call


def calls(*given: Call | tuple[Call, str]) -> list[CallWithResult]:
    return [CallWithResult(*one) if isinstance(one, tuple) else CallWithResult(one) for one in given]


A, B, C = tool_call("a"), tool_call("b"), tool_call("c")


@pytest.mark.parametrize(
    "pattern, sequence, found",
    [
        ("a", [A], (0,)),
        ("a", [], None),
        ("a", [B], None),
        ("a > b", [A, B], (0, 1)),
        ("a > b", [A, C, B], None),
        ("a > b", [A, C, A, B], None),  # the very next after the FIRST a
        ("a >> b", [A, C, B], (0, 2)),
        ("a >> b", [B, A], None),
        ("a > b > c", [A, B, C], (0, 1, 2)),
        ("a >> b > c", [A, B, A, B, C], (0, 3, 4)),  # some later b that c follows
        ("* > *", [B, C], (0, 1)),
        ("?", [A], (0,)),
        ("a>b", [A, B], (0, 1)),
        ("A", [A], None),
    ],
)
def test_sequences(pattern: str, sequence: list[Call], found: tuple[int, ...] | None) -> None:
    assert find_pattern(read_pattern(pattern), calls(*sequence)) == found


@pytest.mark.parametrize(
    "pattern, fits",
    [
        ("f(n=5)", True),
        ('f(n="5")', True),
        ("f(n=6)", False),
        ("f(s=open)", True),
        ('f(s="open")', True),
        ("f(s=op*)", True),
        ('f(s="op*")', False),
        ("f(s=closed)", False),
        ("f(missing=1)", False),
        ("f(l=[1, 2], n=5)", True),
        ('f(o={"k": "a, b)"})', True),
        ("f(t=two words)", True),
        ("f( n = 5 )", True),
        ("f()", True),
    ],
)
def test_arguments(pattern: str, fits: bool) -> None:
    call = tool_call("f", n=5, s="open", l=[1, 2], o={"k": "a, b)"}, t="two words")
    assert (find_pattern(read_pattern(pattern), calls(call)) is not None) == fits


@pytest.mark.parametrize(
    "result, value, fits",
    [
        ("user_1", "user_1", True),
        (" user_1\n", "user_1", True),
        ('"user_1"', "user_1", True),
        ('{"user_id": "user_1"}', "user_1", True),
        ('{"user_id": 17}', "17", True),
        ('{"id": "user_1"}', "user_1", False),
        ("17", 17, True),
        ("user_2", "user_1", False),
        ("", "user_1", False),
    ],
)
def test_result_is_the_whole_text_or_the_field_of_that_name(result: str, value: object, fits: bool) -> None:
    sequence = calls((tool_call("find"), result), tool_call("get", user_id=value))
    assert (find_pattern(read_pattern("find > get(user_id=$result)"), sequence) is not None) == fits


def test_result_needs_a_call_with_a_result() -> None:
    assert find_pattern(read_pattern("find > get(x=$result)"), calls(tool_call("find"), tool_call("get", x=None))) is None


def test_malformed_call_matches_no_step_but_counts_as_a_call() -> None:
    broken = Call("a", {}, None, "truncated JSON", "{")
    assert find_pattern(read_pattern("a"), calls(broken)) is None
    assert find_pattern(read_pattern("a > b"), calls(A, broken, B)) is None


@pytest.mark.parametrize(
    "pattern, problem",
    [
        ("", "character 1: expected a tool name, got the end of the pattern"),
        ("a >", "character 4: expected a tool name, got the end of the pattern"),
        ("> b", "character 1: expected a tool name, got '> b'"),
        ("a b", "character 3: expected '>' or '>>', got 'b'"),
        ("a(", "character 3: expected ARGUMENT=VALUE, got the end of the pattern"),
        ("a(x", "character 3: expected ARGUMENT=VALUE, got 'x'"),
        ("a(x=)", "character 5: expected a value, got ')'"),
        ("a(x=1 y=2", "character 10: expected ',' or ')', got the end of the pattern"),
        ("a(x=$result)", "$result is the result of the previous step, so it cannot be used in the first step"),
        (" > ".join("a" * 51), "expected at most 50 steps"),
    ],
)
def test_syntax_error_in_a_pattern_names_the_character(pattern: str, problem: str) -> None:
    with pytest.raises(BadInput) as raised:
        read_pattern(pattern)
    assert problem in str(raised.value)
    assert "find_*" in raised.value.hint


def test_many_later_steps_over_many_calls_end_in_bounded_time() -> None:
    assert find_pattern(read_pattern(" >> ".join(["a"] * 8 + ["b"])), calls(*[A] * 300)) is None


def test_brackets_in_a_glob_are_literal() -> None:
    assert matches_glob("f[1]*", "f[1]x")
    assert not matches_glob("f[1]*", "f1x")


@pytest.mark.parametrize("text", ['{"e\u0301": 0}', '{"e": 0}'])
def test_equal_result_is_found_after_many_other_values(text: str) -> None:
    others = [CallWithResult(Call("g", {"a": text.replace("0", str(number))})) for number in range(1, 300)]
    calls = [CallWithResult(Call("f"), text), *others, CallWithResult(Call("g", {"a": text}))]
    pattern = read_pattern("f >> g(a=$result)")
    assert find_pattern(pattern, calls) == (0, 300)
    assert last_calls(pattern, calls) == [300]


def test_pattern_that_needs_too_many_comparisons_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_keys, "MAX_COMPARISONS", 1000)
    calls = [CallWithResult(Call("f", {"a": '["5"]'}), '["5.0"]') for _ in range(100)]  # the same key, but two texts that differ
    pattern = read_pattern("f >> f >> f(a=$result)")
    with pytest.raises(BadInput, match="needs more than 1,000 comparisons"):
        find_pattern(pattern, calls)
    with pytest.raises(BadInput, match="needs more than 1,000 comparisons"):
        last_calls(pattern, calls)
