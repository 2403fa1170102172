"""Print the header line of a dataset: file, format, number of rows."""

from rich.console import Console
from rich.text import Text

from callmark.formats import Dataset
from callmark.reporting.run_notices import counted_names
from callmark.reporting.safety import one_line, short_name
from callmark.wording import pluralize


def show_dataset_header(console: Console, dataset: Dataset, rows: int, *more: str) -> None:
    """Print `valid.jsonl · OpenAI chat · 55 conversations · …`; `more` are further parts of the line."""
    parts = [dataset.format.title, f"{rows:,} {dataset.row_kind if rows != 1 else dataset.row_kind.removesuffix('s')}", *more]
    if dataset.is_read and not dataset.has_calls:
        parts.insert(0, "no tool call found")
    if dataset.unknown_parts:
        parts.append(f"unknown content parts: {counted_names(dataset.unknown_parts)}")
    if dataset.repaired_rows:
        parts.append(f"lone surrogates escaped in {pluralize(dataset.repaired_rows, 'row')}")
    line = Text(short_name(dataset.name, 120), style="bold")
    line.append("".join(f" · {one_line(part, 120)}" for part in parts), style="not bold")
    console.print(line, soft_wrap=True)
