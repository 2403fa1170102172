"""callmark tells, call by call and with the evidence, whether an agent calls the right tool with the right arguments.

>>> import callmark
>>> dataset = callmark.load("valid.jsonl")
>>> callmark.stats(dataset).tool_calls.mean
>>> callmark.lint(dataset).summary
>>> callmark.write(callmark.expand(dataset), "eval.jsonl")
"""

from callmark.data.expand import expand
from callmark.data.lint import lint
from callmark.data.stats import stats
from callmark.errors import BadInput
from callmark.formats import Dataset, load, write
from callmark.types import Call, Case, Conversation, Finding, Message, Tool

__all__ = [
    "BadInput",
    "Call",
    "Case",
    "Conversation",
    "Dataset",
    "Finding",
    "Message",
    "Tool",
    "expand",
    "lint",
    "load",
    "stats",
    "write",
]
