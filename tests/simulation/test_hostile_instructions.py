"""Instructions from an untrusted scenario are read in linear time, whatever they contain."""

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from callmark.simulation.closing_words import closing_words
from callmark.simulation.users.rule_based.instructions import named_values


@pytest.mark.parametrize(
    "read, text",
    [
        (named_values, lambda length: "a-" * (length // 2)),
        (named_values, lambda length: f"- a: x{' ' * length}y"),
        (closing_words, lambda length: 'say "x ' * (length // 7)),
    ],
    ids=["hyphens", "spaces", "open quotes"],
)
def test_instructions_are_read_in_linear_time(read: Callable[[str], Any], text: Callable[[int], str]) -> None:
    def seconds(length: int) -> float:
        began = process_time()
        read(text(length))
        return process_time() - began

    assert seconds(8_000) < 30 * seconds(1_000) + 0.1  # 8 times as long; it would be 64 times as slow if it were quadratic
