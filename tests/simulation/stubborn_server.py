"""A program that does not want to end: it ignores the end of its input, SIGTERM, SIGHUP and SIGINT, and may start more processes.

    python -S -E stubborn_server.py LOG KIND [KIND …]

It is a tool server (`mcp:`), and also predicts (`cmd:`), slowly.

The n-th process that is started becomes the n-th kind, and so on in turn. Every process writes its kind, process id and start time to LOG.
Shared by `tests/simulation/test_processes.py` and `benchmarks/process_kills.py`.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

LOG = KIND = ""


def note() -> None:
    """Write a line for this process to the log."""
    with open("/proc/self/stat", "rb") as file:
        started = file.read().rpartition(b")")[2].split()[19].decode()
    with open(LOG, "a", encoding="utf-8") as file_of_all:
        file_of_all.write(f"{os.getpid()}\t{started}\t{KIND}\n")


def stay() -> NoReturn:
    while True:
        time.sleep(1000)


def child(then: Callable[[], object] = stay, *, session: bool = False) -> None:
    """Start a process that stays, in a session of its own if asked."""
    if os.fork() == 0:
        if session:
            os.setsid()
        note()
        then()
        stay()


def daemon(then: Callable[[], object] = stay) -> None:
    """Fork twice, with a session of its own: the parent of this process ends at once."""
    if os.fork() == 0:
        os.setsid()
        child(then)
        os._exit(0)
    os.wait()


def close_streams() -> None:
    os.closerange(0, 256)


def run_another_program() -> None:
    os.execve("/bin/sleep", ["sleep", "1000"], {})


def replace_itself() -> None:
    """Fork, end, and go on in the child, every few milliseconds."""
    while True:
        time.sleep(0.003)
        if os.fork():
            os._exit(0)
        os.setsid()
        note()


def grandchildren() -> None:
    child(lambda: child(child))


def five_daemons() -> None:
    for _ in range(5):
        daemon()


def two_sessions() -> None:
    for _ in range(2):
        child(session=True)


def flood() -> None:
    while True:
        os.write(2, b"x" * 100_000)


# by name: what it starts, and what it does at the end of its input
KINDS: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "sleeps": (lambda: None, stay),
    "stops itself": (lambda: None, lambda: os.kill(os.getpid(), signal.SIGSTOP)),
    "floods its standard error": (lambda: None, flood),
    "closes its streams": (lambda: None, close_streams),
    "has a child": (child, stay),
    "has a child that runs another program": (lambda: child(run_another_program), stay),
    "has grandchildren": (grandchildren, stay),
    "setsid: has a child in another session": (lambda: child(session=True), stay),
    "setsid: has a daemon": (daemon, stay),
    "setsid: has a daemon without streams": (lambda: daemon(close_streams), stay),
    "setsid: has a daemon that runs another program": (lambda: daemon(run_another_program), stay),
    "setsid: has five daemons": (five_daemons, stay),
    "setsid: has a daemon that replaces itself": (lambda: daemon(replace_itself), stay),
    "setsid: has sessions in sessions": (lambda: child(two_sessions, session=True), close_streams),
}
TOOLS = [{"name": "add_note", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}}]
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "stubborn", "version": "1"}}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if "jsonrpc" not in request:
        time.sleep(0.02)
        return {"id": request["id"], "tool_calls": [{"name": "get_order", "arguments": {}}]}
    named = {"jsonrpc": "2.0", "id": request["id"]}
    match request["method"]:
        case "initialize":
            return {**named, "result": INFO}
        case "tools/list":
            return {**named, "result": {"tools": TOOLS}}
        case "tools/call":
            return {**named, "result": {"content": [{"type": "text", "text": "done"}]}}
    return {**named, "error": {"code": -32601, "message": "Method not found"}}


def main(log: str, kinds: list[str]) -> None:
    global LOG, KIND
    counter = os.open(f"{log}.count", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(counter, b"x")
    LOG, KIND = log, kinds[(os.lseek(counter, 0, os.SEEK_CUR) - 1) % len(kinds)]
    os.close(counter)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    begin, end = KINDS[KIND]
    note()
    begin()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.write(json.dumps(answer(request)) + "\n")
            sys.stdout.flush()
    end()
    stay()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
