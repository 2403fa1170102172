"""Run the console blocks of documentation pages again, and rewrite the outputs that have changed.

    python -m tests.update_docs README.md docs/tutorial.md
    python -m tests.update_docs              every page

Blocks are run as by `tests/test_docs.py`. An output that still matches is left alone. In one that does not, each quoted line is replaced by
the printed line that is most like it, in order: lines that the page leaves out stay out, and lines with `…` are kept if they still match.
What cannot be updated is listed, with exit status 1: a command with another exit status, and a line that is not like any printed line.
Doctests (`>>>`) are not run.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from difflib import SequenceMatcher
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import click

from callmark.cli.main import run
from tests.conftest import Result
from tests.test_docs import BLOCK, OWN_TESTS, PAGES, ROOT, STATUS, TIME, Block, blocks, commands, forget_modules, name, read, run_command

LEAST_ALIKE = 0.5  # of a quoted line and the printed line that replaces it


class Update(NamedTuple):
    """The text of a page with new outputs, and what could not be updated."""

    text: str
    problems: list[str]


def update_output(quoted: str, printed: str) -> tuple[str, list[str]]:
    """Return the quoted output with its lines replaced by the printed ones, and the lines that are not like any printed line.

    Lines keep their order. A quoted line with `…` that still matches is kept; one that does not match is a problem.
    """
    lines = [line.rstrip() for line in printed.splitlines()]
    at = 0
    updated, problems = [], []
    for line in quoted.splitlines():
        if line.strip() in ("", "…"):
            updated.append(line)
        elif (index := _find_match(line.strip(), lines, at)) is not None:
            updated.append(line)
            at = index + 1
        elif (index := _find_similar(line.strip(), lines, at)) is not None:
            indent = line[: len(line) - len(line.lstrip())]
            updated.append(f"{indent}{_cut(lines[index].strip(), line.strip())}")
            at = index + 1
        else:
            problems.append(line.strip())
            updated.append(line)
    return "".join(f"{line}\n" for line in updated), problems


def _find_match(line: str, lines: list[str], at: int) -> int | None:
    """Return the index of the first printed line that a quoted one matches; None if there is none."""
    pattern = re.compile(".*".join(map(re.escape, TIME.sub("(time)", line).split("…"))))
    return next((index for index in range(at, len(lines)) if pattern.search(TIME.sub("(time)", lines[index]))), None)


def _find_similar(line: str, lines: list[str], at: int) -> int | None:
    """Return the index of the printed line that is most like a quoted one; None if none is like it."""
    if "…" in line.removesuffix("…"):
        return None
    ratios = [
        (SequenceMatcher(None, line, _cut(lines[index].strip(), line), autojunk=False).ratio(), -index) for index in range(at, len(lines))
    ]
    best, negative = max(ratios, default=(0.0, 0))
    return -negative if best >= LEAST_ALIKE else None


def _cut(printed: str, quoted: str) -> str:
    """Return a printed line, cut after as many parts as the quoted line has before its final `…`."""
    if not quoted.endswith("…"):
        return printed
    parts = printed.split(" · ")
    kept = quoted.removesuffix("…").rstrip(" ·").count(" · ") + 1
    end = " · …" if quoted.endswith(" · …") else " …"
    return " · ".join(parts[:kept]) + end if len(parts) > kept else printed


def update_page(page: str, execute: Callable[[str], Result]) -> Update:
    """Return a page with the outputs that its commands print now. The current folder is the page's own."""
    problems: list[str] = []
    printed: list[str] = []  # by the program or script just before

    def replace(fence: re.Match[str]) -> str:
        (block,) = blocks(fence[0] + "\n")
        before, printed[:] = list(printed), []
        forget_modules()
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            return _with_text(fence, "".join(_console(block, execute, problems)))
        elif block.language == "bash":
            printed[:] = [_output(line, execute, problems) for line in block.text.splitlines()]
        elif block.language == "text" and before:
            output = "".join(before)
            text, unlike = update_output(block.text, output) if "…" in block.text else (output, [])
            problems.extend(unlike)
            return _with_text(fence, text)
        elif block.language == "python" and not block.text.startswith(">>> "):
            with redirect_stdout(StringIO()) as out:
                exec(compile(block.text, "example", "exec"), {"__name__": "__main__"})
            printed[:] = [out.getvalue()]
        return fence[0]

    return Update(BLOCK.sub(replace, page), problems)


def _console(block: Block, execute: Callable[[str], Result], problems: list[str]) -> Iterator[str]:
    """Yield the commands of a block as they are written, each with its output."""
    typed = re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE)
    yield typed[0]
    for text, (command, quoted) in zip(typed[1:], commands(block.text), strict=True):
        written = text[: len(text) - len(quoted)]
        output, unlike = update_output(quoted, _output(command, execute, problems))
        problems.extend(f"$ {command}: {line}" for line in unlike)
        yield written + output


def _output(command: str, execute: Callable[[str], Result], problems: list[str]) -> str:
    status = STATUS.search(command)
    result = execute(command)
    if result.status != (int(status[1]) if status else 0):
        problems.append(f"$ {command}: exit status {result.status}\n{result.out}{result.err}")
    return result.out + result.err


def _with_text(fence: re.Match[str], text: str) -> str:
    """Return a fenced block with another text."""
    indented = "".join(f"{fence[1]}{line}" if line.strip() else line for line in text.splitlines(keepends=True))
    return f"{fence[1]}```{fence[2]}{fence[3]}\n{indented}{fence[1]}```"


def _run_captured(*arguments: str) -> Result:
    """Run callmark in this process, with its output captured."""
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))  # JSON is written as bytes
    with redirect_stdout(out), redirect_stderr(err):
        status = run(list(arguments))
    first, second = (stream.buffer.getvalue().decode() for stream in (out, err) if isinstance(stream.buffer, BytesIO))
    return Result(status, first, second)


@contextmanager
def _empty_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="callmark-docs-") as parent:
        folder = Path(parent, "page")
        folder.mkdir()
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def main(names: list[str]) -> int:
    """Update the pages, print what changed and what could not be updated, and return the exit status."""
    pages = [ROOT / each for each in names] or [page for page in PAGES if name(page) not in OWN_TESTS]
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `python` and `callmark` of this environment
    os.environ.pop("OPENAI_API_KEY", None)
    failed = False
    for page in pages:
        with _empty_folder():
            before = read(page)
            after, problems = update_page(before, lambda command: run_command(_run_captured, command))
        if after != before:
            page.write_text(after, encoding="utf-8")
        click.echo(f"{name(page)}: {'updated' if after != before else 'unchanged'}")
        for problem in problems:
            click.echo(f"  to do: {problem}")
        failed = failed or bool(problems)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
