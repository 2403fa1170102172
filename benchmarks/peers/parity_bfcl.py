"""The verdicts of the Berkeley Function Calling Leaderboard. Run by benchmarks/bfcl.py in an environment with bfcl-eval.

Prints the version and the folder of its data; then, for each line `[FILE, INDEX, FORM, UNDERSCORES, RESULT]` on standard input, the type of
error, "" for a valid result, or "stopped: …" where the checker itself fails. FORM is `tools` for a list of `{NAME: "arguments"}`, as of a
model that was given tools, and `text` for the text of a prompted model. They are decoded as its handlers do.
"""

import json
import sys
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


class _Anything:
    """An object that can be called, and has every attribute."""

    def __call__(self, *arguments: Any, **options: Any) -> "_Anything":
        return self

    def __getattr__(self, name: str) -> "_Anything":
        return self


class _Unused(ModuleType):
    """A module that bfcl-eval imports and that is not needed to check a call; it is installed without its dependencies."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


class _Finder:
    """Finds what no other finder does."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if name.startswith("bfcl_eval") else ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Unused(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def main() -> None:
    sys.meta_path.append(_Finder())
    models = ModuleType("bfcl_eval.constants.model_config")
    names = {"dots": SimpleNamespace(underscore_to_dot=False), "underscores": SimpleNamespace(underscore_to_dot=True)}
    models.__dict__["MODEL_CONFIG_MAPPING"] = names
    sys.modules[models.__name__] = models
    import bfcl_eval  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.model_handler.utils import default_decode_ast_prompting  # type: ignore[import-not-found, unused-ignore]
    from bfcl_eval.utils import is_empty_output, is_function_calling_format_output  # type: ignore[import-not-found, unused-ignore]

    data = Path(bfcl_eval.__file__).parent / "data"
    print(json.dumps({"version": metadata.version("bfcl-eval"), "data": str(data)}), flush=True)

    @cache
    def rows(name: str) -> list[Any]:
        return [json.loads(line) for line in (data / name).read_text(encoding="utf-8").splitlines() if line]

    @cache
    def answers(name: str) -> list[Any]:
        path = data / "possible_answer" / name
        return [json.loads(line)["ground_truth"] for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def decode(result: Any, form: str) -> Any:
        if form == "text":
            return default_decode_ast_prompting(result)
        decoded = []
        for item in result:
            name = next(iter(item))
            decoded.append({name: json.loads(item[name])})
        return decoded

    def verdict(name: str, index: int, form: str, underscores: bool, result: Any) -> str:
        try:
            decoded = decode(result, form)
        except Exception:
            decoded = None
        if "relevance" in name:
            called = decoded is not None and not is_empty_output(decoded)
            if "irrelevance" in name:
                return "irrelevance_error:decoder_success" if called else ""
            return "" if called else "relevance_error:decoder_failed"
        if decoded is None:
            return "ast_decoder:decoder_failed"
        if not is_function_calling_format_output(decoded):
            return "ast_decoder:decoder_wrong_output_format"
        language = Language.JAVASCRIPT if "javascript" in name else Language.JAVA if "java" in name else Language.PYTHON
        model = "underscores" if underscores else "dots"
        try:
            found = ast_checker(rows(name)[index]["function"], decoded, answers(name)[index], language, name, model)
        except Exception as error:
            return f"stopped: {type(error).__name__}"
        return "" if found["valid"] else str(found["error_type"])

    for line in sys.stdin:
        print(json.dumps(verdict(*json.loads(line))))


if __name__ == "__main__":
    main()
