"""The statistics of one file or of several, side by side, in the terminal."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.data.stats import Argument, Stats
from callmark.reporting.safety import one_line, safe
from callmark.reporting.terminal import bar, number, table

_ROWS = {
    "count": "count",
    "mean": "mean",
    "std": "std",
    "min": "min",
    "25%": "q25",
    "50%": "q50",
    "75%": "q75",
    "max": "max",
    "total": "total",
}
_BAR = 24
_NAME = 48
_HEAD = 24  # characters of a file's name over its column
_MOST = 12  # rows of a ranking
_MOST_BARS = 30
_GAP = 3  # values in a row that nothing has, from which on they are not drawn one by one

Named = Sequence[tuple[str, Stats]]


def show_stats(console: Console, files: Named) -> None:
    """The table of document 001 first, then who speaks, what is called, in which order, with which arguments."""
    named = list(zip(_short_names([name for name, _ in files]), [stats for _, stats in files], strict=True))
    _description(console, named)
    if any(stats.num_turns.max for _, stats in named):
        _distribution(console, "turns in a conversation", [(name, stats.turns_counts) for name, stats in named])
    _distribution(console, "calls in a conversation", [(name, stats.calls_counts) for name, stats in named])
    _ranking(console, "roles", named, lambda stats: stats.roles, "messages")
    _ranking(console, "calls per tool", named, lambda stats: stats.tools, "calls")
    _said(console, "never called", named, lambda stats: stats.never_called)
    _said(console, "called, not listed", named, lambda stats: stats.not_listed)
    _malformed(console, named)
    _ranking(console, "first call", named, lambda stats: stats.first_call, "conversations")
    _ranking(console, "last call", named, lambda stats: stats.last_call, "conversations")
    _ranking(
        console,
        "calls in one message",
        named,
        lambda stats: {str(key): value for key, value in stats.calls_per_message.items()},
        "messages",
    )
    _ranking(console, "which call follows which", named, _transitions, "times")
    _ranking(
        console, "tools used together", named, lambda stats: {", ".join(one.tools): one.count for one in stats.tool_sets}, "conversations"
    )
    _coverage(console, named)


def _short_names(paths: Sequence[str]) -> list[str]:
    """What tells the files apart: their paths less what all of them begin with, cut in front where they are still long."""
    folders = [os.path.dirname(path) for path in paths]
    shared = os.path.commonpath(folders) if len({os.path.isabs(folder) for folder in folders}) == 1 else ""
    shorter = [os.path.relpath(path, shared or ".") if len(paths) > 1 and path != "-" else path for path in paths]
    return [one_line(name if len(name) <= _HEAD else f"…{name[1 - _HEAD :]}", _HEAD) for name in shorter]


def _description(console: Console, files: Named) -> None:
    parts = ("num_turns", "tool_calls")
    made = table("", *(f"{name} {part}" if len(files) > 1 else part for name, _ in files for part in parts))
    for row, field in _ROWS.items():
        made.add_row(row, *(number(getattr(getattr(stats, part), field)) for _, stats in files for part in parts))
    console.print(made)


def _distribution(console: Console, title: str, files: Sequence[tuple[str, dict[int, int]]]) -> None:
    """A bar for each value, or for each of a few ranges where there are many values."""
    lowest, highest = min(min(counts) for _, counts in files), max(max(counts) for _, counts in files)
    step = max(1, -(-(highest - lowest + 1) // _MOST_BARS))
    binned = [_binned(counts, lowest, step) for _, counts in files]
    made = _counting_table(title, [name for name, _ in files], "conversations")
    empty = 0
    for at in range(lowest, highest + 1, step):
        if any(at in counts for counts in binned):
            label = str(at) if step == 1 else f"{at}–{at + step - 1}"
            _add(made, label, [counts.get(at, 0) for counts in binned], binned)
            empty = 0
        else:
            empty += 1
            if empty <= _GAP:
                made.add_row("⋮" if empty == _GAP else str(at) if step == 1 else f"{at}–{at + step - 1}")
    console.print()
    console.print(made)


def _binned(counts: dict[int, int], lowest: int, step: int) -> dict[int, int]:
    binned: dict[int, int] = {}
    for value, count in counts.items():
        at = lowest + (value - lowest) // step * step
        binned[at] = binned.get(at, 0) + count
    return binned


def _counting_table(title: str, names: Sequence[str], what: str) -> Table:
    """A column of counts and one of bars for each file."""
    made = table(title, *(column for name in names for column in (name if len(names) > 1 else what, "")))
    for column in made.columns[2::2]:
        column.justify = "left"
    return made


def _add(made: Table, label: str, counts: Sequence[int], all_counts: Sequence[Mapping[Any, int]]) -> None:
    """One row: each count with its bar; with several files the share as well, so that files of different sizes can be compared."""
    cells: list[str | Text] = []
    for count, others in zip(counts, all_counts, strict=True):
        top, total = max(others.values(), default=0), sum(others.values())
        width = _BAR if len(counts) == 1 else _BAR // 2
        share = f" {count / total:.0%}" if len(counts) > 1 and count else ""
        cells += (number(count) if count else "", Text(bar(count / top if top else 0, width) + share, style="cyan"))
    made.add_row(label, *cells)


def _ranking(console: Console, title: str, files: Named, counts_of: Callable[[Stats], dict[str, int]], what: str) -> None:
    """The most frequent first: by the larger share where there are several files."""
    counts = [counts_of(stats) for _, stats in files]
    shares: dict[str, float] = {}
    for one in counts:
        total = sum(one.values())
        for name, count in one.items():
            shares[name] = max(shares.get(name, 0), count / total)
    if not shares:
        return
    ranked = list(shares) if title == "calls in one message" else sorted(shares, key=lambda name: -shares[name])
    made = _counting_table(title, [name for name, _ in files], what)
    for name in ranked[:_MOST]:
        _add(made, safe(" ".join(name.split())) or "(no name)", [one.get(name, 0) for one in counts], counts)
    console.print()
    console.print(made)
    if len(ranked) > _MOST:
        console.print(Text(f"… and {len(ranked) - _MOST:,} more (--json has all)", style="dim"))


def _said(console: Console, title: str, files: Named, names_of: Callable[[Stats], list[str]]) -> None:
    for name, stats in files:
        if names := names_of(stats):
            where = f" in {name}" if len(files) > 1 else ""
            more = f" … and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
            console.print()
            console.print(Text.assemble((f"{title}{where}: ", "bold"), ", ".join(one_line(one, _NAME) for one in names[:_MOST]) + more))


def _malformed(console: Console, files: Named) -> None:
    for name, stats in files:
        if stats.malformed_calls:
            where = f" in {name}" if len(files) > 1 else ""
            text = f"{number(stats.malformed_calls)} of {number(stats.tool_calls.total)} calls malformed{where}: callmark lint says which"
            console.print()
            console.print(Text(text, style="red"))


def _transitions(stats: Stats) -> dict[str, int]:
    return {f"{before} → {after}": count for before, afters in stats.follows.items() for after, count in afters.items()}


def _coverage(console: Console, files: Named) -> None:
    """How often each argument is given, a column for each file; those that every call gives stand together, on one line."""
    tools = list(dict.fromkeys(tool for _, stats in files for tool, arguments in stats.arguments.items() if arguments))
    if not tools:
        return
    made = table("arguments given", "", *([name for name, _ in files] if len(files) > 1 else ["share"]))
    made.columns[1].justify = "left"
    made.columns[1].overflow = "fold"
    for tool in tools:
        given = [stats.arguments.get(tool, {}) for _, stats in files]
        listed = any(argument.required is not None for one in given for argument in one.values())
        keys = list(dict.fromkeys(key for one in given for key in one))
        always = [
            key for key in keys if all(not one or (key in one and one[key].share == 1 and one[key].required is not None) for one in given)
        ]
        name = one_line(tool, _NAME)
        if always:
            made.add_row(name, one_line(", ".join(always), _NAME * 2), *("100%" if one else "" for one in given))
            name = ""
        for key in [key for key in keys if key not in always]:
            made.add_row(
                name,
                one_line(key, _NAME) + _mark(next(one[key] for one in given if key in one), listed),
                *(_share(one.get(key)) for one in given),
            )
            name = ""
    console.print()
    console.print(made)


def _mark(argument: Argument, listed: bool) -> str:
    if argument.required is None:
        return " (not in the schema)" if listed else ""
    return "" if argument.required else " (optional)"


def _share(argument: Argument | None) -> Text:
    if argument is None:
        return Text("")
    return Text(f"{argument.share:.0%}", style="red" if argument.required and argument.share < 1 else "")
