from callmark.types import Call
from tests.calls.text.family import TIME, TIME_JSON, WEATHER, WEATHER_JSON, Family, json_call

FAMILY = Family(
    "json",
    lambda calls: f"[{', '.join(map(json_call, calls))}]",
    [
        (WEATHER_JSON, [WEATHER]),
        (f"{WEATHER_JSON}\n{TIME_JSON}", [WEATHER, TIME]),
        (f"```json\n{WEATHER_JSON}\n```", [WEATHER]),
        ('[{"get_weather": {"city": "Bonn"}}]', [WEATHER]),
        ('[{"get_weather": {"city": "Bonn"}}, {"get_time": {}}]', [WEATHER, TIME]),
        ('{"name": "get_weather", "parameters": {"city": "Bonn"}}', [WEATHER]),
        ('{"tool_name": "get_weather", "tool_input": {"city": "Bonn"}}', [WEATHER]),
        (
            '{"id": "7", "type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Bonn\\"}"}}',
            [Call("get_weather", {"city": "Bonn"}, "7")],
        ),
    ],
    [
        '{"name": "unlisted_tool", "arguments": {"a": 1}}',
        '[{"unlisted_tool": {"a": 1}}]',
        '{"city": "Bonn", "weather": "rain"}',
        f"`{WEATHER_JSON}` is how a call looks.",
        '{"name": "Ann", "age": 5}',
    ],
    [
        ('{"name": "get_weather", "arguments": {"city": "Bo', "get_weather"),
        ('{"name": "get_weather", "arguments": {"city": "Bonn",}}', "get_weather"),
        ('{"name": "get_weather", "arguments": ["Bonn"]}', "get_weather"),
        ('[{"get_weather": {"city": Bonn}}]', "get_weather"),
    ],
)
