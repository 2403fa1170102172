from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls import source_index
from callmark.calls.provenance import fast_grounded, fast_hallucinated, find_origins, values_needing_source
from callmark.calls.source_index import SourceIndex
from callmark.types import Call, Message, Tool


def hallucinated(value: Any, *said: Message, tools: tuple[Tool, ...] = (), name: str = "f") -> list[str]:
    """The paths of the hallucinated values in a call with `x=value` after these messages."""
    messages = (*said, Message("assistant", calls=(Call(name, {"x": value}),)))
    return [origin.path for origin in find_origins(messages, tools) if origin.source is None]


def said(text: str, role: str = "user") -> Message:
    return Message(role, text)


@pytest.mark.parametrize(
    "value, text",
    [
        ("Ann", "I am ann."),
        ("#W12", "order #W12, please"),
        ("New  York", "to new\nyork"),
        ("straße", "STRASSE 5"),
        (5, "five means 5."),
        (5, "it is 5.0 euro"),
        (1200, "1.2e3"),
        (-5, "minus is -5"),
        (5, "room-5"),
        (5, "4-5 people"),
        (5, "room No.5"),
        (5, "wait ...5"),
        (4, "4-5 people"),
        (-5, "(-5)"),
        (-5, '{"a":-5}'),
        ("W12", "订单W12号"),
        ("订单", "订单W12"),
        (5, "我要5个"),
        ("12", "[12,13]"),
        (0.5, "0.50"),
        ("5", "5.0"),
        ("5.0", "5"),
        ("2025-05-10", "on May 10, 2025"),
        ("10 May 2025", "2025-05-10T10:00"),
        ("May 10, 2025", "10 may 2025"),
        ("", "nothing"),
        ("the printer on the second floor smokes", "it smokes"),
        ("the printer PR-17 on floor 2 smokes", "PR-17 floor 2"),
        ("user_1", '{"id": "user_1"}'),
        (True, ""),
        (None, ""),
    ],
)
def test_values_that_are_found(value: Any, text: str) -> None:
    assert hallucinated(value, said(text)) == []


@pytest.mark.parametrize(
    "value, text",
    [
        ("Ann", "I am Anna"),
        ("W12", "order W123"),
        ("W12", "order 0W12"),
        (5, "15"),
        (5, "x5"),
        (5, "05"),
        (-5, "5"),
        (-5, "10-5"),
        (5, "it is -5 degrees"),
        (5, "-5"),
        (5, "12.5"),
        (12, "12.5"),
        ("12", "12.5 kg"),
        (2, "version 1.2.3"),
        (5, ".5"),
        (5, "costs .5 euro"),
        (5, "costs $.5"),
        (5, "(.5)"),
        (5, "by -.5"),
        ("单", "订单W12"),
        ("2025-05-10", "2025-05-11"),
        ("the printer PR-18 on floor 2 smokes", "PR-17 floor 2"),
        ("a b c d 5", "a b c d"),
        ("John Smith", '{"first": "John", "last": "Smith"}'),
    ],
)
def test_values_that_are_hallucinated(value: Any, text: str) -> None:
    assert hallucinated(value, said(text)) == ["x"]


@pytest.mark.parametrize("role", ["user", "system", "developer", "tool", "function"])
def test_these_roles_are_sources(role: str) -> None:
    assert hallucinated("Ann", said("Ann", role)) == []


def test_assistant_text_is_not_a_source() -> None:
    assert hallucinated("Ann", said("Ann", "assistant")) == ["x"]


def test_later_messages_are_not_sources() -> None:
    messages = (Message("assistant", calls=(Call("f", {"x": "Ann"}),)), said("Ann"))
    assert find_origins(messages)[0].source is None


def test_the_source_message_is_named() -> None:
    messages = (said("hello"), said("Ann"), said("Ann again"), Message("assistant", calls=(Call("f", {"x": "Ann"}),)))
    assert find_origins(messages)[0].source == 1


def test_escapes_in_a_json_result_are_read() -> None:
    assert hallucinated('Zo\u00eb "Z" Q', said('{"name": "Zo\\u00eb \\"Z\\" Q"}', "tool")) == []


def test_no_value_is_found_across_two_strings_of_a_result() -> None:
    assert hallucinated("John Smith", said('{"first": "John", "last": "Smith", "x": "\\n"}', "tool")) == ["x"]


def test_values_at_every_depth_are_searched() -> None:
    assert hallucinated({"a": [{"b": "Bob"}, 7], "c": "Ann"}, said("Ann")) == ["x.a[0].b", "x.a[1]"]


LISTED = {
    "properties": {
        "x": {
            "anyOf": [
                {"enum": ["red", "green"]},
                {"$ref": "#/$defs/item"},
                {"type": "array", "items": {"const": 7}},
                {"type": "string", "default": "none"},
            ]
        }
    },
    "$defs": {"item": {"type": "object", "properties": {"size": {"enum": ["S"]}}}},
}


@pytest.mark.parametrize(
    "value, paths", [("red", []), ("blue", ["x"]), ({"size": "S"}, []), ({"size": "M"}, ["x.size"]), ([7, 8], ["x[1]"]), ("none", [])]
)
def test_values_listed_in_the_schema_need_no_source(value: Any, paths: list[str]) -> None:
    assert hallucinated(value, tools=(Tool("f", "", LISTED),)) == paths


def test_recursive_schema_terminates() -> None:
    schema = {"properties": {"x": {"$ref": "#/properties/x"}}}
    assert hallucinated("a", tools=(Tool("f", "", schema),)) == ["x"]


@pytest.mark.parametrize("name", ["calculate", "think"])
def test_derived_tools_need_no_source(name: str) -> None:
    assert hallucinated("1 + 1", name=name) == []


