"""Replies that were paid for once."""

import os
import stat
from pathlib import Path

import pytest

from callmark.models.model import Reply
from callmark.runs.cache import VARIABLE, Cache, Kept, key_of
from callmark.types import Call

KEPT = Kept(Reply((Call("look", {"id": 1}),), "text", "hm", "stop", 3, 4), 0.5)


def test_a_reply_is_found_under_its_key_and_no_other(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "c" / "replies.sqlite"))
    cache.put(key_of(b"asked", 0, None), KEPT)
    cache.close()
    again = Cache(str(tmp_path / "c" / "replies.sqlite"))
    assert again.get(key_of(b"asked", 0, None)) == KEPT
    others = [key_of(b"asked", 1, None), key_of(b"Asked", 0, None), key_of(b"asked", 0, "hermes")]
    assert [again.get(key) for key in others] == [None, None, None]
    again.close()


def test_a_malformed_call_is_remembered_as_one(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    kept = Kept(Reply((Call("look", {}, None, "no JSON", "{"),)), 0.1)
    cache.put(b"k", kept)
    assert cache.get(b"k") == kept
    cache.close()


def test_two_at_a_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    one, other = Cache(str(tmp_path / "r")), Cache(str(tmp_path / "r"))
    one.put(b"a", KEPT)
    other.put(b"b", KEPT)
    other.put(b"a", Kept(Reply(), 9.0))
    assert one.get(b"b") == KEPT
    assert other.get(b"a") == KEPT
    one.close()
    other.close()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    Cache(str(tmp_path / "r")).close()
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o600


@pytest.mark.parametrize("spoil", ["text", "folder"])
def test_a_file_that_cannot_be_used_is_said_and_gone_without(tmp_path: Path, spoil: str) -> None:
    file = tmp_path / "r"
    if spoil == "text":
        file.write_text("this is no database, " * 100)
    else:
        file.mkdir()
    cache = Cache(str(file))
    assert cache.problem.startswith("answers are not remembered")
    cache.put(b"k", KEPT)
    assert cache.get(b"k") is None
    cache.close()


def test_a_reply_that_cannot_be_read_is_asked_for_anew(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    assert cache._file is not None
    cache._file.execute("insert into replies values (?, ?)", (b"k", b"{"))
    assert cache.get(b"k") is None
    assert "cannot be used" in cache.problem


def test_it_stands_where_the_variable_says_or_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    Cache().close()
    assert (tmp_path / "mine").exists()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    Cache().close()
    assert os.listdir(tmp_path / "xdg" / "callmark")[0].startswith("replies.sqlite")
