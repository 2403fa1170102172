"""`callmark grade`: grade predictions against expected calls."""

import click
from msgspec import Struct

from callmark import registry
from callmark.cli.dataset_options import (
    JSON_HELP,
    DatasetOptions,
    allow_no_calls_option,
    dataset_options,
    patch_option,
    print_warning,
    refuse_rejects_alone,
    refuse_same_file,
)
from callmark.cli.exit_status import WITH_ERRORS, set_status
from callmark.cli.help import Command, argument, option
from callmark.cli.model_options import tag_option
from callmark.cli.numbers import POSITIVE_INTEGER
from callmark.cli.parse_option import parse_option
from callmark.errors import BadInput


@click.command(
    "grade",
    cls=Command,
    exit_status={0: "Graded.", 2: "Invalid input.", 3: "Graded with errors, which are excluded from the scores."},
    examples=(
        "callmark grade eval.jsonl --predictions base.jsonl",
        "callmark grade eval.jsonl -p outputs.jsonl --parse hermes --name base",
        "callmark grade runs/base --evaluator trajectory --details",
        "callmark grade 'cases/*.parquet' -p 'predictions/*.parquet' --engine ray -o graded",
    ),
)
@argument(
    "cases",
    metavar="CASES",
    text="Decision points (from callmark expand), conversations (cut into decision points) or scenarios, or - for standard input. "
    "Or a run folder, to grade its predictions again.",
)
@option(
    "-p",
    "--predictions",
    group="Input",
    multiple=True,
    metavar="FILE",
    help="Predictions, matched to cases by ID, or in order if there are no IDs. Not needed if the rows contain predictions: recorded "
    "simulations, preference pairs, hosted evaluation outputs. Repeatable.",
)
@option("--in-order", group="Input", is_flag=True, help="Match predictions to cases in order, ignoring their IDs.")
@parse_option("Format of tool calls in raw text", group="Input")
@allow_no_calls_option()
@patch_option()
@option(
    "-e",
    "--evaluator",
    "evaluators",
    group="Evaluators",
    multiple=True,
    metavar="EVALUATOR",
    show_default="call, schema, process; without schema for whole conversations; process, state, effort for runs of callmark simulate",
    help="Evaluator: call, schema, process, trajectory, decision, reply, bfcl; for simulated conversations also state, policy, effort, "
    "recorded; or your own as MODULE:NAME. Repeatable. With a run folder, adds to the evaluators of the run.",
)
@option("--policy", group="Evaluators", metavar="FILE", help="YAML file with rules for the policy evaluator.")
@option("-o", "--out", group="Output", metavar="DIR", show_default="runs", help="Folder for runs.")
@option("--name", group="Output", metavar="NAME", show_default="file name and time", help="Name of the run.")
@tag_option()
@option(
    "--details",
    group="Output",
    is_flag=True,
    help="Add breakdowns by tool, position and prompt length, which tools the model confuses, and the faults of each argument.",
)
@option(
    "--disagreements",
    group="Output",
    is_flag=True,
    help="Add the cases where evaluators disagree, grouped by what passes, what fails, and why.",
)
@option("--json", "as_json", group="Output", is_flag=True, help=JSON_HELP)
@dataset_options()
@option("--jobs", metavar="N", type=POSITIVE_INTEGER, default=1, show_default=True, help="Number of parallel processes.")
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
@option(
    "--engine",
    metavar="ENGINE",
    help="Engine: ray. Grade Parquet or JSONL files in parts, on all cores or a cluster (needs callmark[ray]). The grades are written to the folder "
    "that -o names, as Parquet. The same command goes on with what is not graded yet.",
)
@option("--address", metavar="ADDRESS", show_default="a cluster on this machine", help="Address of a Ray cluster, such as auto.")
def command(
    cases: str,
    predictions: tuple[str, ...],
    evaluators: tuple[str, ...],
    policy: str | None,
    parse: str | None,
    in_order: bool,
    patch: str | None,
    allow_no_calls: bool,
    out: str | None,
    name: str | None,
    tags: tuple[str, ...],
    jobs: int,
    details: bool,
    disagreements: bool,
    config: str | None,
    as_json: bool,
    engine: str | None,
    address: str | None,
    options: DatasetOptions,
) -> int:
    """Grade predictions against expected calls.

    Scores every prediction, explains each fault, and saves the result as a run: a folder with predictions, grades and a summary. A case
    without a prediction is an error.
    """
    from callmark.api.grading import grade, is_run_folder
    from callmark.cli.progress import grading_bar
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    if engine is not None:
        given = {
            "name": name, "tag": tags or None, "in-order": in_order or None, "patch": patch, "details": details or None,
            "disagreements": disagreements or None, "jobs": jobs if jobs > 1 else None,
        }  # fmt: skip
        for option_name, value in given.items():
            if value is not None:
                raise BadInput(f"--{option_name} cannot be used with --engine")
        if out is None:
            raise BadInput("--engine needs -o DIR: the folder for the grades, which is resumed if it exists")
        settings = _Partitioned(cases, predictions, evaluators, policy, parse, out, config, engine, address, allow_no_calls, as_json)
        return _grade_partitions(settings, options)
    if address is not None:
        raise BadInput("--address needs --engine ray")
    regrades = is_run_folder(cases, predictions)
    if regrades:
        _check_run_options(cases, options)
    for file in (cases, *predictions, *([patch] if patch else [])):
        refuse_same_file(file=file, rejects=options.rejects)
    with options.reader() as reader, grading_bar() as on_block:
        grade_options = GradeOptions(jobs, reader.on_bad, on_block, details or disagreements or as_json, allow_no_calls)
        run = grade(
            cases if regrades else CaseSelection(cases, options.format_name, options.tools),
            predictions=predictions,
            evaluators=evaluators,
            policy=policy,
            parse=parse,
            in_order=in_order,
            patch=patch,
            out=out,
            name=name,
            tags=tags,
            config=config,
            options=grade_options,
            warn=print_warning,
        )
    summary = run.summary(detailed=grade_options.detailed or run.scenarios)
    status = set_status(WITH_ERRORS if summary.errors or summary.evaluator_errors else 0)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"run": str(run.folder), "info": run.info, "summary": summary}))
    else:
        from callmark.reporting.grade_view import show_run
        from callmark.reporting.terminal import make_console

        show_run(make_console(), str(run.folder), run.info, summary, details=details, disagreements=disagreements)
    return status


