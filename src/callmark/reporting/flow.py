"""One conversation as a flow: who spoke, which tool was called with what, what came back. For the terminal, or as Markdown."""

import re

from rich.console import Console
from rich.text import Text

from callmark.reporting.safety import folded, one_line, safe
from callmark.reporting.terminal import code
from callmark.types import Call, Case, Conversation, Message

_NAME = 80
FOLD = 600  # characters of a message before the rest is folded away
_STYLES = {
    "system": "dim",
    "developer": "dim",
    "user": "bold green",
    "assistant": "bold cyan",
    "tool": "bold yellow",
    "function": "bold yellow",
}


def show_flow(console: Console, row: Conversation, *, fold: int | None = FOLD) -> None:
    """The conversation from top to bottom; of a case also what is expected."""
    for index, message in enumerate(row.messages):
        if index:
            console.print(Text("   │", style="dim"))
        console.print(_head(index, message))
        if message.text:
            _indented(console, Text(folded(message.text, fold)))
        for call in message.calls:
            _indented(console, code(call, fold))
    if isinstance(row, Case):
        _expected(console, row, fold)


def markdown(row: Conversation, *, fold: int | None = FOLD) -> str:
    """The same as Markdown. Everything from the data stands in code blocks, so that none of it is read as markup."""
    title = f"{row.place}" if row.place else row.id
    parts = [f"# {_inline(title)}"]
    for index, message in enumerate(row.messages):
        called = f" calls {', '.join(_inline(call.name or 'nothing') for call in message.calls)}" if message.calls else ""
        named = f" {_inline(message.name)}" if message.name else ""
        parts.append(f"**{index} {_inline(message.role.upper())}**{named}{called}")
        if message.text:
            parts.append(_block(folded(message.text, fold)))
        parts += [_block(folded(str(call), fold), "python") for call in message.calls]
    if isinstance(row, Case):
        parts += [_inline(row.instructions)] if row.instructions else []
        parts.append("**expected**")
        parts += [_block(folded(str(call), fold), "python") for call in row.expected] or ["no call"]
    return "\n\n".join(parts) + "\n"


def _head(index: int, message: Message) -> Text:
    text = Text(f"{index:>2} ", style="dim")
    text.append(one_line(message.role.upper(), _NAME), style=_STYLES.get(message.role, "bold"))
    if message.name:
        text.append(f" {one_line(message.name, _NAME)}")
    if message.calls:
        text.append(" ──▶ ", style="dim")
        text.append(one_line(", ".join(call.name or "(no name)" for call in message.calls), _NAME * 4), style="bold")
    return text


def _expected(console: Console, case: Case, fold: int | None) -> None:
    if case.instructions:
        console.print(Text("   SCENARIO ", style="bold green") + Text(one_line(case.scenario_type, _NAME)))
        for label, text in (("", case.description), ("", case.instructions), ("done when: ", case.completion)):
            if text:
                _indented(console, Text(label + folded(text, fold)))
    console.print(Text("   │", style="dim"))
    console.print(Text("   EXPECTED", style="bold magenta"))
    for call in case.expected:
        _indented(console, code(call, fold))
    if not case.expected:
        _indented(console, Text("no call"))


def _indented(console: Console, text: Text) -> None:
    for line in text.split("\n", allow_blank=True):
        for part in line.wrap(console, max(console.width - 6, 20)) or [Text("")]:
            console.print(Text("      ") + part)


def _inline(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>()#+.!|~-])", r"\\\1", " ".join(safe(text).split()))


def _block(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def found_in(row: Conversation, wanted: str) -> bool:
    """Whether a text stands in what was said or called, in any case."""
    wanted = wanted.casefold()
    calls: tuple[Call, ...] = row.expected if isinstance(row, Case) else ()
    said = (text for message in row.messages for text in (message.text, *map(str, message.calls)))
    asked = (row.instructions, row.description) if isinstance(row, Case) else ()
    return any(wanted in text.casefold() for text in (*said, *asked, *map(str, calls)))
