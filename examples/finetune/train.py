"""Fine-tune the small model with LoRA on the CPU for a given time. Runs in an environment with torch, transformers, peft and gguf.

    python train.py BASE.gguf DATA_FOLDER OUT_FOLDER --seconds 600

Reads `train.json` and `validation.json` (see `data.py`). Writes `tuned.gguf`, `checkpoint-STEP.gguf` after each third of the time, and
`curve.json`, the learning curve on the validation conversations. One conversation is one sequence: the prompts of its turns begin alike, so
all its turns are learned at once. The loss is that of the completions. The learning rate follows the time that has passed.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

START = time.monotonic()
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error", "PYTHONWARNINGS": "ignore"}
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait actively take several times as long on a busy machine
sys.path.insert(0, str(Path(__file__).parent))

RANK, ALPHA = 16, 32
LEARNING_RATE, WARM_UP = 1e-3, 6  # steps
CONVERSATIONS_PER_STEP = 2
CHOICE_WEIGHT = 8.0  # of the first token of a completion: it decides whether a call is made
CALL_WEIGHT, REPLY_WEIGHT = 1.0, 0.3  # of the other tokens of a call, and of a reply
CHECKPOINTS = (1 / 3, 2 / 3)  # shares of the time
WRITE_SECONDS = 15.0  # for writing a file


class Sequence(NamedTuple):
    """A conversation as tokens, and where its completions are: from, to (exclusive), and whether it is a call."""

    tokens: list[int]
    completions: list[tuple[int, int, bool]]


class Validation(NamedTuple):
    """The loss per token of the calls, calls that would be generated exactly, and replies that would begin with a call."""

    loss: float
    calls: int
    exact_calls: int
    replies: int
    wrong_calls: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    Training(options.base, options.data, options.seed).run(options.out, options.seconds)
    return 0


class Training:
    """A model, its optimizer and the data."""

    def __init__(self, base: Path, data: Path, seed: int) -> None:
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()
        torch.manual_seed(seed)
        self.torch, self.base, self.random = torch, base, torch.Generator().manual_seed(seed)
        given: dict[str, Any] = {"gguf_file": base.name}
        tokenizer = AutoTokenizer.from_pretrained(str(base.parent), **given)
        self.train, self.validation = (
            sequences(json.loads((data / f"{name}.json").read_text()), tokenizer) for name in ("train", "validation")
        )
        self.call_begins = tokenizer("<tool_call>", add_special_tokens=False).input_ids[0]
        model = AutoModelForCausalLM.from_pretrained(str(base.parent), **given, dtype=torch.float32)
        self.heads = {"attn_q": model.config.num_attention_heads, "attn_k": model.config.num_key_value_heads}
        self.model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear"))
        self.parameters = [each for each in self.model.parameters() if each.requires_grad]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=LEARNING_RATE, betas=(0.9, 0.99), weight_decay=0.0)
        self.half = self._is_half_faster()
        if self.half:
            for each in self.model.parameters():
                if not each.requires_grad:
                    each.data = each.data.to(torch.bfloat16)

    def run(self, out: Path, seconds: float) -> None:
        """Train until the time is over, and write the files."""
        from tqdm import tqdm

        trainable = sum(each.numel() for each in self.parameters)
        print(
            f"LoRA r={RANK}: {trainable:,} trainable parameters, {'bfloat16' if self.half else 'float32'}, {len(self.train)} conversations"
        )
        out.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        curve = [self._record(0, 0)]
        per_validation = time.monotonic() - began
        deadline = START + seconds - per_validation - WRITE_SECONDS
        began = time.monotonic()
        waiting = [began + share * (deadline - began) for share in CHECKPOINTS]
        step, tokens, loss = 0, 0, math.nan
        order: list[int] = []
        with tqdm(
            total=round(deadline - began), unit="s", mininterval=5, disable=None, bar_format="{l_bar}{bar}| {n:.0f}/{total} s{postfix}"
        ) as bar:
            while time.monotonic() < deadline:
                if len(order) < CONVERSATIONS_PER_STEP:
                    order += self.torch.randperm(len(self.train), generator=self.random).tolist()
                batch = [self.train[order.pop()] for _ in range(CONVERSATIONS_PER_STEP)]
                passed = (time.monotonic() - began) / (deadline - began)
                last = self._step(batch, step, passed)
                step, tokens = step + 1, tokens + sum(len(each.tokens) for each in batch)
                loss = last if math.isnan(loss) else 0.9 * loss + 0.1 * last
                bar.n = min(time.monotonic() - began, bar.total)
                bar.set_postfix(step=step, loss=f"{loss:.3f}", tokens_per_second=round(tokens / (time.monotonic() - began)))
                if waiting and time.monotonic() >= waiting[0]:
                    waiting.pop(0)
                    curve.append(self._record(step, tokens))
                    self.write(out / f"checkpoint-{step}.gguf")
        if curve[-1]["step"] < step:
            curve.append(self._record(step, tokens))
        self.write(out / "tuned.gguf")
        calls = sum(is_call for each in self.train for *_, is_call in each.completions)
        (out / "curve.json").write_text(json.dumps(curve, indent=1) + "\n", encoding="utf-8")
        epochs = step * CONVERSATIONS_PER_STEP / len(self.train)
        print(f"{step} steps, {tokens:,} tokens, {epochs:.2f} passes over {calls:,} calls in {time.monotonic() - START:.0f} s")

    def write(self, target: Path) -> None:
        """Write the model as it is now as a GGUF file."""
        from gguf_file import LAYERS, write_with_changes

        changes = {}
        for name, module in self.model.named_modules():
            if hasattr(module, "lora_A") and "default" in module.lora_A:
                _, _, layer = name.partition("layers.")
                number, _, kind = layer.partition(".")
                changes[f"blk.{number}.{LAYERS[kind]}.weight"] = module.get_delta_weight("default").detach().float().numpy()
        write_with_changes(self.base, target, changes, heads=self.heads)

    def _step(self, batch: list[Sequence], step: int, passed: float) -> float:
        rate = LEARNING_RATE * min((step + 1) / WARM_UP, 0.05 + 0.95 * (1 + math.cos(math.pi * min(passed, 1.0))) / 2)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total = 0.0
        for sequence in batch:
            losses, weights, _ = self._losses(sequence)
            loss = (losses * weights).sum() / weights.sum() / len(batch)
            loss.backward()
            total += loss.item()
        self.torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _losses(self, sequence: Sequence) -> tuple[Any, Any, Any]:
        """Return for each token of the completions: its loss, its weight, and the token that would be generated. Only they are decoded."""
        torch = self.torch
        places = [place - 1 for first, last, _ in sequence.completions for place in range(first, last)]
        weights = [
            CHOICE_WEIGHT if place == first else CALL_WEIGHT if is_call else REPLY_WEIGHT
            for first, last, is_call in sequence.completions
            for place in range(first, last)
        ]
        tokens = torch.tensor([sequence.tokens])
        model = self.model.get_base_model()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state[0, places]
            logits = model.lm_head(hidden)
        expected = tokens[0, [place + 1 for place in places]]
        losses = torch.nn.functional.cross_entropy(logits.float(), expected, reduction="none")
        return losses, torch.tensor(weights), logits.argmax(-1).tolist()

    def _record(self, step: int, tokens: int) -> dict[str, Any]:
        found = self._validate()
        record = {"step": step, "tokens": tokens, "seconds": round(time.monotonic() - START), **found._asdict()}
        print(
            f"step {step}: validation loss {found.loss:.3f}, {found.exact_calls} of {found.calls} calls would be exact, "
            f"{found.wrong_calls} of {found.replies} replies would be calls",
            flush=True,
        )
        return record

    def _validate(self) -> Validation:
        """Read the validation conversations. A completion is exact if each of its tokens is the likeliest after the ones before."""
        loss, count, exact, wrong = 0.0, 0, [], []
        with self.torch.no_grad():
            for sequence in self.validation:
                losses, _, likeliest = self._losses(sequence)
                at = 0
                for first, last, is_call in sequence.completions:
                    length = last - first
                    if is_call:
                        loss, count = loss + float(losses[at : at + length].sum()), count + length
                        exact.append(likeliest[at : at + length] == sequence.tokens[first:last])
                    else:
                        wrong.append(likeliest[at] == self.call_begins)
                    at += length
        return Validation(round(loss / count, 4), len(exact), sum(exact), len(wrong), sum(wrong))

    def _is_half_faster(self) -> bool:
        """Return whether this processor is faster with 16 bits: some are much slower."""
        torch = self.torch
        seconds = {}
        left = torch.randn(512, 576)
        for kind in (torch.float32, torch.bfloat16):
            one, other = left.to(kind), torch.randn(1536, 576).to(kind)
            one @ other.T
            began = time.process_time()
            for _ in range(30):
                one @ other.T
            seconds[kind] = time.process_time() - began
        return seconds[torch.bfloat16] < seconds[torch.float32]


def sequences(conversations: list[list[dict[str, Any]]], tokenizer: Any) -> list[Sequence]:
    """Return the conversations as tokens. A turn that does not begin as the ones before it end is a sequence of its own."""
    found: list[Sequence] = []
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for turns in conversations:
        found.append(Sequence([], []))
        for turn in turns:
            text = tokenizer.apply_chat_template(turn["messages"], tokenize=False, add_generation_prompt=True)
            prompt = tokenizer(text, add_special_tokens=False).input_ids
            completion = [*tokenizer(turn["completion"], add_special_tokens=False).input_ids, end]
            before = found[-1].tokens
            if prompt[: len(before)] != before:
                found.append(Sequence([], []))
                before = found[-1].tokens
            before[len(before) :] = prompt[len(before) :]
            found[-1].completions.append((len(before), len(before) + len(completion), turn["is_call"]))
            before += completion
    return found


if __name__ == "__main__":
    sys.exit(main())
