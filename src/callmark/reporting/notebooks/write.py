"""Write `evaluation.ipynb` and `error_analysis.ipynb` of a run, executed, so that tables and charts show at once.

Sections that a run has no data for are left out, or say so. The same run gives the same notebooks, byte for byte.
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
    """Write both notebooks into a folder, which is created if needed, and return their paths. Existing notebooks are replaced when both are
    done, and stay where one fails. Missing packages, and a line of the grades that cannot be read, raise `BadInput`.
    """
    if out == "-":
        raise BadInput("notebooks cannot go to standard output, there are two of them", "-o DIR names a folder.")
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise BadInput(f"notebooks need {', '.join(missing)}, not installed here", "pip install 'callmark[notebook]'")
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
    summary = tally.summary(intervals="none")
    assert summary.details is not None
    return RunData(run, summary, summary.details)


def _path_from(folder: Path, run: Run) -> str:
    """Return the path of the run relative to the notebooks, so that both can be moved together."""
    found = Path(os.path.relpath(os.path.realpath(run.folder.path), os.path.realpath(folder))).as_posix()
    if scrub(found) != found:
        raise BadInput(f"{run.folder} has a name that is not UTF-8: a notebook could not say where it is", "Give it another name.")
    return found


def _notebook(sections: tuple[Section, ...], data: RunData, path: str) -> "NotebookNode":
    """Return a notebook with the sections that this run has data for, not executed."""
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
