"""The state of the Git repository of the current folder: commit, branch, and whether tracked files have changed.

The repository may be a stranger's, and its configuration can name programs: a file system monitor, hooks, filters, remote helpers. None of
them is run: monitor and hooks are switched off, no index is written, nothing is fetched, submodules are ignored, and filters are replaced
by none. Without its filter, an unchanged file may look changed; if there are only such files, it is not known whether there are changes.
Where Git is missing, takes too long, or refuses the folder, there is no state.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from callmark.calls.strict import scrub

_TIMEOUT = 5.0  # seconds
_MAX_BRANCH = 200  # characters
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_FILTER = re.compile(r"(filter\..+)\.(?:clean|smudge|process|required)", re.DOTALL)
_SAFE = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.untrackedCache=false")
_NO_FILTER = ("clean=", "smudge=", "process=", "required=false")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ":", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_STATUS = ("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")


class GitState(Struct, frozen=True, omit_defaults=True):
    """The state of a Git repository.

    Attributes:
        commit: Id of the checked-out commit.
        branch: Name of the branch; empty if none is checked out.
        dirty: Whether tracked files differ from the commit; None if that is not known. Untracked files and submodules do not count.
    """

    commit: str
    branch: str = ""
    dirty: bool | None = None


def read_git_state(folder: str = ".") -> GitState | None:
    """Return the state of the repository that contains a folder; None without one, without a commit, and without Git."""
    if (git := shutil.which("git")) is None:
        return None
    names = _run(git, folder, (), "config", "--list", "--name-only")
    if names is None:
        return None
    settings = list(_safe_settings(names))
    status = _run(git, folder, settings, *_STATUS)
    fields = dict(_headers(status or ()))
    commit, branch = fields.get("branch.oid", ""), fields.get("branch.head", "")
    if status is None or not _COMMIT.fullmatch(commit):
        return None
    dirty = _is_dirty(status, lambda paths: _has_filter(git, folder, settings, paths))
    return GitState(commit, "" if branch == "(detached)" else scrub(branch)[:_MAX_BRANCH], dirty)


def _safe_settings(names: Sequence[str]) -> Iterator[str]:
    """Yield the settings, as `key=value`, that switch off every program that Git could run. `names` are all configured keys."""
    yield from _SAFE
    for key in dict.fromkeys(found[1] for name in names if (found := _FILTER.fullmatch(name))):
        yield from (f"{key}.{setting}" for setting in _NO_FILTER)


def _headers(status: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in status:
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            yield name, value


def _is_dirty(status: Sequence[str], has_filter: Callable[[Sequence[str]], bool]) -> bool | None:
    """Return whether there are changes; None if all of them are in files with a filter, and not staged."""
    changes = [line.split(" ", 8) for line in status if line.startswith("1 ")]
    others = [line for line in status if line.startswith(("2 ", "u "))]
    if others or any(change[1][0] != "." for change in changes):  # staged, or in conflict: no filter is involved
        return True
    return (None if has_filter([change[8] for change in changes]) else True) if changes else False


def _has_filter(git: str, folder: str, settings: Sequence[str], paths: Sequence[str]) -> bool:
    """Return whether each of these files has a filter, or that cannot be found out."""
    found = _run(git, folder, settings, "check-attr", "--stdin", "filter", text="\0".join([*paths, ""]))
    return found is None or all(value not in ("unspecified", "unset") for value in found[2::3])


def _run(git: str, folder: str, settings: Sequence[str], command: str, *options: str, text: str = "") -> list[str] | None:
    """Return what a command of Git prints, which is separated by null bytes; None if it fails, or if a setting cannot be passed to it."""
    if any(setting.count("=") > 1 for setting in settings):  # Git would take it for another key
        return None
    given = [part for setting in settings for part in ("-c", setting)]
    try:
        done = subprocess.run(
            [git, "-C", folder, "--no-pager", *given, command, "-z", *options],
            input=text.encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            timeout=_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")
