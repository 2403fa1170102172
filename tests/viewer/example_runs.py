"""The runs of the browser tests: two models on the decision points of a shop, and simulated conversations of a help desk.

Of the shop's 36 cases, `base` has 16 correct, 19 wrong and one error; `tuned` has 33 correct. 18 are fixed, 2 broken, 14 correct and one
wrong in both.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.rows import assistant, call, result, row, user, write_rows
from tests.viewer.grading_helpers import grade_run, predicted

CONVERSATIONS = 12


def shop_tool(name: str, *arguments: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {key: {"type": "string"} for key in arguments}, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


SHOP = [shop_tool("get_order", "order_id"), shop_tool("get_user", "user_id"), shop_tool("cancel_order", "order_id", "reason")]


def order(n: int) -> dict[str, Any]:
    return call("get_order", {"order_id": f"#W10{n:02}"}, "1")


def person(n: int) -> dict[str, Any]:
    return call("get_user", {"user_id": f"lena_{n}"}, "2")


def cancel(n: int) -> dict[str, Any]:
    return call("cancel_order", {"order_id": f"#W10{n:02}", "reason": "no longer needed"}, "3")


def shop(path: Path) -> Path:
    """Write twelve conversations in which an order is canceled, with calls in messages 1, 3 and 5."""
    return write_rows(
        path,
        *(
            row(
                user(f"Cancel my order #W10{n:02}, please. #W20{n:02} I keep."),
                assistant(order(n)),
                result(json.dumps({"order_id": f"#W10{n:02}", "user_id": f"lena_{n}", "status": "pending"}), "1"),
                assistant(person(n)),
                result(json.dumps({"user_id": f"lena_{n}", "name": "Lena"}), "2"),
                assistant(cancel(n)),
                result("done", "3"),
                assistant(text="It is cancelled."),
                tools=SHOP,
                id=f"s{n}",
            )
            for n in range(CONVERSATIONS)
        ),
    )


def base_predictions() -> list[dict[str, Any]]:
    found = []
    for n in range(CONVERSATIONS):
        first = {0: call("get_order", {"order_id": f"#W20{n:02}"}), 1: order(n), 2: call("get_user", {"user_id": "lena"})}[n % 3]
        second = call("get_user", {"user_id": f"nobody-{n}"}) if n % 4 == 0 else person(n)
        third = [cancel(n), call("cancel_order", {"order_id": f"#W10{n:02}"}), None, cancel(n)][n % 4]
        if n == 8:
            third = call("cancel_order", {"order_id": "#W2008", "reason": "no longer needed"})
        if n == 11:
            third = call("drop_order", {})
        found.append(predicted(f"s{n}:1", first, usage={"seconds": 0.05 + n / 10}))
        found.append({"case": "s5:3", "error": "HTTP 503"} if n == 5 else predicted(f"s{n}:3", second, usage={"seconds": 0.3}))
        found.append(predicted(f"s{n}:5", *([third] if third else []), text="" if third else "Shall I?", usage={"seconds": 2.5}))
    return found


def tuned_predictions() -> list[dict[str, Any]]:
    found = []
    for n in range(CONVERSATIONS):
        first = call("get_order", {"order_id": "#W2000"}) if n == 0 else order(n)
        second = call("get_user", {"user_id": f"nobody-{n}"}) if n in (3, 7) else person(n)
        found += [predicted(f"s{n}:{message}", actual) for message, actual in ((1, first), (3, second), (5, cancel(n)))]
    return found


def shop_runs(folder: Path) -> Path:
    """Write the runs `base` and `tuned`, and return the folder of runs."""
    data = shop(folder / "shop.jsonl")
    grade_run(folder, data, base_predictions(), "base")
    grade_run(folder, data, tuned_predictions(), "tuned")
    return folder / "runs"


def callmark(*arguments: str | Path) -> None:
    """Run the command line as a process, because its event loop cannot run alongside the browser's."""
    done = subprocess.run([sys.executable, "-m", "callmark", *map(str, arguments)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


DESK_CASES = ("create-chattily-02", "not-allowed-01")


def desk_run(folder: Path) -> Path:
    """Simulate the sloppy chatbot on two scenarios, twice each: in the first it breaks rules and opens a ticket twice."""
    return simulate_desk(folder, DESK_CASES, "sloppy", name="desk")


CHAT_CASES = ("create-06", "create-chattily-02", "not-allowed-01", "with-item-04")


def chat_runs(folder: Path) -> Path:
    """Simulate both chatbots on four scenarios, twice each, and return the folder of the runs `careful` and `sloppy`.

    `careful` is always correct. `sloppy` leaves out arguments and repeats calls: only `not-allowed-01` is correct in both.
    """
    for agent in ("careful", "sloppy"):
        simulate_desk(folder, CHAT_CASES, agent, name=agent)
    return folder / "runs"


def simulate_desk(folder: Path, cases: Sequence[str], agent: str, *, name: str) -> Path:
    from callmark.cli.main import run

    desk = files("callmark.worlds") / "helpdesk"
    assert run(["synth", "--scenarios-only", "-o", str(folder / "all.jsonl")]) == 0
    rows = [json.loads(line) for line in (folder / "all.jsonl").read_text(encoding="utf-8").splitlines()]
    write_rows(folder / "scenarios.jsonl", *(one for one in rows if one["id"] in cases))
    settings = [
        "--system",
        str(desk / "workflow.md"),
        "--config",
        str(desk / "callmark.toml"),
        "--tools",
        f"mcp:{sys.executable} -m callmark.worlds.helpdesk",
    ]
    callmark("simulate", folder / "scenarios.jsonl", "--agent", agent, "--trials", "2", "-o", folder / "runs", "--name", name, *settings)
    return folder / "runs" / name
