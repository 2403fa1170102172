import pytest

from callmark.calls.text import parse_calls, text_format_names
from tests.calls.text.texts_without_calls import KNOWN_TOOLS, TEXTS


def test_there_are_200_different_texts() -> None:
    assert len(TEXTS) == len(set(TEXTS)) == 200


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_without_a_call_has_none_in_any_format(text: str) -> None:
    for format_name in text_format_names():
        for tools in (KNOWN_TOOLS, ()):
            parsed = parse_calls(text, format_name, tools=tools)
            assert (parsed.calls, parsed.unrecognized) == ((), ""), (format_name, bool(tools))
            assert parsed.text or text.strip() in ("", "<|endoftext|>", '{"tool_calls": []}'), "no text is lost"
