from typing import Any

from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump

M = "]<]minimax[>["


def element(name: str, value: Any) -> str:
    if isinstance(value, dict):
        inside = "".join(element(key, child) for key, child in value.items())
    elif isinstance(value, list):
        inside = "".join(element("item", child) for child in value)
    else:
        inside = value if isinstance(value, str) else dump(value)
    return f"{M}<{name}>{inside}{M}</{name}>"


def write(call: Call) -> str:
    return f'{M}<invoke name="{call.name}">' + "".join(element(key, value) for key, value in call.arguments.items()) + f"{M}</invoke>"


FAMILY = Family(
    "minimax-m3",
    lambda calls: f"{M}<tool_call>\n" + "\n".join(map(write, calls)) + f"\n{M}</tool_call>",
    [
        (f'{M}<tool_call>\n{M}<invoke name="get_weather">\n{M}<city>Bonn{M}</city>\n{M}</invoke>\n{M}</tool_call>', [WEATHER]),
        (f'{M}<tool_call>{M}<invoke name="get_time">{M}</invoke>{M}</tool_call>', [TIME]),
        (f'{M}<invoke name="get_weather">{M}<city>Bonn{M}</city>{M}</invoke>', [WEATHER]),
        (f'{M}<invoke name="unlisted_tool">{M}<a>1{M}</a>{M}</invoke>', [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        f"Every tag follows the marker {M} in this format.",
        f'`{M}<invoke name="f">` opens a call.',
    ],
    [
        (f'{M}<tool_call>\n{M}<invoke name="get_weather">\n{M}<city>Bo', "get_weather"),
        (f'{M}<tool_call>\n{M}<invoke name="get_weather">\n{M}<city>Bonn\n{M}</invoke>\n{M}</tool_call>', "get_weather"),
        (f'{M}<tool_call>\n{M}<invoke name="get_weather">\nBonn\n{M}</invoke>\n{M}</tool_call>', "get_weather"),
        (f"{M}<tool_call>\n", ""),
    ],
    thinking="<mm:think>{}</mm:think>\n",
)
