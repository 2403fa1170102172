"""Do callmark's text formats agree with the parsers of a serving engine? Parses the texts of the tests with both.

The texts are the tables in tests/calls/text/families: calls as the chat templates and the models write them, texts about calls, and broken
calls. The engine runs in its own environment, whose Python is given. Two parsers agree on a text if they find the same well-formed calls. A
call that callmark reads as malformed counts as no call, as engines drop such calls. Every difference has a reason below; exits with status
1 if one has none, or if a reason is not needed any more.

    python benchmarks/text_parsers.py --sglang PYTHON
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.calls.text.family import TOOLS, Family
from tests.calls.text.test_families import FAMILIES, WRITTEN

from callmark.calls.text import parse_calls
from callmark.calls.values import exact

PEER = Path(__file__).parent / "peers" / "sglang_parsers.py"
# The engine's parsers of each format. Where it has one for each generation, a text is given to the one that its marker belongs to.
PARSERS: dict[str, list[tuple[str, str]]] = {
    "apertus": [("", "apertus2509_detector:Apertus2509Detector")],
    "cohere": [("", "cohere_command4_detector:CohereCommand4Detector")],
    "deepseek": [
        ("｜DSML｜ ", "deepseekv41_detector:DeepSeekV41Detector"),
        ("｜DSML｜tool_calls", "deepseekv4_detector:DeepSeekV4Detector"),
        ("｜DSML｜", "deepseekv32_detector:DeepSeekV32Detector"),
        ("```json", "deepseekv3_detector:DeepSeekV3Detector"),
        ("", "deepseekv31_detector:DeepSeekV31Detector"),
    ],
    "gemma4": [("", "gemma4_detector:Gemma4Detector")],
    "glm": [
        ("tool_sep", "hunyuan_detector:HunyuanDetector"),
        ("</arg_key>\n", "glm4_moe_detector:Glm4MoeDetector"),
        ("\n</tool_call>", "glm4_moe_detector:Glm4MoeDetector"),
        ("", "glm47_moe_detector:Glm47MoeDetector"),
    ],
    "harmony": [("", "gpt_oss_detector:GptOssDetector")],
    "hermes": [("", "hermes_detector:HermesDetector")],
    "internlm": [("", "internlm_detector:InternlmDetector")],
    "invoke": [("", "minimax_m2:MinimaxM2Detector")],
    "kimi": [("<|tool_call", "kimik2_detector:KimiK2Detector")],
    "lfm2": [("", "lfm2_detector:Lfm2Detector")],
    "llama3": [("", "llama32_detector:Llama32Detector")],
    "llama4": [("", "pythonic_detector:PythonicDetector")],
    "minimax-m3": [("", "minimax_m3:MinimaxM3Detector")],
    "mistral": [("", "mistral_detector:MistralDetector")],
    "pythonic": [("", "pythonic_detector:PythonicDetector")],
    "qwen3-coder": [("", "qwen3_coder_detector:Qwen3CoderDetector")],
}
Calls = list[list[Any]]
# What the engine's parsers expect where the models, or the engine before the parser, write it otherwise.
ADAPTED: dict[str, Callable[[str], str]] = {
    "harmony": lambda text: f"<|start|>assistant{text}" if text.startswith("<|channel|>") else text,  # the generation prompt ends with it
    "internlm": lambda text: text.replace("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
}
# Why they differ: the format, a pattern of the text, and the reason.
REASONS: list[tuple[str, str, str]] = [
    ("", "`", "callmark: a call in a code span is an example, not a call"),
    ("apertus", r"(?<!suffix\|>)\Z", "sglang: requires the closing marker"),
    ("apertus", r"<\|tools_prefix\|> ", "sglang: no space after the marker"),
    ("apertus", r'"get_weather": "Bonn"', "callmark: arguments that are a string are malformed"),
    ("cohere", r'"city": "Bo\Z', "callmark: a truncated call is malformed; sglang completes it"),
    ("gemma4", r'\{<\|"\|>city', "sglang: delimiters of a quoted key become part of it (vLLM reads it as callmark does)"),
    ("gemma4", r'Bonn<\|"\|><tool_call\|>', "callmark: an unclosed object is malformed; sglang completes it"),
    ("gemma4", r'\{<\|"\|>Bonn', "callmark: a value without a key is malformed; sglang drops it"),
    ("glm", "opensource", "sglang: needs the tokenizer of the model for the suffix"),
    ("glm", r"</arg_key>\n</tool_call>", "callmark: a key without a value is malformed; sglang drops it"),
    ("harmony", r"to=\S+<\|channel\|>", "sglang: requires the recipient after the channel; the format allows it before"),
    ("harmony", r"^assistantcommentary", "sglang: requires the special tokens"),
    ("harmony", r"\}\Z(?<!call\|>)", "sglang: requires <|call|>, on which servers stop"),
    ("harmony", "analysis to=", "sglang: requires the commentary channel"),
    ("harmony", r"get_time<\|message\|>", "sglang: requires <|constrain|>json"),
    ("hermes", r"\}\n\{", "callmark: several calls in one tag are several calls; sglang drops the text"),
    ("hermes", r"\}\}<tool_call>", "callmark: supplies a lost closing tag; sglang drops the text"),
    ("hermes", r"</tool_call>\n\{|^\{", "callmark: supplies a lost opening tag; sglang drops the call"),
    ("hermes", "longcat", "sglang: has another parser for LongCat"),
    ("hermes", r'"</tool_call>"', "callmark: a tag inside a JSON string is text; sglang drops the call"),
    ("hermes", "NaN", "callmark: NaN is not JSON, so the call is malformed"),
    ("internlm", r"\}\Z", "sglang: requires the closing marker"),
    ("internlm", r">\[\{", "sglang: no lists"),
    ("internlm", "unlisted_tool", "sglang: drops a call of a tool that is not listed"),
    ("invoke", r"^(?!<minimax)", "sglang: requires <minimax:tool_call>; other families use other outer tags"),
    ("invoke", r"name=(?!\")", "sglang: requires double quotes (vLLM reads all three forms)"),
    ("invoke", r"</parameter>\n</minimax", "callmark: an unclosed <invoke> is malformed; sglang closes it"),
    ("kimi", r"^<\|tool_call_begin", "sglang: requires the section marker"),
    ("lfm2", r"\]\Z", "sglang: requires the closing marker"),
    ("llama3", r'"type": "function", "function"', "sglang: a call without a name; callmark reads OpenAI's shape"),
    ("llama3", "<function=|brave_search", "sglang: only JSON; the template of Llama 3.1 has both forms"),
    ("llama3", r'"parameters": \[1\]', "callmark: arguments that are a list are malformed"),
    ("llama4", r"\)\nget_time", "sglang: requires a list"),
    ("minimax-m3", r"^\]<\]minimax\[>\[<invoke", "sglang: requires the outer tag"),
    ("minimax-m3", "Bonn\n", "callmark: an unclosed element, or text between elements, is malformed; sglang drops it"),
    ("mistral", r"\]\[\{", "sglang: requires a space before the list, as older templates write it"),
    ("mistral", "CALL_ID", "sglang: the id becomes part of the name; mistral-common has a token for it in v11"),
    ("mistral", r"weather\{", "sglang: requires [ARGS]"),
    ("mistral", r"\}get_time", "sglang: requires the marker before each call"),
    ("pythonic", r"^get_weather|^\[\n", "sglang: requires a list on one line"),
    ("pythonic", "unlisted_tool", "callmark: without a marker, only known tools are called"),
    ("pythonic", r"\]\(https", "callmark: a link is not a call"),
    ("qwen3-coder", r"^<function|^<seed", "sglang: requires <tool_call>; models leave it out, and Seed has another one"),
    ("qwen3-coder", r"b: </tool_call>", "callmark: a value ends with its own closing tag; sglang cuts it at another one"),
    ("qwen3-coder", r"Bo\Z|</parameter>\n</tool_call>", "callmark: an unclosed call is malformed; sglang closes it"),
    ("qwen3-coder", "the city is", "callmark: text instead of parameters is malformed; sglang drops it"),
]


def texts(family: Family) -> list[str]:
    """Return the different texts of a family."""
    written_out = [*(text for text, _ in family.written), *family.about, *(text for text, _ in family.broken)]
    return list(dict.fromkeys([*map(family.write, WRITTEN), *written_out]))


def find_parser(family: str, text: str) -> str | None:
    return next((parser for marker, parser in PARSERS.get(family, []) if marker in text), None)


def parse(family: str, text: str) -> Calls:
    return [[call.name, call.arguments] for call in parse_calls(text, family, tools=TOOLS).calls if not call.malformed]


def agree(ours: Calls, theirs: Calls | None) -> bool:
    theirs = theirs or []
    return len(ours) == len(theirs) and all(
        ours_name == theirs_name and exact(ours_arguments, theirs_arguments)
        for (ours_name, ours_arguments), (theirs_name, theirs_arguments) in zip(ours, theirs, strict=True)
    )


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--sglang", required=True, metavar="PYTHON")
    python = options.parse_args().sglang
    cases = [(name, text, parser) for name, family in FAMILIES.items() for text in texts(family) if (parser := find_parser(name, text))]
    given = {
        "tools": [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in TOOLS],
        "texts": [(parser, ADAPTED.get(name, str)(text)) for name, text, parser in cases],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(given, file)
        file.flush()
        output = subprocess.run([python, str(PEER), file.name], check=True, capture_output=True, text=True).stdout
    found = json.loads(output)
    agreed: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    different: list[tuple[str, str, Calls, Calls | None]] = []
    for (name, text, _), theirs in zip(cases, found["calls"], strict=True):
        ours = parse(name, text)
        counted[name] += 1
        if agree(ours, theirs):
            agreed[name] += 1
        else:
            different.append((name, text, ours, theirs))
    for name in counted:
        print(f"{name:14} {agreed[name]:3} of {counted[name]:3} texts agree")
    templates = {(name, family.write(calls)) for name, family in FAMILIES.items() for calls in WRITTEN} & {
        (name, text) for name, text, _ in cases
    }
    as_templates = len(templates - {(name, text) for name, text, _, _ in different})
    print(f"{'as templates':14} {as_templates:3} of {len(templates):3} texts agree: calls as the chat templates write them")
    print(f"{'all':14} {agreed.total():3} of {counted.total():3} texts agree with sglang {found['version']}")
    used: set[tuple[str, str, str]] = set()
    unexplained = 0
    for name, text, ours, theirs in different:
        row = next((row for row in REASONS if row[0] in ("", name) and re.search(row[1], text)), None)
        if row:
            used.add(row)
        else:
            unexplained += 1
        print(f"\n{name}: {row[2] if row else 'no reason is known'}\n  text     {text!r}")
        print(f"  callmark {json.dumps(ours, ensure_ascii=False)}\n  sglang   {json.dumps(theirs, ensure_ascii=False)}")
    unneeded = [row for row in REASONS if row not in used]
    for row in unneeded:
        print(f"\nno difference has this reason any more: {row[0]}: {row[2]}")
    return 1 if unexplained or unneeded else 0


if __name__ == "__main__":
    raise SystemExit(main())
