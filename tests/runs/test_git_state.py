"""The state of the repository: commit, branch and changes, without running anything that the repository names."""

import os
import subprocess
from pathlib import Path

import pytest

from callmark.runs.git_state import GitState, read_git_state


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", "-C", str(folder), *names, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one committed file, on the branch `topic/new`."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "topic/new")
    (folder / "file.txt").write_text("one\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_commit_branch_and_changes(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    assert read_git_state(str(repository)) == GitState(commit, "topic/new", False)
    (repository / "untracked.txt").write_text("x", encoding="utf-8")
    assert read_git_state(str(repository)) == GitState(commit, "topic/new", False)
    (repository / "file.txt").write_text("changed\n", encoding="utf-8")
    assert read_git_state(str(repository)) == GitState(commit, "topic/new", True)
    git(repository, "add", "file.txt")
    assert read_git_state(str(repository)) == GitState(commit, "topic/new", True)
    (repository / "folder").mkdir()
    assert read_git_state(str(repository / "folder")) == GitState(commit, "topic/new", True)
    git(repository, "checkout", "-q", "-f", "--detach")
    assert read_git_state(str(repository)) == GitState(commit, "", False)


def test_no_state_without_a_repository_a_commit_or_git(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_git_state(str(tmp_path)) is None
    assert read_git_state(str(tmp_path / "missing")) is None
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    assert read_git_state(str(empty)) is None
    (repository / ".git" / "config").write_text("[broken", encoding="utf-8")
    assert read_git_state(str(repository)) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_git_state(str(repository)) is None


def test_nothing_that_the_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    """Every setting here runs a program in a plain `git status`, or could; the test checks that the first ones do."""
    marker = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {marker}\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(repository, "submodule", "--quiet", "add", str(inner), "sub")
    (repository / ".gitattributes").write_text("*.txt filter=bad diff=bad\n", encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).symlink_to(program)
    for key in ("core.fsmonitor", "filter.bad.clean", "filter.bad.smudge", "filter.bad.process", "diff.external", "diff.bad.textconv",
                "core.pager", "pager.status", "core.sshCommand", "core.askPass", "core.editor", "gpg.program", "alias.status"):  # fmt: skip
        git(repository, "config", key, str(program))
    git(repository / "sub", "config", "core.fsmonitor", str(program))
    git(repository, "config", "filter.bad.required", "true")
    os.utime(repository / "file.txt", (1, 1))  # its content must be looked at
    marker.unlink(missing_ok=True)
    subprocess.run(["git", "-C", str(repository), "status"], capture_output=True, check=False)
    assert marker.exists()
    marker.unlink()
    state = read_git_state(str(repository))
    assert not marker.exists(), marker.read_text(encoding="utf-8")
    assert state is not None
    assert (state.branch, state.dirty) == ("topic/new", False)


def test_changes_of_files_with_a_filter_are_not_known(repository: Path) -> None:
    git(repository, "config", "filter.upper.clean", "tr a-z A-Z")
    (repository / ".gitattributes").write_text("file.txt filter=upper\n", encoding="utf-8")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "attributes")
    (repository / "file.txt").write_text("other\n", encoding="utf-8")
    state = read_git_state(str(repository))
    assert state is not None
    assert state.dirty is None
    (repository / ".gitattributes").write_text("file.txt filter=upper # changed\n", encoding="utf-8")
    state = read_git_state(str(repository))
    assert state is not None
    assert state.dirty is True


def test_filter_that_cannot_be_switched_off_leaves_no_state(repository: Path) -> None:
    git(repository, "config", "filter.a=b.clean", "cat")
    assert read_git_state(str(repository)) is None
