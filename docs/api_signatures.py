"""Griffe extension for the Python API page: show the signatures that a reader of the code cannot see.

A `Struct` gets the constructor that msgspec generates for it. A function made by `_blocking` or `_awaitable` (`run`, `simulate` and their
coroutines) is documented with the parameters and the docstring of the function that it wraps. A function with overloads has the parameters
of all of them.
"""

from typing import Any

from griffe import Attribute, Class, ExprCall, Extension, Function, Module, Parameter, ParameterKind, Parameters

_WRAPPERS = ("_blocking", "_awaitable")


class ApiSignatures(Extension):
    """Add the constructors of structs and the signatures of wrapped functions."""

    def on_class(self, *, cls: Class, **_: Any) -> None:
        if any(str(base) == "Struct" for base in cls.bases) and "__init__" not in cls.members:
            kind = ParameterKind.keyword_only if cls.keywords.get("kw_only") == "True" else ParameterKind.positional_or_keyword
            fields = [
                field for field in cls.attributes.values() if field.annotation is not None and "ClassVar" not in str(field.annotation)
            ]
            parameters = [Parameter(field.name, annotation=field.annotation, kind=kind, default=field.value) for field in fields]
            this = Parameter("self", kind=ParameterKind.positional_or_keyword)
            cls.set_member("__init__", Function("__init__", lineno=cls.lineno, parameters=Parameters(this, *parameters)))

    def on_module(self, *, mod: Module, **_: Any) -> None:
        for name, made in list(mod.members.items()):
            if isinstance(made, Function) and made.overloads:
                made.parameters = _all_parameters(made)
            wrapped = _wrapped_function(made) if isinstance(made, Attribute) else None
            if wrapped is not None:
                original = mod[wrapped]
                labels = {"async"} if name.endswith("_async") else set()
                function = Function(name, lineno=made.lineno, parameters=original.parameters, returns="list[Run]")
                function.docstring, function.labels = original.docstring, labels
                mod.set_member(name, function)


def _all_parameters(function: Function) -> Parameters:
    """Return the parameters of a function and of its overloads; of several with one name, the first."""
    named = {parameter.name: parameter for each in (*(function.overloads or ()), function) for parameter in each.parameters}
    variadic = (ParameterKind.var_positional, ParameterKind.var_keyword)
    return Parameters(*(parameter for parameter in named.values() if parameter.kind not in variadic))


def _wrapped_function(made: Attribute) -> str | None:
    """Return the name of the function that an assignment wraps; None for any other assignment."""
    value = made.value
    return str(value.arguments[0]) if isinstance(value, ExprCall) and str(value.function) in _WRAPPERS else None
