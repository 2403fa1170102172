"""Java and JavaScript values in calls of the Berkeley leaderboard: the text of an argument, as the value that its type says.

A text that does not have the form of its type stays a text. Collections are read by their outer form only: elements are split at commas.
"""

import re
from collections.abc import Callable
from typing import Any

JAVA_TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    "Set": set,
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
}
JAVASCRIPT_TYPES: dict[str, type] = {
    "String": str, "any": str, "integer": int, "Bigint": int, "float": float, "Boolean": bool, "dict": dict, "array": list,
}  # fmt: skip

_INTEGER = re.compile(r"^-?\d+$")
_LONG = re.compile(r"^-?\d+[lL]$")
_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_DECIMAL = re.compile(r"^-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"^-?\d+n$")
_JAVA_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_JAVA_ADDS = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_JAVA_ADD = re.compile(r"add\((.+?)\)")
_JAVA_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_JAVA_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_JAVA_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_JAVA_PUT = re.compile(r"put\(\"(.*?)\",\s*(.*?)\)")
_JAVA_EMPTY_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_ARRAY_OF_ARRAYS = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")
_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")
_MAX_TEXT = 10_000  # of a collection: some of these patterns take quadratic time


def java_value(text: str, kind: str, inner: str | None = None) -> Any:
    """Return the value of a Java expression of a type; `inner` is the type of the elements of a list.

    A type that the leaderboard does not convert raises `NotImplementedError`.
    """
    match kind:
        case "byte" | "short" | "integer":
            return int(text) if _INTEGER.match(text) else text
        case "long":
            return int(text[:-1]) if _LONG.match(text) else text
        case "float":
            return float(text.rstrip("\n")[:-1]) if _FLOAT.match(text) else text
        case "double":
            return float(text) if _DOUBLE.match(text) else text
        case "boolean":
            return text == "true" if text in ("true", "false") else text
        case "char" | "String" | "any":
            return text
        case "ArrayList" if len(text) <= _MAX_TEXT:
            return _java_list(text, inner)
        case "Array" if len(text) <= _MAX_TEXT:
            found = _JAVA_ARRAY.search(text)
            return text if found is None else [_java_element(one.strip(), inner) for one in found[1].split(",") if one.strip()]
        case "HashMap" if len(text) <= _MAX_TEXT:
            return _java_map(text)
        case "Array" | "ArrayList" | "HashMap":
            return text
    raise NotImplementedError(f"values of type {kind} are not converted")


def _java_list(text: str, inner: str | None) -> Any:
    listed, added = _JAVA_LIST.search(text), None
    if listed is not None:
        elements = [one.strip() for one in listed[1].split(",")]
    elif (added := _JAVA_ADDS.search(text)) is not None:
        elements = [one.strip() for one in _JAVA_ADD.findall(added[1])]
    else:
        return [] if _JAVA_EMPTY_LIST.search(text) else text
    return [one[1:-1] if inner in ("char", "String") else _java_element(one, inner) for one in elements]


def _java_element(text: str, inner: str | None) -> Any:
    return java_value(text, inner) if inner else _java_literal(text)


def _java_map(text: str) -> Any:
    found = _JAVA_MAP.search(text)
    if found is None:
        return {} if _JAVA_EMPTY_MAP.search(text) else text
    return {key: _java_literal(value.strip()) for key, value in _JAVA_PUT.findall(found[1])} if found[1].strip() else {}


def _java_literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.match(text):
        return int(text[:-1])
    return float(text[:-1]) if _FLOAT.match(text) else _number(text)


def _number(text: str) -> Any:
    """Return the number that a text is in Python; otherwise the text."""
    convert: Callable[[str], Any]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


def javascript_value(text: str, kind: str, inner: str | None = None) -> Any:
    """Return the value of a JavaScript expression of a type; `inner` is the type of the elements of an array."""
    match kind:
        case "String":
            quoted = (text.startswith('"') and text.endswith('"')) or (text.startswith("'") and text.endswith("'"))
            return text[1:-1] if quoted else text
        case "integer":
            return int(text) if _INTEGER.match(text) else text
        case "float":
            return float(text) if _DECIMAL.match(text) else text
        case "Bigint":
            return int(text[:-1]) if _BIGINT.match(text) else text
        case "Boolean":
            return text == "true" if text in ("true", "false") else text
        case "any":
            return text
        case "array":
            return _javascript_array(text.strip(), inner) if len(text) <= _MAX_TEXT else text
        case "dict":
            return _javascript_object(text.strip()) if len(text) <= _MAX_TEXT else text
    raise NotImplementedError(f"values of type {kind} are not converted")


def _javascript_array(text: str, inner: str | None = None) -> Any:
    rows = _ARRAY_OF_ARRAYS.match(text)
    if rows is not None:
        found: list[Any] = []
        for index, row in enumerate(one.strip() for one in re.findall(r"\[(.*?)\]", rows[0])):
            elements = row[1:] if index == 0 and row.startswith("[") else row
            found.append([_javascript_literal(one) for one in elements.split(",")])
        return found
    match = _ARRAY.match(text)
    if match is None:
        return text
    listed = (match[1] if match[1] is not None else match[2] or "").strip()
    elements = [one.strip() for one in listed.split(",")] if listed else []
    try:
        return [_javascript_element(one, inner) if inner else _javascript_literal(one) for one in elements]
    except (NotImplementedError, ValueError):
        return text


def _javascript_element(text: str, inner: str) -> Any:
    return javascript_value(text, inner, "String") if text.startswith(("'", '"')) else javascript_value(text, inner)


def _javascript_object(text: str) -> Any:
    found = _OBJECT.match(text) if text != "{}" else None
    if found is None:
        return {} if text == "{}" else text
    members: dict[str, Any] = {}
    for key, value in _PAIR.findall(found[1]):
        given = value.strip()
        if given.startswith("[") and given.endswith("]"):
            members[key.strip().strip("'\"")] = _javascript_array(given)
        elif given.startswith("{") and given.endswith("}"):
            members[key.strip().strip("'\"")] = _javascript_object(given)
        else:
            members[key.strip().strip("'\"")] = _javascript_literal(given.strip("'\""))
    return members


def _javascript_literal(text: str) -> Any:
    stripped = text.strip()
    if stripped in ("true", "false"):
        return stripped == "true"
    if (stripped.startswith('"') and stripped.endswith('"')) or (stripped.startswith("'") and stripped.endswith("'")):
        return stripped[1:-1]
    return _number(stripped)
