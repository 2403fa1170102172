"""Words and phrases that are kept out of everything a person reads: docs, help, messages, page, docstrings and comments.

Each line of `EXCEPTIONS` names a file and a part of the line that may contain a phrase, with the reason.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import re2

ROOT = Path(__file__).parents[1]
READ_BY_PEOPLE = (
    *("README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    *("Makefile", "pyproject.toml", "mkdocs.yml"),
)
FOLDERS = ("docs", "src", "benchmarks")
SUFFIXES = {".py", ".js", ".html", ".css", ".md", ".yaml", ".yml", ".toml", ".txt", ".json"}

PHRASES = (
    # The sentences of the vocabulary that were replaced.
    r"\bare no failures\b",
    r"stands nowhere",
    r"\" was expected",
    r"\bwhom\b",
    r"what EVAL may be",
    r"that stands twice",
    r"is at least so much",
    r"asked and answered before",
    r"\bfor machines\b",
    r"would need about",
    r"touches no score",
    r"said besides",
    r"about no tool there is",
    r"may have spent everything",
    r"what a text comes to",
    # Words and idioms that are not the field's.
    r"\bwhoever\b",
    r"stands before",
    r"stands twice",
    r"gone on with",
    r"talk so far",
    r"to the letter",
    r"\bbesides\b",
    r"\bso much\b",
    r"\bdialects?\b",
    r"near cop(y|ies)\b",
    r"\binvented\b",
    r"\bmade[ -]up\b",
    r"document 00[124]",
)
PATTERN = re.compile("|".join(PHRASES), re.IGNORECASE)
QUICK_PATTERN = re2.compile(f"(?i){'|'.join(PHRASES)}")  # the same phrases, in a fiftieth of the time

SPOKEN = "a simulated person says it"
UNDERSTOOD = "a pattern for what simulated people or agents say"
EXCEPTIONS: dict[str, dict[str, str]] = {
    "src/callmark/simulation/users/rule_based/sentences.py": {
        "by when|to whom|for whom": UNDERSTOOD,
        "what|which|who|whom|whose": UNDERSTOOD,
        'r"whom|whose': UNDERSTOOD,
    },
    "src/callmark/simulation/users/rule_based/utterances.py": {"thank you so much!": SPOKEN, "I'd so much like to": SPOKEN},
    "src/callmark/synthesis/api_utterances.py": {"thank you so much.": SPOKEN},
    "src/callmark/worlds/helpdesk/language.py": {"(?:a lot|so much|in advance|again)": UNDERSTOOD},
    "src/callmark/worlds/retail/expert/refusal_templates.py": {"whoever asks": SPOKEN},
    "src/callmark/worlds/retail/user/reaction_templates.py": {
        "[very much|so much|kindly": SPOKEN,
        "[thank you|thanks] so much": SPOKEN,
        "|thank you so much|": SPOKEN,
    },
}


def files() -> list[Path]:
    """Return every file of the project whose text people read."""
    named = [ROOT / name for name in READ_BY_PEOPLE if (ROOT / name).exists()]
    return named + [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES]


def findings(path: Path) -> Iterator[str]:
    """Yield `file:line: text` for every line that contains a phrase and is not an exception. A phrase may be broken over two lines."""
    name = path.relative_to(ROOT).as_posix()
    allowed = EXCEPTIONS.get(name, {})
    lines = path.read_text(encoding="utf-8").splitlines()
    if not QUICK_PATTERN.search(" ".join(line.lstrip(" #*/") for line in lines)) and not QUICK_PATTERN.search(" ".join(lines)):
        return
    for number, line in enumerate(lines, 1):
        continued = f"{line} {lines[number].lstrip(' #*/')}" if number < len(lines) else line
        found = PATTERN.search(continued)
        if found and found.start() < len(line) and not any(part in continued for part in allowed):
            yield f"{name}:{number}: {found[0]!r} in {line.strip()[:120]}"


def test_no_phrase_of_the_list_is_used() -> None:
    found = [finding for path in files() for finding in findings(path)]
    assert not found, "\n".join(["", *found])


def test_every_exception_is_needed() -> None:
    for name, allowed in EXCEPTIONS.items():
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for part, reason in allowed.items():
            assert part in text, f"{name} has no {part!r} any more"
            assert PATTERN.search(part), f"{name}: {part!r} contains no phrase of the list"
            assert reason


@pytest.mark.parametrize("sentence", ["Whom to ask", "infrastructure errors are no failures", "the talk so\nfar", "A made-up API"])
def test_list_catches(sentence: str) -> None:
    assert PATTERN.search(" ".join(sentence.split()))
