"""Print lint findings: how many, a table by code, then the first findings of each code."""

from collections import Counter

from rich.console import Console
from rich.text import Text

from callmark.analysis.numbers import format_number
from callmark.data.lint import CODES, LintReport
from callmark.reporting.safety import one_line, short_names
from callmark.reporting.terminal import plain_table
from callmark.types import Finding
from callmark.wording import pluralize

MAX_FINDINGS = 5  # of a code, without --all
_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def show_findings(console: Console, report: LintReport, *, every: bool = False) -> None:
    """Print the number of findings, a table of codes, then the findings: the first of each code, or with `every` all of them."""
    if not report.findings:
        console.print(Text("No findings", style="green"))
        return
    console.print(Text(_headline(report), style="bold"))
    table = plain_table("Code", "findings", "rows", "")
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
    files = list(dict.fromkeys(finding.file or "" for finding in report.findings))
    labels = dict(zip(files, short_names(files, 60), strict=True))
    for name, count in report.summary.items():
        console.print()
        console.print(Text(name, style=_STYLES[CODES[name][0]]))
        found = [finding for finding in report.findings if finding.code == name]
        for finding in found if every else found[:MAX_FINDINGS]:
            console.print(
                Text("  ") + _place(finding, labels[finding.file or ""]) + Text(one_line(finding.sentence, 400)),
                soft_wrap=not console.record,
            )
        if count > MAX_FINDINGS and not every:
            console.print(Text(f"  … and {count - MAX_FINDINGS:,} more (--all shows them)", style="dim"))


def _headline(report: LintReport) -> str:
    """Return `10 findings: 6 errors, 3 warnings, 1 info`."""
    counts = Counter[str](finding.severity for finding in report.findings)
    parts = [pluralize(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    parts += [f"{counts['info']:,} info"] if counts["info"] else []
    return f"{pluralize(len(report.findings), 'finding')}: {', '.join(parts)}"


def _place(finding: Finding, file: str) -> Text:
    if finding.line is None:
        return Text("")
    message = f", message {finding.message}" if finding.message is not None else ""
    return Text(f"{file}:{finding.line}{message}  ", style="dim")
