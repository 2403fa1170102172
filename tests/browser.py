"""The browser of the tests, the benchmarks and the pictures: Debian's chromium, driven by Playwright.

Its headless build needs a third of the processor time of the whole browser, which is used where the build is not installed.
"""

import shutil

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
MISSING = "no browser: apt-get install chromium-headless-shell"


def find_browser() -> str | None:
    """Return the path of the browser, or None if there is none."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")
