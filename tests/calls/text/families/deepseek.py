# ruff: noqa: E501 - texts as the models write them
from callmark.types import Call
from tests.calls.text.family import TIME, WEATHER, Family, dump, text_value

BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"


def write(call: Call) -> str:
    inside = "".join(
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{text_value(value)}</｜DSML｜parameter>\n'
        for key, value in call.arguments.items()
    )
    return f'<｜DSML｜invoke name="{call.name}">\n{inside}</｜DSML｜invoke>'


def write_v31(name: str, arguments: object) -> str:
    return f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dump(arguments)}<｜tool▁call▁end｜>"


def write_v3(name: str, arguments: object) -> str:
    return f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{dump(arguments)}\n```<｜tool▁call▁end｜>"


FAMILY = Family(
    "deepseek",
    lambda calls: "<｜DSML｜tool_calls>\n" + "\n".join(map(write, calls)) + "\n</｜DSML｜tool_calls>",
    [
        (f"{BEGIN}{write_v31('get_weather', {'city': 'Bonn'})}{END}<｜end▁of▁sentence｜>", [WEATHER]),
        (f"{BEGIN}{write_v31('get_weather', {'city': 'Bonn'})}{write_v31('get_time', {})}{END}", [WEATHER, TIME]),
        (f"{BEGIN}{write_v3('get_weather', {'city': 'Bonn'})}{END}<｜end▁of▁sentence｜>", [WEATHER]),
        (f"{BEGIN}{write_v3('get_weather', {'city': 'Bonn'})}\n{write_v3('get_time', {})}{END}", [WEATHER, TIME]),
        (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Bonn</｜DSML｜parameter>\n'
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            [WEATHER],
        ),
        (
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n{"city": "Bonn"}\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
            [WEATHER],
        ),
        ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_time"/>\n</｜DSML｜tool_calls>', [TIME]),
        (
            '<｜DSML｜ calls>\n<｜DSML｜ invoke name="get_weather">\n<｜DSML｜ parameter name="city" string="true">Bonn</｜DSML｜ parameter>\n'
            "</｜DSML｜ invoke>\n</｜DSML｜ calls>",
            [WEATHER],
        ),
        (
            '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">5</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
            [Call("get_weather", {"city": "5", "days": 5})],
        ),
        (f"{BEGIN}{write_v31('unlisted_tool', {'a': 1})}{END}", [Call("unlisted_tool", {"a": 1})]),
    ],
    [
        "The tokens <｜tool▁calls▁begin｜> and <｜tool▁calls▁end｜> surround calls.",
        '`<｜DSML｜invoke name="f">` opens a call.',
        "The tags begin with <｜DSML｜ in this version.",
    ],
    [
        (f"{BEGIN}<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>" + '{"city": "Bo', "get_weather"),
        (f"{BEGIN}<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" + '{"city": "Bo', "get_weather"),
        (f"{BEGIN}<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>the city<｜tool▁call▁end｜>{END}", "get_weather"),
        ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Bo', "get_weather"),
        (f"{BEGIN}<｜tool▁call▁begin｜>get_wea", "get_wea"),
    ],
)
