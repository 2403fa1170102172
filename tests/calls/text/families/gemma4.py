from callmark.types import Call
from tests.calls.text.families.functiongemma import value_text
from tests.calls.text.family import TIME, WEATHER, Family

Q = '<|"|>'

FAMILY = Family(
    "gemma4",
    lambda calls: "".join(f"<|tool_call>call:{call.name}{value_text(call.arguments, Q)}<tool_call|>" for call in calls),
    [
        (f"<|tool_call>call:get_weather{{city:{Q}Bonn{Q}}}<tool_call|>", [WEATHER]),
        (f"<|tool_call>call:get_weather{{city:{Q}Bonn{Q}}}<tool_call|><|tool_response>", [WEATHER]),
        (f"<|tool_call>call:get_weather{{city:{Q}Bonn{Q},days:5}}<tool_call|><turn|>", [Call("get_weather", {"city": "Bonn", "days": 5})]),
        ("<|tool_call>call:get_time{}<tool_call|>", [TIME]),
        (f"<|tool_call>call:get_weather{{{Q}city{Q}:{Q}Bonn{Q}}}<tool_call|>", [WEATHER]),
        ("<|tool_call>call:unlisted_tool{a:1}<tool_call|>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "The token <|tool_call> opens a call and <tool_call|> ends it.",
        "`<|tool_call>call:f{}<tool_call|>` is a call.",
        "A <|tool_call> has a name.",
    ],
    [
        (f"<|tool_call>call:get_weather{{city:{Q}Bo", "get_weather"),
        (f"<|tool_call>call:get_weather{{city:{Q}Bonn{Q}<tool_call|>", "get_weather"),
        (f"<|tool_call>call:get_weather{{{Q}Bonn{Q}}}<tool_call|>", "get_weather"),
        ("<|tool_call>call:get_wea", "get_wea"),
        ("<|tool_call>", ""),
    ],
    thinking="<|channel>thought\n{}<channel|>",
)
