"""Export files for other programs: a table of results, notebooks, a batch of requests, a grader, training data."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from callmark.api.datasets import DatasetSource, write
from callmark.api.runs import RunSource, open_run, refuse_run_file
from callmark.calls.strict import scrub
from callmark.config import read_config
from callmark.data.expand import as_cases
from callmark.errors import BadInput
from callmark.formats import Dataset, load, write_lines
from callmark.grading.standalone import export_source
from callmark.models.chat_request import check_params
from callmark.models.choice import choose_models
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import read_spec
from callmark.rewards.grader_json import python_grader
from callmark.rewards.reward import Reward
from callmark.runs.batch import batch_lines
from callmark.runs.export_results import TableFormat, export_results
from callmark.runs.grade import reopen_cases
from callmark.runs.labels import labeled_cases
from callmark.runs.run import Run
from callmark.training_data.export import SEED, TrainingKind, TrainingReport, export_training_data
from callmark.training_data.targets import TrainingFormat
from callmark.types import Case


def export(run: RunSource, *, to: TableFormat, out: str | PathLike[str] | None = None) -> int:
    """Export the grades of a run as a table, one row per case and trial.

        callmark.export("runs/base", to="csv", out="base.csv")

    The columns are those of `Run.rows()`. A run without grades gives a table without rows. In CSV, text that a spreadsheet would read as a
    formula gets an apostrophe, and control characters are escaped.

    Args:
        run: A `Run`, or the path of its folder.
        to: `csv`, `parquet` or `jsonl`.
        out: Output file; by default the name of the run with the extension, next to its folder. `-` is standard output, except for Parquet.

    Returns:
        The number of rows.

    Raises:
        BadInput: The folder is not a graded run, `out` is a file of the run, or neither pyarrow nor polars is installed for Parquet.
        StorageError: The file cannot be written.
    """
    opened = open_run(run)
    target = export_path(opened, to) if out is None else fspath(out)
    refuse_run_file(opened, target)
    return export_results(opened, to, target)


def export_path(run: Run, to: TableFormat) -> str:
    """Return the default path of an exported table: next to the folder of the run, with the same name."""
    path = run.folder.path
    return f"{path.resolve() if path.name in ('', '..') else path}.{to}"


def export_notebooks(run: RunSource, out: str | PathLike[str]) -> list[Path]:
    """Write two executed notebooks about a run into a folder: `evaluation.ipynb` and `error_analysis.ipynb`.

        callmark.export_notebooks("runs/base", "notebooks")

    Existing notebooks with these names are replaced.

    Args:
        run: A `Run`, or the path of its folder.
        out: Folder for the notebooks; it is created if it is missing.

    Returns:
        The paths of the notebooks.

    Raises:
        BadInput: The folder is not a graded run, or the packages are not installed (`pip install 'callmark[notebook]'`).
        StorageError: A file cannot be written.
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
    """Write a batch file with one request per decision point, for the batch APIs of OpenAI and Azure.

        callmark.export_batch("eval.jsonl", "openai:gpt-4.1-mini", "batch.jsonl")

    Pass the output file of the batch to `grade` as `predictions`; the `custom_id` of each request is the id of its case.

    Args:
        cases: Decision points, or conversations, which are expanded.
        model: A model spec (`openai:NAME`), a name from `callmark.toml`, or `ModelSettings`.
        out: Output file; `-` is standard output.
        limit: Number of cases, starting from the first.
        settings: Settings that override those of the model, such as `{"temperature": 0}`.
        config: Path of the configuration file; `callmark.toml` by default.

    Returns:
        The number of requests.

    Raises:
        BadInput: The provider has no batch API, two cases have the same id, or a case or row cannot be used.
        StorageError: The file cannot be written.
    """
    ((_, chosen),) = choose_models(model, read_config(config).models, settings)
    spec = read_spec(chosen.model, Keys.here())
    path = spec.provider.capabilities.batch_path
    if not path:
        raise BadInput(
            f"{spec.shown}: this provider has no batch API in OpenAI's format", "Use openai:NAME, azure:DEPLOYMENT or vllm:NAME."
        )
    check_params(chosen.params)
    dataset = cases if isinstance(cases, Dataset) else load(cases, cases=True)
    requests = batch_lines(islice(as_cases(dataset), limit), spec.name, chosen, path=path)
    return write_lines(fspath(out), requests)


