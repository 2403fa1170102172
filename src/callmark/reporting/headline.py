"""The line over everything: which file, which dialect, how many rows."""

from rich.text import Text

from callmark.formats import Dataset
from callmark.reporting.safety import one_line


def read_line(dataset: Dataset, rows: int, *more: str) -> Text:
    """`valid.jsonl · OpenAI chat · 55 conversations · …`"""
    parts = [dataset.dialect.title, f"{rows:,} {dataset.what if rows != 1 else dataset.what.removesuffix('s')}", *more]
    if dataset.mended:
        parts.append(f"lone surrogates written out in {dataset.mended:,}")
    return Text(one_line(dataset.path, 80), style="bold") + Text("".join(f" · {part}" for part in parts), style="not bold")
