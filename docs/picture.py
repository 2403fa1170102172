"""Makes docs/callmark.svg, the README's picture: what `callmark demo` finds in the dataset that is in the package."""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

import callmark
from callmark.data import filter as rules
from callmark.reporting.findings import show_findings
from callmark.reporting.kept import show_kept

FONTS = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)  # fetched from elsewhere by default; the system's will do
DATA = Path(callmark.__file__).parent / "demo" / "hotel.jsonl"


def main() -> None:
    console = Console(file=io.StringIO(), record=True, width=112, highlight=False, markup=False)
    report = callmark.lint(callmark.load(DATA))
    shown = [finding for finding in report.findings if finding.code in ("malformed_call", "schema_violation", "invented_value")]
    console.print(Text("$ callmark lint hotel.jsonl", style="bold"))
    named = [callmark.Finding(one.code, one.severity, one.sentence, "hotel.jsonl", one.line, one.row_id, one.message) for one in shown]
    show_findings(console, type(report)(report.rows, {code: 1 for code in report.summary if code in {one.code for one in named}}, named))
    console.print()
    wanted = [rules.require("find_guest_* > get_guest(guest_id=$result)"), rules.grounded(), rules.clean()]
    *_, (_, _, kept) = rules.judge(callmark.load(DATA), wanted)
    console.print(
        Text("$ callmark filter hotel.jsonl -o good.jsonl --require 'find_guest_* > get_guest(guest_id=$result)' …", style="bold")
    )
    show_kept(console, kept)
    console.print()
    picture = console.export_svg(title="callmark", code_format=FONTS.sub("", CONSOLE_SVG_FORMAT))
    Path(__file__).with_name("callmark.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
