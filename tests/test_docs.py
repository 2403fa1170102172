"""Run every example of the documentation, page by page, and check every link.

Each page runs in an empty folder of its own, block by block:

- `console`: each line after `$ ` is a command, and the lines below it are its whole output; `…` stands for any text (see `check_output`).
  A comment `# exit status N` names an exit status other than 0. A backslash at the end continues a command on the next line.
- A block with `title="NAME"`, or whose first line is `# NAME.EXTENSION`, is a file: it is written, not run.
- `python`: a program, or a doctest if it begins with `>>>`. A `text` block that follows a program is what the program prints.
- `bash`: a script to paste as a whole, one command per line. A `text` block that follows it is a part of what it prints.
- `text`, `sh` and every other language: not run.
"""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from callmark.data.lint import CODES
from tests.conftest import Cli, Result

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("README*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]
OWN_TESTS = {"docs/reference/metrics.md"}  # pages whose examples are run by a test of their own
GENERATED = {"docs/reference/cli.md", "docs/reference/api.md"}  # anchors that exist only in the built site: its build checks them
BLOCK = re.compile(r"^( *)```(\w+)([^\n`]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')
FILE = re.compile(r"# (\S+\.\w+)\n")
STATUS = re.compile(r"# exit status (\d+)$")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d")
SHELL = re.compile(r"[|<>;&`]|\$\(")


class Block(NamedTuple):
    """One fenced block: its language, the file that it is (or `""`), and its text without the indentation of the fence."""

    language: str
    file: str
    text: str


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """Return every fenced block of a page in order."""
    found = []
    for fence in BLOCK.finditer(page):
        text = textwrap.dedent(fence[4])
        file = TITLE.search(fence[3]) or FILE.match(text)
        found.append(Block(fence[2], file[1] if file else "", text))
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield every command of a console block with the output that is quoted for it."""
    for typed in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, quoted = typed.partition("\n")
        yield command, quoted


def run_command(cli: Cli, command: str) -> Result:
    """Run a `callmark` command in this process, and anything else in a shell."""
    if command.startswith("callmark ") and not SHELL.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
        forget_modules()
        return cli(*shlex.split(command, comments=True)[1:])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, encoding="utf-8", check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def run_checked(cli: Cli, command: str) -> str:
    """Run a command, check its exit status, and return what it prints."""
    status = STATUS.search(command)
    result = run_command(cli, command)
    assert result.status == (int(status[1]) if status else 0), f"$ {command}\nexit status {result.status}\n{result.out}{result.err}"
    return result.out + result.err


def forget_modules() -> None:
    """Forget the modules that pages define: for a reader, each command is a new process, and several pages have a `my_agent.py`."""
    pages = f"{Path.cwd().parent}{os.sep}"  # each page has a folder in it
    for module in [module for module, loaded in sys.modules.items() if (getattr(loaded, "__file__", None) or "").startswith(pages)]:
        del sys.modules[module]
    importlib.invalidate_caches()


def check_command(cli: Cli, command: str, quoted: str) -> None:
    check_output(f"$ {command}", quoted, run_checked(cli, command))


def check_output(source: str, quoted: str, printed: str) -> None:
    """Check that the quoted lines are what is printed, whole and one after the other. The time of day may differ.

    `…` within a line stands for any text of that line; on a line of its own, for any number of lines. Blank lines and white space at the
    end of a line do not count. A command without any quoted output is not checked.
    """
    shown, rest = output_lines(quoted), output_lines(printed)
    gap = not shown
    for line in shown:
        if line.strip() == "…":
            gap = True
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        found = next((index for index, candidate in enumerate(rest if gap else rest[:1]) if pattern.fullmatch(candidate)), None)
        assert found is not None, f"{source}\ndoes not print {line!r}{'' if gap else ' next'}:\n{printed}"
        rest, gap = rest[found + 1 :], False
    assert gap or not rest, f"{source}\nprints more than the page shows, which has no `…` at the end:\n" + "\n".join(rest)


def output_lines(text: str) -> list[str]:
    """Return the lines that are not blank, without the time of day."""
    return [line.rstrip() for line in TIME.sub("(time)", text).splitlines() if line.strip()]


def run_doctest(text: str, names: dict[str, object]) -> None:
    """Run a block of `>>>` examples. Later examples of a page see the names of earlier ones."""
    said: list[str] = []
    example = doctest.DocTestParser().get_doctest(text, {}, "example", None, None)
    example.globs = names
    doctest.DocTestRunner(verbose=False).run(example, out=said.append, clear_globs=False)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) not in OWN_TESTS and blocks(read(page))], ids=name)
def test_page_runs_as_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], page: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # callmark adds the current folder
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # `python` and `callmark` of this environment
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins of this environment take seconds to import
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p callmark -p xdist")
    printed: str | None = None  # by the program just before
    names: dict[str, object] = {}
    for block in blocks(read(page)):
        previous, printed = printed, None
        forget_modules()
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, quoted in commands(block.text):
                check_command(cli, command, quoted)
        elif block.language == "python" and block.text.startswith(">>> "):
            run_doctest(block.text, names)
        elif block.language == "python":
            capfd.readouterr()
            exec(compile(block.text, name(page), "exec"), {"__name__": "__main__"})
            printed = capfd.readouterr().out
        elif block.language == "bash":
            printed = "".join(run_checked(cli, line) for line in block.text.splitlines())
        elif block.language == "text" and previous is not None:
            if "…" in block.text:
                check_output("The program", f"…\n{block.text}", previous)
            else:
                assert previous == block.text


@pytest.mark.parametrize("code", CODES)
def test_lint_code_is_documented(code: str) -> None:
    severity, meaning = CODES[code]
    assert f"| `{code}` | {severity} | {meaning} |" in read(ROOT / "docs" / "reference" / "lint.md")


@pytest.mark.parametrize("page", sorted(ROOT.glob("README*.md")), ids=name)
def test_readme_names_make_targets_that_exist(page: Path) -> None:
    targets = re.findall(r"`make ([\w-]+)`", read(page))
    assert "test" in targets
    assert not set(targets) - set(re.findall(r"^([\w-]+):", read(ROOT / "Makefile"), re.MULTILINE))


@pytest.mark.parametrize(
    "english, chinese",
    [
        ("README.md", "README.zh-CN.md"),
        ("docs/tutorial.md", "docs/tutorial.zh.md"),
        ("docs/how-to/from-tools-to-a-comparison.md", "docs/how-to/from-tools-to-a-comparison.zh.md"),
    ],
)
def test_chinese_page_has_the_same_examples(english: str, chinese: str) -> None:
    first, second = (blocks(read(ROOT / page)) for page in (english, chinese))
    assert first == second


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_every_link_resolves(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", read(page))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if name(target) not in GENERATED:
            assert target.exists(), link
            assert not anchor or anchor in anchors(read(target)), link


def anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page, as the site and code hosts make them."""
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_installs_callmark_from_an_index(page: Path) -> None:
    """The package is on no index. An extra of the installed package is found without one."""
    assert not re.search(r"pip install callmark\b(?!\[)", page.read_text(encoding="utf-8"))


def test_console_blocks_are_read_as_the_guide_at_the_top_says() -> None:
    console = "- step\n\n    ```console\n    $ callmark a \\\n      --b  # exit status 2\n    out\n    $ c\n    ```\n"
    first, second = blocks(console + '\n```json title="x.json"\n{}\n```\n')
    assert list(commands(first.text)) == [("callmark a    --b  # exit status 2", "out\n"), ("c", "")]
    assert second == Block("json", "x.json", "{}\n")
