"""Parse texts with the tool call parsers of sglang. Run by benchmarks/text_parsers.py in an environment with sglang.

sglang needs a GPU stack to be imported as a whole. Its parsers need only the types of its requests, so the package is entered below its
`__init__`, and those types are defined here. Prints one JSON line: for each text, the calls as [name, arguments], or null if the parser
raised.

    python benchmarks/peers/sglang_parsers.py TEXTS.json
"""

import importlib
import json
import logging
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

PROTOCOL = "sglang.srt.entrypoints.openai.protocol"


def enter_package() -> type[Any]:
    """Make `sglang.srt.function_call` importable, and return its type of a tool."""
    from pydantic import BaseModel  # type: ignore[import-not-found, unused-ignore]

    class Function(BaseModel):  # type: ignore[misc, unused-ignore]
        name: str
        description: str | None = None
        parameters: Any = None
        strict: bool = False

    class Tool(BaseModel):  # type: ignore[misc, unused-ignore]
        type: str = "function"
        function: Function

    class Other(BaseModel):  # type: ignore[misc, unused-ignore]
        pass

    found = find_spec("sglang")
    assert found is not None
    root = Path((found.submodule_search_locations or [""])[0])
    packages = {
        "sglang": root,
        "sglang.srt": root / "srt",
        "sglang.srt.entrypoints": root / "-",
        "sglang.srt.entrypoints.openai": root / "-",
    }
    for name, path in packages.items():
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    protocol = ModuleType(PROTOCOL)
    names = ("ToolChoice", "StructuralTagResponseFormat", "LegacyStructuralTagResponseFormat", "StructuresResponseFormat")
    protocol.__dict__.update({"Tool": Tool, "Function": Function, **dict.fromkeys(names, Other)})
    sys.modules[PROTOCOL] = protocol
    return Tool


def main() -> None:
    logging.disable()
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tool_type = enter_package()
    importlib.import_module("sglang.srt.environ").envs.SGLANG_FORWARD_UNKNOWN_TOOLS.set(True)  # instead of dropping the call
    tools = [tool_type(function=tool) for tool in given["tools"]]
    results: list[Any] = []
    for detector, text in given["texts"]:
        module, _, name = detector.partition(":")
        parser = getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), name)()
        try:
            found = parser.detect_and_parse(text, tools).calls
            results.append([[call.name, json.loads(call.parameters or "{}")] for call in found])
        except Exception:
            results.append(None)
    print(json.dumps({"version": metadata.version("sglang"), "calls": results}))


if __name__ == "__main__":
    main()
