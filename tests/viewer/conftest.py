"""A real browser: Debian's chromium, driven by Playwright. If one of them is missing, its tests are skipped and say what to install.

The browser's event loop runs in this thread while it is open, so it is closed after the tests of this folder.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from callmark.runs.run import Run
from callmark.viewer.report import write_report
from tests.browser import FLAGS, MISSING, find_browser
from tests.viewer.example_runs import chat_runs, desk_run, shop_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

PATIENCE = 20_000  # milliseconds: a busy machine is slow, and only a failing test waits this long

# Records every sign that text from data was executed as script; installed before the page runs. Playwright itself needs `eval`; a page that
# called it would violate its policy.
WATCH = """
window.hits = [];
const record = (what) => (...given) => { window.hits.push(what + ": " + String(given[0]).slice(0, 200)); };
Object.defineProperty(window, "hit", { set: record("window.hit"), get: () => undefined });
for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = record(name);
for (const name of ["write", "writeln"]) document[name] = record("document." + name);
const make = Document.prototype.createElement;
Document.prototype.createElement = function (name, ...more) {
  if (/^(script|iframe|object|embed|link|base|form)$/i.test(name)) record("createElement")(name);
  return make.call(this, name, ...more);
};
for (const name of ["innerHTML", "outerHTML"]) {
  const { get } = Object.getOwnPropertyDescriptor(Element.prototype, name);
  Object.defineProperty(Element.prototype, name, { get, set: record(name) });
}
Element.prototype.insertAdjacentHTML = record("insertAdjacentHTML");
addEventListener("securitypolicyviolation", (event) => record("policy")(event.violatedDirective + " " + event.blockedURI), true);
"""


class Opener(Protocol):
    """Opens an address in a new page."""

    def __call__(self, address: str | Path, *, width: int = 1440, height: int = 900, dark: bool = False, wait: str = ...) -> "Page": ...


@pytest.fixture(scope="package")
def browser() -> Iterator["Browser"]:
    chromium = find_browser()
    if chromium is None:
        pytest.skip(MISSING)
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")
    api.expect.set_options(timeout=PATIENCE)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_pages(browser: "Browser") -> Iterator[Opener]:
    """Open pages, and check at the end: no request to another host, no policy violation, no script error, no script from data."""
    pages: list[tuple[Page, list[str]]] = []

    def open_page(
        address: str | Path, *, width: int = 1440, height: int = 900, dark: bool = False, wait: str = ".row, .runs, .empty, .notice"
    ) -> "Page":
        where = address.as_uri() if isinstance(address, Path) else address
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        context.add_init_script(WATCH)
        page = context.new_page()
        pages.append((page, watch_page(page, where)))
        page.set_default_timeout(PATIENCE)
        page.goto(where)
        page.locator(wait).first.wait_for()
        return page

    yield open_page
    for page, violations in pages:
        violations += page.evaluate("window.hits")
        page.context.close()
        assert violations == []


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Opener]:
    with open_pages(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def opened_once(browser: "Browser") -> Iterator[Opener]:
    """Open pages that several tests share."""
    with open_pages(browser) as open_page:
        yield open_page


def watch_page(page: "Page", address: str) -> list[str]:
    """Return a list to which every forbidden action of a page is added."""
    violations: list[str] = []
    here = address.partition("#")[0].partition("?")[0]
    own: Callable[[str], bool] = (lambda url: url == here) if here.startswith("file:") else (lambda url: url.startswith(here))

    def on_console(message: "ConsoleMessage") -> None:
        # The page shows what is missing, and that the viewer has stopped.
        refused = "/api/" in message.location["url"] and re.search("status of (?:40[034]|507)|ERR_CONNECTION_REFUSED", message.text)
        if message.type in ("error", "warning") and not refused:
            violations.append(f"{message.type}: {message.text}")

    def dialog(found: Any) -> None:
        violations.append(f"dialog: {found.message}")
        found.dismiss()

    page.on("dialog", dialog)
    page.on("console", on_console)
    page.on("pageerror", lambda error: violations.append(f"error: {error}"))
    page.on("popup", lambda other: violations.append(f"popup: {other.url}"))
    page.on("download", lambda other: violations.append(f"download: {other.url}"))
    page.on(
        "request",
        lambda request: None if own(request.url.partition("#")[0]) or request.url.startswith("data:") else violations.append(request.url),
    )
    page.on(
        "framenavigated",
        lambda frame: None if own(frame.url.partition("#")[0].partition("?")[0]) else violations.append(f"went to {frame.url}"),
    )
    return violations


@contextmanager
def viewer_process(folder: Path, *options: str) -> Iterator[str]:
    """Run `callmark view` as a process, and yield the address that it prints."""
    with started_viewer(folder, *options) as (address, _):
        yield address


@contextmanager
def started_viewer(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run `callmark view` as a process, and yield its address and the process."""
    command = [sys.executable, "-m", "callmark", "view", str(folder), "--no-browser", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()


@pytest.fixture(scope="package")
def shop_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop_runs(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="package")
def base_report(shop_folder: Path) -> Path:
    return write_report_of(shop_folder / "base")


@pytest.fixture(scope="package")
def both_report(shop_folder: Path) -> Path:
    return write_report_of(shop_folder / "base", shop_folder / "tuned")


@pytest.fixture(scope="package")
def desk_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report_of(desk_run(tmp_path_factory.mktemp("desk")))


@pytest.fixture(scope="package")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return chat_runs(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="package")
def chat_report(chat_folder: Path) -> Path:
    """Return the report of `sloppy`, compared with `careful`."""
    return write_report_of(chat_folder / "careful", chat_folder / "sloppy")


@pytest.fixture(scope="package")
def viewer_address(shop_folder: Path) -> Iterator[str]:
    with viewer_process(shop_folder) as address:
        yield address


def write_report_of(*runs: Path) -> Path:
    """Write the report of these runs next to their folder."""
    out = runs[0].parent.parent / f"{'-'.join(run.name for run in runs)}.html"
    write_report([Run(str(run)) for run in runs], str(out))
    return out
