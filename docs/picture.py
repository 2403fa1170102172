"""Create the pictures of the README and the docs: docs/callmark.png (the report of `callmark demo`), two charts of its dataset, the
pages of docs/how-to/triage-failures.md (a comparison, a labeled case, both on a phone in the dark, the history of some runs over time and
by a tag), and the case of a chatbot of docs/how-to/simulate-conversations.md.

The charts are those of docs/how-to/inspect-a-dataset.md. Needs a browser: tests/browser.py.
"""

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the browser is found as in the tests

from msgspec import structs
from playwright.sync_api import Page, sync_playwright
from tests.browser import find_browser

import callmark
from callmark.cli.main import run
from callmark.models.model import ModelSettings
from callmark.runs.manifest import ModelRunInfo

CHARTS = ("tools", "turns-calls")
WIDTH, HEIGHT = 1440, 900
FLAGS = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"]


def main() -> int:
    # Outside the repository, whose commit would be in the pictures.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        if status := run(["demo", "-o", folder]):
            return status
        data = [str(Path(folder, "data", name)) for name in ("train.jsonl", "valid.jsonl")]
        if status := run(["stats", *data, "--charts", f"{folder}/charts"]):
            return status
        for chart in CHARTS:
            Path(__file__).with_name(f"{chart}.svg").write_bytes(Path(folder, "charts", f"{chart}.svg").read_bytes())
        hasty = next(Path(folder, "runs").glob("scripted-hasty-*")).name
        take(f"{Path(folder, 'report.html').as_uri()}#run={hasty}", "callmark", ".heat")
        runs = checkpoints(Path(folder))
        with viewer(runs) as address:
            take(f"{address}#run=step-600&base=step-200", "comparison", ".groups .bar")
            take(f"{address}#run=step-300", "triage", ".row", act=label_cases)
            phone: dict[str, Any] = {"width": 390, "height": 844, "dark": True}
            take(f"{address}#run=step-600&base=step-200", "comparison-phone", ".groups .bar", **phone)
            take(
                f"{address}#run=step-300&score=wrong&label=model",
                "triage-phone",
                ".row",
                act=lambda page: page.locator(".row").click(),
                **phone,
            )
            take(f"{address}#view=history&by=step", "history-by-step", ".history", height=660)
        with viewer(over_time(Path(folder))) as address:
            take(f"{address}#view=history", "history", ".history", height=1250)
            take(f"{address}#view=history", "history-phone", ".history", **phone)
        chatbot = str(Path(folder, "chatbot"))
        subprocess.run([sys.executable, "-m", "callmark", "demo", "chatbot", "-o", chatbot], check=True, stdout=subprocess.DEVNULL)
        careful, sloppy = (next(Path(chatbot, "runs").glob(f"{name}-*")).name for name in ("careful", "sloppy"))
        with viewer(Path(chatbot, "runs")) as address:
            case = f"{address}#run={sloppy}&base={careful}&change=broken&case=create-06"
            take(case, "chatbot-case", ".at-fault")
            take(case, "chatbot-case-phone", ".at-fault", **phone)
    return 0


def over_time(folder: Path) -> Path:
    """Write the runs of two weeks: a model that gets better, and one that stays as it is. The first runs are of another version."""
    runs = folder / "weeks"
    steps = sorted(Path(folder, "steps").glob("step-*"), key=lambda path: int(path.name.partition("-")[2]))
    for name, models in (("assistant", steps), ("scripted-hasty", [folder / "models" / "hasty"] * 4)):
        for number, source in enumerate(models):
            day = 3 + number * (2 if name == "assistant" else 4)
            copied = runs / f"{name}-2026-11-{day:02}"
            shutil.copytree(source, copied)
            found = callmark.Run(copied)
            info = structs.replace(found.info, name=copied.name, created=f"2026-11-{day:02}T{9 + number:02}-30", tags={})
            model = ModelRunInfo(name, ModelSettings(name))
            version = "0.0.9" if day < 4 else info.callmark
            found.folder.write(structs.replace(info, model_run=model, callmark=version))
    return runs


def checkpoints(folder: Path) -> Path:
    """Write runs of a model that gets better: of each, more predictions are those of the perfect model."""
    data = str(folder / "data" / "valid.jsonl")
    hasty, perfect = (
        callmark.run(data, f"scripted:{name}", out=folder / "models", name=name)[0].folder.file("predictions.jsonl")
        for name in ("hasty", "perfect")
    )
    rows = list(zip(*(sorted(Path(file).read_text().splitlines()) for file in (hasty, perfect)), strict=True))
    random = Random(5)
    for step in range(100, 800, 100):
        file = folder / f"step-{step}.jsonl"
        file.write_text("\n".join(better if random.random() < step / 900 else worse for worse, better in rows))
        callmark.grade(data, predictions=file, out=folder / "steps", name=f"step-{step}", tags={"step": str(step)})
    return folder / "steps"


def label_cases(page: Page) -> None:
    """Label two cases, and leave the second open with the field for a correction."""
    for key in ("f", "Enter", "m", "j", "e"):
        page.keyboard.press(key)
        page.wait_for_timeout(700)
    page.locator("#note").fill("The guest never gave this ID.")
    page.locator("#note").blur()
    page.get_by_text("Correct the expectation").click()


@contextlib.contextmanager
def viewer(runs: Path) -> Iterator[str]:
    """Run `callmark view`, and yield its address."""
    command = [sys.executable, "-m", "callmark", "view", str(runs), "--no-browser", "--author", "lena"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def take(
    address: str,
    name: str,
    wait: str,
    *,
    act: Callable[[Page], None] = lambda page: None,
    width: int = WIDTH,
    height: int = HEIGHT,
    dark: bool = False,
) -> None:
    """Take a screenshot of the upper part of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        page.goto(address)
        page.locator(wait).first.wait_for()
        act(page)
        page.wait_for_timeout(700)
        page.screenshot(path=str(Path(__file__).with_name(f"{name}.png")))
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
