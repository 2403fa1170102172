"""How the user says the value of an argument: the label that the agent asks for, and the words."""

from collections.abc import Callable
from typing import Any

from callmark.calls.strict import dump
from callmark.simulation.mock_api.schemas import simplify_schema
from callmark.synthesis.api_goals import InformAct
from callmark.synthesis.api_phrases import field_label, format_date, format_value, label_of, needs_label, question_label

PERSON_FIELDS = frozenset({"to", "from", "recipient", "sender", "payee", "beneficiary"})  # objects that describe a person
_RANGE_LABELS = {"from": ("origin", "start date"), "to": ("destination", "end date")}
_SPOKEN_LABELS = dict.fromkeys(("limit", "per_page", "perpage", "page_size", "pagesize", "max_results", "maxresults"), "result limit")


def inform_of(
    name: str,
    value: Any,
    schema: Any,
    *,
    noun: str = "",
    is_person: bool = False,
    changes: bool = False,
    is_known: Callable[[str], bool] = lambda field: False,
    label_all: bool = False,
    long_dates: bool = False,
) -> InformAct:
    """Return how the user says a value.

    `noun` is the resource that the call works on, and `is_person` whether that is a person; `changes` that the value replaces another.
    Values of nested fields for which `is_known` is true are not said. With `label_all`, every value in an object is said with its label.
    """
    inform = _inform(name, value, schema, changes=changes, is_known=is_known, label_all=label_all, long_dates=long_dates)
    inform.label, inform.personal = label_of(inform.label, noun, is_person=is_person)
    return inform


def _inform(
    name: str, value: Any, schema: Any, *, changes: bool, is_known: Callable[[str], bool], label_all: bool, long_dates: bool
) -> InformAct:
    is_date = simplify_schema(schema).get("format") in ("date", "date-time")
    question = _RANGE_LABELS[name][is_date] if name in _RANGE_LABELS else _SPOKEN_LABELS.get(name.lower()) or question_label(name)
    label = f"new {question}" if changes else question
    if isinstance(value, bool):
        text = f'"{label}" should be {format_value(value)}'
        return InformAct(label, text, [text], flag=True)
    if simplify_schema(schema).get("enum"):
        text = str(value).replace("_", " ")
        return InformAct(label, text, [text], [choice.replace("_", " ") for choice in _few_choices(schema)])
    if isinstance(value, dict | list):
        said = [(field, item) for field, item in leaf_values(value, name) if item is not None and not is_known(field)]
        texts = [
            f"{field_label(field)} {format_value(item)}"
            if field != name and (label_all or needs_label(field, item))
            else format_value(item)
            for field, item in said
        ]
        values = [format_value(item) for _, item in said if not isinstance(item, bool)]
        return InformAct(label, ", ".join(texts) or format_value(value), values)
    if isinstance(value, str):
        text = f'"{value}"' if len(value.split()) > 2 and "," not in value else value
        return InformAct(label, format_date(text, long=long_dates), [value])
    return InformAct(label, dump(value), [dump(value)])


def _few_choices(schema: Any) -> list[str]:
    """Return the choices of a schema if they are few enough to list; otherwise empty."""
    choices = simplify_schema(schema).get("enum")
    found = [str(choice) for choice in choices if choice is not None] if isinstance(choices, list) else []
    return found if len(found) <= 6 else []


def leaf_values(value: Any, name: str) -> list[tuple[str, Any]]:
    """Return every value in an object or list, with the name of its field."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaf_values(item, key)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaf_values(item, name)]
    return [(name, value)]
