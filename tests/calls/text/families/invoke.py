from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, text_value


def write(call: Call) -> str:
    inside = "".join(f'<parameter name="{key}">{text_value(value)}</parameter>\n' for key, value in call.arguments.items())
    return f'<invoke name="{call.name}">\n{inside}</invoke>'


FAMILY = Family(
    "invoke",
    lambda calls: "<minimax:tool_call>\n" + "\n".join(map(write, calls)) + "\n</minimax:tool_call>",
    [
        (
            '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Bonn</parameter>\n</invoke>\n</minimax:tool_call>',
            [WEATHER],
        ),
        ('<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Bonn</parameter>\n</invoke>\n</function_calls>', [WEATHER]),
        ('<invoke name="get_weather"><parameter name="city">Bonn</parameter></invoke>', [WEATHER]),
        ("<minimax:tool_call><invoke name=get_weather><parameter name=city>Bonn</parameter></invoke></minimax:tool_call>", [WEATHER]),
        ("<minimax:tool_call>\n<invoke name='get_time'>\n</invoke>\n</minimax:tool_call>", [TIME]),
        ('<function_calls>\n<invoke name="get_weather">\n{"city": "Bonn"}\n</invoke>\n</function_calls>', [WEATHER]),
        ('<atem:function_calls>\n<atem:invoke name="get_time">\n</atem:invoke>\n</atem:function_calls>', [TIME]),
        ('<invoke name="unlisted_tool"><parameter name="a">1</parameter></invoke>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        'Calls are written as <invoke name="NAME"> with parameters.',
        'For example: `<invoke name="f"><parameter name="a">1</parameter></invoke>`.',
        '```xml\n<function_calls>\n<invoke name="f">\n</invoke>\n</function_calls>\n```\nis a call without parameters.',
    ],
    [
        ('<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Bo', "get_weather"),
        ('<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Bonn</parameter>\n</minimax:tool_call>', "get_weather"),
        ('<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Bonn\n</invoke>\n</function_calls>', "get_weather"),
        ('<minimax:tool_call>\n<invoke name="get_weather">', "get_weather"),
    ],
)
