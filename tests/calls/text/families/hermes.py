from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "hermes",
    lambda calls: "\n".join(f"<tool_call>\n{json_call(call)}\n</tool_call>" for call in calls),
    [
        (f"<tool_call>\n{WEATHER_JSON}\n</tool_call>", [WEATHER]),
        (f"<tool_call>{WEATHER_JSON}</tool_call><|im_end|>\n", [WEATHER]),
        (f"<tool_call>[{WEATHER_JSON}, {TIME_JSON}]</tool_call>", [WEATHER, TIME]),
        (f"<tool_call>{WEATHER_JSON}\n{TIME_JSON}</tool_call>", [WEATHER, TIME]),
        (f"<tool_call>{WEATHER_JSON}<tool_call>{TIME_JSON}</tool_call>", [WEATHER, TIME]),
        (f"<tool_call>\n{WEATHER_JSON}\n</tool_call>\n{TIME_JSON}\n</tool_call>", [WEATHER, TIME]),
        (f"{WEATHER_JSON}\n</tool_call>\n<tool_call>\n{TIME_JSON}\n</tool_call>", [WEATHER, TIME]),
        (f"<tool_call>{WEATHER_JSON}", [WEATHER]),
        (f"```xml\n<tool_call>\n{WEATHER_JSON}\n</tool_call>\n```", [WEATHER]),
        (f"<longcat_tool_call>{WEATHER_JSON}</longcat_tool_call>", [WEATHER]),
        ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>', [Call("f", {"a": "</tool_call>"})]),
        ('<tool_call>{"name": "unlisted_tool", "arguments": {"a": 1}}</tool_call>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "Put the call between <tool_call> and </tool_call> tags.",
        'The <tool_call> tag opens a call, as in `<tool_call>{"name": "f"}</tool_call>`.',
        f"An example of the format:\n```xml\n<tool_call>\n{WEATHER_JSON}\n</tool_call>\n```\nThat is all.",
        "<tool_call> is the tag that opens a call.",
    ],
    [
        ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bonn"}\n</tool_call>', "get_weather"),
        ("<tool_call>\n{'name': 'get_weather', 'arguments': {}}\n</tool_call>", "get_weather"),
        ('<tool_call>\n{"name": "get_weather", "arguments": {"city": NaN}}\n</tool_call>', "get_weather"),
        ("<tool_call>\nI call the weather\n</tool_call>", ""),
        ("I look it up.\n<tool_call>", ""),
    ],
)
