"""The statistics of one file or of several, side by side, in the terminal."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from callmark.data.describe import Description
from callmark.data.stats import Stats
from callmark.reporting.safety import one_line, safe
from callmark.reporting.terminal import bar, number, table

_ROWS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")
_FIELDS = ("count", "mean", "std", "min", "q25", "q50", "q75", "max")
_BAR = 24
_NAME = 48
_MOST = 12  # rows of a ranking
_MOST_BARS = 30

Named = Sequence[tuple[str, Stats]]


def show_stats(console: Console, files: Named) -> None:
    """The table of document 001 first, then who speaks, what is called, in which order, with which arguments."""
    _description(console, files)
    _distribution(console, "turns in a conversation", [(name, stats.turns_counts) for name, stats in files])
    _distribution(console, "calls in a conversation", [(name, stats.calls_counts) for name, stats in files])
    _ranking(console, "roles", files, lambda stats: stats.roles, "messages")
    _ranking(console, "calls per tool", files, lambda stats: stats.tools, "calls")
    _said(console, "never called", files, lambda stats: stats.never_called)
    _said(console, "called, not listed", files, lambda stats: stats.not_listed)
    _malformed(console, files)
    _ranking(console, "first call", files, lambda stats: stats.first_call, "conversations")
    _ranking(console, "last call", files, lambda stats: stats.last_call, "conversations")
    _ranking(
        console,
        "calls in one message",
        files,
        lambda stats: {str(key): value for key, value in stats.calls_per_message.items()},
        "messages",
    )
    _ranking(console, "which call follows which", files, _transitions, "times")
    _ranking(
        console, "tools used together", files, lambda stats: {", ".join(one.tools): one.count for one in stats.tool_sets}, "conversations"
    )
    _coverage(console, files)


def _description(console: Console, files: Named) -> None:
    several = len(files) > 1
    heads = [f"{one_line(name, 24)} {what}" if several else what for name, _ in files for what in ("num_turns", "tool_calls")]
    made = table("", *heads)
    for row, field in zip(_ROWS, _FIELDS, strict=True):
        made.add_row(row, *(_cell(part, field) for _, stats in files for part in (stats.num_turns, stats.tool_calls)))
    made.add_row("total", *(number(part.total) for _, stats in files for part in (stats.num_turns, stats.tool_calls)))
    console.print(made)


def _cell(part: Description, field: str) -> str:
    value = getattr(part, field)
    return number(value)


def _distribution(console: Console, title: str, files: Sequence[tuple[str, dict[int, int]]]) -> None:
    """A bar for each value, or for each of a few ranges where there are many values."""
    console.print()
    lowest, highest = min(min(counts) for _, counts in files), max(max(counts) for _, counts in files)
    step = max(1, -(-(highest - lowest + 1) // _MOST_BARS))
    made = table(title, *_columns(files, "conversations"))
    binned = [_binned(counts, lowest, step) for _, counts in files]
    tallest = [max(counts.values()) for counts in binned]
    totals = [sum(counts.values()) for counts in binned]
    for at in range(lowest, highest + 1, step):
        label = str(at) if step == 1 else f"{at}–{at + step - 1}"
        cells = [_counted(counts.get(at, 0), total, top, len(files)) for counts, total, top in zip(binned, totals, tallest, strict=True)]
        made.add_row(label, *(cell for pair in cells for cell in pair))
    _left(made)
    console.print(made)


def _binned(counts: dict[int, int], lowest: int, step: int) -> dict[int, int]:
    binned: dict[int, int] = {}
    for value, count in counts.items():
        at = lowest + (value - lowest) // step * step
        binned[at] = binned.get(at, 0) + count
    return binned


def _columns(files: Sequence[tuple[str, object]], what: str) -> list[str]:
    return [column for name, _ in files for column in (one_line(name, 24) if len(files) > 1 else what, "")]


def _counted(count: int, total: int, top: int, files: int) -> tuple[str, Text]:
    """The count, and a bar; with several files the share as well, so that files of different sizes can be compared."""
    width = _BAR if files == 1 else _BAR // 2
    share = f" {count / total:.0%}" if total and files > 1 and count else ""
    return number(count) if count else "", Text(bar(count / top if top else 0, width) + share, style="cyan")


def _left(made: object) -> None:
    for index, column in enumerate(made.columns):  # type: ignore[attr-defined]
        if index and index % 2 == 0:
            column.justify = "left"


def _ranking(console: Console, title: str, files: Named, counts_of: Callable[[Stats], dict[str, int]], what: str) -> None:
    """The most frequent first, by the first file."""
    counts = [counts_of(stats) for _, stats in files]
    names = list(dict.fromkeys(name for one in counts for name in one))
    if not names:
        return
    console.print()
    made = table(title, *_columns(files, what))
    tops = [max(one.values(), default=0) for one in counts]
    totals = [sum(one.values()) for one in counts]
    for name in names[:_MOST]:
        cells = [_counted(one.get(name, 0), total, top, len(files)) for one, total, top in zip(counts, totals, tops, strict=True)]
        made.add_row(one_line(name, _NAME * 2) or "(no name)", *(cell for pair in cells for cell in pair))
    _left(made)
    console.print(made)
    if len(names) > _MOST:
        console.print(Text(f"… and {len(names) - _MOST:,} more (--json has all)", style="dim"))


def _said(console: Console, title: str, files: Named, names_of: Callable[[Stats], list[str]]) -> None:
    for name, stats in files:
        if names := names_of(stats):
            where = f" in {one_line(name, 24)}" if len(files) > 1 else ""
            console.print()
            console.print(
                Text.assemble((f"{title}{where}: ", "bold"), safe(", ".join(names[:_MOST])) + (" …" if len(names) > _MOST else ""))
            )


def _malformed(console: Console, files: Named) -> None:
    for name, stats in files:
        if stats.malformed_calls:
            where = f" in {one_line(name, 24)}" if len(files) > 1 else ""
            text = f"{number(stats.malformed_calls)} of {number(stats.tool_calls.total)} calls malformed{where}: callmark lint says which"
            console.print()
            console.print(Text(text, style="red"))


def _transitions(stats: Stats) -> dict[str, int]:
    pairs = {f"{before} → {after}": count for before, afters in stats.follows.items() for after, count in afters.items()}
    return dict(sorted(pairs.items(), key=lambda item: -item[1]))


def _coverage(console: Console, files: Named) -> None:
    """How often each argument is given; a required one that is missing stands out."""
    for name, stats in files:
        if not any(stats.arguments.values()):
            continue
        console.print()
        where = f" in {one_line(name, 24)}" if len(files) > 1 else ""
        made = table(f"arguments given{where}", "", "calls", "share")
        made.columns[1].justify = "left"
        for tool, arguments in stats.arguments.items():
            for index, (key, argument) in enumerate(arguments.items()):
                mark = "" if argument.required else " (not in the schema)" if argument.required is None else " (optional)"
                lacking = argument.required and argument.share < 1
                share = Text(f"{argument.share:.0%}", style="red" if lacking else "")
                made.add_row(one_line(tool, _NAME) if index == 0 else "", one_line(key, _NAME) + mark, number(argument.given), share)
        console.print(made)
