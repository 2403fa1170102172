"""`callmark export`: what others take: the grader, the file of a batch, the results of a run, its notebooks."""

from typing import TYPE_CHECKING

import click

from callmark.cli.asking import AskingOptions, asking_options
from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file, tracked
from callmark.errors import BadInput

if TYPE_CHECKING:
    from callmark.runs.export_results import Form


@click.group(name="export", short_help="Write what others take: the grader, a batch of requests, a run's results or notebooks.")
def command() -> None:
    """Write what others take.

    \b
    callmark export grader -o grader.py
    callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl
    callmark export results runs/base --to csv
    callmark export notebook runs/base -o notebooks
    """


@command.command(short_help="A grader in one Python file, for services that run one; it needs nothing but Python.")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the program goes; - is standard output.")
def grader(out: str) -> None:
    """Write the evaluator `call` as one self-contained file: `grade(sample, item)`, nothing imported but the standard library. It gives
    the same score as callmark on every item; an item that uses $regex is refused by name.

    \b
    callmark export grader -o grader.py
    """
    from callmark.formats import write_lines
    from callmark.grading.standalone import export_source
    from callmark.reporting.safety import safe

    source = export_source()
    write_lines(out, source.rstrip("\n").encode().split(b"\n"))
    if out != "-":
        click.echo(f"{source.count(chr(10)):,} lines → {safe(out)}   (grade(sample, item) -> float)")


@command.command(short_help="The requests of a run as the file that OpenAI's and Azure's batch APIs take.")
@click.argument("cases", metavar="EVAL")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the requests go; - is standard output.")
@click.option(
    "-m", "--model", "word", metavar="SPEC", required=True, help="openai:NAME, azure:DEPLOYMENT, vllm:NAME, or a name from callmark.toml."
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="The first N decision points only.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@asking_options()
@reading_options()
def batch(cases: str, out: str, word: str, limit: int | None, config: str | None, asking: AskingOptions, reading: ReadingOptions) -> None:
    """Write a request for each decision point, under the id of its case. What comes back is graded with
    `callmark grade EVAL --predictions OUTPUT --predictions ERRORS`.

    \b
    callmark export batch eval.jsonl --model openai:gpt-4.1-mini -o batch.jsonl
    """
    from itertools import islice

    from callmark.config import read_config
    from callmark.data.expand import cases_of
    from callmark.formats import write_lines
    from callmark.models.keys import Keys
    from callmark.models.opening import sends_requests
    from callmark.models.prompts import check_params
    from callmark.models.specs import read_spec
    from callmark.reporting.safety import safe
    from callmark.runs.batch import batch_lines

    refuse_rejects_alone(reading)
    refuse_same_file(file=cases, out=out, rejects=reading.rejects)
    _, settings = asking.model(word, read_config(config).models)
    spec = read_spec(settings.model, Keys.here())
    if not sends_requests(spec) or spec.provider == "local":
        raise BadInput(
            f"{spec.shown} is sent no requests, so there is none to write down", "openai:NAME, azure:DEPLOYMENT or vllm:NAME is."
        )
    check_params(settings.params)
    with reading.reader() as reader:
        found = cases_of(tracked(reader.open(cases)))
        count = write_lines(out, batch_lines(islice(found, limit), spec.name, settings))
    if out != "-":
        click.echo(f"{count:,} requests → {safe(out)}")


@command.command(short_help="The results of a run as a table: CSV, Parquet or JSONL.")
@click.argument("run", metavar="RUN")
@click.option("--to", "form", type=click.Choice(["csv", "parquet", "jsonl"]), required=True, help="What the table is written as.")
@click.option("-o", "--out", metavar="OUT", help="Where it goes; - is standard output; beside the run if not given.")
def results(run: str, form: "Form", out: str | None) -> None:
    """Write a row for each grade: the case, its trial, every metric, what was expected and made, its faults as words, what it took. In CSV,
    a text that a spreadsheet would take for a formula begins with an apostrophe.

    \b
    callmark export results runs/base --to csv
    callmark export results runs/base --to parquet -o base.parquet
    """
    from callmark.reporting.safety import safe
    from callmark.runs.export_results import export_results
    from callmark.runs.run import Run
    from callmark.wording import counted

    found = Run(run)
    out = out or f"{found.folder.path.resolve() if found.folder.path.name in ('', '..') else found.folder.path}.{form}"
    for file in found.folder.files():
        refuse_same_file(file=file, out=out)
    count = export_results(found, form, out)
    if out != "-":
        click.echo(f"{counted(count, 'row')} → {safe(out)}")


@command.command(short_help="A run as two notebooks, executed: the evaluation, and what went wrong.")
@click.argument("run", metavar="RUN")
@click.option("-o", "--out", metavar="DIR", required=True, help="The folder they go into; it is made if there is none.")
def notebook(run: str, out: str) -> None:
    """Write evaluation.ipynb (how good is it?) and error_analysis.ipynb (what went wrong?), with tables and charts, which show without
    a network. They find the run as seen from DIR, so that both can be moved together, and read it again when they are run again.

    \b
    pip install 'callmark[notebook]'
    callmark export notebook runs/base -o notebooks
    """
    from callmark.reporting.notebooks.writing import write_notebooks
    from callmark.reporting.safety import safe
    from callmark.runs.run import Run

    found = Run(run)
    click.echo(f"{safe(found.label)} → {' and '.join(map(safe, write_notebooks(found, out)))}")
