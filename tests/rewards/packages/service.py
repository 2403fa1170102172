"""Run Python graders as a service does: the source of the grader in a bare interpreter, with 2 GB of memory, two minutes and no network.

    python -I -S service.py GRADER.json INPUTS.jsonl

Prints a JSON list of rewards. Each input is `{"sample", "item"}`. A `multi` grader combines its graders by its formula.
"""

import json
import resource
import sys
from pathlib import Path
from typing import Any

MEMORY, SECONDS = 2 << 30, 120
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "urllib.")


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    grader = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    inputs = [json.loads(line) for line in Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()]

    def refuse(event: str, arguments: object) -> None:
        if event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not allowed in a grader")

    sys.addaudithook(refuse)
    print(json.dumps(_run(grader, inputs)))
    return 0


def _run(grader: dict[str, Any], inputs: list[dict[str, Any]]) -> list[float]:
    if grader["type"] == "multi":
        parts = {name: _run(inner, inputs) for name, inner in grader["graders"].items()}
        formula = compile(grader["calculate_output"].replace("^", "**"), "formula", "eval")
        return [eval(formula, {}, {name: values[index] for name, values in parts.items()}) for index in range(len(inputs))]
    names: dict[str, Any] = {"__name__": "grader"}
    exec(compile(grader["source"], "grader", "exec"), names)
    return [names["grade"](each["sample"], each["item"]) for each in inputs]


if __name__ == "__main__":
    sys.exit(main())
