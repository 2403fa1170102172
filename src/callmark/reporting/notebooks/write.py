"""`evaluation.ipynb` and `error_analysis.ipynb` of a run, executed, so that tables and charts show at once. Run again, they read the run
folder again.

Sections that a run has nothing for are left out, or say so. The same run gives the same notebooks, byte for byte.
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
from callmark.reporting.notebooks.execute import PYTHON, execute
from callmark.reporting.notebooks.sections import Facts, Section
from callmark.runs.run import Run

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOKS = {"evaluation.ipynb": EVALUATION, "error_analysis.ipynb": ERROR_ANALYSIS}
_NEEDED = {name.replace("-", "_"): name for name in ("nbformat", "nbclient", "ipykernel", "pandas", "altair", "vl-convert")}


def write_notebooks(run: Run, out: str) -> list[str]:
    """Write both into a folder, which is made if there is none, and give back their paths. What stood there under their names is replaced
    when both are done, and stays where one fails. `BadInput` where what they need is not installed, or a line of the grades cannot be read.
    """
    if out == "-":
        raise BadInput("notebooks cannot go to standard output, there are two of them", "-o DIR names a folder.")
    missing = [name for module, name in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise BadInput(f"notebooks need {', '.join(missing)}, not installed here", "pip install 'callmark[notebook]'")
    import nbformat

    facts = _facts(run)
    folder = Path(out)
    made = {name: _notebook(sections, facts, _path_from(folder, run)) for name, sections in NOTEBOOKS.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    execute(made, folder)
    for name, book in made.items():
        write_lines(str(folder / name), [nbformat.writes(book).encode()])
    return [str(folder / name) for name in made]


def _facts(run: Run) -> Facts:
    tally = run.tally()
    for grade in run.grades():
        tally.add(grade)
    summary = tally.summary(intervals="none")
    assert summary.details is not None
    return Facts(run, summary, summary.details)


def _path_from(folder: Path, run: Run) -> str:
    """Where the run is as seen from the notebooks, so that both can be moved together."""
    found = Path(os.path.relpath(os.path.realpath(run.folder.path), os.path.realpath(folder))).as_posix()
    if scrub(found) != found:
        raise BadInput(f"{run.folder} has a name that is not UTF-8: a notebook could not say where it is", "Give it another name.")
    return found


def _notebook(sections: tuple[Section, ...], facts: Facts, path: str) -> "NotebookNode":
    """The cells that this run has something for, not executed."""
    from nbformat import v4

    cells = []
    for number, section in enumerate(sections):
        if not facts.summary.scored and not section.unscored:
            continue
        if section.when(facts):
            words, code = section.words, section.cells
        elif section.otherwise:
            words, code = f"{section.words.partition(chr(10))[0]}\n\n{section.otherwise}", {}
        else:
            continue
        cells.append(v4.new_markdown_cell(words.strip(), id=f"words-{number}"))
        cells += [v4.new_code_cell(text.strip().replace("{path}", repr(path)), id=name) for name, text in code.items()]
    book: NotebookNode = v4.new_notebook(cells=cells, metadata={"kernelspec": PYTHON, "language_info": {"name": "python"}})
    return book
