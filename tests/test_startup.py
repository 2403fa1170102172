"""Start-up is fast: heavy libraries are not imported until they are needed."""

import subprocess
import sys
from inspect import isfunction

import pytest

HEAVY = ("numpy", "scipy", "altair", "mcp", "starlette", "ray", "pyarrow", "pandas", "polars", "rich", "jsonschema_rs", "asyncio")


@pytest.mark.parametrize(
    "statement",
    [
        "import callmark",
        "from callmark.cli.main import run; run(['--help'])",
        "from callmark.cli.main import run; run(['stats', '--help'])",
    ],
)
def test_start_up_loads_nothing_heavy(statement: str) -> None:
    program = f"{statement}\nimport sys\nprint('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("LOADED []")


def test_every_public_name_is_listed_once() -> None:
    import callmark

    assert sorted(callmark._MODULES) == sorted(callmark.__all__) == sorted(set(callmark.__all__))
    for name in callmark.__all__:
        value = getattr(callmark, name)
        if isinstance(value, type) or isfunction(value):  # an alias such as `State` belongs to no module
            assert value.__module__.startswith("callmark."), name
    assert dir(callmark) == sorted(callmark.__all__)
    with pytest.raises(AttributeError, match="no attribute 'grades'"):
        callmark.grades  # noqa: B018
