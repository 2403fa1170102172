"""The table of texts of one family of models: what `tests/calls/text/families/NAME.py` fills in.

Texts follow the chat template of the models. `write` writes calls as the template does; the other texts are written out.
"""

import json
from collections.abc import Callable, Sequence

from msgspec import Struct

from callmark.types import Call, Tool

WEATHER = Call("get_weather", {"city": "Bonn"})
TIME = Call("get_time")
GUESTS = [{"name": "Ann", "age": 5}, {"name": "B}", "age": 7}]
NESTED = Call("book_room", {"guests": GUESTS, "options": {"late": True, "note": None}, "price": 12.5})
UNICODE = Call("get_weather", {"city": 'Köln 東京 🌧 "north" \\ it\'s'})
LINES = Call("get_weather", {"city": "first line\nsecond line"})
TOOLS = (
    Tool("get_weather", "", {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}),
    Tool("get_time", "", {"type": "object", "properties": {}}),
    Tool(
        "book_room",
        "",
        {
            "type": "object",
            "properties": {"guests": {"type": "array"}, "options": {"type": "object"}, "price": {"type": "number"}},
        },
    ),
)
WEATHER_JSON = '{"name": "get_weather", "arguments": {"city": "Bonn"}}'
TIME_JSON = '{"name": "get_time", "arguments": {}}'


class Family(Struct, frozen=True):
    """The texts of a family.

    Attributes:
        name: The name of the text format.
        write: Writes calls as the chat template does.
        written: Texts with the calls in them, as the models write them: the same calls, whatever stands around them.
        about: Texts without a call, which speak about the tags, or only look like calls.
        broken: Texts with one malformed call each, and its name.
        thinking: How the models write thinking before the calls, with `{}` in its place.
    """

    name: str
    write: Callable[[Sequence[Call]], str]
    written: Sequence[tuple[str, Sequence[Call]]]
    about: Sequence[str]
    broken: Sequence[tuple[str, str]]
    thinking: str = "<think>{}</think>\n\n"


def dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_call(call: Call, arguments: str = "arguments") -> str:
    return dump({"name": call.name, arguments: call.arguments})


def code_call(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def text_value(value: object) -> str:
    """Return a value as templates with tags write it: strings bare, others as JSON."""
    return value if isinstance(value, str) else dump(value)
