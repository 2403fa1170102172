"""What a tool does, judging by its annotations, name and description: it reads, creates, changes or deletes something."""

import re
from typing import Literal

from callmark.simulation.mock_api.names import split_name
from callmark.types import Tool

Method = Literal["get", "post", "put", "delete"]

CREATE = frozenset(
    {
        "create",
        "add",
        "register",
        "insert",
        "new",
        "make",
        "open",
        "submit",
        "book",
        "schedule",
        "place",
        "upload",
        "save",
        "write",
        "issue",
    }
    | {"draft", "start", "launch", "append", "push", "publish", "import", "reserve", "order", "buy", "purchase", "invite", "subscribe"}
)
CHANGE = frozenset(
    {"update", "modify", "edit", "change", "set", "rename", "move", "replace", "patch", "configure", "assign", "adjust", "reschedule"}
    | {
        "enable",
        "disable",
        "toggle",
        "mark",
        "reset",
        "merge",
        "put",
        "apply",
        "approve",
        "reject",
        "close",
        "reopen",
        "resolve",
        "archive",
    }
    | {"cancel", "return", "exchange", "refund", "pay", "transfer", "send", "reply", "forward", "post", "share", "lock", "unlock", "renew"}
    | {"extend", "confirm", "activate", "deactivate", "suspend", "resume", "stop", "restart", "run", "execute", "trigger", "commit"}
    | {"checkout", "upgrade", "downgrade", "redeem", "grant", "revoke", "attach", "detach", "link", "unlink", "rate", "follow", "complete"}
)
DELETE = frozenset({"delete", "remove", "drop", "clear", "destroy", "purge", "erase", "unsubscribe"})
LIST = frozenset({"list", "search", "find", "query", "browse", "filter", "lookup"})
_READ = LIST | frozenset(
    {
        "get",
        "read",
        "fetch",
        "show",
        "view",
        "look",
        "retrieve",
        "check",
        "describe",
        "count",
        "calculate",
        "compute",
        "convert",
        "estimate",
    }
    | {"compare", "preview", "summarize", "translate", "validate", "verify", "echo", "status", "diff", "log", "inspect", "track", "see"}
    | {"think", "explain", "analyze", "predict", "recommend", "suggest", "download", "export", "print", "who", "what", "is", "has", "can"}
)
_WRITES = {**dict.fromkeys(CREATE, "post"), **dict.fromkeys(CHANGE, "put"), **dict.fromkeys(DELETE, "delete")}
_METHODS: dict[str, Method] = {**dict.fromkeys(_READ, "get"), **_WRITES}  # type: ignore[dict-item]
_FIRST_SENTENCE = re.compile(r"[^.!?\n]{1,300}")


def find_verb(tool: Tool) -> str:
    """Return the verb in a tool's name; empty if it has none. `create` for `git_create_branch`."""
    words = split_name(tool.name)
    return next((word for word in words if word in _METHODS), "")


def method_of(tool: Tool) -> Method:
    """Return what a tool does, as an HTTP method. A tool that is declared read-only reads; one without a verb does what its description
    says first, and reads if that has no verb either.
    """
    if tool.read_only:
        return "get"
    verb = find_verb(tool)
    if verb:
        return _METHODS[verb]
    sentence = _FIRST_SENTENCE.search(tool.description)
    for word in split_name(sentence[0]) if sentence else ():
        for form in (word, word.removesuffix("s"), word.removesuffix("es")):
            if form in _METHODS and form != "return":  # `Returns the …` reads
                return _METHODS[form]
    return "get"


def only_reads(tool: Tool) -> bool:
    """Return whether a tool is known to change nothing: it is declared read-only, or the verb in its name says so."""
    return tool.read_only or _METHODS.get(find_verb(tool)) == "get"
