from collections.abc import Sequence

from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump


def write(calls: Sequence[Call]) -> str:
    items = [{"tool_call_id": str(index), "tool_name": call.name, "parameters": call.arguments} for index, call in enumerate(calls)]
    return "<|START_ACTION|>[\n" + ",\n".join(f"    {dump(item)}" for item in items) + "\n]<|END_ACTION|>"


FAMILY = Family(
    "cohere",
    write,
    [
        (
            '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Bonn"}}\n]<|END_ACTION|>',
            [WEATHER],
        ),
        (
            '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Bonn"}},'
            ' {"tool_call_id": "1", "tool_name": "get_time", "parameters": {}}]<|END_ACTION|><|END_OF_TURN_TOKEN|>',
            [WEATHER, TIME],
        ),
        ('<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "Bonn"}}]', [WEATHER]),
        (
            '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "unlisted_tool", "parameters": {"a": 1}}]<|END_ACTION|>',
            [Call("unlisted_tool", {"a": 1})],
        ),
    ],
    [
        "<|START_ACTION|> opens a list of actions.",
        '`<|START_ACTION|>[{"tool_name": "f"}]<|END_ACTION|>` is a call.',
        "The actions are between <|START_ACTION|> and <|END_ACTION|> there.",
    ],
    [
        ('<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Bo', "get_weather"),
        ('<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": Bonn}}]<|END_ACTION|>', "get_weather"),
        ("<|START_ACTION|>\nthe weather\n<|END_ACTION|>", ""),
        ("<|START_ACTION|>[", ""),
    ],
    thinking="<|START_THINKING|>{}<|END_THINKING|>",
)
