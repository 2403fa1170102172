"""Create the pictures of the README and the docs: docs/callmark.png (the report of `callmark demo`) and two charts of its dataset.

The charts are those of docs/how-to/inspect-a-dataset.md. Needs chromium in /usr/bin (Debian: `apt-get install chromium`).
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from callmark.cli.main import run

CHARTS = ("tools", "turns-calls")
WIDTH, HEIGHT = 1440, 900
FLAGS = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        if status := run(["demo", "-o", folder]):
            return status
        data = [str(Path(folder, "data", name)) for name in ("train.jsonl", "valid.jsonl")]
        if status := run(["stats", *data, "--charts", f"{folder}/charts"]):
            return status
        for chart in CHARTS:
            Path(__file__).with_name(f"{chart}.svg").write_bytes(Path(folder, "charts", f"{chart}.svg").read_bytes())
        hasty = next(Path(folder, "runs").glob("scripted-hasty-*")).name
        take(f"{Path(folder, 'report.html').as_uri()}#run={hasty}", Path(__file__).with_name("callmark.png"))
    return 0


def take(address: str, out: Path) -> None:
    """Take a screenshot of the upper part of a page, in the light theme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", device_scale_factor=1)
        page.goto(address)
        page.locator(".heat").wait_for()
        page.screenshot(path=str(out))
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
