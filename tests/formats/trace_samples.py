"""Fifty conversations of an agent with tools, the same each time: `packages/opentelemetry_sdk.py` records them as traces.

They have one to three turns of the user, each with zero to three messages with one or two calls. No two calls have the same arguments.
"""

import random

from callmark.types import Call
from tests.formats.samples import TOOLS, Sample, SampleMessage

COUNT = 50


def trace_samples() -> list[Sample]:
    """Return the conversations, in the order in which they are recorded."""
    return [_sample(number, random.Random(number)) for number in range(COUNT)]


def _sample(number: int, draw: random.Random) -> Sample:
    messages: list[SampleMessage] = []
    calls = 0
    for turn in range(draw.randint(1, 3)):
        messages.append(SampleMessage("user", f"Question {turn} of conversation {number}."))
        for _ in range(draw.randint(0, 3)):
            made: list[Call] = []
            for _ in range(draw.randint(1, 2)):
                made.append(_call(number, calls, draw))
                calls += 1
            messages.append(SampleMessage("assistant", "", tuple(made)))
            messages += [SampleMessage("tool", f"result of {call.id}", (), call.id or "", call.name) for call in made]
        messages.append(SampleMessage("assistant", f"Answer {turn} of conversation {number}."))
    return Sample(f"conversation-{number:02}", tuple(messages), TOOLS[:2])


def _call(number: int, index: int, draw: random.Random) -> Call:
    if draw.random() < 0.5:
        arguments = {"origin": f"城市 {number}", "destination": f"City {index}", "seats": draw.randint(1, 9), "direct": draw.random() < 0.5}
        return Call("find_flights", arguments, f"call_{number}_{index}")
    return Call("convert_amount", {"amount": number + index / 8, "currency": draw.choice(("EUR", "USD"))}, f"call_{number}_{index}")
