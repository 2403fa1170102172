"""Makes docs/callmark.svg, the README's picture: what `callmark demo` finds in the dataset that is in the package."""

import io
import re
from pathlib import Path

import msgspec
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
    console = Console(file=io.StringIO(), record=True, width=132, highlight=False, markup=False)
    report = callmark.lint(callmark.load(DATA))
    console.print(Text("$ callmark lint hotel.jsonl", style="bold"))
    show_findings(
        console, msgspec.structs.replace(report, findings=[msgspec.structs.replace(one, file="hotel.jsonl") for one in report.findings])
    )
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
