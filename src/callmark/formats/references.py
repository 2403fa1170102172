"""What the rows of a file define for later rows: tool lists and conversations, by id.

Conversations are held as text, and only those used last as messages: shuffled records cost no more than reading each of them inline. The
text of the oldest is dropped when there are more than `MAX_HELD` bytes of it, so a file of any size is read in bounded memory if its
records follow their conversations.
"""

from collections.abc import Callable

from msgspec import Struct

from callmark.calls.history import Histories
from callmark.errors import BadInput
from callmark.types import Place, Tool

MAX_HELD = 1 << 28  # bytes of conversations
_MAX_PARSED = 8  # conversations

_ORDER_HINT = "Put each conversation directly before the records that use it, as callmark expand --by-reference does."


class _Defined(Struct, frozen=True):
    text: bytes
    place: Place


class References:
    """The tool lists and conversations that the rows of a file have defined so far."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything, before a file is read again."""
        self._tools: dict[str, tuple[_Defined, tuple[bytes, tuple[Tool, ...]]]] = {}
        self._conversations: dict[str, _Defined] = {}
        self._dropped: set[str] = set()
        self._held = 0
        self._parsed: dict[str, Histories] = {}  # the one used last comes last

    def add_tools(self, name: str, text: bytes, place: Place, tools: tuple[bytes, tuple[Tool, ...]]) -> None:
        """Define a tool list. The same list under the same id may be repeated."""
        defined = self._tools.setdefault(name, (_Defined(text, place), tools))[0]
        if defined.text != text:
            raise BadInput(f"tools.id: {name[:80]!r} is already defined with different tools in {defined.place}")

    def tools(self, name: str) -> tuple[bytes, tuple[Tool, ...]]:
        """Return a tool list: its JSON, and the tools."""
        if name not in self._tools:
            raise BadInput(f"conversation.tools_ref: the tools {name[:80]!r} are not defined in an earlier row", _ORDER_HINT)
        return self._tools[name][1]

    def add_conversation(self, name: str, text: bytes, place: Place, histories: Histories) -> None:
        """Define a conversation. The same conversation under the same id may be repeated."""
        defined = self._conversations.get(name)
        if defined is not None:
            if defined.text != text:
                raise BadInput(f"conversation.id: {name[:80]!r} is already defined with different content in {defined.place}")
            return
        self._conversations[name] = _Defined(text, place)
        self._held += len(text)
        self._dropped.discard(name)
        self._use(name, histories)
        while self._held > MAX_HELD and len(self._conversations) > 1:
            oldest = next(iter(self._conversations))
            self._held -= len(self._conversations.pop(oldest).text)
            self._parsed.pop(oldest, None)
            self._dropped.add(oldest)

    def histories(self, name: str, parse: Callable[[bytes, Place], Histories]) -> Histories:
        """Return the histories of a conversation, which is parsed again if it was not used lately."""
        if name not in self._conversations:
            why = f"more than {MAX_HELD >> 20} MiB of conversations back" if name in self._dropped else "not defined in an earlier row"
            raise BadInput(f"source.conversation: {name[:80]!r} is {why}", _ORDER_HINT)
        defined = self._conversations[name]
        histories = self._parsed.pop(name, None) or parse(defined.text, defined.place)
        self._use(name, histories)
        return histories

    def _use(self, name: str, histories: Histories) -> None:
        self._parsed[name] = histories
        if len(self._parsed) > _MAX_PARSED:
            del self._parsed[next(iter(self._parsed))]
