"""The line over everything: which file, which dialect, how many rows."""

from rich.console import Console
from rich.text import Text

from callmark.formats import Dataset
from callmark.reporting.safety import one_line


def show_head(console: Console, dataset: Dataset, rows: int, *more: str) -> None:
    """`valid.jsonl · OpenAI chat · 55 conversations · …`"""
    parts = [dataset.dialect.title, f"{rows:,} {dataset.what if rows != 1 else dataset.what.removesuffix('s')}", *more]
    if dataset.mended:
        parts.append(f"lone surrogates written out in {dataset.mended:,}")
    line = Text(one_line(dataset.name, 120), style="bold")
    line.append("".join(f" · {one_line(part, 120)}" for part in parts), style="not bold")
    console.print(line, soft_wrap=True)
