"""Lines are written to a file completely or not at all, also where the disk is full at the end."""

import errno
from pathlib import Path
from typing import Any

import pytest

from callmark.errors import StorageError
from callmark.formats import output
from callmark.formats.output import Output


class _Full:
    """A compressed file that holds everything back until it is closed, on a disk that is full by then."""

    def write(self, data: memoryview) -> int:
        return len(data)

    def close(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    def compress(file: Any, name: str) -> Any:
        return _Full()

    monkeypatch.setattr(output, "compress", compress)


@pytest.mark.usefixtures("full")
def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.zst"
    path.write_text("of before")
    with pytest.raises(StorageError, match=r"x.zst: cannot be written: No space left on device"), Output(str(path)) as written:
        written.line(b"a")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("x.zst", "of before")]


@pytest.mark.usefixtures("full")
def test_the_first_error_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Output(str(tmp_path / "x.zst")) as written:
        written.line(b"%d" % (1 // 0))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["full", "full.gz", "full.zst"])
def test_a_full_device_is_named(tmp_path: Path, name: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no such device here")
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(StorageError, match=f"{name}: cannot be written: No space left on device"), Output(str(tmp_path / name)) as written:
        written.line(b"a" * 100)


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(StorageError, match="cannot be written: x is a file, not a folder"), Output(str(tmp_path / "x" / "y")):
        pass
