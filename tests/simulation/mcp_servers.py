"""Tool servers for tests: one with the official SDK, and one without it that starts fast and can misbehave in any way."""

import os
import shlex
import socket
import sys
import time
from pathlib import Path

REAL = '''
import asyncio, os, sys, time
from contextvars import ContextVar
from functools import partial
from mcp.types import CallToolResult

NAME, CONVERSATION = "dev.callmark/conversations", "dev.callmark/conversation"
shared = "shared" in sys.argv
of = ContextVar("of", default="")
states = {}

try:
    from mcp.server.mcpserver import Extension, Image, MCPServer
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import FastMCP, Image

    port = int(sys.argv[-1]) if "http" in sys.argv else 8000
    server = FastMCP("notes", host="127.0.0.1", port=port)
    if shared:
        inner = server._mcp_server
        inner.create_initialization_options = partial(inner.create_initialization_options, experimental_capabilities={NAME: {}})

    def conversation():
        meta = server.get_context().request_context.meta
        return (meta.model_dump() if meta else {}).get(CONVERSATION, "")

    def run(*arguments, **others):
        server.run(*arguments)
else:
    class Conversations(Extension):
        identifier = NAME

    async def separate_conversations(context, call_next):
        of.set((context.meta or {}).get(CONVERSATION, ""))
        return await call_next(context)

    server = MCPServer("notes", extensions=[Conversations()] if shared else [], middleware=[separate_conversations])
    conversation, run = of.get, server.run

def notes():
    return states.setdefault(conversation() if shared else "", {})

@server.tool()
def add_note(title: str, text: str = "") -> str:
    """Add a note."""
    notes()[title] = {"text": text}
    return f"added {title}"

@server.tool()
def pid() -> str:
    return str(os.getpid())

@server.tool()
def structured() -> CallToolResult:
    return CallToolResult.model_validate({"content": [], "structuredContent": {"count": 2}})

@server.tool()
def refuse() -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": "not allowed"}], "isError": True})

@server.tool()
def picture() -> list:
    return ["before", Image(data=b"abc", format="png")]

@server.tool()
def big() -> str:
    return "é" * 1_000_000

@server.tool()
def noisy() -> str:
    sys.stderr.write("noise" * 1_000_000)
    return "done"

@server.tool()
async def hang() -> str:
    await asyncio.sleep(1000)

@server.tool()
async def block() -> str:
    time.sleep(1000)

@server.tool()
def die() -> str:
    print("\\nthe disk is full", file=sys.stderr, flush=True)
    os._exit(7)

@server.resource("state://current")
def state() -> dict:
    return {"notes": notes()}

if "http" in sys.argv:
    run("streamable-http", host="127.0.0.1", port=int(sys.argv[-1]))
else:
    run()
'''

RAW = """
import json, os, subprocess, sys, time

def write(value):
    sys.stdout.write(json.dumps(value) + "\\n")
    sys.stdout.flush()

def answer(result):
    write({"jsonrpc": "2.0", "id": request["id"], "result": result})

def fail(code, message):
    write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})

def text(content):
    answer({"content": [{"type": "text", "text": content}]})

TOOLS = [{"name": "act", "inputSchema": {"type": "object"}}]

def act(arguments):
    text("done")

def respond(request):
    match request["method"]:
        case "server/discover":
            fail(-32601, "Method not found")
        case "initialize":
            answer({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}})
        case "tools/list":
            answer({"tools": TOOLS})
        case "tools/call":
            act(request["params"].get("arguments", {}))

%s

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        respond(request)
"""


def real_server(folder: Path, *arguments: str) -> str:
    """Return the command of a server with the SDK."""
    path = folder / "notes_server.py"
    path.write_text(REAL, encoding="utf-8")
    return shlex.join([sys.executable, str(path), *arguments])


def raw_server(folder: Path, code: str = "") -> str:
    """Return the command of a server without the SDK; the code may redefine any part of it."""
    path = folder / f"raw_{len(list(folder.iterdir()))}.py"
    path.write_text(RAW % code, encoding="utf-8")
    return shlex.join([sys.executable, "-S", "-E", str(path)])


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z" if Path("/proc").is_dir() else True


def ends_soon(pid: int, seconds: float = 3) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if not is_alive(pid):
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False
