"""The formulas of the original LOB evaluation, as documented, and generated calls to compare them on."""

import random
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

Calls = list[dict[str, Any]]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"functionName": name, "arguments": arguments}


def similar(first: Any, second: Any) -> bool:
    one, other = (" ".join(re.sub(r"[^a-zA-Z0-9\s]", "", str(value).lower()).split()) for value in (first, second))
    return SequenceMatcher(None, one, other).ratio() >= 0.95


def by_formula(actual: Calls, expected: Calls) -> list[float]:
    """The documented formulas, step by step."""
    ignored = {"commonplugin-summarize_ticket_details", "commonplugin-explain_workflow", "commonplugin-start_over"}
    groups: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    extra = 0
    for each in actual:
        name = each["functionName"].lower()
        if name in ignored:
            continue
        if name in {other["functionName"].lower() for other in expected}:
            groups[name] = (each["arguments"], {})
        else:
            extra += 1
    for each in expected:
        name = each["functionName"].lower()
        if name in {other["functionName"].lower() for other in actual}:
            groups[name] = (groups.get(name, ({}, {}))[0], each["arguments"])
    precision = round(len(groups) / (len(groups) + extra), 2) if groups else 0.0
    recall = round(len(groups) / len(expected), 2) if groups else 0.0
    correct = {
        name: sum(similar(value, wanted.get(key, "__invalid__")) for key, value in made.items()) for name, (made, wanted) in groups.items()
    }
    precisions = [correct[name] / len(made) if made else float(not wanted) for name, (made, wanted) in groups.items()]
    recalls = [correct[name] / len(wanted) if wanted else 1.0 for name, (_, wanted) in groups.items()]
    means = [round(sum(values) / len(values), 2) if values else 0.0 for values in (precisions, recalls)]
    return [precision, recall, *means, (recall + means[1]) / 2]


def generate_calls(count: int, seed: int) -> Iterator[tuple[Calls, Calls]]:
    """Yield actual and expected calls, drawn independently; the same for the same seed."""
    dice = random.Random(seed)
    names = ["Tickets-create", "tickets-CREATE", "Tickets-close", "CommonPlugin-start_over", "Actions-add"]
    values = ["Server down", "server down!", "Server is down", "TKT-1", "TKT-2", 5, 5.0, True, None, "größer", "groser", "", "a" * 250]

    def drawn() -> Calls:
        keys = [dice.sample(["title", "priority", "due"], dice.randint(0, 3)) for _ in range(dice.randint(0, 4))]
        return [call(dice.choice(names), **{key: dice.choice(values) for key in some}) for some in keys]

    for _ in range(count):
        yield drawn(), drawn()
