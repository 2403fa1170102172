"""The verdict of the Berkeley checker on decoded calls: the type of the first error, or "" for correct calls.

Answers are `[{NAME: {PARAMETER: [values that are right]}}]`; `""` among the values means that the parameter may be left out. The rules,
with what is special about them:

- Texts are compared without spaces, case and `,./-_*^`, with one kind of quotes. Other values are compared as Python does: `1 == True`.
- An integer is fine for a float, but not inside a list. Types are checked one level deep, and not at all if a list may be left out.
- A value of the type of the first answer, where that is not the type of the parameter, is a variable: compared as it is.
- Parallel calls are matched in order: each answer takes the first call left that fits.
- Java and JavaScript values are texts, converted by the type of their parameter.

A description or an answer in which the Berkeley checker itself fails raises `UncheckedError`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from callmark.calls.bfcl_code import Decoded
from callmark.grading.bfcl.conversion import JAVA_TYPES, JAVASCRIPT_TYPES, java_value, javascript_value

Language = Literal["python", "java", "javascript"]
Names = Literal["auto", "dots", "underscores"]
"""How tools with a dot in their name were named for the model: as they are, with underscores, or either."""

Answer = Mapping[str, Mapping[str, Sequence[Any]]]

_PYTHON_TYPES: dict[str, type] = {
    "string": str, "any": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
}  # fmt: skip
_LISTS: dict[Language, tuple[str, ...]] = {
    "python": ("array", "tuple"), "java": ("Array", "ArrayList", "array"), "javascript": ("Array", "ArrayList", "array"),
}  # fmt: skip
_TYPES: dict[Language, Mapping[str, type]] = {"python": _PYTHON_TYPES, "java": JAVA_TYPES, "javascript": JAVASCRIPT_TYPES}
_CONVERT: dict[Language, Callable[[str, str, str | None], Any]] = {"java": java_value, "javascript": javascript_value}
_TEXT_ERROR: dict[Language, str] = {"java": "type_error:java", "javascript": "type_error:js"}
_IGNORED = re.compile(r"[ ,./\-_*^]")


class UncheckedError(Exception):
    """A case that the Berkeley checker cannot check."""


class Rules(Struct, frozen=True):
    """The language of a case, and how its tools were named."""

    language: Language = "python"
    names: Names = "auto"


def check_calls(functions: Sequence[Any], calls: Sequence[Decoded], answers: Sequence[Answer], category: str, rules: Rules) -> str:
    """Return the type of error of the calls to a case; "" if they are correct. `category` is that of the leaderboard."""
    try:
        if "parallel" in category:
            return _check_parallel(functions, calls, answers, rules)
        kind = "multiple" if "multiple" in category else "simple"
        if len(calls) != (len(answers) if kind == "multiple" else 1):
            return f"{kind}_function_checker:wrong_count"
        function = _find(functions, answers[0]) if kind == "multiple" else functions[0]
        return _check_call(function, calls[0], answers[0], rules)
    except (LookupError, TypeError, AttributeError, NotImplementedError) as error:
        raise UncheckedError(f"{type(error).__name__}: {error}") from None


def _check_parallel(functions: Sequence[Any], calls: Sequence[Decoded], answers: Sequence[Answer], rules: Rules) -> str:
    if len(calls) != len(answers):
        return "parallel_function_checker_no_order:wrong_count"
    left = list(calls)
    for answer in answers:
        function = _find(functions, answer)
        found = next((index for index, call in enumerate(left) if not _check_call(function, call, answer, rules)), None)
        if found is None:
            return "parallel_function_checker_no_order:cannot_find_match"
        del left[found]
    return ""


def _find(functions: Sequence[Any], answer: Answer) -> Any:
    name = next(iter(answer))
    return next((function for function in functions if function["name"] == name), None)


def _check_call(function: Any, call: Decoded, answer: Answer, rules: Rules) -> str:
    name = _name_in(function["name"], call, rules.names)
    parameters, required = function["parameters"]["properties"], function["parameters"]["required"]
    possible = next(iter(answer.values()))
    if name not in call:
        return "simple_function_checker:wrong_func_name"
    given = call[name]
    if any(parameter not in given for parameter in required):
        return "simple_function_checker:missing_required"
    for parameter, value in given.items():
        if parameter not in parameters or parameter not in possible:
            return "simple_function_checker:unexpected_param"
        if error := _check_value(value, possible[parameter], parameters[parameter], rules.language):
            return error
    if any(parameter not in given and "" not in possible[parameter] for parameter in possible):
        return "simple_function_checker:missing_optional"
    return ""


def _name_in(name: str, call: Decoded, names: Names) -> str:
    """Return the name under which a tool is expected in a call."""
    underscored = name.replace(".", "_")
    return underscored if names == "underscores" or (names == "auto" and name not in call) else name


def _check_value(value: Any, possible: Sequence[Any], parameter: Mapping[str, Any], language: Language) -> str:
    kind = parameter["type"]
    expected = _TYPES[language][kind]
    inner_kind = parameter["items"]["type"] if kind in _LISTS[language] and (language == "python" or type(value) is str) else None
    inner = _TYPES[language][inner_kind] if inner_kind is not None else None
    if language != "python":
        if type(value) is not str:
            return _TEXT_ERROR[language]
        value = _CONVERT[language](value, kind, inner_kind)
    if kind == "tuple" and type(value) is tuple:
        value = list(value)
    if language == "python" and kind == "float" and type(value) is int:
        value = float(value)
    is_variable, error = _check_type(value, possible, expected, inner)
    if error or is_variable:
        return error or ("" if value in possible else "value_error:others")
    if expected is dict:
        return _check_object(value, possible)
    if expected is list:
        return _check_objects(value, possible) if inner is dict else _check_list(value, possible)
    if expected is str:
        known = [_standard(answer) for answer in possible if type(answer) is str]
        return "" if _standard(value) in known else "value_error:string"
    return "" if value in possible else "value_error:others"


def _check_type(value: Any, possible: Sequence[Any], expected: type, inner: type | None) -> tuple[bool, str]:
    """Return whether a value is a variable, and the type of error; "" for a value of the right type, and for a variable."""
    known = next((type(answer) for answer in possible if answer != ""), None)
    error = "type_error:simple"
    items: Any = value
    if type(value) is expected:
        fits = inner is None or any(
            type(answer) is not list or all(not _check_type(item, answer, inner, None)[1] for item in items) for answer in possible
        )
        if fits:
            return known is not None and known is not expected, ""
        return known is not None, "type_error:nested" if type(value) is known else error
    return (True, "") if known is not None and type(value) is known else (False, error)


def _check_object(value: Mapping[str, Any], possible: Sequence[Any]) -> str:
    error = "dict_checker:unclear"
    for answer in possible:
        if answer == "":
            continue
        error = _compare_object(value, answer)
        if not error:
            return ""
    return error


def _compare_object(value: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    missing = [key for key, values in answer.items() if key not in value and "" not in values]
    error = ""
    for key, given in value.items():
        if key not in answer:
            error = "value_error:dict_key"
        elif _standard(given) not in [_standard(known) for known in answer[key]]:
            error = "value_error:dict_value"
        if error:
            break
    return "value_error:dict_key" if missing else error


def _check_objects(value: Sequence[Mapping[str, Any]], possible: Sequence[Any]) -> str:
    error = "list_dict_checker:unclear"
    for answer in possible:
        if len(value) != len(answer):
            error = "value_error:list_dict_count"
            continue
        errors = (_check_object(item, [known]) for item, known in zip(value, answer, strict=True))
        error = next(filter(None, errors), "")
        if not error:
            return ""
    return error


def _check_list(value: Sequence[Any], possible: Sequence[Any]) -> str:
    given = [_standard(item) for item in value]
    return "" if given in [[_standard(item) for item in answer] for answer in possible] else "value_error:list/tuple"


def _standard(value: Any) -> Any:
    """Return a text as it is compared; any other value unchanged."""
    return _IGNORED.sub("", value).lower().replace("'", '"') if type(value) is str else value
