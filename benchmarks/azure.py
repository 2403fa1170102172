"""Does azure-ai-evaluation's `evaluate()` give the same scores with callmark's LOB evaluators? Offline, on recorded calls and on a target.

python benchmarks/azure.py --peer PYTHON

PYTHON is the interpreter of an environment with azure-ai-evaluation and callmark.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from callmark import grade
from callmark.formats.evaluation_results import SCORES

PEER = Path(__file__).parent / "peers" / "azure_evaluate.py"

TICKET: dict[str, Any] = {"functionName": "TicketPlugin-create", "arguments": {"title": "Server down", "priority": "High", "code": "IT"}}
ACTION = {"functionName": "ActionPlugin-add", "arguments": {"ticket_id": "TKT-*", "owner": "Žofia 張", "due": "2025-05-10"}}
DONE = {"functionName": "actionplugin-ADD", "arguments": {"ticket_id": "tkt-7", "owner": "žofia 張", "due": "2025-05-10"}}
ASKED = {"functionName": "CommonPlugin-ask_clarification", "arguments": {"question": "Which one?"}}
OPENAI = {"id": "1", "type": "function", "function": {"name": "TicketPlugin-create", "arguments": json.dumps(TICKET["arguments"])}}
ROWS: dict[str, tuple[Any, Any]] = {  # expected calls, actual calls
    "correct": ([TICKET, ACTION], [TICKET, ASKED, DONE]),
    "different order and shape": ([TICKET, ACTION], [DONE, OPENAI]),
    "missing call": ([TICKET, ACTION], [TICKET]),
    "repeated call": ([TICKET], [TICKET, TICKET]),
    "two expected, one actual": ([TICKET, TICKET], [TICKET]),
    "wrong value": ([TICKET], [{**TICKET, "arguments": {**TICKET["arguments"], "priority": "Low"}}]),
    "missing argument": ([TICKET], [{**TICKET, "arguments": {"title": "server down!"}}]),
    "malformed call": ([TICKET, ACTION], [{**TICKET, "arguments": '{"title": '}, DONE]),
    "wrong tool": ([TICKET], [DONE]),
    "no call": ([TICKET], []),
    "no call expected, no call": ([], []),
    "JSON text": (json.dumps([TICKET]), json.dumps([OPENAI])),
}
ERRORS: dict[str, Any] = {  # excluded from the means
    "no prediction": {},
    "error": {"function_calls": [], "error_message": "TimeoutError: 30 s"},
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.jsonl")
        rows = [{"id": name, "expected_function_calls": expected, "function_calls": actual} for name, (expected, actual) in ROWS.items()]
        rows += [{"id": name, "expected_function_calls": [TICKET], **outcome} for name, outcome in ERRORS.items()]
        data.write_text("".join(json.dumps({**row, "instructions": f"Say {row['id']}."}) + "\n" for row in rows), encoding="utf-8")
        run = subprocess.run([options.peer, str(PEER), str(data), folder], capture_output=True, text=True, check=False)
        if run.returncode:
            print(run.stdout, run.stderr, sep="\n")
            return 1
        peer, recorded, target = (json.loads(Path(folder, f"{name}.json").read_bytes()) for name in ("peer", "recorded", "target"))
    ours = [grade(_list(expected), _list(actual), evaluators=["process"]).metrics for expected, actual in ROWS.values()]
    tried = len(peer["connections"])
    print(f"  azure-ai-evaluation {peer['version']}: {len(ROWS)} rows and {len(ERRORS)} errors, {tried} connection attempts")
    print(f"  {'':22}{'callmark':>9}{'recorded':>12}{'target':>12}")
    missed = tried
    for name, theirs in SCORES.items():
        mean = sum(metrics[name] for metrics in ours) / len(ours)
        found = [result["metrics"].get(theirs, math.nan) for result in (recorded, target)]
        every = [[row.get(f"outputs.{theirs}") for row in result["rows"]] for result in (recorded, target)]
        equal = all(math.isclose(value, mean, abs_tol=1e-12) for value in found)
        equal &= all(scores[: len(ours)] == [metrics[name] for metrics in ours] for scores in every)
        equal &= all(score is None or math.isnan(score) for scores in every for score in scores[len(ours) :])
        missed += not equal
        print(f"  {theirs:22}{mean:9.6f}{found[0]:12.6f}{found[1]:12.6f}  {'equal in every row' if equal else 'NOT EQUAL'}")
    return 1 if missed else 0


def _list(calls: Any) -> Any:
    return json.loads(calls) if isinstance(calls, str) else calls


if __name__ == "__main__":
    sys.exit(main())
