"""Draft scenarios from conversations, and say what a person should know before using them."""

import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from callmark.data.draft import draft_scenario
from callmark.simulation.tool_lists.verbs import only_reads
from callmark.types import Case, Conversation, Tool
from callmark.wording import pluralize

_SIMPLE_NAME = re.compile(r"[\w.:/-]+")
_MAX_LISTED = 12  # tools in a note


class Drafting:
    """Drafts scenarios. A tool only reads if it says so (`readOnlyHint`), if a pattern of `read_only` matches it, or by its verb."""

    def __init__(self, read_only: Sequence[str] = ()) -> None:
        self._read_only = tuple(read_only)
        self._drafts = 0
        self._without_calls = 0
        self._reading: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def draft(self, conversation: Conversation) -> Case:
        """Return the draft of a conversation. One in which the user says nothing raises `BadInput`."""
        draft = draft_scenario(conversation, self._only_reads)
        self._drafts += 1
        self._without_calls += not draft.case.expected
        self._reading.update(draft.reading)
        self._left_out += draft.left_out
        return draft.case

    def notes(self) -> list[str]:
        """Return what to check, for people; nothing if nothing was drafted."""
        if not self._drafts:
            return []
        drafts = "scenario is a draft" if self._drafts == 1 else "scenarios are drafts"
        notes = [f"{self._drafts:,} {drafts} (type draft): check the instructions and the expected calls before you rely on them"]
        if self._reading:
            names = [name for name, _ in self._reading.most_common(_MAX_LISTED) if _SIMPLE_NAME.fullmatch(name)]
            listed = ", ".join(f'"{name}"' for name in names)
            notes.append(f"read-only calls are not expected: to ignore them, add [evaluators.process] ignore = [{listed}] to callmark.toml")
        notes += [f"not expected: {what} ({count:,})" for what, count in self._left_out.items()]
        if self._without_calls:
            notes.append(f"{pluralize(self._without_calls, 'draft')} without an expected call")
        return notes

    def _only_reads(self, tool: Tool) -> bool:
        return any(fnmatchcase(tool.name, pattern) for pattern in self._read_only) or only_reads(tool)
