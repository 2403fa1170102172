"""Let each package write its fixtures again, and compare how they are read: the nine calls that were put in, nothing else.

python -m tests.formats.packages --environments FOLDER [--record] [NAME …]

FOLDER/NAME/bin/python is the environment of each package. `--record` replaces the fixtures in tests/formats/fixtures.
"""

import argparse
import json
import subprocess  # the packages are in environments of their own
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.formats.package_fixtures import FIXTURES, SCRIPTS, check_fixture
from tests.formats.samples import samples


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", required=True, type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", default=list(SCRIPTS))
    options = parser.parse_args()
    problems = 0
    for name in options.names:
        with tempfile.TemporaryDirectory() as temporary:
            given, folder = Path(temporary, "samples.json"), FIXTURES if options.record else Path(temporary)
            given.write_text(json.dumps(msgspec.to_builtins([_complete(sample) for sample in samples()])), encoding="utf-8")
            script = Path(__file__).parent.resolve() / SCRIPTS[name].script
            command = [options.environments.absolute() / name / "bin" / "python", script, given, folder]
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=temporary)
            if done.returncode:
                print(f"{name}: {done.stdout}{done.stderr}")
                problems += 1
                continue
            for fixture in SCRIPTS[name].fixtures:
                problem = check_fixture(folder / fixture)
                problems += bool(problem)
                print(f"{name}: {fixture}: {problem or 'the nine calls, as they were put in'}")
    return 1 if problems else 0


def _complete(sample: object) -> object:
    """Return a sample with every key, also those that have their default."""
    fields = msgspec.to_builtins(sample)
    for message in fields["messages"]:
        message["calls"] = [{"arguments": {}, **call} for call in message["calls"]]
    return fields


sys.exit(main())
