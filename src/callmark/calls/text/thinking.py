"""Thinking in a model's text: the tags that families of models put around it.

Harmony's analysis channel and ReAct's thoughts are not tags around a text; their parsers set them aside themselves.
"""

import re

# Hermes, Qwen, DeepSeek, GLM, Kimi K2 and others · Hunyuan 3 (with a suffix) · Seed · MiniMax M3 · K2 Horizon
_XML = r"(?:seed:|mm:|ifm\|)?think(?:ing|_fast(?:er)?)?(?::\w++)?"
_CLOSINGS = {
    "[THINK]": "[/THINK]",  # Mistral
    "◁think▷": "◁/think▷",  # Kimi VL
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere
    "<|channel>thought": "<channel|>",  # Gemma 4
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",  # Kimi K3
    "<scratch_pad>": "</scratch_pad>",  # Hermes
}
OPENING = "|".join([f"<{_XML}>", *map(re.escape, _CLOSINGS)])
CLOSING = "|".join([f"</{_XML}>", *map(re.escape, _CLOSINGS.values())])


def closing_tag(opening: str) -> str:
    """Return the tag that closes thinking which this tag opened."""
    return _CLOSINGS.get(opening) or f"</{opening[1:]}"
