"""Files for other programs: the results of a run, its notebooks, a batch of requests, a grader in one file."""

from collections.abc import Mapping
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from callmark.api.datasets import DatasetSource, open_dataset
from callmark.api.runs import RunSource, open_run, refuse_run_file
from callmark.config import read_config
from callmark.data.expand import as_cases
from callmark.errors import BadInput
from callmark.formats import write_lines
from callmark.grading.standalone import export_source
from callmark.models.chat_request import check_params
from callmark.models.choice import choose_models
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import read_spec
from callmark.runs.batch import batch_lines
from callmark.runs.export_results import TableFormat, export_results
from callmark.runs.run import Run


def export(run: RunSource, *, to: TableFormat, out: str | PathLike[str] | None = None) -> int:
    """Write the results of a run as a table, a row for each grade, and return how many rows it has.

    `to` is `csv`, `parquet` or `jsonl`; `out` is a file beside the run's folder by default (`export_path`), `-` is standard output.
    """
    opened = open_run(run)
    target = export_path(opened, to) if out is None else fspath(out)
    refuse_run_file(opened, target)
    return export_results(opened, to, target)


def export_path(run: Run, to: TableFormat) -> str:
    """Return where the results of a run go by default: beside its folder, under its name."""
    path = run.folder.path
    return f"{path.resolve() if path.name in ('', '..') else path}.{to}"


def export_notebooks(run: RunSource, out: str | PathLike[str]) -> list[Path]:
    """Write `evaluation.ipynb` and `error_analysis.ipynb` of a run, executed, into a folder, and return their paths.

    `BadInput` where the packages that they need are not installed (`pip install 'callmark[notebook]'`).
    """
    from callmark.reporting.notebooks.write import write_notebooks

    return [Path(path) for path in write_notebooks(open_run(run), fspath(out))]


def export_batch(
    cases: DatasetSource,
    model: str | ModelSettings,
    out: str | PathLike[str],
    *,
    limit: int | None = None,
    settings: Mapping[str, Any] | None = None,
    config: str | None = None,
) -> int:
    """Write a request for each decision point as the file that OpenAI's and Azure's batch APIs take, and return how many.

    `settings` replace those of the model (`{"temperature": 0}`). A model that is sent no requests raises `BadInput`.
    """
    ((_, chosen),) = choose_models(model, read_config(config).models, settings)
    spec = read_spec(chosen.model, Keys.here())
    path = spec.provider.capabilities.batch_path
    if not path:
        raise BadInput(
            f"{spec.shown} is sent no requests, so there is none to write down", "openai:NAME, azure:DEPLOYMENT or vllm:NAME is."
        )
    check_params(chosen.params)
    requests = batch_lines(islice(as_cases(open_dataset(cases)), limit), spec.name, chosen, path=path)
    return write_lines(fspath(out), requests)


def export_grader(out: str | PathLike[str]) -> int:
    """Write the evaluator `call` as one Python file that needs nothing but Python, and return how many lines it has."""
    return write_lines(fspath(out), export_source().rstrip("\n").encode().split(b"\n"))
