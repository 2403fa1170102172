"""Replies that were paid for once, so that the same question is not asked twice: an SQLite file in the user's cache folder.

The key is everything that shapes the answer (the address and the request, how its text is read, the trial), so trials are distinct. Errors
are never kept. `CALLMARK_CACHE` names another file. A file that is broken, full or not ours to write is gone without, and said once.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.models.model import Reply

VARIABLE = "CALLMARK_CACHE"
_VERSION = b"1"  # of how replies are read and kept
_PATIENCE = 5.0  # seconds that another process may be writing


class Kept(Struct, frozen=True):
    """A reply, and how long it took when it was asked for."""

    reply: Reply
    seconds: float


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode


class Cache:
    """`problem` says why nothing more is remembered, if that is so."""

    def __init__(self, path: str | None = None) -> None:
        self.problem = ""
        self._file: sqlite3.Connection | None = None
        found = Path(path or os.environ.get(VARIABLE) or _usual())
        try:
            found.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = sqlite3.connect(found, timeout=_PATIENCE, isolation_level=None)
            self._file.execute("pragma journal_mode = wal")
            self._file.execute("pragma synchronous = normal")
            self._file.execute("create table if not exists replies (key blob primary key, reply blob not null) without rowid")
            with suppress(OSError):
                found.chmod(0o600)
        except (OSError, sqlite3.Error, ValueError) as error:
            self._give_up(error, str(found))
        self._path = str(found)

    def get(self, key: bytes) -> Kept | None:
        """What was kept under a key."""
        if self._file is None:
            return None
        try:
            row = self._file.execute("select reply from replies where key = ?", (key,)).fetchone()
            return _decode(row[0]) if row else None
        except (sqlite3.Error, msgspec.MsgspecError, TypeError, UnicodeDecodeError) as error:
            self._give_up(error, self._path)
            return None

    def put(self, key: bytes, kept: Kept) -> None:
        """Keep a reply; the first of a key stays."""
        if self._file is None:
            return
        try:
            self._file.execute("insert or ignore into replies values (?, ?)", (key, _encode(kept)))
        except (OverflowError, ValueError):
            return  # a number that only Python's own JSON writes
        except sqlite3.Error as error:
            self._give_up(error, self._path)

    def close(self) -> None:
        if self._file is not None:
            with closing(self._file):
                self._file = None

    def _give_up(self, error: Exception, path: str) -> None:
        self.problem = f"answers are not remembered, {scrub(path)} cannot be used: {error}"
        self.close()


def key_of(fingerprint: bytes, trial: int, parse: str | None) -> bytes:
    """What a reply is kept under."""
    import xxhash

    made = xxhash.xxh3_128(fingerprint)
    made.update(b"\0" + _VERSION + f"\0{trial}\0{parse or ''}".encode())
    return made.digest()


def _usual() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callmark" / "replies.sqlite"
