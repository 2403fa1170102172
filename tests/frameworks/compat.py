"""Show that callmark installs beside each agent framework and with each version of the MCP SDK, and how large the default install is.

    python -m tests.frameworks.compat --environments FOLDER

In FOLDER/frameworks/NAME, pip must find no conflict, and the framework and every module of callmark that uses MCP must import. In
FOLDER/mcp/VERSION, the tests of tool servers run. The default install is made in a new environment, and measured without pip and
setuptools. Exits with status 1 if anything fails, or the install is larger than LIMIT.
"""

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from callmark import registry
from tests.frameworks.__main__ import FRAMEWORKS, version

LIMIT = 150  # MB
ROOT = Path(__file__).parents[2]
TESTS = ("tests/simulation/test_toolboxes_mcp.py", "tests/simulation/test_toolboxes_mcp_http.py")
HTTP_OF_VERSION_1 = (  # version 1 of the SDK does not report a broken HTTP connection, so these end with a timeout
    f"{TESTS[0]}::test_each_conversation_has_its_own_session_over_http",
    f"{TESTS[1]}::test_reason_is_named[JSON without end-the connection was lost: the response is larger than 1 MB]",
)
IMPORT = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
from callmark.simulation.toolboxes.mcp_sdk import load_sdk
from callmark.worlds.helpdesk.server import make_server
load_sdk(), make_server()
"""
_MEGABYTE = 1_000_000
_INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", required=True, type=Path)
    options = parser.parse_args()
    environments: Path = options.environments.absolute()
    problems = 0
    row = "{:16} {:36} {:>8} {:>10} {:>10} {:>8}".format
    print(row("framework", "version", "mcp", "pip check", "imports", "MB"))
    for name in FRAMEWORKS:
        python = str(environments / "frameworks" / name / "bin" / "python")
        module = import_module(registry.BUILT_IN["agents"][name].partition(":")[0]).FRAMEWORK.module
        results = [_succeeds(python, "-m", "pip", "check"), _succeeds(python, "-c", IMPORT, module)]
        problems += results.count(False)
        shown = ["yes" if result else "NO" for result in results]
        print(row(name, version(python, name), _version_of(python, "mcp"), *shown, f"{_size(python):.0f}"), flush=True)
    print()
    for folder in sorted((environments / "mcp").iterdir()):
        python = str(folder / "bin" / "python")
        known = HTTP_OF_VERSION_1 if folder.name.startswith("1.") else ()
        done = _run(python, "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", *TESTS, *(f"--deselect={test}" for test in known))
        problems += done.returncode != 0
        print(f"mcp {folder.name:8} {(done.stdout.strip().splitlines() or ['no output'])[-1]}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([sys.executable, "-m", "venv", temporary], check=True)
        python = str(Path(temporary, "bin", "python"))
        subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", str(ROOT)], check=True)
        size = _size(python)
        print(f"\ndefault install: {size:.0f} MB without pip and setuptools (limit {LIMIT})")
        for share, name in sorted(((share, name) for name, share in _parts(python).items()), reverse=True)[:8]:
            print(f"  {share:5.1f}  {name}")
    return int(bool(problems) or size > LIMIT)


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def _succeeds(*command: str) -> bool:
    done = _run(*command)
    if done.returncode:
        print((done.stdout + done.stderr)[-600:])
    return done.returncode == 0


def _version_of(python: str, package: str) -> str:
    return _run(python, "-c", f"from importlib.metadata import version; print(version({package!r}))").stdout.strip()


def _parts(python: str) -> dict[str, float]:
    """Return the size in MB of each entry of the site packages, without what installs packages."""
    folder = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(_INSTALLERS)]
    return {entry.name: sum(map(_disk_space, [entry, *entry.rglob("*")])) / _MEGABYTE for entry in entries}


def _disk_space(file: Path) -> int:
    return file.lstat().st_blocks * 512  # as du counts


def _size(python: str) -> float:
    return sum(_parts(python).values())


if __name__ == "__main__":
    sys.exit(main())
