"""The response cache."""

import os
import stat
from pathlib import Path

import pytest

from callmark.runs.cache import CACHE_VARIABLE, Cache, cache_key
from callmark.types import Call, Prediction, Usage

STORED = Prediction("c", 1, (Call("look", {"id": 1}),), "text", "hm", finish_reason="stop", usage=Usage(0.5, 3, 4))


def test_a_prediction_is_found_under_its_key_and_no_other(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "c" / "predictions.sqlite"))
    cache.put(cache_key(b"request", 0, None), STORED)
    cache.close()
    again = Cache(str(tmp_path / "c" / "predictions.sqlite"))
    assert again.get(cache_key(b"request", 0, None)) == STORED
    others = [cache_key(b"request", 1, None), cache_key(b"Request", 0, None), cache_key(b"request", 0, "hermes")]
    assert [again.get(key) for key in others] == [None, None, None]
    again.close()


def test_a_malformed_call_is_cached_as_malformed(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    stored = Prediction("c", 0, (Call("look", {}, None, "no JSON", "{"),))
    cache.put(b"k", stored)
    assert cache.get(b"k") == stored
    cache.close()


def test_two_processes_can_share_the_cache(tmp_path: Path) -> None:
    first, second = Cache(str(tmp_path / "r")), Cache(str(tmp_path / "r"))
    first.put(b"a", STORED)
    second.put(b"b", STORED)
    second.put(b"a", Prediction("c", usage=Usage(9.0)))
    assert first.get(b"b") == STORED
    assert second.get(b"a") == STORED
    first.close()
    second.close()


def test_only_the_owner_can_read_the_cache(tmp_path: Path) -> None:
    Cache(str(tmp_path / "r")).close()
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) == 0o600


@pytest.mark.parametrize("spoil", ["text", "folder"])
def test_a_file_that_cannot_be_used_disables_the_cache(tmp_path: Path, spoil: str) -> None:
    file = tmp_path / "r"
    if spoil == "text":
        file.write_text("this is no database, " * 100)
    else:
        file.mkdir()
    cache = Cache(str(file))
    assert cache.problem.startswith("response cache disabled")
    cache.put(b"k", STORED)
    assert cache.get(b"k") is None
    cache.close()


def test_an_unreadable_entry_is_not_found(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "r"))
    assert cache._connection is not None
    cache._connection.execute("insert into predictions values (?, ?)", (b"k", b"{"))
    assert cache.get(b"k") is None
    assert "response cache disabled" in cache.problem


def test_cache_path_comes_from_the_variable_or_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "mine"))
    Cache().close()
    assert (tmp_path / "mine").exists()
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    Cache().close()
    assert os.listdir(tmp_path / "xdg" / "callmark")[0].startswith("predictions.sqlite")
