"""The response cache: predictions by request, in an SQLite file in the user's cache folder.

The key covers everything that determines the prediction (URL, request, text format, trial), so trials do not share responses. Errors are
never stored. `CALLMARK_CACHE` sets another file. A file that is broken, full or not writable disables the cache.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from callmark.calls.strict import scrub
from callmark.types import Prediction

CACHE_VARIABLE = "CALLMARK_CACHE"
_VERSION = b"2"  # of the stored predictions
_LOCK_TIMEOUT = 5.0  # seconds to wait for another process that is writing

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Prediction).decode


class Cache:
    """Predictions by key. If `problem` is not empty, it says why the cache is disabled: nothing is found and nothing is stored."""

    def __init__(self, path: str | None = None) -> None:
        self.problem = ""
        self._connection: sqlite3.Connection | None = None
        file = Path(path or os.environ.get(CACHE_VARIABLE) or _default_path())
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(file, timeout=_LOCK_TIMEOUT, isolation_level=None)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._connection.execute(
                "create table if not exists predictions (key blob primary key, prediction blob not null) without rowid"
            )
            with suppress(OSError):
                file.chmod(0o600)
        except (OSError, sqlite3.Error, ValueError) as error:
            self._disable(error, str(file))
        self._path = str(file)

    def get(self, key: bytes) -> Prediction | None:
        """Return the prediction stored under a key, with its original latency; None if there is none."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("select prediction from predictions where key = ?", (key,)).fetchone()
            return _decode(row[0]) if row else None
        except (sqlite3.Error, msgspec.MsgspecError, TypeError, UnicodeDecodeError) as error:
            self._disable(error, self._path)
            return None

    def put(self, key: bytes, prediction: Prediction) -> None:
        """Store a prediction. An existing prediction with the same key is kept."""
        if self._connection is None:
            return
        try:
            self._connection.execute("insert or ignore into predictions values (?, ?)", (key, _encode(prediction)))
        except (OverflowError, ValueError):
            return  # a number that only the standard library's json can write
        except sqlite3.Error as error:
            self._disable(error, self._path)

    def close(self) -> None:
        """Close the file. Closing it again does nothing."""
        if self._connection is not None:
            with closing(self._connection):
                self._connection = None

    def _disable(self, error: Exception, path: str) -> None:
        self.problem = f"response cache disabled: {scrub(path)}: {error}"
        self.close()


def cache_key(fingerprint: bytes, trial: int, parse: str | None) -> bytes:
    """Return the cache key of a prediction: the fingerprint of its request, the trial and the text format."""
    import xxhash

    digest = xxhash.xxh3_128(fingerprint)
    digest.update(b"\0" + _VERSION + f"\0{trial}\0{parse or ''}".encode())
    return digest.digest()


def _default_path() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callmark" / "predictions.sqlite"
