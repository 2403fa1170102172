"""Print the statistics of one dataset, or of several side by side."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from callmark.analysis.numbers import format_number
from callmark.data.stats import ArgumentUse, Stats
from callmark.reporting.safety import escape_controls, one_line, short_name, short_names
from callmark.reporting.terminal import NameCell, bar, name_cells, plain_table

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
_BAR_WIDTH, _NARROW = 24, 100  # columns of a bar, and of a terminal on which bars are shorter or, beside others, left out
_MAX_NAME = 48
_MAX_FILE_NAME = 24  # characters of a file's name over its column
_MAX_ROWS = 12  # of a ranking
_MAX_BARS = 30
_MAX_EMPTY_ROWS = 3  # a longer gap between values is drawn as one `⋮`

NamedStats = Sequence[tuple[str, Stats]]


def show_stats(console: Console, files: NamedStats) -> None:
    """Print messages and calls first, then roles, tools, call order and arguments."""
    named = list(zip(_short_names([name for name, _ in files]), [stats for _, stats in files], strict=True))
    _description(console, named)
    if any(stats.num_turns.max for _, stats in named):
        _distribution(console, "Messages per conversation", [(name, stats.turns_counts) for name, stats in named])
    _distribution(console, "Calls per conversation", [(name, stats.calls_counts) for name, stats in named])
    _ranking(console, "Roles", named, lambda stats: stats.roles, "messages")
    _ranking(console, "Calls per tool", named, lambda stats: stats.tools, "calls")
    _tool_list(console, "Never called", named, lambda stats: stats.never_called)
    _tool_list(console, "Called but not listed", named, lambda stats: stats.not_listed)
    _malformed(console, named)
    _ranking(console, "First call", named, lambda stats: stats.first_call, "conversations")
    _ranking(console, "Last call", named, lambda stats: stats.last_call, "conversations")
    _ranking(
        console,
        "Calls per message",
        named,
        lambda stats: {str(key): value for key, value in stats.calls_per_message.items()},
        "messages",
        most_frequent_first=False,
    )
    _ranking(console, "Call transitions", named, _transitions, "times")
    _ranking(
        console,
        "Tools used together",
        named,
        lambda stats: {", ".join(tool_set.tools): tool_set.count for tool_set in stats.tool_sets},
        "conversations",
    )
    _coverage(console, named)


def _short_names(paths: Sequence[str]) -> list[str]:
    """Return the paths without the folder that all share, shortened in the middle where they are still long."""
    folders = [os.path.dirname(path) for path in paths]
    shared = os.path.commonpath(folders) if len({os.path.isabs(folder) for folder in folders}) == 1 else ""
    shorter = [os.path.relpath(path, shared or ".") if len(paths) > 1 and path != "-" else path for path in paths]
    return short_names(shorter, _MAX_FILE_NAME)


def _description(console: Console, files: NamedStats) -> None:
    labels = ("messages", "tool calls")
    table = plain_table("", *(f"{name} {label}" if len(files) > 1 else label for name, _ in files for label in labels))
    for row, field in _ROWS.items():
        parts = [part for _, stats in files for part in (stats.num_turns, stats.tool_calls)]
        table.add_row(row, *(format_number(getattr(part, field)) for part in parts))
    console.print(table)


def _distribution(console: Console, title: str, files: Sequence[tuple[str, dict[int, int]]]) -> None:
    """Print a bar for each value, or for ranges of values where there are many."""
    lowest, highest = min(min(counts) for _, counts in files), max(max(counts) for _, counts in files)
    step = max(1, -(-(highest - lowest + 1) // _MAX_BARS))
    binned = [_binned(counts, lowest, step) for _, counts in files]
    table, width = _count_table(title, [name for name, _ in files], "conversations"), _bar_width(console, len(files))
    empty = 0
    for at in range(lowest, highest + 1, step):
        if any(at in counts for counts in binned):
            label = str(at) if step == 1 else f"{at}–{at + step - 1}"
            _add_row(table, label, [counts.get(at, 0) for counts in binned], binned, width)
            empty = 0
        else:
            empty += 1
            if empty <= _MAX_EMPTY_ROWS:
                table.add_row("⋮" if empty == _MAX_EMPTY_ROWS else str(at) if step == 1 else f"{at}–{at + step - 1}")
    console.print()
    console.print(table)


def _binned(counts: dict[int, int], lowest: int, step: int) -> dict[int, int]:
    binned: dict[int, int] = {}
    for value, count in counts.items():
        at = lowest + (value - lowest) // step * step
        binned[at] = binned.get(at, 0) + count
    return binned


def _count_table(title: str, names: Sequence[str], what: str) -> Table:
    """Return a table with a column of counts and one of bars for each file."""
    table = plain_table(title, *(column for name in names for column in (name if len(names) > 1 else what, "")))
    for column in table.columns[2::2]:
        column.justify = "left"
    return table


def _bar_width(console: Console, files: int) -> int:
    """Return the columns of a bar, 0 for none."""
    wide = console.width >= _NARROW
    return (_BAR_WIDTH if files == 1 else _BAR_WIDTH // 2) if wide else (_BAR_WIDTH // 2 if files == 1 else 0)


def _add_row(table: Table, label: str | NameCell, counts: Sequence[int], all_counts: Sequence[Mapping[Any, int]], width: int) -> None:
    """Add a row with each count and its bar; with several files also the share, so that files of different sizes compare."""
    cells: list[str | Text] = []
    for count, file_counts in zip(counts, all_counts, strict=True):
        top, total = max(file_counts.values(), default=0), sum(file_counts.values())
        share = f" {count / total:.0%}" if len(counts) > 1 and count else ""
        cells += (format_number(count) if count else "", Text((bar(count / top if top else 0, width) + share).lstrip(), style="cyan"))
    table.add_row(label, *cells)


def _ranking(
    console: Console,
    title: str,
    files: NamedStats,
    counts_of: Callable[[Stats], dict[str, int]],
    what: str,
    *,
    most_frequent_first: bool = True,
) -> None:
    """Print counts, by default the most frequent first; with several files, the largest share."""
    counts = [counts_of(stats) for _, stats in files]
    shares: dict[str, float] = {}
    for file_counts in counts:
        total = sum(file_counts.values())
        for name, count in file_counts.items():
            shares[name] = max(shares.get(name, 0), count / total)
    if not shares:
        return
    ranked = sorted(shares, key=lambda name: -shares[name]) if most_frequent_first else list(shares)
    table = _count_table(title, [name for name, _ in files], what)
    shown, width = ranked[:_MAX_ROWS], _bar_width(console, len(files))
    for name, label in zip(shown, _labels([" ".join(name.split()) for name in shown]), strict=True):
        _add_row(table, label, [file_counts.get(name, 0) for file_counts in counts], counts, width)
    console.print()
    console.print(table)
    if len(ranked) > _MAX_ROWS:
        console.print(Text(f"… and {len(ranked) - _MAX_ROWS:,} more (--json has all)", style="dim"))


def _labels(names: Sequence[str]) -> Sequence[str | NameCell]:
    """Return the cells of a ranking: single names are shortened where the column is narrow, several are wrapped."""
    return [escape_controls(name) for name in names] if any(" " in name for name in names) else name_cells(names, _MAX_NAME)


def _tool_list(console: Console, title: str, files: NamedStats, names_of: Callable[[Stats], list[str]]) -> None:
    for name, stats in files:
        if names := names_of(stats):
            where = f" in {name}" if len(files) > 1 else ""
            more = f" … and {len(names) - _MAX_ROWS:,} more" if len(names) > _MAX_ROWS else ""
            console.print()
            console.print(Text.assemble((f"{title}{where}: ", "bold"), ", ".join(short_names(names[:_MAX_ROWS], _MAX_NAME)) + more))


def _malformed(console: Console, files: NamedStats) -> None:
    for name, stats in files:
        if stats.malformed_calls:
            where = f" in {name}" if len(files) > 1 else ""
            calls = f"{format_number(stats.malformed_calls)} of {format_number(stats.tool_calls.total)} calls"
            text = f"Malformed{where}: {calls} (callmark lint lists them)"
            console.print()
            console.print(Text(text, style="red"))


def _transitions(stats: Stats) -> dict[str, int]:
    return {f"{before} → {after}": count for before, afters in stats.follows.items() for after, count in afters.items()}


def _coverage(console: Console, files: NamedStats) -> None:
    """Print how often each argument is given, a column for each file; arguments that all calls give share one line."""
    tools = list(dict.fromkeys(tool for _, stats in files for tool, arguments in stats.arguments.items() if arguments))
    if not tools:
        return
    table = plain_table("Arguments given", "", *([name for name, _ in files] if len(files) > 1 else ["share"]))
    table.columns[1].justify = "left"
    table.columns[1].overflow = "fold"
    for tool, cell in zip(tools, name_cells(tools, _MAX_NAME), strict=True):
        given = [stats.arguments.get(tool, {}) for _, stats in files]
        has_schema = any(argument.required is not None for arguments in given for argument in arguments.values())
        keys = list(dict.fromkeys(key for arguments in given for key in arguments))
        always = [
            key
            for key in keys
            if all(not found or (key in found and found[key].share == 1 and found[key].required is not None) for found in given)
        ]
        name: str | NameCell = cell
        if always:
            table.add_row(name, one_line(", ".join(always), _MAX_NAME * 2), *("100%" if arguments else "" for arguments in given))
            name = ""
        for key in [key for key in keys if key not in always]:
            table.add_row(
                name,
                short_name(key, _MAX_NAME) + _mark(next(arguments[key] for arguments in given if key in arguments), has_schema),
                *(_share(arguments.get(key)) for arguments in given),
            )
            name = ""
    console.print()
    console.print(table)


def _mark(argument: ArgumentUse, has_schema: bool) -> str:
    if argument.required is None:
        return " (not in the schema)" if has_schema else ""
    return "" if argument.required else " (optional)"


def _share(argument: ArgumentUse | None) -> Text:
    if argument is None:
        return Text("")
    return Text(f"{argument.share:.0%}", style="red" if argument.required and argument.share < 1 else "")
