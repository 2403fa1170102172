"""Measure start-up: `import callmark` and `callmark --help` compared with a bare interpreter, best of many.

python benchmarks/startup.py [--repeat 15]
"""

import argparse
import subprocess
import sys
import time

LIMITS = {"import callmark": 120, "callmark --help": 300}
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "import callmark": ["-c", "import callmark"],
    "callmark --help": ["-m", "callmark", "--help"],
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(options.repeat):
        for name, arguments in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            best[name] = min(best[name], (time.perf_counter() - began) * 1000)
    missed = 0
    for name, milliseconds in best.items():
        added = milliseconds - best["bare interpreter"]
        limit = LIMITS.get(name)
        missed += limit is not None and added > limit
        verdict = "" if limit is None else f"  adds {added:4.0f} ms, limit {limit}: {'ok' if added <= limit else 'FAILED'}"
        print(f"  {name:18} {milliseconds:5.0f} ms{verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
