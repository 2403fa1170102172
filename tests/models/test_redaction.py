"""Secrets are found in any encoding, and everything else stays as it is."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.models.redaction import HIDDEN, Secrets, decode_escapes
from callmark.types import Call, Prediction, Usage

KEY = "sk-Zebra/17+quick=brown"

ENCODERS = (
    str,
    lambda letter: json.dumps(letter)[1:-1],
    lambda letter: "".join(f"\\u{unit:04X}" for unit in memoryview(letter.encode("utf-16-le", "surrogatepass")).cast("H")),
    lambda letter: quote(letter, safe="", errors="replace") if letter.isascii() else letter,
    lambda letter: f"%{ord(letter):02x}" if letter.isascii() else letter,
    lambda letter: f"&#{ord(letter)};",
    lambda letter: f"&#x{ord(letter):x};",
)
letters = st.characters(exclude_categories=["Cs"], exclude_characters="…\\&%")


@given(st.lists(st.tuples(letters, st.sampled_from(ENCODERS)), min_size=8, max_size=30), st.text(alphabet="ab ", max_size=10))
def test_secret_is_found_whichever_way_each_character_is_written(written: list[tuple[str, Any]], around: str) -> None:
    secret = "".join(letter for letter, _ in written)
    text = f"{around} {''.join(encode(letter) for letter, encode in written)} {around}"
    hidden = Secrets([secret]).hide(text)
    assert HIDDEN in hidden
    assert secret not in decode_escapes(hidden)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_value_without_a_secret_is_returned_itself(value: Any) -> None:
    assert Secrets([KEY, "12345678901234567890123"]).redact(value) is value


def test_secrets_at_every_depth_are_replaced() -> None:
    escaped = '{"k": "' + KEY.replace("/", "\\/") + '"}'
    value = {KEY: [{"a": (f"is {KEY}", 1, None, True)}, escaped], "data": KEY.encode() + b"\xff"}
    assert Secrets([KEY]).redact(value) == {"…": [{"a": ("is …", 1, None, True)}, '{"k": "…"}'], "data": "…".encode() + b"\xff"}


def test_numbers_in_json_are_replaced_and_those_of_a_record_stay() -> None:
    prediction = Prediction("12345678", 12345678, (Call("f", {"n": 12345678, "x": 0.12345678}),), usage=Usage(1.5, 12345678))
    redacted = Secrets(["12345678"]).redact(prediction)
    assert redacted == Prediction("…", 12345678, (Call("f", {"n": "…", "x": "…"}),), usage=Usage(1.5, 12345678))


def test_mixture_that_cannot_be_replaced_hides_the_whole_text() -> None:
    mixture = quote("".join(f"\\u{ord(letter):04x}" for letter in KEY))
    assert Secrets([KEY]).hide(f"before {mixture} after") == HIDDEN


@pytest.mark.parametrize(
    "message, hidden",
    [
        ("wrote 'xx sk-Zebra/17…', which", "wrote 'xx …', which"),
        ("…17+quick=brown is wrong", "… is wrong"),
        ("at sk-Zebra%2F17%2…", "at …"),
        ("at sk-Zeb…", "at sk-Zeb…"),  # too short to be told from other text
        ("sk-Zebra is an animal…", "sk-Zebra is an animal…"),
        ("nothing … here", "nothing … here"),
        ("…", "…"),
        ("", ""),
    ],
)
def test_message_that_was_cut_inside_a_secret_shows_no_part_of_it(message: str, hidden: str) -> None:
    assert Secrets([KEY]).hide_in_message(message) == hidden


@pytest.mark.parametrize(
    "text", ["\\" * 50_000, "%25" * 20_000, "%" + "25" * 20_000, "&#0" * 20_000, "\\u00" * 20_000, "&#" + "0" * 50_000]
)
def test_escapes_without_end_are_read_once(text: str) -> None:
    assert Secrets([KEY, 'a\\"b\\\\cdefgh']).hide(f"{text} {KEY} {text}") == f"{text} … {text}"


def test_short_secrets_are_ignored() -> None:
    assert Secrets(["", "short"]).hide("short") == "short"
