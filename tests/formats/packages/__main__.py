"""Let each package write its fixtures again, and compare how they are read: the calls that were put in, nothing else.

python -m tests.formats.packages --environments FOLDER [--record] [NAME …]

FOLDER/NAME/bin/python is the environment of each package. `--record` replaces the fixtures in tests/formats/fixtures.
"""

import argparse
import json
import subprocess  # the packages are in environments of their own
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.formats.package_fixtures import FIXTURES, SCRIPTS, check_fixture
from tests.formats.samples import Sample, samples
from tests.formats.trace_samples import trace_samples


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", required=True, type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", default=list(SCRIPTS))
    options = parser.parse_args()
    problems = 0
    for name in options.names:
        script = SCRIPTS[name]
        for given, fixtures in ((samples(), script.fixtures), (trace_samples(), script.traces)):
            if fixtures:
                problems += _run(name, given, fixtures, options.environments, record=options.record)
    return 1 if problems else 0


def _run(name: str, given: Sequence[Sample], fixtures: Sequence[str], environments: Path, *, record: bool) -> int:
    """Let a script write its files, and return the number of problems."""
    with tempfile.TemporaryDirectory() as temporary:
        path, folder = Path(temporary, "samples.json"), FIXTURES if record else Path(temporary)
        path.write_text(json.dumps(msgspec.to_builtins([_complete(sample) for sample in given])), encoding="utf-8")
        script = Path(__file__).parent.resolve() / SCRIPTS[name].script
        command = [environments.absolute() / name / "bin" / "python", script, path, folder]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=temporary)
        if done.returncode:
            print(f"{name}: {done.stdout}{done.stderr}")
            return 1
        calls = [call for sample in given for call in sample.calls]
        found = {fixture: check_fixture(folder / fixture, calls) for fixture in fixtures}
        for fixture, problem in found.items():
            print(f"{name}: {fixture}: {problem or f'the {len(calls)} calls, as they were put in'}")
        return sum(map(bool, found.values()))


def _complete(sample: object) -> object:
    """Return a sample with every key, also those that have their default."""
    fields = msgspec.to_builtins(sample)
    for message in fields["messages"]:
        message["calls"] = [{"arguments": {}, **call} for call in message["calls"]]
    return fields


sys.exit(main())
