"""Bundle the page into one file: its modules as one script, its style as one element, and a policy that allows nothing else.

Modules are concatenated: `import … from "./x.js";` lines are dropped and a leading `export ` is removed. Their top-level names therefore
have to be unique, which a test checks. A page that cannot be bundled raises `ValueError`.
"""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

ENTRY, STYLE = "main.js", "page.css"
_SCRIPT_TAG = f'<script type="module" src="page/{ENTRY}"></script>'
_STYLE_TAG = f'<link rel="stylesheet" href="page/{STYLE}">'
_CHARSET = '<meta charset="utf-8">'
_IMPORT = re.compile(r'^import\b[^;]*?\bfrom\s+"\./([\w-]+\.js)";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |const |let |class |function))", re.MULTILINE)
_UNBUNDLED = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def page_files() -> dict[str, str]:
    """Return the files of the page by name."""
    return {name: part.read_text(encoding="utf-8") for name, part in _parts().items()}


def page_file(name: str) -> str | None:
    """Return a file of the page; None for an unknown name.

    The entry script contains all modules: loading them one by one would take up half of the time until the page appears.
    """
    found = _parts().get(name)
    if found is None:
        return None
    return bundle_script(page_files()) if name == ENTRY else found.read_text(encoding="utf-8")


def _parts() -> dict[str, Traversable]:
    folder = files("callmark.viewer") / "page"
    return {part.name: part for part in folder.iterdir() if part.name.endswith((".html", ".css", ".js"))}


def bundle_script(parts: dict[str, str]) -> str:
    """Return all modules as one script, each after the modules it imports."""
    modules: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...] = ()) -> None:
        if name in modules:
            return
        if name in importers:
            raise ValueError(f"circular import: {' > '.join((*importers, name))}")
        for imported in _IMPORT.findall(parts[name]):
            add(imported, (*importers, name))
        modules[name] = _EXPORT.sub("", _IMPORT.sub("", parts[name]))

    add(ENTRY)
    text = "\n".join(modules.values())
    if line := _UNBUNDLED.search(text):
        raise ValueError(f"a module has a line that cannot be bundled: {line[0]}")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a module contains text that would end the script")
    return text


def page_around_data(parts: dict[str, str] | None = None) -> tuple[bytes, bytes]:
    """Return the parts of the page before and after the JSON of its data."""
    parts = page_files() if parts is None else parts
    code, style, page = bundle_script(parts), parts[STYLE], parts["index.html"]
    for tag in (_CHARSET, _STYLE_TAG, _SCRIPT_TAG):
        if page.count(tag) != 1:
            raise ValueError(f"index.html must contain {tag} exactly once")
    policy = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = page.replace(_CHARSET, f'{_CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{policy}">')
    page = page.replace(_STYLE_TAG, f"<style>{style}</style>")
    before, after = page.split(_SCRIPT_TAG)
    return (
        f'{before}<script type="application/json" id="callmark-data">'.encode(),
        f'</script>\n<script type="module">{code}</script>{after}'.encode(),
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
