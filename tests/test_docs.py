"""Run the examples of the documentation, and check the README and the links."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from callmark.data.lint import CODES
from tests.conftest import Cli

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/datasets.md", "docs/grading.md", "docs/models.md", "docs/comparing.md", "docs/simulation.md")
README, DATASETS, GRADING, MODELS, COMPARING, SIMULATION = ((ROOT / name).read_text(encoding="utf-8") for name in PAGES)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\S+\.\w+)\n")
STATUS = re.compile(r"# exit status (\d)$")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d")


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of every code block, in order."""
    return [(found[1], found[2]) for found in BLOCK.finditer(page)]


def commands(page: str) -> list[tuple[str, str]]:
    """Return every command line of a page with the output that is quoted for it."""
    consoles = (text for language, text in blocks(page) if language == "console")
    typed = (one.partition("\n") for text in consoles for one in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:])
    return [(line, quoted) for line, _, quoted in typed]


def check(cli: Cli, command: str, quoted: str) -> None:
    """Check the exit status that a comment names, and that the quoted output is printed in order; `…` stands for any text."""
    status = STATUS.search(command)
    result = cli(*shlex.split(command, comments=True)[1:])
    assert result.status == (int(status[1]) if status else 0), f"{command}\n{result.err}"
    rest = _plain(result.out)
    for piece in filter(None, map(str.strip, re.split("[…\n]", _plain(quoted)))):
        _, found, rest = rest.partition(piece)
        assert found, f"{command} does not print {piece!r}:\n{result.out}"


def _plain(text: str) -> str:
    return TIME.sub("(time)", text)


def first_program(page: str) -> str:
    return next(text for language, text in blocks(page) if language == "python")


def test_datasets_page_runs_as_written(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command, quoted in commands(DATASETS):
        check(cli, command, quoted)


@pytest.mark.parametrize("page", [GRADING, MODELS, COMPARING, SIMULATION], ids=["grading", "models", "comparing", "simulation"])
def test_documentation_page_runs_as_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], page: str
) -> None:
    """Run block by block: console commands, files that are named in the first line, programs and the text that they print."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which callmark adds the current folder
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # where a tool server's `python` is looked for
    printed = ""
    for language, text in blocks(page):
        if language == "console":
            for command, quoted in commands(f"```console\n{text}```"):
                check(cli, command, quoted)
        elif language == "text":
            assert printed == text
        elif named := FILE.match(text):
            Path(named[1]).write_text(text, encoding="utf-8")
        else:
            assert language == "python", f"a block of {language} without the name of its file"
            capfd.readouterr()
            exec(text, {})
            printed = capfd.readouterr().out


def test_readme_runs_as_written(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli("demo", "hotel", "-o", ".")
    Path("hotel.jsonl").rename("train.jsonl")
    Path("good.jsonl").rename("valid.jsonl")
    *before, (grading, quoted), (running, shown) = commands(README)
    assert len(before) == 4
    for command, said in before:
        check(cli, command, said)
    exec(first_program(GRADING), {})
    check(cli, grading, quoted)
    check(cli, running, shown)
    Path("eval.jsonl").unlink()
    exec(first_program(README), {})
    assert Path("eval.jsonl").exists()


def test_every_lint_code_is_documented() -> None:
    for code, (severity, meaning) in CODES.items():
        assert f"| `{code}` | {severity} | {meaning}" in DATASETS


def test_readme_names_make_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test", "chatbot-eval", "bench", "proof"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile


def test_every_link_resolves() -> None:
    pages = [ROOT / name for name in (*PAGES, "docs/metrics.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))]
    assert len(links) > 30
    for page, link in links:
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), f"{page.name}: {link}"
        assert not heading or heading in headings(target.read_text(encoding="utf-8")), f"{page.name}: {link}"


def headings(page: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
