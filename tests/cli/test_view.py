"""`callmark view`: the address it prints, and how it stops."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from callmark.cli.view import command
from callmark.errors import BadInput
from tests.graded_runs import make_run, some

VIEW = "import sys; from callmark.cli.view import command; command.main(sys.argv[1:])"


def test_view_prints_its_address_serves_and_stops_on_interrupt(tmp_path: Path) -> None:
    make_run(tmp_path / "a", some(1, of=2))
    with subprocess.Popen(
        [sys.executable, "-c", VIEW, str(tmp_path), "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\?token=([\w-]{32})", address)
        assert found is not None, address
        with urlopen(address, timeout=10) as page:
            assert page.read().startswith(b"<!doctype html>")
            assert "server" not in page.headers
        with urlopen(Request(f"{found[1]}/api/runs", headers={"X-Callmark-Token": found[2]}), timeout=10) as answered:
            assert b'"name":"a"' in answered.read()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=10)
    assert (process.returncode, rest, errors) == (0, "", "")


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such folder"):
        command.main([str(tmp_path / "nothing"), "--no-browser"], standalone_mode=False)


def test_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match=r"cannot use port \d+"):
            command.main([str(tmp_path), "--no-browser", "--port", str(taken.getsockname()[1])], standalone_mode=False)
