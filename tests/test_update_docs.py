"""The tool that rewrites the outputs in the documentation."""

from pathlib import Path

import pytest

from tests.conftest import Result
from tests.update_docs import update_output, update_page


@pytest.mark.parametrize(
    "quoted, printed, expected, problems",
    [
        ("a 1\n", "a 1\n", "a 1\n", []),
        ("score .829 [.775, .881]\n", "head\nscore .829 [.763, .880]\n", "score .829 [.763, .880]\n", []),
        ("  a 1\n…\n", "a 1\nb 2\n", "  a 1\n…\n", []),  # a line that matches is left alone
        ("saved to … (1)\n", "saved to x (1)\n", "saved to … (1)\n", []),
        ("score .829 · 5 correct · …\n", "score .831 · 6 correct · 7 wrong\n", "score .831 · 6 correct · …\n", []),
        ("nothing like it\n", "0123456789\n", "nothing like it\n", ["nothing like it"]),
        ("x … 1\n", "x 2\n", "x … 1\n", ["x … 1"]),  # what a gap in the middle stands for is not known
    ],
)
def test_quoted_lines_follow_the_printed_ones(quoted: str, printed: str, expected: str, problems: list[str]) -> None:
    assert update_output(quoted, printed) == (expected, problems)


def test_page_keeps_everything_but_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # modules next to the current folder are those of pages, and forgotten
    page = "Text.\n\n    ```console\n    $ one \\\n      --two\n    score .1\n    $ three  # exit status 1\n    ```\n\nMore.\n"
    outputs = {"one    --two": Result(0, "score .2\n", ""), "three  # exit status 1": Result(0, "", "")}
    updated = update_page(page, outputs.__getitem__)
    assert updated.text == page.replace("score .1", "score .2")
    assert updated.problems == ["$ three  # exit status 1: exit status 0\n"]
