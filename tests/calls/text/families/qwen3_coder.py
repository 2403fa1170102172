from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, text_value


def write(call: Call) -> str:
    inside = "".join(f"<parameter={key}>\n{text_value(value)}\n</parameter>\n" for key, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{inside}</function>\n</tool_call>"


FAMILY = Family(
    "qwen3-coder",
    lambda calls: "\n".join(map(write, calls)),
    [
        ("<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</tool_call>", [WEATHER]),
        ("<function=get_weather><parameter=city>Bonn</parameter></function>", [WEATHER]),
        ("<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n</function>\n</tool_call>", [WEATHER]),
        ("<tool_call>\n<function=get_time>\n</function>\n</tool_call>", [TIME]),
        ("<seed:tool_call>\n<function=get_weather>\n<parameter=city>Bonn</parameter>\n</function>\n</seed:tool_call>", [WEATHER]),
        ('<function=get_weather>{"city": "Bonn"}</function>', [WEATHER]),
        (
            "<tool_call><function=get_weather><parameter=city>if a < b: </tool_call></parameter></function></tool_call>",
            [Call("get_weather", {"city": "if a < b: </tool_call>"})],
        ),
        ("<function=unlisted_tool><parameter=a>1</parameter></function>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "Write <function=NAME> with the name of the tool.",
        "The format is `<function=f><parameter=a>1</parameter></function>`.",
        "```\n<tool_call>\n<function=f>\n</function>\n</tool_call>\n```\nshows a call without arguments.",
    ],
    [
        ("<tool_call>\n<function=get_weather>\n<parameter=city>\nBo", "get_weather"),
        ("<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n</tool_call>", "get_weather"),
        ("<tool_call>\n<function=get_weather>the city is Bonn</function>\n</tool_call>", "get_weather"),
        ("<tool_call>\n<function=get_wea", "get_wea"),
        ('<function=get_weather>{"city": </function>', "get_weather"),
    ],
)
