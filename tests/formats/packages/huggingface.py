"""Rows of a table, from `datasets`: rows become columns, whose structs are padded with nulls. Run in an environment with datasets.

python huggingface.py SAMPLES FOLDER
"""

import json
import shutil
import sys
from pathlib import Path

from datasets import Dataset  # type: ignore[import-not-found, unused-ignore]
from stand_in import openai_messages, openai_tools, write_rows  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    for name, objects in {"datasets_rows": False, "datasets_rows_objects": True}.items():
        rows = [
            {"id": sample["id"], "messages": openai_messages(sample, objects=objects), "tools": openai_tools(sample)} for sample in samples
        ]
        write_rows(folder / f"{name}.jsonl", list(Dataset.from_list(rows)))
        if not objects:
            save(Dataset.from_list(rows), folder)


def save(dataset: Dataset, folder: Path) -> None:
    """Save a dataset to disk in two shards, and as a repository of the Hub has it."""
    shutil.rmtree(folder / "datasets_saved", ignore_errors=True)
    dataset.save_to_disk(str(folder / "datasets_saved"), num_shards=2)
    (folder / "datasets_hub" / "data").mkdir(parents=True, exist_ok=True)
    for index in range(2):
        shard = dataset.shard(2, index, contiguous=True)
        shard.to_parquet(str(folder / "datasets_hub" / "data" / f"train-{index:05}-of-00002.parquet"))


main()
