"""The history of a decision point: what comes before a call, as a model is shown it (docs/reference/metrics.md, section 13).

It has the messages before the one with the call, the text of that message, and of several calls in it the earlier ones with their results.
A message without calls has only the messages before it. Sizes are computed without building a history.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from msgspec.structs import replace

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
        self._last_results: tuple[int, range | list[int | None]] = (-1, [])

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
        return replace(point, messages=messages, tools=self.conversation.tools, original=original)

    def before(self, index: int, call: int | None) -> History:
        """Return the history of a call of the message at `index`; None for all its calls, and for a message without calls.

        The JSON is built when it is read: that of a message with many calls is as long as all of them.
        """
        messages = self.conversation.messages
        message = messages[index]
        if not message.calls or (not call and not message.text):
            if "texts" in self.__dict__:  # a part of a list costs less than an object that builds it
                return messages[:index], self.texts[:index]
            return messages[:index], _HistoryTexts(index, lambda: list(self.texts[:index]))
        earlier = message.calls[: call or 0]
        own = Message(message.role, message.text, earlier, None, message.name)
        given = self._results_of(index)[: len(earlier)] if earlier else range(0)
        if isinstance(given, range):  # the results follow in the order of the calls, as almost always
            results: Sequence[int] = given
            found = (*messages[:index], own, *messages[given.start : given.stop])
        else:
            results = sorted(result for result in given if result is not None)
            found = (*messages[:index], own, *[messages[at] for at in results])
        return found, _HistoryTexts(len(found), lambda: self._texts_before(index, len(earlier), results))

    def _texts_before(self, index: int, calls: int, results: Sequence[int]) -> list[Text]:
        texts = self.texts
        return [*texts[:index], replace_calls(texts[index], self.call_texts(index)[:calls]), *map(texts.__getitem__, results)]

    def _results_of(self, message: int) -> range | list[int | None]:
        """Return the message with the result of each call of a message; None for a call without one."""
        if self._last_results[0] != message:
            number = len(self.conversation.messages[message].calls)
            found = [self._results.by_call.get((message, place)) for place in range(number)]
            in_order = range(found[0], found[0] + number) if found and found[0] is not None else range(0)
            self._last_results = (message, in_order if found == list(in_order) else found)
        return self._last_results[1]

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


class _HistoryTexts(Sequence[Text]):
    """The JSON of each message of a history, built when it is first read."""

    __slots__ = ("_build", "_built", "_number")

    def __init__(self, number: int, build: Callable[[], list[Text]]) -> None:
        self._number, self._build = number, build
        self._built: list[Text] | None = None

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, at: int) -> Text: ...
    @overload
    def __getitem__(self, at: slice) -> list[Text]: ...
    def __getitem__(self, at: int | slice) -> Text | list[Text]:
        return self._texts[at]

    def __iter__(self) -> Iterator[Text]:
        return iter(self._texts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._texts == list(other)

    def __reduce__(self) -> tuple[type[list[Text]], tuple[list[Text]]]:
        return list, (self._texts,)  # for another process

    @property
    def _texts(self) -> list[Text]:
        if self._built is None:  # a cached_property takes a lock
            self._built = self._build()
        return self._built
