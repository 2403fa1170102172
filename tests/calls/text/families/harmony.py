from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump


def write(call: Call) -> str:
    return f"<|start|>assistant<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{dump(call.arguments)}<|call|>"


FAMILY = Family(
    "harmony",
    lambda calls: "".join(map(write, calls)),
    [
        ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Bonn"}<|call|>', [WEATHER]),
        ('<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Bonn"}<|call|>', [WEATHER]),
        (' to=functions.get_weather<|channel|>commentary<|constrain|>json<|message|>{"city": "Bonn"}<|call|>', [WEATHER]),
        ('<|channel|>analysis to=functions.get_weather code<|message|>{"city": "Bonn"}<|call|>', [WEATHER]),
        ('<|channel|>commentary to=get_weather <|constrain|>json<|message|>{"city": "Bonn"}', [WEATHER]),
        ('assistantcommentary to=functions.get_weather json{"city": "Bonn"}', [WEATHER]),
        ("<|channel|>commentary to=functions.get_time<|message|>{}<|call|>", [TIME]),
        (
            '<|channel|>commentary to=functions.unlisted_tool <|constrain|>json<|message|>{"a": 1}<|call|>',
            [Call("unlisted_tool", {"a": 1})],
        ),
    ],
    [
        "Calls go to the commentary channel, with to=functions.NAME as the recipient.",
        "The token <|channel|> selects a channel.",
        "`<|channel|>commentary to=functions.f<|message|>{}<|call|>` is a call.",
    ],
    [
        ('<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Bo', "get_weather"),
        ("<|channel|>commentary to=functions.get_weather", "get_weather"),
        ("<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>the city is Bonn<|call|>", "get_weather"),
        ("<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>", "get_weather"),
    ],
    thinking="<|channel|>analysis<|message|>{}<|end|>",
)
