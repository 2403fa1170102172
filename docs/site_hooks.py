"""MkDocs hooks: add the generated command-line reference to the site, and write llms.txt and llms-full.txt.

Both files are made from the navigation and the pages themselves: the title and the first sentence of a page are its line in llms.txt.
"""

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generate_cli import cli_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

CLI_PAGE = "reference/cli.md"
TOP = "Start here"  # the section of llms.txt for pages that are in no section of the navigation
_DIRECTIVE = re.compile(r"^::: (\S+)\n(?:[ ]{4}.*\n)*", re.MULTILINE)
_NOT_PROSE = re.compile(r"#|```|\||!\[|<|- |\* |\d+\. |:::|!!!|\?\?\?| {4}")
_SENTENCE = re.compile(r".*?(?:[.?!](?= |$)|。|$)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")

_navigation: Navigation
_texts: dict[str, str] = {}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, CLI_PAGE, content=cli_reference()))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    global _navigation
    _navigation = nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    _texts[page.file.src_uri] = markdown


def on_post_build(config: MkDocsConfig) -> None:
    site = Path(config.site_dir)
    site.joinpath("llms.txt").write_text(_index(config), encoding="utf-8")
    full = [f"{_expand_directives(_texts[page.file.src_uri]).strip()}\n" for _, page in _pages(_navigation.items, TOP)]
    site.joinpath("llms-full.txt").write_text("\n".join(full), encoding="utf-8")


def _index(config: MkDocsConfig) -> str:
    home = next(page for _, page in _pages(_navigation.items, TOP) if page.is_homepage)
    lines = [f"# {config.site_name}", "", f"> {first_paragraph(_texts[home.file.src_uri])}"]
    current = ""
    for section, page in _pages(_navigation.items, TOP):
        if section != current:
            lines += ["", f"## {section}", ""]
            current = section
        description = _SENTENCE.match(first_paragraph(_texts[page.file.src_uri]))
        lines.append(
            f"- [{page.title}]({page.canonical_url or page.url})" + (f": {description[0]}" if description and description[0] else "")
        )
    return "\n".join(lines) + "\n"


def _pages(items: list[Any], section: str) -> Iterator[tuple[str, Page]]:
    """Yield every page of the navigation with the title of its outermost section."""
    for item in items:
        if isinstance(item, Page):
            yield section, item
        elif isinstance(item, Section):
            yield from _pages(item.children, item.title if section == TOP else section)


def first_paragraph(markdown: str) -> str:
    """Return the first paragraph of prose on one line, with the text of links in their place; `""` for a page without any."""
    for block in re.split(r"\n\s*\n", markdown):
        if block.strip() and not _NOT_PROSE.match(block.lstrip("\n")):
            return " ".join(_LINK.sub(r"\1", block).split())
    return ""


def _expand_directives(markdown: str) -> str:
    """Return the text with the signature and the docstring of an object in place of each mkdocstrings directive."""
    return _DIRECTIVE.sub(lambda found: _describe(found[1]), markdown)


def _describe(path: str) -> str:
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    try:
        signature = str(inspect.signature(value)) if callable(value) else ""
    except ValueError:
        signature = ""
    return f"### `{name}{signature}`\n\n{textwrap.dedent(inspect.getdoc(value) or '')}\n"