def test_a_malformed_call_has_no_values() -> None:
    assert find_origins((Message("assistant", calls=(Call("f", {}, None, "cut off", '{"x'),)),)) == []


def test_a_megabyte_is_searched_in_bounded_time() -> None:
    assert hallucinated("ab", said("a" * 1_000_000)) == ["x"]
    assert hallucinated(7, said("1" * 1_000_000)) == ["x"]
    assert hallucinated("a" * 500_000, said("a" * 1_000_000)) == ["x"]
    assert hallucinated("ab_" * 100_000 + "a", said("ab_" * 300_000)) == ["x"]


@pytest.mark.parametrize(
    "value, text, paths",
    [
        ("a b", "xa b " * 300 + "a b", []),
        ("a b", "xa b " * 300, ["x"]),
        ("a b", "xa b " * 300 + "a bx", ["x"]),
        ("#a", "x#a " * 300 + "#a", []),
        ("#a", "x#a " * 300 + "#ab", ["x"]),
        ("a#", "a#x " * 300 + "a#", []),
        ("a#", "a#x " * 300, ["x"]),
    ],
)
def test_repetitive_text_is_searched_completely(value: str, text: str, paths: list[str]) -> None:
    assert hallucinated(value, said(text)) == paths


@pytest.mark.parametrize(
    "value, text, role, expected",
    [
        ("#W0012345", "order 12345", "user", True),
        ("ann_815@example.com", "I am ann, 8-15", "tool", True),
        ("#W0012345", "it is x0012345y", "user", False),  # for the longer way to tell
        ("#W0012345", "it is #W0012345", "assistant", True),
        ("#W001", '{"id": "#W\\u0030\\u0030\\u0031"}', "tool", False),
        ("815", "nothing", "user", False),  # a number, in whatever spelling
        ("2025-05-10", "May 10, 2025", "user", False),
        ("May 10, 2025", "2025-05-10", "user", False),
        ("x12", "nothing", "user", False),
        (815, "nothing", "user", False),
    ],
)
def test_quick_check_finds_hallucinated_values(value: str | int, text: str, role: str, expected: bool) -> None:
    assert fast_hallucinated(value, [said(text, role)]) is expected


words = st.text(st.sampled_from('aB#-_. 0129\\"\u0661'), max_size=12)


@pytest.mark.laws
@given(words, st.lists(st.builds(Message, st.sampled_from(["user", "tool", "assistant"]), words | words.map("x{}y 2025-05-10".format))))
def test_quick_check_agrees_with_the_full_search(value: str, messages: list[Message]) -> None:
    if fast_hallucinated(value, messages):
        assert SourceIndex(messages).find(value) is None
    if fast_grounded({"x": value}, messages):
        assert SourceIndex(messages).find(value) is not None


@pytest.mark.parametrize(
    "value, text, expected",
    [("02139", "Boston, MA 02139.", True), ("02139", "it is 102139.", False), ("2139", "it costs 2139.", False), ("0", "it is 0.", False)],
)
def test_quick_check_finds_a_zip_code_and_leaves_numbers_at_the_end_of_a_sentence(value: str, text: str, expected: bool) -> None:
    assert fast_grounded({"x": value}, [said(text)]) is expected
    assert hallucinated(value, said(text)) == ([] if expected or text.endswith(f" {value}.") else ["x"])


def test_a_megabyte_of_digits_is_checked_in_bounded_time() -> None:
    assert not fast_hallucinated(f"#{'1' * 1_000_000} ", [said("1")])


def test_long_enum_with_texts_that_have_no_key_is_compared_completely() -> None:
    listed = [f'{{"e\u0301": {number}}}' for number in range(300)]  # normalization changes the object key
    tool = Tool("f", "", {"properties": {"a": {"enum": listed}}})
    messages = [Message("user", "go"), Message("assistant", "", (Call("f", {"a": {"e\u0301": 299}}),))]
    assert find_origins(messages, [tool]) == []


TEXTS = st.sampled_from(["", "a", "a b", "b a", "ab", "5", "2025-05-10", "a 5 b", "x a b y"])
MESSAGES = st.lists(st.builds(Message, st.sampled_from(["user", "tool", "assistant"]), TEXTS), max_size=6)


@pytest.mark.parametrize("few", [0, 100])
@given(branches=st.lists(st.tuples(st.integers(0, 6), MESSAGES), max_size=4), values=st.lists(TEXTS, min_size=1, max_size=3))
def test_extended_index_finds_the_same_as_a_new_one(few: int, branches: list[tuple[int, list[Message]]], values: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_index, "FEW_TEXTS", few)
        index = SourceIndex()
        messages: tuple[Message, ...] = ()
        earlier: list[tuple[SourceIndex, tuple[Message, ...]]] = []
        for kept, added in branches:
            messages = (*messages[:kept], *added)
            index = index.extend(messages)
            earlier.append((index, messages))
            for value in values:
                assert index.find(value) == SourceIndex(messages).find(value)
        for one, its_messages in earlier:
            assert [one.find(value) for value in values] == [SourceIndex(its_messages).find(value) for value in values]


def test_ignored_arguments_need_no_source() -> None:
    call = Call("book.room", {"note": "x9", "guest": {"name": "y9", "age": 7}, "tags": ["z9"]})
    ignored = [("*.note",), ("book.room.guest",), ("*.guest.name",), ("*.tags.0",), ("other.note", "*.nothing")]
    paths = [[path for path, _ in values_needing_source(call, {}, ignore=patterns)] for patterns in ignored]
    every = ["note", "guest.name", "guest.age", "tags[0]"]
    assert paths == [every[1:], ["note", "tags[0]"], ["note", "guest.age", "tags[0]"], every[:3], every]
