from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, code_call

FAMILY = Family(
    "gemma",
    lambda calls: "```tool_code\n" + "\n".join(map(code_call, calls)) + "\n```",
    [
        ('```tool_code\nget_weather(city="Bonn")\n```', [WEATHER]),
        ('```tool_code\nprint(get_weather(city="Bonn"))\n```<end_of_turn>', [WEATHER]),
        ('```tool_code\nweather = get_weather(city="Bonn")\nget_time()\n```', [WEATHER, TIME]),
        ('```tool_code\n[get_weather(city="Bonn"), get_time()]\n```', [WEATHER, TIME]),
        ('```tool_code\n# look it up\nget_weather(city="Bonn")\n```', [WEATHER]),
        ("```tool_code\nunlisted_tool(a=1)\n```", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "A block with the language `tool_code` is a call.",
        "Call it as `get_weather(city)` in a block.",
        "```python\nfor x in range(3):\n    print(x)\n```\nprints three numbers.",
    ],
    [
        ('```tool_code\nget_weather(city="Bo', "get_weather"),
        ("```tool_code\nget_weather('Bonn')\n```", "get_weather"),
        ("```tool_code\nget_weather(city=town)\n```", "get_weather"),
        ("```tool_code\nthe weather\n```", ""),
    ],
)
