from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump

FAMILY = Family(
    "mistral",
    lambda calls: "".join(f"[TOOL_CALLS]{call.name}[ARGS]{dump(call.arguments)}" for call in calls) + "</s>",
    [
        ('[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Bonn"}}]</s>', [WEATHER]),
        ('[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Bonn"}}, {"name": "get_time", "arguments": {}}]', [WEATHER, TIME]),
        (
            '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Bonn"}, "id": "abcdefghi"}]',
            [Call("get_weather", {"city": "Bonn"}, "abcdefghi")],
        ),
        ('[TOOL_CALLS]get_weather[ARGS]{"city": "Bonn"}', [WEATHER]),
        ('[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"city": "Bonn"}', [Call("get_weather", {"city": "Bonn"}, "abcdefghi")]),
        ('[TOOL_CALLS]get_weather{"city": "Bonn"}', [WEATHER]),
        ('[TOOL_CALLS]get_weather[ARGS]{"city": "Bonn"}get_time[ARGS]{}', [WEATHER, TIME]),
        ('[TOOL_CALLS]unlisted_tool[ARGS]{"a": 1}', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "[TOOL_CALLS] is the token that opens a list of calls.",
        'The format is `[TOOL_CALLS] [{"name": "f", "arguments": {}}]`.',
        "See the section [TOOL_CALLS] of the manual.",
    ],
    [
        ('[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('[TOOL_CALLS]get_weather[ARGS]{"city": ', "get_weather"),
        ("[TOOL_CALLS]get_weather[ARGS]the city is Bonn", "get_weather"),
        ("[TOOL_CALLS]get_wea", "get_wea"),
        ("[TOOL_CALLS] [", ""),
    ],
    thinking="[THINK]{}[/THINK]",
)
