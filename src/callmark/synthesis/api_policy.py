"""The policy of conversations about any tools: what the agent may do without asking, as text and as rules."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_TEXT = """Use the tools for everything that you tell or do. Do not make up anything that neither the user nor a tool has told you.
Before you call a tool that changes something ({writes}), say what you are going to do and get an explicit yes; one yes is for one call.
Refuse what no tool can do, and what the descriptions of the tools do not allow."""


_BADGE = re.compile(r"\[?!\[[^\]\n]*\]\([^)\n]*\)(?:\]\([^)\n]*\))?")  # an image, or one that links somewhere
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>|<!--.*?-->", re.DOTALL)
_EMPTY_HEADING = re.compile(r"^#+ [^\n]*\n+(?=#|\Z)", re.MULTILINE)


def plain_description(text: str) -> str:
    """Return the description of an API as a policy: without images, addresses of links, HTML tags, and headings that nothing follows."""
    text = _LINK.sub(r"\1", _BADGE.sub("", _TAG.sub("", text)))
    return re.sub(r"\n{3,}", "\n\n", _EMPTY_HEADING.sub("", text.strip() + "\n")).strip()


def tool_policy(writes: Sequence[str]) -> str:
    """Return the policy text. `writes` are the names of the tools that change something."""
    return _TEXT.format(writes=", ".join(writes) or "none here does")


def tool_rules(writes: Sequence[str]) -> Mapping[str, Any]:
    """Return rules that require a separate confirmation for every write; none if there are no writes."""
    if not writes:
        return {}
    return {
        "rules": [
            {"id": "ask-first", "says": "Every change needs the user's confirmation first.", "confirmed": list(writes)},
            {"id": "one-at-a-time", "says": "A confirmation covers one change only.", "once_per_confirmation": list(writes)},
        ]
    }
