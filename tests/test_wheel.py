"""The README's quick start and the tutorial as a new user runs them: a built wheel and its declared dependencies, nothing else.

The dependencies are linked from this environment instead of downloaded. The source tree and undeclared packages are not importable.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_docs import ROOT, STATUS, blocks, check_output, commands, read


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment into which the wheel is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    venv = folder / "venv"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    (site_packages,) = venv.glob("lib/python*/site-packages")
    for package in dependencies("callmark"):
        for name in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site_packages / name).exists():
                (site_packages / name).symlink_to(Path(str(package.locate_file(name))))
    (wheel,) = folder.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(venv / "bin" / "python"))
    run(*pip, "install", "-q", "--no-index", "--no-compile", str(wheel))
    return venv


def dependencies(name: str, extra: str = "") -> Iterator[Distribution]:
    """Yield the installed dependencies of a package, with their own dependencies."""
    seen: set[tuple[str, str]] = set()
    waiting = [(name, extra)]
    while waiting:
        package, wanted = waiting.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        found = distribution(package)
        if package != name:
            yield found
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": wanted}):
                waiting += [(requirement.name, each) for each in ("", *requirement.extras)]


def run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"$ {command[-1]}\nexit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Shell:
    """A shell in an empty folder that finds nothing but the environment and the system's commands."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self._env = {"HOME": str(folder), "PATH": f"{environment / 'bin'}:{os.defpath}"}

    def run(self, script: str) -> str:
        return run("bash", "-c", script, cwd=self.folder, env=self._env)


@pytest.fixture
def shell(environment: Path, tmp_path: Path) -> Shell:
    return Shell(environment, tmp_path)


def test_callmark_comes_from_the_wheel(shell: Shell, environment: Path) -> None:
    assert shell.run("python -c 'import callmark; print(callmark.__file__)'").startswith(str(environment))
    assert "ModuleNotFoundError" in shell.run("python -c 'import pytest' 2>&1 || true")


def test_quick_start_runs_as_printed(shell: Shell) -> None:
    script, output = (block for block in blocks(read(ROOT / "README.md")) if block.language in ("bash", "text"))
    assert script.language == "bash"
    check_output("The quick start", f"…\n{output.text}", shell.run(f"set -e\n{script.text}"))
    assert (shell.folder / "report.html").stat().st_size > 100_000


def test_tutorial_runs_as_printed(shell: Shell) -> None:
    for block in blocks(read(ROOT / "docs" / "tutorial.md")):
        if block.file:
            (shell.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, quoted in commands(block.text):
                assert not STATUS.search(command)
                check_output(f"$ {command}", quoted, shell.run(command))
    assert (shell.folder / "report.html").stat().st_size > 100_000