class _Partitioned(Struct, frozen=True):
    """The options of a dataset that is graded in parts."""

    cases: str
    predictions: tuple[str, ...]
    evaluators: tuple[str, ...]
    policy: str | None
    parse: str | None
    out: str
    config: str | None
    engine: str
    address: str | None
    allow_no_calls: bool
    as_json: bool


def _grade_partitions(given: _Partitioned, options: DatasetOptions) -> int:
    from callmark.api.partitions import grade_partitions
    from callmark.cli.progress import grading_bar
    from callmark.formats.tables import load_pyarrow
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    executor = registry.find("engines", given.engine)(given.address)
    load_pyarrow("grades are written")
    for file in (given.cases, *given.predictions):
        refuse_same_file(file=file, rejects=options.rejects)
    with options.reader() as reader, grading_bar() as on_block, executor:
        run = grade_partitions(
            CaseSelection(given.cases, options.format_name, options.tools),
            predictions=given.predictions,
            out=given.out,
            evaluators=given.evaluators,
            policy=given.policy,
            parse=given.parse,
            config=given.config,
            executor=executor,
            options=GradeOptions(on_bad=reader.on_bad, on_block=on_block, allow_no_calls=given.allow_no_calls),
        )
    status = set_status(WITH_ERRORS if run.summary.errors or run.summary.evaluator_errors else 0)
    if given.as_json:
        import msgspec

        counts = {"parts": run.parts, "graded_before": run.graded_before}
        click.echo(msgspec.json.encode({"folder": run.folder, **counts, "info": run.info, "summary": run.summary}))
    else:
        from callmark.reporting.grade_view import show_partitioned_run
        from callmark.reporting.terminal import make_console

        show_partitioned_run(make_console(), run)
    return status


def _check_run_options(run: str, options: DatasetOptions) -> None:
    """Raise `BadInput` for options that do not apply to a run that is graded again, and if --rejects is one of its files."""
    from callmark.api.grading import refuse_with_run
    from callmark.runs.store import RunFolder

    folder = RunFolder(run)
    before = folder.read()
    refuse_with_run(run, {"from": options.format_name, "tools": options.tools})
    for file in (folder.resolve_path(before.dataset.path), *folder.files()) if options.rejects else ():
        refuse_same_file(file=file, rejects=options.rejects)
