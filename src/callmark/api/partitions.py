"""Grade datasets of any size in parts."""

from collections.abc import Sequence
from os import PathLike, fspath

from callmark.api.cases import select_cases
from callmark.api.grading import authorized_settings
from callmark.config import read_config
from callmark.runs.grade import GradeOptions
from callmark.runs.partitioned import Executor, PartitionedRun, run_here
from callmark.runs.partitioned import grade_partitions as _grade_partitions
from callmark.runs.selection import CaseSelection


def grade_partitions(
    cases: str | PathLike[str] | CaseSelection,
    *,
    predictions: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    evaluators: Sequence[str] = (),
    policy: str | PathLike[str] | None = None,
    parse: str | None = None,
    config: str | None = None,
    trust: bool = False,
    executor: Executor = run_here,
    options: GradeOptions | None = None,
) -> PartitionedRun:
    """Grade prediction files against cases part by part, and go on where an earlier call with the same arguments ended.

        from callmark.integrations.ray_engine import RayExecutor

        with RayExecutor() as ray:
            run = callmark.grade_partitions("cases/*.parquet", predictions="predictions/*.parquet", out="graded", executor=ray)

    The folder `out` has the grades as Parquet, one file for each part, and `summary.json`. The summary is that of `grade`, to the bit.

    Args:
        cases: Path of decision points or conversations: Parquet or JSONL, a file, a folder or a glob.
        predictions: Paths of predictions, which are matched to cases by ID.
        out: Folder for the results.
        evaluators: Names of evaluators to use.
        policy: YAML file with the rules of the `policy` evaluator.
        parse: Text format of calls in raw text, such as `hermes`. By default it is detected.
        config: Path of the configuration file; `callmark.toml` by default.
        trust: Allow what a `callmark.toml` in the current folder imports.
        executor: Runs the parts: in this process, or `RayExecutor`.
        options: Handlers for bad rows and progress, and whether cases without any call are accepted.

    Returns:
        The summary, and how many parts there are and were graded before.

    Raises:
        BadInput: The input cannot be used, or cannot be divided; or the folder has the results of something else.
        StorageError: The folder cannot be written.
    """
    settings = authorized_settings(read_config(config), evaluators, policy, trust=trust)
    files = [predictions] if isinstance(predictions, str | PathLike) else list(predictions)
    return _grade_partitions(
        select_cases(cases), [fspath(file) for file in files], settings, fspath(out), parse=parse, executor=executor, options=options
    )
