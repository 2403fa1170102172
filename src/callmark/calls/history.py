"""The history of a decision point: what comes before a call, as a model is shown it (docs/reference/metrics.md, section 13).

It has the messages before the one with the call, the text of that message, and of several calls in it the earlier ones with their results.
A message without calls has only the messages before it. Sizes are computed without building a history.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from callmark.calls.messages import call_texts, message_texts, replace_calls
from callmark.calls.results import MatchedResults, match_results
from callmark.types import Case, Conversation, Message, SourceRow, Text

History = tuple[tuple[Message, ...], Sequence[Text]]  # messages, and the JSON of each
_CALLS_KEY = len(b'"tool_calls":[]')


class Histories:
    """The histories of one conversation. Everything they share is computed once."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._openai = conversation.original.openai_calls and conversation.original.messages is conversation.messages
        self._last_calls: tuple[int, list[bytes]] = (-1, [])

    @cached_property
    def texts(self) -> Sequence[Text]:
        """The JSON of each message."""
        return message_texts(self.conversation)

    def call_texts(self, message: int) -> list[bytes]:
        """Return the JSON of each call of a message."""
        if self._last_calls[0] != message:
            calls = call_texts(self.conversation.messages[message], self.texts[message], openai=self._openai)
            self._last_calls = (message, calls)
        return self._last_calls[1]

    def complete(self, point: Case) -> Case:
        """Return a decision point with its messages and tools. Its `source` must name a message and a call of this conversation."""
        source, given, shared = point.source, point.original, self.conversation.original
        assert source is not None
        messages, texts = self.before(source.message, source.call)
        original = SourceRow(
            messages, shared.tools, given.row, b"", texts, shared.raw_tools, False,
            given.expected, given.expected_texts, given.expected_body, self.conversation,
        )  # fmt: skip
        return Case(
            point.id, messages, self.conversation.tools, point.place, original,
            expected=point.expected, alternatives=point.alternatives, source=source, group=point.group,
            states_expectation=point.states_expectation,
        )  # fmt: skip

    def before(self, index: int, call: int | None) -> History:
        """Return the history of a call of the message at `index`; None for all its calls, and for a message without calls."""
        messages, texts = self.conversation.messages, self.texts
        message = messages[index]
        if not message.calls or (not call and not message.text):
            return messages[:index], texts[:index]
        earlier = self.call_texts(index)[:call] if call else []
        own = Message(message.role, message.text, message.calls[: len(earlier)], None, message.name)
        results = sorted(found for place in range(len(earlier)) if (found := self._results.by_call.get((index, place))) is not None)
        return (
            (*messages[:index], own, *[messages[at] for at in results]),
            [*texts[:index], replace_calls(texts[index], earlier), *[texts[at] for at in results]],
        )

    def ends_in_assistant(self, index: int, call: int | None) -> bool:
        """Return whether the last message of the history of a call is one of the assistant."""
        messages = self.conversation.messages
        message = messages[index]
        if not message.calls or (not call and not message.text):
            return index > 0 and messages[index - 1].role == "assistant"
        return message.role == "assistant" and not any((index, place) in self._results.by_call for place in range(call or 0))

    def sizes(self, index: int) -> Iterator[int]:
        """Yield the size of the history, joined by commas, of each call of the message at `index`; of one without calls, once."""
        message = self.conversation.messages[index]
        before = self._offsets[index] - bool(index)  # each text is counted with a comma, and the last has none
        if not message.calls:
            yield before
            return
        bare = len(replace_calls(self.texts[index], ()))
        own = before + bool(index) + bare
        yield own if message.text else before
        calls = _CALLS_KEY + (bare > len(b"{}"))  # the key, with a comma if there are others
        for place, text in enumerate(self.call_texts(index)[:-1]):
            result = self._results.by_call.get((index, place))
            calls += len(text) + bool(place)
            own += 0 if result is None else len(bytes(self.texts[result])) + 1
            yield own + calls

    @cached_property
    def _results(self) -> MatchedResults:
        return match_results(self.conversation.messages)

    @cached_property
    def _offsets(self) -> list[int]:
        return list(accumulate((len(bytes(text)) + 1 for text in self.texts), initial=0))
