from tests.calls.text.family import TIME, WEATHER, Family, code_call

FAMILY = Family(
    "pythonic",
    lambda calls: f"[{', '.join(map(code_call, calls))}]",
    [
        ('[get_weather(city="Bonn")]', [WEATHER]),
        ('get_weather(city="Bonn")', [WEATHER]),
        ('get_weather(city="Bonn")\nget_time()', [WEATHER, TIME]),
        ('get_weather(city="Bonn"); get_time()', [WEATHER, TIME]),
        ('[\n  get_weather(\n    city="Bonn",\n  ),\n  get_time(),\n]', [WEATHER, TIME]),
        ('```python\n[get_weather(city="Bonn")]\n```', [WEATHER]),
        ('I look it up: [get_weather(city="Bonn")]', [WEATHER]),
    ],
    [
        "The only provided function is get_weather()",
        "get_weather(city) returns the weather of a city.",
        'You could call get_weather(city="Bonn") for that.',
        "- get_weather(city): the weather\n- get_time(): the time",
        "`get_time()` returns the time.",
        "[unlisted_tool(a=1)]",
        "See [get_time()](https://example.com/get_time).",
    ],
    [
        ('[get_weather(city="Bo', "get_weather"),
        ("get_weather('Bonn')", "get_weather"),
        ("[get_weather(city=town)]", "get_weather"),
        ("[get_weather(city=open('x').read())]", "get_weather"),
    ],
)
