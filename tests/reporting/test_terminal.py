"""Tables, names and lines on terminals of different widths."""

import re
import sys
from io import StringIO

import pytest
from rich.console import Console
from rich.progress import TextColumn
from rich.style import Style
from rich.text import Text

from callmark.data.lint import LintReport
from callmark.data.stats import stats
from callmark.reporting.lint_view import show_findings
from callmark.reporting.stats_view import show_stats
from callmark.reporting.terminal import SafeConsole, make_console, make_progress, name_cells, plain_table, print_parts, print_sentence
from callmark.types import Call, Conversation, Finding, Message, Severity

NAMES = ["modify_pending_order_items", "modify_pending_order_address", "f"]


def terminal(width: int) -> Console:
    return Console(file=StringIO(), width=width, force_terminal=True, color_system=None, markup=False, highlight=False)


def printed(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    "width, names",
    [
        (80, NAMES),
        (24, ["modify_p…er_items", "modify_p…_address", "f"]),
    ],
)
def test_names_in_a_column_are_shortened_in_the_middle_to_fit(width: int, names: list[str]) -> None:
    console, table = terminal(width), plain_table("tool", "calls")
    for cell in name_cells(NAMES, 40):
        table.add_row(cell, "12")
    console.print(table)
    assert [line.split()[0] for line in printed(console)[1:]] == names


def test_names_that_would_look_alike_are_wider_than_their_limit() -> None:
    console, table = terminal(80), plain_table("run")
    for cell in name_cells(["qwen3-8b-step-400-lora", "qwen3-8b-step-800-lora", ""], 9):
        table.add_row(cell)
    console.print(table)
    assert printed(console)[1:] == ["qwen3-8b…400-lora", "qwen3-8b…800-lora", "(no name)"]


def test_parts_are_wrapped_below_each_other_on_a_terminal_only() -> None:
    parts = [Text("first part"), Text("second part"), Text("third")]
    narrow, pipe = terminal(30), make_console(StringIO())
    pipe.width = 30
    for console in (narrow, pipe):
        print_parts(console, Text("label: "), parts)
    assert printed(narrow) == ["label: first part ·", "       second part · third"]
    assert printed(pipe) == ["label: first part · second part · third"]


def test_sentences_are_wrapped_between_words_on_a_terminal_only() -> None:
    narrow, pipe = terminal(20), make_console(StringIO())
    pipe.width = 20
    for console in (narrow, pipe):
        print_sentence(console, Text("a sentence of several words"), indent=2)
    assert printed(narrow) == ["  a sentence of", "  several words"]
    assert printed(pipe) == ["  a sentence of several words"]


def conversation(*tools: str) -> Conversation:
    return Conversation("1", (Message("user", "hi"), *(Message("assistant", "", (Call(tool, {}),)) for tool in tools)))


def test_long_file_names_that_start_and_end_alike_differ_in_stats() -> None:
    names = [f"data/a-long-name-of-a-dataset-{part}-of-three-parts.jsonl" for part in ("one", "two")]
    console = make_console(StringIO())
    show_stats(console, [(name, stats([conversation("f")])) for name in names])
    first, second = printed(console)[0].split()[::2]
    assert first != second
    assert all("…" in name for name in (first, second))


def test_stats_of_two_files_have_no_bars_on_a_narrow_terminal() -> None:
    files = [(name, stats([conversation(*NAMES)])) for name in ("train.jsonl", "valid.jsonl")]
    narrow, wide = terminal(80), terminal(120)
    for console in (narrow, wide):
        show_stats(console, files)
    assert "modify_pending_order_items              1  33%            1  33%" in printed(narrow)
    assert any(line.startswith("modify_pending_order_items ") and "█" in line for line in printed(wide))
    assert all(len(line) <= 80 for line in printed(narrow))


def finding(severity: Severity) -> Finding:
    return Finding("unknown_tool", severity, "f is not listed", "x.jsonl", 1)


@pytest.mark.parametrize(
    "severities, headline",
    [
        ([], "No findings"),
        (["error"], "1 finding: 1 error"),
        (["error", "error", "warning", "info"], "4 findings: 2 errors, 1 warning, 1 info"),
    ],
)
def test_lint_starts_with_the_number_of_findings(severities: list[Severity], headline: str) -> None:
    console = make_console(StringIO())
    findings = [finding(severity) for severity in severities]
    show_findings(console, LintReport(1, {"unknown_tool": len(findings)} if findings else {}, findings))
    assert printed(console)[0] == headline


def test_console_escapes_text_and_drops_links() -> None:
    written = StringIO()
    safe = SafeConsole(file=written, force_terminal=True, width=80, color_system="standard")
    safe.print(Text.assemble("a\x1b[31mb", ("c", Style(link="https://evil.example", bold=True)), "\u202e"))
    assert written.getvalue() == "a\\x1b[31mb\x1b[1mc\x1b[0m\\u202e\n"


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_printed_during_a_progress_bar_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with make_progress(TextColumn("[link=https://evil.example]busy[/link]")) as progress:
        progress.add_task("")
        progress.start()
        sys.stderr.write("\x1b[5;41mone\n::error::two\nthr")
        sys.stderr.write("ee")
    assert sys.stderr is terminal
    text = terminal.getvalue()
    lines = [line for line in re.split(r"[\r\n]|\x1b\[\?25[lh]|\x1b\[\d?[KA]", text) if line]
    assert [line for line in lines if "busy" not in line] == ["\\x1b[5;41mone", "::error::two", "three"]  # a plain stream has no line guard
    assert "\x1b]8;" not in text
