"""`callmark demo`: the main workflow from start to end, offline, on data from the package."""

import shlex
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import click

from callmark.errors import BadInput


class Demo(NamedTuple):
    """A demo: the package files it starts with, its steps (a question and the command that answers it), and how many runs it makes."""

    files: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    runs: int


STORE_TOOLS = "mcp:{python} -m callmark.worlds.retail"
RUN_STEP = (
    "Ask three models. These are imitations that make mistakes of known kinds at known rates; a real one is asked likewise.",
    "run {folder}/eval.jsonl -o {folder}/runs --model scripted:hasty --model scripted:forgetful --model scripted:perfect",
)
REPORT_STEP = (
    "Look at it: every case, every fault, what changed, on a page that opens from disk.",
    "report {runs} -o {folder}/report.html",
)
DEMOS = {
    "store": Demo(
        ("hotel/hotel.jsonl",),
        (
            (
                "A store's tool server: 15 tools over a database. Customers and an expert talk, by plans over its data, without any LLM; "
                "only what is sound is kept.",
                f"synth --tools '{STORE_TOOLS}' -n 120 --seed 7 -o {{data}}",
            ),
            ("What is in it?", "stats {data}/train.jsonl {data}/valid.jsonl"),
            ("What does one of its conversations look like?", "show {data}/valid.jsonl --most-calls"),
            (
                "What is wrong with it? Does a conversation of one file stand in the other?",
                "lint --train {data}/train.jsonl --valid {data}/valid.jsonl",
            ),
            ("And in a dataset in which flaws were planted, one of each kind?", "lint {folder}/hotel.jsonl"),
            (
                "Keep what finds the customer, then looks at their details at once, and makes nothing up.",
                "filter {data}/train.jsonl -o {folder}/good.jsonl --rejects {folder}/rejects.jsonl "
                "--require 'find_* > get_user_details(user_id=$result)' --consistent user_id --grounded --clean",
            ),
            ("Make every call its own test.", "expand {data}/valid.jsonl -o {folder}/eval.jsonl"),
            ("One such test: given the talk so far, which call comes next?", "show {folder}/eval.jsonl --row 3"),
            RUN_STEP,
            ("Is one better than another, or is it noise?", "compare {run[0]} {run[1]}"),
            (
                "May it be released? For CI: exit status 0 or 1.",
                "gate {run[2]} --min call.score=0.9 --max-errors 0 --baseline {run[0]} --max-drop call.score=0.02",
            ),
            REPORT_STEP,
        ),
        3,
    ),
    "hotel": Demo(
        ("hotel/hotel.jsonl",),
        (
            ("What is in a dataset?", "stats {folder}/hotel.jsonl"),
            ("What does one of its conversations look like?", "show {folder}/hotel.jsonl --most-calls"),
            ("What is wrong with it? Ten flaws were planted, one of each kind.", "lint {folder}/hotel.jsonl"),
            (
                "Keep what is good.",
                "filter {folder}/hotel.jsonl -o {folder}/good.jsonl --rejects {folder}/rejects.jsonl "
                "--require 'find_guest_* > get_guest(guest_id=$result)' --consistent guest_id --grounded --clean",
            ),
            ("Make every call its own test.", "expand {folder}/good.jsonl -o {folder}/eval.jsonl --abstain"),
            ("One such test: given the talk so far, which call comes next?", "show {folder}/eval.jsonl --row 2"),
            RUN_STEP,
            REPORT_STEP,
        ),
        3,
    ),
    "chatbot": Demo(
        ("helpdesk/workflow.md", "helpdesk/policy.yaml", "helpdesk/callmark.toml"),
        (
            (
                "Ground truth for a help desk's chatbot: scenarios, made from templates and tables.",
                "synth --scenarios-only -o {folder}/scenarios.jsonl",
            ),
            (
                "Simulated users talk to two chatbots, which call a real tool server. Both are rule-based, and one is sloppy on purpose.",
                "simulate {folder}/scenarios.jsonl --agent careful --agent sloppy --tools 'mcp:{python} -m callmark.worlds.helpdesk' "
                "--system {folder}/workflow.md --config {folder}/callmark.toml --trials 3 -o {folder}/runs",
            ),
            ("Look at it: every conversation, what was called and what went wrong.", "report {runs} -o {folder}/chatbot.html"),
        ),
        2,
    ),
}


@click.command(name="demo", short_help="See it work, offline, with no file at hand.")
@click.argument("demo_name", metavar="[store|hotel|chatbot]", type=click.Choice(tuple(DEMOS)), default="store")
@click.option("-o", "--out", metavar="DIR", default="callmark-demo", show_default=True, help="Where its files go.")
def command(demo_name: str, out: str) -> None:
    """store: a dataset is synthesised over a store's tool server, described, checked, filtered and cut into tests; three imitated models
    are asked, graded, compared and gated. hotel: the same, shorter, on a small dataset with planted flaws. chatbot: simulated users and
    two chatbots of a help desk. Each step with the command that you would type.

    \b
    callmark demo
    callmark demo hotel
    callmark demo chatbot
    """
    from importlib.resources import files

    from rich.text import Text

    from callmark.cli.main import callmark
    from callmark.reporting.terminal import make_console

    demo = DEMOS[demo_name]
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in demo.files:
            (folder / Path(name).name).write_bytes((files("callmark.worlds") / name).read_bytes())
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    data = next(str(path) for path in _data_folders(folder) if not path.exists())
    console = make_console()
    for question, command_line in demo.steps:
        runs = sorted((folder / "runs").glob("*/run.json"), key=lambda run: run.stat().st_mtime)[-demo.runs :]
        run_folders = [shlex.quote(str(run.parent)) for run in runs]
        console.print()
        console.print(Text(question, style="bold magenta"))
        placeholders = {"folder": shlex.quote(out), "data": shlex.quote(data), "runs": " ".join(run_folders), "run": run_folders}
        console.print(Text(f"$ callmark {command_line.format(**placeholders, python='python')}", style="bold"), soft_wrap=True)
        console.print()
        arguments = shlex.split(command_line.format(**placeholders, python=sys.executable.replace(" ", r"\ ")))
        callmark.main(args=arguments, prog_name="callmark", standalone_mode=False)


def _data_folders(folder: Path) -> Iterator[Path]:
    """Yield candidate folders for synthetic data, so that existing ones are not overwritten."""
    yield folder / "data"
    yield from (folder / f"data-{number}" for number in count(2))
