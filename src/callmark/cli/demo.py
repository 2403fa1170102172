"""`callmark demo`: the main job from beginning to end, offline, on what is in the package."""

import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import click

from callmark.errors import BadInput


class Demo(NamedTuple):
    """The files that it begins with, from the package; its steps, a question each and the command that answers it; and how many runs it
    makes, which are the newest ones then.
    """

    files: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    runs: int


DEMOS = {
    "models": Demo(
        ("hotel.jsonl",),
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
            (
                "Ask three models. These are imitations that make mistakes of known kinds at known rates; a real one is asked likewise.",
                "run {folder}/eval.jsonl -o {folder}/runs --model scripted:hasty --model scripted:forgetful --model scripted:perfect",
            ),
            ("Look at it: every case, every fault, what changed, on a page that opens from disk.", "report {runs} -o {folder}/report.html"),
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
                "simulate {folder}/scenarios.jsonl --agent careful --agent sloppy --tools 'mcp:{python} -m callmark.demo.helpdesk' "
                "--system {folder}/workflow.md --config {folder}/callmark.toml --trials 3 -o {folder}/runs",
            ),
            ("Look at it: every conversation, what was called and what went wrong.", "report {runs} -o {folder}/chatbot.html"),
        ),
        2,
    ),
}


@click.command(name="demo", short_help="See it work, offline, with no file at hand.")
@click.argument("which", metavar="[models|chatbot]", type=click.Choice(tuple(DEMOS)), default="models")
@click.option("-o", "--out", metavar="DIR", default="callmark-demo", show_default=True, help="Where its files go.")
def command(which: str, out: str) -> None:
    """models: statistics, lint, filter and decision points of a small hotel's front desk, and three imitated models that are asked and
    graded. chatbot: simulated users and two chatbots of a help desk. Each step with the command that you would type.

    \b
    callmark demo
    callmark demo chatbot
    """
    from importlib.resources import files

    from rich.text import Text

    from callmark.cli.main import callmark
    from callmark.reporting.terminal import console

    demo = DEMOS[which]
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in demo.files:
            (folder / Path(name).name).write_bytes((files("callmark.demo") / name).read_bytes())
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    screen = console()
    for question, line in demo.steps:
        runs = sorted((folder / "runs").glob("*/run.json"), key=lambda run: run.stat().st_mtime)[-demo.runs :]
        names = [shlex.quote(str(run.parent)) for run in runs]
        screen.print()
        screen.print(Text(question, style="bold magenta"))
        typed = line.format(folder=shlex.quote(out), runs=" ".join(names), python="{python}")
        screen.print(Text(f"$ callmark {typed.format(python='python')}", style="bold"), soft_wrap=True)
        screen.print()
        words = shlex.split(typed.format(python=sys.executable.replace(" ", r"\ ")))
        callmark.main(args=words, prog_name="callmark", standalone_mode=False)
