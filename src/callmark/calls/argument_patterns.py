"""Patterns of arguments: `tool.argument`, where both may be globs and nested arguments are separated by dots."""

from collections.abc import Sequence

from callmark.calls.globs import matches_glob


def matches_argument(pattern: str, tool: str, path: Sequence[str]) -> bool:
    """Return whether a pattern names this argument of this tool. The name of the tool may contain dots; an array index is a step too."""
    steps = pattern.split(".")
    at = len(steps) - len(path)
    return (
        at > 0
        and matches_glob(".".join(steps[:at]), tool)
        and all(matches_glob(step, name) for step, name in zip(steps[at:], path, strict=True))
    )


def contains_argument(patterns: Sequence[str], tool: str, path: Sequence[str]) -> bool:
    """Return whether one of the patterns names this argument, or one that it is inside."""
    return any(matches_argument(pattern, tool, path[:length]) for length in range(1, len(path) + 1) for pattern in patterns)


def pattern_problem(pattern: object) -> str:
    """Return why a value is not a pattern of arguments; empty if it is one."""
    if isinstance(pattern, str) and "." in pattern and all(pattern.split(".")):
        return ""
    return f"expected a pattern of the form TOOL.ARGUMENT, got {pattern!r:.80}"
