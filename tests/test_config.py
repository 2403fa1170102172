"""`callmark.toml`: what it may say, and what is refused by name."""

from pathlib import Path

import pytest

from callmark.config import read_settings
from callmark.errors import BadInput
from callmark.grading.suites import Settings

FULL = """
suites = ["call", "process"]
threshold = 0.8
ignore = ["Common-*"]
averaging = "macro"

[weights]
tool_selection = 0.5
parameter_accuracy = 0.5

[match]
"*.description" = {"$any" = true}
"*.day" = {"$date" = 2025-05-10}
"""


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "callmark.toml").write_text(FULL)
    settings = read_settings(str(tmp_path / "callmark.toml"))
    assert settings == Settings(
        ("call", "process"),
        0.8,
        {"tool_selection": 0.5, "parameter_accuracy": 0.5},
        ("Common-*",),
        "macro",
        {"*.description": {"$any": True}, "*.day": {"$date": "2025-05-10"}},
    )


def test_without_a_file_everything_is_as_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_settings() == Settings()
    (tmp_path / "callmark.toml").write_text("threshold = 0.5")
    assert read_settings().threshold == 0.5


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("treshold = 1", "there is no key called 'treshold'. Did you mean threshold?"),
        ("threshold = 2", "threshold is 2, a number from 0 to 1 was expected"),
        ("threshold = nan", "a number from 0 to 1 was expected"),
        ("threshold = 'high'", "threshold is text, a number was expected"),
        ("suites = 'call'", "suites is text, a list was expected"),
        ("averaging = 'mean'", "averaging is 'mean', micro or macro was expected"),
        ("[weights]\ntool_selection = 'all'", "the weight of tool_selection is 'all', a number was expected"),
        ("[weights]\ntool_selektion = 1", "no metric called 'tool_selektion' to weigh. Did you mean tool_selection?"),
        ("[weights]\ntool_selection = 0.5", "the weights add up to 0.5, 1 was expected"),
        ("[weights]\nresponse_quality = 1", "there is no function that measures it"),
        ("[match]\n'*.a' = {'$glob' = 1}", "'*.a': $glob wants a text"),
        ("[match\n", "is not TOML"),
    ],
)
def test_what_cannot_be_is_refused_with_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "callmark.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_settings(str(tmp_path / "callmark.toml"))
    assert "callmark.toml" in str(error.value)
    assert sentence in str(error.value).replace("*.a: $", "'*.a': $")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_settings(str(tmp_path / "other.toml"))
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="is not UTF-8"):
        read_settings(str(tmp_path / "x.toml"))
