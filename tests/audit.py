"""`make audit`: the licenses of everything that the default install brings along, and known vulnerabilities.

    python -m tests.audit [--pip-audit PROGRAM]

Licenses come from the metadata of the installed packages, without a network. An unknown or a copyleft license fails. Vulnerabilities come
from PyPI, through pip-audit: a finding fails; packages that could not be checked are named with the reason, and do not fail.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "callmark"
ALLOWED = frozenset(
    {"MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "PSF-2.0", "ISC", "Zlib", "CC0-1.0", "Unlicense"}
)
ALIASES = {  # what packages write instead of the SPDX identifier
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
_COPYLEFT = re.compile(r"GPL|MPL|EPL|EUPL|CDDL|OSL|SSPL|BUSL|CC-BY-SA|CC-BY-NC", re.IGNORECASE)
_TIMEOUT = 40  # seconds for all packages


class Package(NamedTuple):
    """An installed package: its name, version and license, which is empty if it states none."""

    name: str
    version: str
    license: str


def installed(root: str = ROOT) -> Iterator[Package]:
    """Yield a package and everything that it requires without extras, by name."""
    found: dict[str, Distribution] = {}
    rest: list[tuple[str, frozenset[str]]] = [(root, frozenset())]
    while rest:
        name, extras = rest.pop()
        if canonicalize_name(name) in found:
            continue
        package = found[canonicalize_name(name)] = distribution(name)
        for text in package.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                rest.append((requirement.name, frozenset(requirement.extras)))
    for name, package in sorted(found.items()):
        yield Package(name, package.version, license_of(package.metadata))


def license_of(metadata: Any) -> str:
    """Return the license that a package states: as an SPDX expression, in a word, or as a classifier."""
    classifiers = [text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier") or () if text.startswith("License ::")]
    stated = [metadata.get("License-Expression"), metadata.get("License"), *(text for text in classifiers if text != "OSI Approved")]
    text = next((text for text in stated if text and len(text) < 100), "")
    return ALIASES.get(text, text)


def license_problem(expression: str) -> str:
    """Return why a license is not allowed; empty if it is. `A OR B` needs one of the two, `A AND B` both."""
    if not expression:
        return "no license is stated"
    text = expression.replace("(", " ").replace(")", " ")
    if any(all(name.strip() in ALLOWED for name in choice.split(" AND ")) for choice in text.split(" OR ")):
        return ""
    return f"{expression} is copyleft" if _COPYLEFT.search(text) else f"{expression} is not on the list of allowed licenses"


def vulnerabilities(packages: Mapping[str, str], program: str) -> tuple[list[str], list[str]]:
    """Return the vulnerabilities that are known of these packages, and what could not be checked."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("".join(f"{name}=={version}\n" for name, version in packages.items()))
        command = [
            program,
            "-r",
            str(file),
            "--no-deps",
            "--disable-pip",
            "--format",
            "json",
            "--progress-spinner",
            "off",
            "--timeout",
            "5",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return [], [f"all {len(packages)} packages: {error}"]
    return read_report(done.stdout, done.stderr, len(packages))


def read_report(output: str, errors: str, number: int) -> tuple[list[str], list[str]]:
    """Return the findings and the gaps in what pip-audit printed."""
    try:
        listed = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (errors.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        return [], [f"all {number} packages: {last[:200]}"]
    found = [f"{one['name']} {one['version']}: {each['id']}" for one in listed for each in one.get("vulns", ())]
    skipped = [one for one in listed if "skip_reason" in one]
    if not skipped:
        return found, []
    which = f"{len(skipped)} of {number} packages ({', '.join(one['name'] for one in skipped)})"
    return found, [f"{which if len(skipped) < number else f'all {number} packages'}: {skipped[0]['skip_reason'][:200]}"]


def main() -> int:
    """Print the licenses and the vulnerabilities, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pip-audit", default="pip-audit", help="the program; vulnerabilities are skipped where it is missing")
    given = parser.parse_args()
    packages = list(installed())
    problems = []
    for package in packages:
        problem = license_problem(package.license)
        problems += [f"{package.name} {package.version}: {problem}"] if problem else []
        sys.stdout.write(f"{'✗' if problem else ' '} {package.name:<28} {package.version:<16} {package.license}\n")
    sys.stdout.write(f"\n{len(packages)} packages, {len(problems)} with a license that is not allowed\n")
    found, unchecked = vulnerabilities({package.name: package.version for package in packages if package.name != ROOT}, given.pip_audit)
    sys.stdout.write(f"{len(found)} known vulnerabilities\n" if not unchecked else "")
    for gap in unchecked:
        sys.stdout.write(f"VULNERABILITY CHECK SKIPPED for {gap}\n")
    for problem in problems + found:
        sys.stdout.write(f"✗ {problem}\n")
    return 1 if problems or found else 0


if __name__ == "__main__":
    sys.exit(main())
