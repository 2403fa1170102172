from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump

FAMILY = Family(
    "apertus",
    lambda calls: f"<|tools_prefix|>[{', '.join(dump({call.name: call.arguments}) for call in calls)}]<|tools_suffix|>",
    [
        ('<|tools_prefix|>[{"get_weather": {"city": "Bonn"}}]<|tools_suffix|>', [WEATHER]),
        ('<|tools_prefix|>[{"get_weather": {"city": "Bonn"}}, {"get_time": {}}]<|tools_suffix|>', [WEATHER, TIME]),
        ('<|tools_prefix|>[{"get_weather": {"city": "Bonn"}}]', [WEATHER]),
        ('<|tools_prefix|> [{"unlisted_tool": {"a": 1}}]<|tools_suffix|>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "<|tools_prefix|> opens a list.",
        '`<|tools_prefix|>[{"f": {}}]<|tools_suffix|>` is a call.',
        "The token <|tools_prefix|> is special.",
    ],
    [
        ('<|tools_prefix|>[{"get_weather": {"city": "Bo', "get_weather"),
        ('<|tools_prefix|>[{"get_weather": {"city": Bonn}}]<|tools_suffix|>', "get_weather"),
        ('<|tools_prefix|>[{"get_weather": "Bonn"}]<|tools_suffix|>', "get_weather"),
        ("<|tools_prefix|>[", ""),
    ],
)
