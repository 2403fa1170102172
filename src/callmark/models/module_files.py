"""Python files of the current folder, for suggestions in messages. They are parsed, never imported."""

import ast
from pathlib import Path

_MAX_SIZE = 1 << 20  # bytes of a file that is parsed
_MAX_NAMES = 8


def suggest_python(text: str, attribute: str = "") -> str:
    """Return `. Did you mean python:shop?` for a file or module of the current folder without `python:`; empty if there is none.

    `attribute` follows the module if the text has none.
    """
    module, _, name = text.partition(":")
    module = module.removesuffix(".py")
    if not module.isidentifier() or not Path(f"{module}.py").is_file():
        return ""
    attribute = name or attribute
    return f". Did you mean python:{module}{f':{attribute}' if attribute else ''}?"


def list_functions(module: str) -> str:
    """Return `Functions in shop.py: find, book.` for a module of the current folder; empty if it has none or cannot be parsed."""
    file = Path(f"{module.replace('.', '/')}.py")
    if not module.replace(".", "").isidentifier():
        return ""
    try:
        tree = ast.parse(file.read_bytes()) if file.is_file() and file.stat().st_size <= _MAX_SIZE else ast.Module([], [])
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")]
    if not names:
        return ""
    return f"Functions in {file}: {', '.join(names[:_MAX_NAMES])}{', …' if len(names) > _MAX_NAMES else '.'}"
