"""Measure rewards per second on one core: single calls as text, in the shape in which TRL passes them.

The completions are the single calls of the hotel's decision points, correct and wrong, in the formats of five model families, with the ten
tools of the hotel; the columns are JSON text. Time is that of this process on the CPU, and the best of some turns is printed. Exits with
status 1 below the limit.

    python benchmarks/rewards.py [--completions 2000] [--turns 5]
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the corpus of the tests

from tests.rewards.corpus import Completion, completions

from callmark.rewards import Reward

LEAST = 5000  # rewards per second


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--completions", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    corpus = [each for each in completions(options.completions * 3) if is_single_call_as_text(each)][: options.completions]
    rates = {name: measure(reward, corpus, options.turns) for name, reward in REWARDS.items()}
    print(f"{len(corpus):,} completions with a single call as text, best of {options.turns} turns, on one core")
    for name, rate in rates.items():
        print(f"  {name:<30} {rate:>8,.0f} rewards per second")
    if rates["call.score"] < LEAST:
        print(f"FAILED: expected at least {LEAST:,} per second")
        return 1
    return 0


REWARDS = {"call.score": Reward(), "call.score+call.arguments": Reward(weights={"call.score": 0.5, "call.arguments": 0.5})}


def is_single_call_as_text(each: Completion) -> bool:
    return isinstance(each.completion, str) and "{" in each.completion and len(each.expected_output["tool_calls"]) == 1


def measure(reward: Reward, corpus: list[Completion], turns: int) -> float:
    prompts = [each.prompt for each in corpus]
    texts = [each.completion for each in corpus]
    expected, tools = [json.dumps(each.expected_output) for each in corpus], [json.dumps(each.tools) for each in corpus]
    best = 0.0
    for _ in range(turns):
        started = time.process_time()
        reward(prompts, texts, expected_output=expected, tools=tools)
        best = max(best, len(corpus) / (time.process_time() - started))
    return best


if __name__ == "__main__":
    sys.exit(main())
