"""Shell completion: the values of options and arguments, and the script that a shell loads.

Click asks for the values that can complete a word; the metavar says what kind they are.
"""

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from callmark import registry
from callmark.errors import BadInput, CallmarkError, StorageError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_CALLMARK_COMPLETE"  # click's name: it holds what a completion script requests
DETECT = "detect"  # the value of --install-completion without a shell
_RUNS = "runs"


def complete(metavar: str, incomplete: str) -> list[CompletionItem]:
    """Return the values of this kind that complete a word; an empty list if the kind is unknown."""
    kind = metavar.strip("[].")
    if kind in _PATHS:
        return [CompletionItem(incomplete, type=_PATHS[kind])]
    if kind == "RUN":
        return _plain(_run_folders(incomplete), incomplete) or [CompletionItem(incomplete, type="dir")]
    return _plain(_NAMES[kind](), incomplete) if kind in _NAMES else []


def _plain(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the values that complete a word, without those that a shell cannot show on one line."""
    return [CompletionItem(value) for value in values if value.startswith(incomplete) and value.isprintable()]


def _run_folders(incomplete: str) -> list[str]:
    """Return the runs in the folder that is being typed, or in `runs`."""
    folder = os.path.dirname(incomplete) or _RUNS
    from callmark.runs.store import is_run

    try:
        return sorted(entry.path for entry in os.scandir(folder) if is_run(entry.path))
    except OSError:
        return []


def _configured_models() -> Iterable[str]:
    from callmark.config import read_config

    try:
        return read_config().models
    except CallmarkError:
        return ()


def _written_formats() -> Iterable[str]:
    return (name for name in registry.names("formats") if registry.find("formats", name).write is not None)


_PATHS = {"FILE": "file", "CASES": "file", "SCENARIOS": "file", "DIR": "dir", "PATH": "file", "SOURCE": "file"}
_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "FORMAT": lambda: registry.names("formats"),
    "TARGET": _written_formats,
    "EVALUATOR": lambda: registry.names("evaluators"),
    "WORLD": lambda: registry.names("worlds"),
    "USER": lambda: registry.names("users"),
    "MODEL": _configured_models,
    "AGENT": _configured_models,
}


class Shell(click.Choice):  # type: ignore[type-arg]  # generic only in newer versions of click
    """A shell that completion can be installed for, or `DETECT`."""

    def __init__(self) -> None:
        super().__init__(SHELLS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == DETECT else super().convert(value, param, ctx)


def install(command: click.Command, shell: str) -> str:
    """Write the completion script of a shell into its standard folder, and return what was written and what to do next.

    `DETECT` is the shell that `$SHELL` names.
    """
    if shell == DETECT:
        shell = _detect_shell()
    path = _script_path(shell)
    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(command, {}, "callmark", VARIABLE).source()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}") from None
    return f"Wrote {path}.\n{_next_step(shell, path)}"


def _detect_shell() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        found = f"$SHELL is {name}" if name else "$SHELL is not set"
        raise BadInput(f"--install-completion: expected {', '.join(SHELLS[:-1])} or {SHELLS[-1]}, but {found}", _USAGE)
    return name


_USAGE = "Name the shell: callmark --install-completion bash"


def _script_path(shell: str) -> Path:
    home = Path.home()
    if shell == "zsh":
        return home / ".zfunc/_callmark"
    if shell == "fish":
        return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "fish/completions/callmark.fish")
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share", "bash-completion/completions/callmark")


def _next_step(shell: str, path: Path) -> str:
    if shell == "bash":
        return f"Open a new shell. This needs the bash-completion package; without it, add to ~/.bashrc: source {shlex.quote(str(path))}"
    if shell == "fish" or _zsh_is_ready():
        return "Open a new shell."
    return "Add these lines to ~/.zshrc, then open a new shell:\n  fpath+=~/.zfunc\n  autoload -Uz compinit && compinit"


def _zsh_is_ready() -> bool:
    """Return whether `.zshrc` adds `.zfunc` to the search path and starts the completion system."""
    try:
        text = Path(os.environ.get("ZDOTDIR") or Path.home(), ".zshrc").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return ".zfunc" in text and "compinit" in text
