"""Write the messages of a framework, as it returned them, to the file that CALLMARK_RECORD names. Without it, nothing changes."""

import json
import os
from pathlib import Path
from typing import Any

from callmark.integrations.framework import AgentTurn, FrameworkAgent

_turns: list[Any] = []


def start() -> None:
    """Record every turn from now on."""
    path = os.environ.get("CALLMARK_RECORD")
    if not path:
        return
    append = FrameworkAgent._append

    def record(self: FrameworkAgent, session: Any, turn: AgentTurn) -> None:
        _turns.append({"messages": turn.messages, "input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens})
        Path(path).write_text(json.dumps(_turns, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        append(self, session, turn)

    FrameworkAgent._append = record  # type: ignore[method-assign]
