from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, code_call

FAMILY = Family(
    "olmo3",
    lambda calls: "<function_calls>\n" + "\n".join(map(code_call, calls)) + "\n</function_calls>",
    [
        ('<function_calls>\nget_weather(city="Bonn")\n</function_calls>', [WEATHER]),
        ('<function_calls>get_weather(city="Bonn")\nget_time()</function_calls><|im_end|>', [WEATHER, TIME]),
        ("<function_calls>get_weather(city='Bonn')", [WEATHER]),
        ('<function_calls>\n[get_weather(city="Bonn"), get_time()]\n</function_calls>', [WEATHER, TIME]),
        ("<function_calls>unlisted_tool(a=1)</function_calls>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "Calls are lines between <function_calls> and </function_calls> tags.",
        "`<function_calls>f(a=1)</function_calls>` is a call.",
        "<function_calls> opens the block.",
    ],
    [
        ('<function_calls>\nget_weather(city="Bo', "get_weather"),
        ('<function_calls>\nget_weather("Bonn")\n</function_calls>', "get_weather"),
        ("<function_calls>\nget_weather(city=town)\n</function_calls>", "get_weather"),
        ("<function_calls>\nthe weather\n</function_calls>", ""),
        ("<function_calls>\n", ""),
    ],
)
