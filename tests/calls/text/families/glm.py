from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, text_value


def write(call: Call) -> str:
    pairs = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{text_value(value)}</arg_value>\n" for key, value in call.arguments.items())
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


FAMILY = Family(
    "glm",
    lambda calls: "\n".join(map(write, calls)),
    [
        ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bonn</arg_value>\n</tool_call>", [WEATHER]),
        ("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Bonn</arg_value></tool_call><|observation|>", [WEATHER]),
        ("<tool_call>get_time</tool_call>", [TIME]),
        (
            "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Bonn</arg_value>\n</tool_call>\n</tool_calls>",
            [WEATHER],
        ),
        (
            "<tool_calls:opensource><tool_call:opensource>get_weather<tool_sep:opensource><arg_key:opensource>city</arg_key:opensource>"
            "<arg_value:opensource>Bonn</arg_value:opensource></tool_call:opensource></tool_calls:opensource>",
            [WEATHER],
        ),
        ("<tool_call>unlisted_tool\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "A call begins with <tool_call> and the name of the tool.",
        "`<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>` is how I call a tool.",
        "Each argument has an <arg_key> and an <arg_value>.",
    ],
    [
        ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bo", "get_weather"),
        ("<tool_call>get_weather\n<arg_key>city</arg_key>\n</tool_call>", "get_weather"),
        ("<tool_call>get_wea", "get_wea"),
        ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bonn</arg_value>\n", "get_weather"),
    ],
)
