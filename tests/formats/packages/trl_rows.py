"""Preference pairs and completions as TRL prepares them: prompts are extracted, pairs are unpaired. Run in an environment with trl.

python trl_rows.py SAMPLES FOLDER
"""

import json
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset  # type: ignore[import-not-found, unused-ignore]
from stand_in import openai_messages, openai_tools, write_rows  # type: ignore[import-not-found, unused-ignore]
from trl import extract_prompt, unpair_preference_dataset  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    samples, folder = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    rows = [_pair(sample) for sample in samples]
    pairs = Dataset.from_list(rows).map(extract_prompt)
    write_rows(folder / "trl_preference.jsonl", list(pairs))
    columns = pairs.remove_columns([name for name in pairs.column_names if name not in ("prompt", "chosen", "rejected", "tools")])
    unpaired = unpair_preference_dataset(columns)
    write_rows(folder / "trl_prompt_completion.jsonl", [row for row in unpaired if row["label"]])


def _pair(sample: Any) -> dict[str, Any]:
    """Return a preference pair without a prompt: the conversation, and the same with another last message."""
    chosen = openai_messages(sample, objects=False)
    rejected = [*chosen[:-1], {"role": "assistant", "content": "I cannot help with that."}]
    return {"id": sample["id"], "chosen": chosen, "rejected": rejected, "tools": openai_tools(sample)}


main()
