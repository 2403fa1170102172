"""Trust: a file may describe what to run, but only the user decides that it runs.

A run folder, a `callmark.toml` that was found in the current folder, and `.env` are data. What they name, and what would run a command,
import a module or send something to an address, is an `Action`. An action of a file needs the user's consent: `authorize` returns only if
the user has trusted it, now or before. What the user names (on the command line, in Python, in a file passed as `--config`) needs none.

Consent is remembered for each user by a digest of the file's path, the current folder, where modules and relative commands are found, and
the action itself: a file that is moved, or names something else, is asked about again. A run remembers its own actions when it is created,
so that it can be resumed and graded again.

    $XDG_DATA_HOME/callmark/trusted/DIGEST      by default in ~/.local/share; delete a file to withdraw consent
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from time import gmtime, strftime
from typing import Literal

from msgspec import Struct, structs

from callmark.errors import BadInput
from callmark.wording import shorten_middle

VARIABLE = "CALLMARK_TRUST"  # set to 1, it allows everything, for CI
HINT = f"Review it, then pass --trust to allow this (in Python trust=True, in CI {VARIABLE}=1)."

_MAX_SHOWN = 1000  # characters of an action

Decide = Callable[[str, Sequence["Action"]], bool]
"""Decides whether the actions of a file are allowed, and remembered."""


class Action(Struct, frozen=True):
    """Something that a file names and that acts. `str(action)` is `runs the command './agent --json'`.

    Attributes:
        kind: `run` a program, `import` a module, or `send` a key or requests to an address.
        what: What is run, imported or sent, as it is shown; never a key.
        source: The file or run folder that names it; empty until that is known.
        exact: The same with everything that `what` hides, for the digest; `what` if it is empty.
        applies: Whether it acts now. A key that is not set is not sent, but a run that may send it remembers so.
    """

    kind: Literal["run", "import", "send"]
    what: str
    source: str = ""
    exact: str = ""
    applies: bool = True

    def __str__(self) -> str:
        shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in self.what)
        verb = "makes callmark send" if self.kind == "send" else f"{self.kind}s"
        return f"{verb} {shorten_middle(shown, _MAX_SHOWN)}"


def import_action(path: str) -> Action:
    """Return the import of `module:name`."""
    module, _, name = path.partition(":")
    return Action("import", f"{name} from {module}" if name else module, exact=path)


def import_actions(names: Iterable[str], *, source: str) -> list[Action]:
    """Return the imports among the names of evaluators: each `module:name`. Other names are registered, so the user installed them."""
    return named_by(source, [import_action(name) for name in names if ":" in name])


def named_by(source: str, actions: Iterable[Action]) -> list[Action]:
    """Return the actions that need consent: those that a file names, in `source` unless they have their own. An empty source is the user.

    `source` is the path of the file or run folder.
    """
    return [action if action.source else structs.replace(action, source=source) for action in actions if action.source or source]


def authorize(actions: Iterable[Action]) -> None:
    """Return if the user allows these actions; otherwise raise `BadInput` that says what the file would do. No actions are allowed."""
    wanted: dict[str, list[Action]] = {}
    for action in actions:
        if action.applies and not _is_trusted(action) and action not in wanted.setdefault(action.source, []):
            wanted[action.source].append(action)
    for source, listed in wanted.items():
        if not listed or os.environ.get(VARIABLE) == "1":
            continue
        if not _decide.get()(source, listed):
            raise BadInput(f"{source} is not trusted: it {_enumerate(listed)}", HINT)


def remember(actions: Iterable[Action]) -> None:
    """Remember the user's consent. If it cannot be written, the user is asked again."""
    for action in actions:
        digest = _digest(action)
        _allowed.add(digest)
        with suppress(OSError):
            _write_entry(digest, action)


def refuse(source: str, actions: Sequence[Action]) -> bool:
    """Allow nothing: the decision where nobody can be asked."""
    return False


def allow(source: str, actions: Sequence[Action]) -> bool:
    """Allow everything, this time."""
    return True


def allow_and_remember(source: str, actions: Sequence[Action]) -> bool:
    """Allow everything, from now on."""
    remember(actions)
    return True


@contextmanager
def decided_by(decide: Decide | None) -> Iterator[None]:
    """Let a function decide inside this context; None leaves the decision to the one outside."""
    token = _decide.set(decide) if decide is not None else None
    try:
        yield
    finally:
        if token is not None:
            _decide.reset(token)


_decide: ContextVar[Decide] = ContextVar("decide", default=refuse)
_allowed: set[str] = set()  # in this process, where consent cannot be stored


def _is_trusted(action: Action) -> bool:
    digest = _digest(action)
    folder = _folder()
    return digest in _allowed or (folder is not None and (folder / digest).is_file())


def _digest(action: Action) -> str:
    parts = (os.path.realpath(action.source), _current_folder(), action.kind, action.exact or action.what)
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _folder() -> Path | None:
    """Return the folder of this user's consent; None if the user has no home folder."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # a relative path is not valid there
        data = os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(data, "callmark", "trusted") if os.path.isabs(data) else None


def _write_entry(digest: str, action: Action) -> None:
    import json  # imported late: most commands write none
    from tempfile import NamedTemporaryFile

    folder = _folder()
    if folder is None or (folder / digest).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    entry = {
        "action": str(action),
        "named by": os.path.realpath(action.source),
        "in": _current_folder(),
        "trusted": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
    }
    with NamedTemporaryFile("w", dir=folder, prefix=".", encoding="ascii", delete=False) as file:
        try:
            file.write(json.dumps(entry, indent=2) + "\n")
            file.close()
            os.replace(file.name, folder / digest)
        except BaseException:
            os.unlink(file.name)
            raise


def _enumerate(actions: Sequence[Action]) -> str:
    *first, last = map(str, actions)
    return f"{', '.join(first)} and {last}" if first else last