def export_cases(run: RunSource, *, label: str, out: str | PathLike[str]) -> int:
    """Write the cases of a run that have a label, as decision points or scenarios: those to correct, or a regression set.

        callmark.export_cases("runs/base", label="model", out="regressions.jsonl")

    Labels are given in `view`, and kept beside the runs. The expected calls are those that the run was graded with, corrections included.

    Args:
        run: A `Run`, or the path of its folder.
        label: The label: `model`, `expectation`, `unclear`, or another one.
        out: Output file; `-` is standard output.

    Returns:
        The number of cases.

    Raises:
        BadInput: No case has this label, the dataset of the run is missing or has changed, or `out` is a file of the run.
        StorageError: The file cannot be written.
    """
    opened = open_run(run)
    target = fspath(out)
    refuse_run_file(opened, target)
    if target != "-" and os.path.realpath(target) == os.path.realpath(opened.folder.resolve_path(opened.info.dataset.path)):
        raise BadInput(f"{scrub(target)}: cannot be overwritten, because it is the dataset of {opened.folder}")
    wanted = labeled_cases(opened.folder, label)

    def cases() -> Iterator[Case]:
        with reopen_cases(opened.folder, opened.info) as source:
            reader = source.read(digest=True)
            yield from (placed.case for placed in reader if placed.case.id in wanted)
            if reader.totals.digest != opened.info.dataset.digest:  # nothing is written then
                raise BadInput(f"{opened.info.dataset.name}: the cases have changed since the run", "Run the model again on the new file.")

    return write(cases(), target, to="scenarios" if opened.scenarios else "openai")


def export_grader(out: str | PathLike[str], *, reward: Reward | None = None, as_json: bool = False) -> int:
    """Write the evaluator `call` as a single Python file without dependencies, to use as a Foundry Python grader or anywhere else.

        callmark.export_grader("grader.py")
        callmark.export_grader("grader.json", as_json=True)      # for the fine-tuning APIs of OpenAI and Azure

    Args:
        out: Output file; `-` is standard output.
        reward: The reward of the grader, as JSON; `call.score` by default.
        as_json: Write the JSON of a Python grader, which contains the file; with weights in the reward, of a multi grader.

    Returns:
        The number of lines.

    Raises:
        BadInput: The reward cannot be exported.
        StorageError: The file cannot be written.
    """
    if as_json or reward is not None:
        return write_lines(fspath(out), [json.dumps(python_grader(reward), ensure_ascii=False).encode()])
    return write_lines(fspath(out), export_source().rstrip("\n").encode().split(b"\n"))


def export_training(
    runs: RunSource | Sequence[RunSource],
    out: str | PathLike[str],
    *,
    kind: TrainingKind = "sft",
    to: TrainingFormat = "openai",
    test: str | PathLike[str] | None = None,
    allow_test: bool = False,
    limit: int | None = None,
    seed: int = SEED,
) -> TrainingReport:
    """Export training data from the failures of runs on one dataset, or a regression set of what failed.

        callmark.export_training("runs/base", "dpo.jsonl", kind="dpo", to="trl", test="eval.jsonl")

    `sft` is the correct call at each failed decision point, `dpo` are preference pairs: the expected call paired with the worst attempt,
    and the best attempt with the worst if both exist. `regression` are the cases that failed in any attempt, as test cases.

    Near-duplicates are removed. So is every case that is in the evaluation file `test`, is nearly one of its cases, or comes from one of
    its conversations.

    Args:
        runs: A run, or several runs on the same cases; paths or `Run` objects.
        out: Output file; `-` is standard output.
        kind: `sft`, `dpo` or `regression`.
        to: Format of the rows: `openai`, `trl` or `sharegpt`. Regression sets are written in the format of the cases.
        test: The evaluation file, whose cases must not be trained on; not for `regression`.
        allow_test: Train on the cases of the runs without such a file; not for `regression`.
        limit: Greatest number of rows, in turns from each expected tool and kind of fault.
        seed: Random seed of the limit.

    Returns:
        The counts: rows, failed cases, what was left out and why.

    Raises:
        BadInput: Neither `test` nor `allow_test` is given, or one of them for `regression`; the runs are on the evaluation file itself,
            their cases are missing, have changed or are scenarios (except for `regression`), or nothing can be exported.
        StorageError: The file cannot be written.
    """
    given: Sequence[RunSource] = [runs] if isinstance(runs, str | PathLike | Run) else runs
    opened = [open_run(run) for run in given]
    for run in opened:
        refuse_run_file(run, fspath(out))
    return export_training_data(
        opened,
        kind,
        fspath(out),
        target=to,
        test=None if test is None else fspath(test),
        allow_test=allow_test,
        limit=limit,
        seed=seed,
    )
