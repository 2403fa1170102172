"""Every family of models: its texts, whether the format is named or detected, with the tools known or not."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest
from msgspec.structs import replace

from callmark import registry
from callmark.calls.text import ParsedText, parse_calls
from callmark.types import Call
from tests.calls.text.family import LINES, NESTED, TIME, TOOLS, UNICODE, WEATHER, Family

FAMILIES: dict[str, Family] = {
    found.name: found
    for path in sorted(Path(__file__).parent.glob("families/[a-z]*.py"))
    for found in [import_module(f"tests.calls.text.families.{path.stem}").FAMILY]
}
FEWEST_TEXTS = 12
WRITTEN: list[list[Call]] = [[WEATHER], [WEATHER, TIME], [WEATHER, WEATHER], [TIME], [NESTED], [UNICODE], [LINES, NESTED, TIME]]
IS_MARKED = {name: registry.find("text_formats", name).is_marked for name in FAMILIES}


def same(parsed: ParsedText, calls: Sequence[Call]) -> bool:
    """Whether these calls were parsed; ids count only where the expected call has one."""
    if len(parsed.calls) != len(calls):
        return False
    return all(
        call == (expected if expected.id else replace(expected, id=call.id)) for call, expected in zip(parsed.calls, calls, strict=True)
    )


def test_every_text_format_has_a_table() -> None:
    assert set(FAMILIES) == set(registry.BUILT_IN["text_formats"])


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_family_has_enough_texts(family: Family) -> None:
    texts = {*(text for text, _ in family.written), *family.about, *(text for text, _ in family.broken), *map(family.write, WRITTEN)}
    assert len(texts) >= FEWEST_TEXTS
    assert len(family.about) >= 2
    assert len(family.broken) >= 4


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("calls", WRITTEN, ids=lambda calls: ",".join(call.name for call in calls))
def test_calls_are_read_as_the_template_writes_them(family: Family, calls: list[Call]) -> None:
    text = family.write(calls)
    for format_name in (family.name, "auto"):
        for tools in (TOOLS, ()):
            parsed = parse_calls(text, format_name, tools=tools)
            assert same(parsed, calls), (format_name, parsed)
            assert (parsed.text, parsed.thinking, parsed.unrecognized) == ("", "", "")


@pytest.mark.parametrize(
    "name, text, calls", [(family.name, text, calls) for family in FAMILIES.values() for text, calls in family.written]
)
def test_calls_are_read_as_the_models_write_them(name: str, text: str, calls: list[Call]) -> None:
    for format_name in (name, "auto"):
        for tools in (TOOLS, ()):
            parsed = parse_calls(text, format_name, tools=tools)
            assert same(parsed, calls), (format_name, tools, parsed)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_text_and_thinking_around_calls_are_kept_apart(family: Family) -> None:
    text = family.write([WEATHER, NESTED])
    for format_name in (family.name, "auto"):
        before = parse_calls(f"Let me see (first):\n{text}", format_name, tools=TOOLS)
        assert same(before, [WEATHER, NESTED]), before
        assert before.text == "Let me see (first):"
        thought = parse_calls(family.thinking.format("Perhaps the weather.") + text, format_name, tools=TOOLS)
        assert same(thought, [WEATHER, NESTED]), thought
        assert (thought.text, thought.thinking) == ("", "Perhaps the weather.")


@pytest.mark.parametrize(
    "family", [family for name, family in FAMILIES.items() if name not in ("harmony", "react")], ids=lambda family: family.name
)
def test_calls_in_thinking_are_not_calls(family: Family) -> None:
    inside = family.write([TIME])
    for format_name in (family.name, "auto"):
        parsed = parse_calls(f"<think>\nPerhaps\n{inside}\nOr not.\n</think>\nHello.", format_name, tools=TOOLS)
        assert (parsed.calls, parsed.text, parsed.unrecognized) == ((), "Hello.", "")


@pytest.mark.parametrize("name, text", [(family.name, text) for family in FAMILIES.values() for text in family.about])
def test_text_about_calls_has_no_call(name: str, text: str) -> None:
    for format_name in (name, "auto"):
        parsed = parse_calls(text, format_name, tools=TOOLS)
        assert (parsed.calls, parsed.unrecognized) == ((), ""), (format_name, parsed)
        assert parsed.text


@pytest.mark.parametrize("name, text, tool", [(family.name, text, tool) for family in FAMILIES.values() for text, tool in family.broken])
def test_a_broken_call_is_malformed_with_its_name_and_text(name: str, text: str, tool: str) -> None:
    for format_name in (name, "auto"):
        for before in ("", "One moment.\n"):
            parsed = parse_calls(before + text if name != "harmony" or not text.startswith(" ") else text, format_name, tools=TOOLS)
            (call,) = parsed.calls
            assert call.malformed, (format_name, call)
            assert call.name == tool
            assert not call.arguments
            assert call.text or not tool or text.rstrip().endswith(("{", "|>", ">", tool)), "the raw text is kept"


@pytest.mark.parametrize("family", [family for family in FAMILIES.values() if IS_MARKED[family.name]], ids=lambda family: family.name)
def test_a_call_of_a_format_that_is_off_is_unrecognized(family: Family) -> None:
    text = family.write([WEATHER])
    other = "internlm" if family.name != "internlm" else "cohere"
    parsed = parse_calls(text, other, tools=TOOLS)
    assert parsed.calls == ()
    markers = registry.find("text_formats", family.name).markers
    assert any(parsed.unrecognized.startswith(f'"{marker}" (') for marker in markers), parsed.unrecognized


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_prefix_of_a_call_is_read_without_harm(family: Family) -> None:
    text = family.write([NESTED, UNICODE])
    for stop in range(len(text)):
        for call in parse_calls(text[:stop], family.name, tools=TOOLS).calls:
            assert call.malformed or call.name in ("book_room", "get_weather")
            assert call.malformed or call.arguments in (NESTED.arguments, UNICODE.arguments) or not call.arguments or family.name == "xlam"
