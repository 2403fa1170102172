# ruff: noqa: E501 - texts as the models write them
from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "xlam",
    lambda calls: f'{{"tool_calls": [{", ".join(map(json_call, calls))}]}}',
    [
        (f'{{"tool_calls": [{WEATHER_JSON}]}}', [WEATHER]),
        (f'{{"content": "One moment.", "tool_calls": [{WEATHER_JSON}, {TIME_JSON}]}}', [WEATHER, TIME]),
        (f'```json\n{{"tool_calls": [{WEATHER_JSON}]}}\n```', [WEATHER]),
        (
            '{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Bonn\\"}"}}]}',
            [Call("get_weather", {"city": "Bonn"}, "c1")],
        ),
        (f'{{"function_call": {WEATHER_JSON}}}', [WEATHER]),
        ('{"tool_calls": [{"name": "unlisted_tool", "arguments": {"a": 1}}]}', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        'The key "tool_calls" holds the calls.',
        '`{"tool_calls": [{"name": "f"}]}` is a call.',
        '{"answer": "There are no tool_calls here."}',
        '{"tool_calls": "none"}',
    ],
    [
        ('{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('{"tool_calls": [{"name": "get_weather", "arguments": {"city": Bonn}}]}', "get_weather"),
        ('{"tool_calls": [{"arguments": {"city": "Bonn"}}]}', ""),
        ('{"tool_calls": ["the weather"]}', ""),
    ],
)
