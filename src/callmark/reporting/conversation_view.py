"""Show one conversation message by message, with its calls and results, and how its row was understood: in the terminal, or as Markdown."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from callmark.calls.display import show_expected_call
from callmark.calls.strict import dump
from callmark.formats.unused_fields import Unused
from callmark.reporting.safety import fold_text, markdown_block, markdown_code, one_line
from callmark.reporting.terminal import call_text, print_sentence
from callmark.types import Call, Case, Conversation, Message

_MAX_NAME = 80
_MAX_FIELDS = 40  # unused fields that are named
FOLD = 600  # characters of a message that are shown
_STYLES = {
    "system": "dim",
    "developer": "dim",
    "user": "bold green",
    "assistant": "bold cyan",
    "tool": "bold yellow",
    "function": "bold yellow",
}


def show_conversation(console: Console, row: Conversation, *, case: Case | None = None, fold: int | None = FOLD) -> None:
    """Print a conversation from top to bottom, and the expected calls of a case. `fold` cuts long texts; None shows them whole.

    `case` is the case of a row that is both a conversation and a case.
    """
    show_messages(console, row.messages, fold=fold)
    if (shown := row if isinstance(row, Case) else case) is not None:
        _show_expected(console, shown, fold)


def show_messages(console: Console, messages: Sequence[Message], *, fold: int | None = FOLD) -> None:
    """Print messages from top to bottom, with their calls. `fold` cuts long texts; None shows them whole."""
    for index, message in enumerate(messages):
        if index:
            console.print(Text("   │", style="dim"))
        console.print(_message_header(index, message))
        if message.text:
            print_indented(console, Text(fold_text(message.text, fold)))
        for call in message.calls:
            print_indented(console, call_text(call, fold))


def show_understanding(console: Console, row: Conversation, unused: Unused) -> None:
    """Print the tools of a row, its malformed calls with the reasons, and the fields of the row that are not used."""
    console.print()
    for label, text in _understanding(row, unused):
        print_sentence(console, Text.assemble((f"{label}: ", "bold"), text), indent=3)


def _understanding(row: Conversation, unused: Unused) -> Iterator[tuple[str, str]]:
    names = ", ".join(one_line(tool.name, _MAX_NAME) for tool in row.tools)
    yield f"Tools ({len(row.tools):,})", names or "none"
    for where, call in _malformed_calls(row):
        name = f"{one_line(call.name, _MAX_NAME)}: " if call.name else ""
        yield f"Malformed call in {where}", f"{name}{one_line(call.malformed, 4 * _MAX_NAME)}"
    fields = ", ".join(one_line(field, _MAX_NAME) for field in unused.fields[:_MAX_FIELDS])
    more = f" and {len(unused.fields) - _MAX_FIELDS:,} more" if len(unused.fields) > _MAX_FIELDS else ""
    yield "Unused fields", f"{fields or 'none'}{more}{'' if unused.complete else ' (the row is long: not every field was checked)'}"


def _malformed_calls(row: Conversation) -> Iterator[tuple[str, Call]]:
    for index, message in enumerate(row.messages):
        yield from ((f"message {index}", call) for call in message.calls if call.malformed)
    if isinstance(row, Case):
        yield from (("the expected calls", call) for call in row.expected if call.malformed)


def markdown(row: Conversation, unused: Unused | None = None, *, case: Case | None = None, fold: int | None = FOLD) -> str:
    """Return a conversation as Markdown. All text from data is code, so none of it is markup, a link or a mention.

    `case` is the case of a row that is both a conversation and a case.
    """
    title = f"{row.place}" if row.place else row.id
    parts = [f"# {_code(title)}"]
    for index, message in enumerate(row.messages):
        called = f" calls {', '.join(_code(call.name) if call.name else '(no name)' for call in message.calls)}" if message.calls else ""
        role = message.role.upper() if message.role in _STYLES else _code(message.role.upper())
        named = f" {_code(message.name)}" if message.name else ""
        parts.append(f"**{index} {role}**{named}{called}")
        if message.text:
            parts.append(markdown_block(fold_text(message.text, fold)))
        parts += [markdown_block(fold_text(str(call), fold), "python") for call in message.calls]
    if (shown := row if isinstance(row, Case) else case) is not None:
        parts += [markdown_block(fold_text(shown.instructions, fold))] if shown.instructions else []
        parts.append("**EXPECTED**")
        parts += [markdown_block(fold_text(show_expected_call(call), fold), "python") for call in shown.expected] or ["no call"]
        parts += [f"reply: {_code(dump(shown.reply))}"] if shown.reply else []
    if unused is not None:
        parts += [f"**{label}**: {_code(text)}" for label, text in _understanding(row, unused)]
    return "\n\n".join(parts) + "\n"


def _message_header(index: int, message: Message) -> Text:
    text = Text(f"{index:>2} ", style="dim")
    text.append(one_line(message.role.upper(), _MAX_NAME), style=_STYLES.get(message.role, "bold"))
    if message.name:
        text.append(f" {one_line(message.name, _MAX_NAME)}")
    if message.calls:
        text.append(" ──▶ ", style="dim")
        text.append(one_line(", ".join(call.name or "(no name)" for call in message.calls), _MAX_NAME * 4), style="bold")
    return text


def _show_expected(console: Console, case: Case, fold: int | None) -> None:
    if case.instructions:
        console.print(Text("   SCENARIO ", style="bold green") + Text(one_line(case.scenario_type, _MAX_NAME)))
        for label, text in (("", case.description), ("", case.instructions), ("Done when: ", case.completion)):
            if text:
                print_indented(console, Text(label + fold_text(text, fold)))
    console.print(Text("   │", style="dim"))
    console.print(Text("   EXPECTED", style="bold magenta"))
    for call in case.expected:
        print_indented(console, call_text(call, fold, expected=True))
    if not case.expected:
        print_indented(console, Text("no call"))
    if case.reply:
        print_indented(console, Text(f"reply: {fold_text(dump(case.reply), fold)}"))


def print_indented(console: Console, text: Text) -> None:
    """Print a text below a header, its lines wrapped and indented."""
    for line in text.split("\n", allow_blank=True):
        for part in line.wrap(console, max(console.width - 6, 20)) or [Text("")]:
            console.print(Text("      ") + part)


def _code(text: str) -> str:
    return markdown_code(text, _MAX_NAME * 4)


def contains_text(row: Conversation, query: str) -> bool:
    """Return whether a text occurs in a message, a call or a scenario, ignoring case."""
    query = query.casefold()
    calls: tuple[Call, ...] = row.expected if isinstance(row, Case) else ()
    texts = (text for message in row.messages for text in (message.text, *map(str, message.calls)))
    scenario = (row.instructions, row.description) if isinstance(row, Case) else ()
    return any(query in text.casefold() for text in (*texts, *scenario, *map(str, calls)))
