"""Print lint findings: a summary by code, then the first findings of each code."""

from rich.console import Console
from rich.text import Text

from callmark.data.lint import CODES, LintReport
from callmark.reporting.numbers import format_number
from callmark.reporting.safety import one_line
from callmark.reporting.terminal import plain_table
from callmark.types import Finding

MAX_FINDINGS = 5  # of a code, without --all
_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def show_findings(console: Console, report: LintReport, *, every: bool = False) -> None:
    """Print a table of codes, then the findings; all of them with `every`."""
    if not report.findings:
        console.print(Text("nothing found", style="green"))
        return
    table = plain_table("found", "times", "in rows", "")
    table.columns[3].justify = "left"
    for name, count in report.summary.items():
        severity, meaning = CODES[name]
        rows = {(finding.file, finding.line) for finding in report.findings if finding.code == name and finding.line is not None}
        table.add_row(
            Text(name, style=_STYLES[severity]),
            format_number(count),
            format_number(len(rows)) if rows else "—",
            Text(f"{severity}: {meaning}", style="dim"),
        )
    console.print(table)
    for name, count in report.summary.items():
        console.print()
        console.print(Text(name, style=_STYLES[CODES[name][0]]))
        found = [finding for finding in report.findings if finding.code == name]
        for finding in found if every else found[:MAX_FINDINGS]:
            console.print(Text("  ") + _place(finding) + Text(one_line(finding.sentence, 400)), soft_wrap=not console.record)
        if count > MAX_FINDINGS and not every:
            console.print(Text(f"  … and {count - MAX_FINDINGS:,} more (--all, or --json)", style="dim"))


def _place(finding: Finding) -> Text:
    if finding.line is None:
        return Text("")
    message = f", message {finding.message}" if finding.message is not None else ""
    return Text(f"{one_line(finding.file or '', 60)}:{finding.line}{message}  ", style="dim")
