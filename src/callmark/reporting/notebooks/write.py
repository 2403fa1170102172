"""Write `evaluation.ipynb` and `error_analysis.ipynb` for a run, executed, so that they open with their tables and charts.

Sections without data are left out, or say so. The same run always produces identical notebooks.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.reporting.notebooks.error_analysis import ERROR_ANALYSIS
from callmark.reporting.notebooks.evaluation import EVALUATION
from callmark.reporting.notebooks.execute import KERNEL, execute
from callmark.reporting.notebooks.sections import RunData, Section
from callmark.runs.run import Run

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOKS = {"evaluation.ipynb": EVALUATION, "error_analysis.ipynb": ERROR_ANALYSIS}
_PACKAGES = {name.replace("-", "_"): name for name in ("nbformat", "nbclient", "ipykernel", "pandas", "altair", "vl-convert")}


def write_notebooks(run: Run, out: str) -> list[str]:
    """Write both notebooks to a folder, which is created if needed, and return their paths.

    Existing notebooks are replaced only if both succeed. Missing packages and an invalid line in the grades raise `BadInput`.
    """
    if out == "-":
        raise BadInput("notebooks cannot be written to standard output", "Pass a folder: -o DIR")
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise BadInput(
            f"notebooks require {', '.join(missing)}, which {verb} not installed", "Install with: pip install 'callmark[notebook]'"
        )
    import nbformat

    data = _run_data(run)
    folder = Path(out)
    notebooks = {name: _notebook(sections, data, _path_from(folder, run)) for name, sections in NOTEBOOKS.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    execute(notebooks, folder)
    for name, book in notebooks.items():
        write_lines(str(folder / name), [nbformat.writes(book).encode()])
    return [str(folder / name) for name in notebooks]


def _run_data(run: Run) -> RunData:
    tally = run.tally()
    for grade in run.grades():
        tally.add(grade)
    summary = tally.summary()
    assert summary.details is not None
    return RunData(run, summary, summary.details)


def _path_from(folder: Path, run: Run) -> str:
    """Return the path of the run relative to the notebooks, so that both can be moved together."""
    found = Path(os.path.relpath(os.path.realpath(run.folder.path), os.path.realpath(folder))).as_posix()
    if scrub(found) != found:
        raise BadInput(f"{run.folder}: the path is not valid UTF-8, so a notebook cannot contain it", "Rename the folder.")
    return found


def _notebook(sections: tuple[Section, ...], data: RunData, path: str) -> "NotebookNode":
    """Return a notebook with the sections for which this run has data, not executed."""
    from nbformat import v4

    cells = []
    for number, section in enumerate(sections):
        if not data.summary.scored and not section.applies_unscored:
            continue
        if section.applies(data):
            text, code = section.text, section.cells
        elif section.fallback:
            text, code = f"{section.text.partition(chr(10))[0]}\n\n{section.fallback}", {}
        else:
            continue
        cells.append(v4.new_markdown_cell(text.strip(), id=f"text-{number}"))
        cells += [v4.new_code_cell(source.strip().replace("{path}", repr(path)), id=name) for name, source in code.items()]
    book: NotebookNode = v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return book
