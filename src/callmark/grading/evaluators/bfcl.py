"""Evaluator `bfcl`: the verdict of the Berkeley Function Calling Leaderboard (docs/reference/metrics.md, section 21)

    bfcl.valid    1 if its checker accepts the calls, else 0; the reason is its type of error

For its single-turn and live categories, with relevance and irrelevance. Not applicable to any other case. What is compared is the text that
the model wrote, if its calls are in Python syntax, otherwise its calls. Where the Berkeley checker stops, the calls are wrong.
"""

import json
from typing import Any, ClassVar

from msgspec import Struct

from callmark.calls.bfcl_code import Decoded, NotCallsError, decode_text
from callmark.grading.attempt import Attempt
from callmark.grading.bfcl.checker import Language, Names, Rules, UncheckedError, check_calls
from callmark.grading.evaluator import Metric, Result

DATA = "bfcl"  # the key of the data of a case of the leaderboard
_LANGUAGES: tuple[tuple[str, Language], ...] = (("javascript", "javascript"), ("java", "java"))
_FAILED = "ast_decoder:decoder_failed"
_WRONG_FORMAT = "ast_decoder:decoder_wrong_output_format"
_NO_CALL = "relevance_error:decoder_failed"


class BfclEvaluator(Struct, frozen=True):
    """The verdict, in its own terms. `names` says how tools with a dot in their name were given to the model."""

    names: Names = "auto"

    name: ClassVar[str] = "bfcl"
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("valid", "BFCL accuracy", kind="rate", headline=True),)
    not_applicable: ClassVar[str] = "these are not BFCL cases"

    def evaluate(self, attempt: Attempt) -> Result:
        data = attempt.case.data.get(DATA) if attempt.case is not None else None
        if data is None:
            return Result({"valid": None})
        error = self._error(attempt, data)
        return Result({"valid": float(not error)}, {"valid": error} if error else {})

    def _error(self, attempt: Attempt, data: dict[str, Any]) -> str:
        category: str = data["category"]
        malformed = _malformed(attempt)
        calls = None if malformed else _decoded_calls(attempt)
        if "irrelevance" in category:
            return "irrelevance_error:decoder_success" if calls else ""
        if "relevance" in category:
            return "" if calls else _NO_CALL
        if calls is None:
            return malformed or _FAILED
        language: Language = next((language for word, language in _LANGUAGES if word in category), "python")
        try:
            return check_calls(data["function"], calls, data["ground_truth"], category, Rules(language, self.names))
        except UncheckedError as problem:
            return f"unchecked: {problem}"


def _decoded_calls(attempt: Attempt) -> list[Decoded] | None:
    """Return the calls as the leaderboard decodes them; None if it cannot."""
    text = attempt.prediction.text if attempt.prediction is not None else ""
    if text or not attempt.actual:
        try:
            return decode_text(text)
        except NotCallsError:
            if not attempt.actual:
                return None
    return [{call.name: call.arguments} for call in attempt.actual]


def _malformed(attempt: Attempt) -> str:
    """Return the type of error of the first malformed call; "" if there is none. Arguments that are JSON of another type are decoded."""
    texts = [call.text for call in attempt.actual if call.malformed]
    return "" if not texts else _WRONG_FORMAT if all(map(_is_json, texts)) else _FAILED


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
