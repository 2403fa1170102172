"""`callmark grade`: grade predictions against expected calls."""

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_stderr, refuse_rejects_alone, refuse_same_file
from callmark.cli.exit_status import WITH_ERRORS
from callmark.cli.parse_option import parse_option


@click.command(name="grade", short_help="Grade predictions, call by call: numbers, faults, the weakest tools.")
@click.argument("cases", metavar="EVAL|RUN")
@click.option(
    "-p", "--predictions", multiple=True, metavar="FILE", help="What the model answered, a row a case, by id or in order. May be repeated."
)
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="call, schema, process; of conversations state, policy, effort, recorded; or your own as module:name. May be repeated.",
)
@click.option("--policy", metavar="FILE", help="Rules for the evaluator policy, in YAML.")
@parse_option("How calls are written in raw text; auto where a row has nothing else.")
@click.option("-o", "--out", metavar="DIR", help="The folder that the run goes into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the file's name and the time if not given.")
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), default=1, show_default=True, help="Processes to grade with.")
@click.option("--details", is_flag=True, help="By tool, position, prompt length; confusion; functions, arguments; what to check first.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--json", "as_json", is_flag=True, help="For machines: counts, metrics with intervals, faults, tools.")
@dataset_options()
def command(
    cases: str,
    predictions: tuple[str, ...],
    evaluators: tuple[str, ...],
    policy: str | None,
    parse: str | None,
    out: str | None,
    name: str | None,
    jobs: int,
    details: bool,
    config: str | None,
    as_json: bool,
    options: DatasetOptions,
) -> int:
    """Grade what a model answered against what was expected, by three evaluators, with every fault explained; the run goes into a folder.
    EVAL: decision points as `expand` makes them, conversations (cut into decision points on the way), or scenarios; simulations that were
    recorded need no predictions. RUN: the folder of a run, which is graded again. Exit status 3: finished, but cases without an answer
    were left out.

    \b
    callmark grade eval.jsonl --predictions base.jsonl
    callmark grade eval.jsonl -p outputs.jsonl --parse hermes --evaluator call --name base
    callmark grade runs/base
    """
    from callmark.api.grading import grade, is_run_folder
    from callmark.cli.progress import grading_bar
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    regrades = is_run_folder(cases, predictions)
    if regrades:
        _check_run_options(cases, options)
    for file in (cases, *predictions):
        refuse_same_file(file=file, rejects=options.rejects)
    with options.reader() as reader, grading_bar() as on_block:
        grade_options = GradeOptions(jobs, reader.on_bad, on_block, "all" if as_json else "headline", details or as_json)
        run = grade(
            cases if regrades else CaseSelection(cases, options.format_name, options.tools),
            predictions=predictions,
            evaluators=evaluators,
            policy=policy,
            parse=parse,
            out=out,
            name=name,
            config=config,
            options=grade_options,
            warn=lambda sentence: print_stderr(f"callmark: {sentence}"),
        )
    summary = run.summary(detailed=grade_options.detailed or run.scenarios, intervals=grade_options.intervals)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"run": str(run.folder), "info": run.info, "summary": summary}))
    else:
        from callmark.reporting.grade_view import show_run
        from callmark.reporting.terminal import make_console

        show_run(make_console(), str(run.folder), run.info, summary, details=details)
    return WITH_ERRORS if summary.errors or summary.evaluator_errors else 0


def _check_run_options(run: str, options: DatasetOptions) -> None:
    """Raise `BadInput` for options of a dataset, which a run that is graded again has settled, and for rejects among its files."""
    from callmark.api.grading import refuse_with_run
    from callmark.runs.store import RunFolder

    folder = RunFolder(run)
    before = folder.read()
    refuse_with_run(run, {"from": options.format_name, "tools": options.tools})
    for file in (folder.resolve_path(before.dataset.path), *folder.files()) if options.rejects else ():
        refuse_same_file(file=file, rejects=options.rejects)
