"""The documentation site: built offline as `make docs` builds it, without a warning; complete, self-contained, searchable from disk."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import callmark
from tests.browser import FLAGS, MISSING, find_browser

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
NO_NETWORK = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}  # nothing listens there
LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//|<link\b[^>]*\bhref=[\"']?(?:https?:)?//", re.IGNORECASE
)
IMPORTED = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="no mkdocs: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, **NO_NETWORK, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_in_llms_txt_with_a_description(site: Path) -> None:
    index = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", index, re.MULTILINE)
    assert sorted(links) == sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html") if page.name != "404.html")
    assert index.startswith("# callmark\n\n> ")


def test_llms_full_txt_has_every_page_and_the_signatures_of_the_api(site: Path) -> None:
    full = (site / "llms-full.txt").read_text(encoding="utf-8")
    for title in ("# callmark", "# Command line", "# Metrics", "# Differences from other tools"):
        assert f"{title}\n" in full
    assert ":::" not in full
    assert "### `load(source" in full


def test_built_pages_load_nothing_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text(encoding="utf-8")), page
    for style in site.rglob("*.css"):
        assert not IMPORTED.search(style.read_text(encoding="utf-8")), style


def test_api_page_lists_every_export_once() -> None:
    listed = re.findall(r"^::: callmark\.(\w+)$", (DOCS / "reference" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(callmark.__all__)


def test_pages_left_out_of_the_site_exist() -> None:
    """A page that was deleted has to be removed from `exclude_docs` as well."""
    for name in re.findall(r"^  /(\S+\.md)$", CONFIG, re.MULTILINE):
        assert (DOCS / name).exists(), f"remove /{name} from exclude_docs in mkdocs.yml"


def test_search_works_from_disk(site: Path) -> None:
    chromium = find_browser()
    if chromium is None:
        pytest.skip(MISSING)
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -e '.[dev]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator("iframe").wait_for(state="attached")  # the search listens to its input field from now on
        page.locator("input.md-search__input").press_sequentially("hallucinated")  # the search listens to keys
        found = page.locator(".md-search-result__link", has_text="hallucinated")
        found.first.wait_for()
        assert any("reference/metrics.html" in (link.get_attribute("href") or "") for link in found.all())
        assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
        browser.close()
