"""Run in an environment with TRL: the reward in a real `GRPOTrainer`, and the exported files in `SFTTrainer` and `DPOTrainer`.

    python trl_steps.py CORPUS.jsonl TRAINING_FOLDER SCENARIOS.jsonl TOOLS OUT.json

Writes a JSON object: the rewards of the corpus, by way of the trainer; what each trainer logged in one step; and how the files were read.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ |= {"TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

from datasets import Dataset, load_dataset
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from trl.chat_template_utils import qwen3_chat_template

from callmark.rewards import Environment, Reward

sys.path.insert(0, str(Path(__file__).parent))
from tiny_model import tiny_model, tiny_tokenizer

ROWS = 4
_COMMON: dict[str, Any] = {"max_steps": 1, "report_to": [], "use_cpu": True, "bf16": False, "logging_steps": 1, "save_strategy": "no"}


def main() -> int:
    corpus_file, folder, scenarios, tools, out = sys.argv[1:]
    corpus = [json.loads(line) for line in Path(corpus_file).read_text(encoding="utf-8").splitlines()]
    texts = [json.dumps(row["prompt"]) for row in corpus[:200]]
    with tempfile.TemporaryDirectory() as path:
        found = {
            **_grpo(corpus, texts, path),
            "environment": _environment(scenarios, tools, texts, path),
            **_files(folder, texts, path),
        }
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    return 0


def _grpo(corpus: list[dict[str, Any]], texts: list[str], path: str) -> dict[str, Any]:
    """Make one step, and then pass the whole corpus through the trainer's own calculation of rewards."""
    earned: list[float | None] = []

    class Recorded:
        __name__ = "recorded"

        def __init__(self, reward: Reward) -> None:
            self.reward = reward

        def __call__(self, **given: Any) -> list[float | None]:
            values = self.reward(**given)
            earned.extend(values)
            return values

    tokenizer = tiny_tokenizer(texts)
    rows = [_row(row) for row in corpus[:ROWS]]
    trainer = GRPOTrainer(
        tiny_model(tokenizer),
        reward_funcs=[Reward(), Recorded(Reward())],
        args=GRPOConfig(
            path, **_COMMON, per_device_train_batch_size=4, num_generations=2, max_completion_length=8, beta=0.0, temperature=1.0
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()
    logged = {key: value for entry in trainer.state.log_history for key, value in entry.items() if isinstance(value, int | float)}
    step = list(earned)
    earned.clear()
    inputs = [_row(row) for row in corpus]
    completions = [row["completion"] for row in corpus]
    tensor = trainer._calculate_rewards(inputs, [row["prompt"] for row in corpus], completions, [[0]] * len(corpus))
    return {"grpo": logged, "grpo_step_rewards": step, "rewards": list(earned), "tensor": tensor[:, 0].tolist()}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {"prompt": row["prompt"], "expected_output": json.dumps(row["expected_output"]), "tools": json.dumps(row["tools"])}


def _environment(scenarios: str, tools: str, texts: list[str], path: str) -> dict[str, Any]:
    """Make one step in a simulated conversation; then one episode by hand, through the methods that the trainer offers."""
    tokenizer = tiny_tokenizer(texts)
    tokenizer.chat_template = qwen3_chat_template  # the trainer knows how to read tool calls in its format
    with Environment(scenarios, tools, reward=Reward(metric="process.recall"), system="You are a help desk.") as factory:
        trainer = GRPOTrainer(
            tiny_model(tokenizer),
            environment_factory=factory,
            args=GRPOConfig(path, **_COMMON, per_device_train_batch_size=2, num_generations=2, max_completion_length=8, beta=0.0),
            train_dataset=Dataset.from_list(factory.rows()[:1]),
            processing_class=tokenizer,
        )
        trainer.train()
        logged = {key: value for entry in trainer.state.log_history for key, value in entry.items() if isinstance(value, int | float)}
        return {"logged": logged, "tools": sorted(tool.__name__ for tool in trainer.tools)}


def _files(folder: str, texts: list[str], path: str) -> dict[str, Any]:
    """Train one step on each exported file, and return what `datasets` read from it."""
    found: dict[str, Any] = {}
    for name, config, trainer_class in (
        ("sft", SFTConfig(path, **_COMMON, per_device_train_batch_size=2, max_length=None), SFTTrainer),
        ("dpo", DPOConfig(path, **_COMMON, per_device_train_batch_size=2, max_length=None), DPOTrainer),
    ):
        file = str(Path(folder) / f"{name}.jsonl")
        dataset = load_dataset("json", data_files=file, split="train", cache_dir=path)
        found[f"{name}_rows"] = [dict(row) for row in dataset]
        tokenizer = tiny_tokenizer(texts)
        reference = {"ref_model": tiny_model(tokenizer)} if name == "dpo" else {}
        trainer = trainer_class(tiny_model(tokenizer), args=config, train_dataset=dataset, processing_class=tokenizer, **reference)
        trainer.train()
        found[name] = {key: value for entry in trainer.state.log_history for key, value in entry.items() if isinstance(value, int | float)}
    return found


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    sys.exit(main())
