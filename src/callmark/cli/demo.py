"""`callmark demo`: the main job from beginning to end, offline, on a dataset that is in the package."""

import shlex
from pathlib import Path

import click

from callmark.errors import BadInput

STEPS = (
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
        "Ask three models. These are imitations that make mistakes of known kinds at known rates; a real one is asked in the same way.",
        "run {folder}/eval.jsonl -o {folder}/runs --model scripted:hasty --model scripted:forgetful --model scripted:perfect",
    ),
)


@click.command(name="demo", short_help="See it work, offline, with no file at hand.")
@click.option("-o", "--out", metavar="DIR", default="callmark-demo", show_default=True, help="Where its files go.")
def command(out: str) -> None:
    """Statistics, lint, filter and decision points of a small hotel's front desk, and three imitated models that are asked and graded; each
    step with the command that you would type.

    \b
    callmark demo
    """
    from importlib.resources import files

    from rich.text import Text

    from callmark.cli.main import callmark
    from callmark.reporting.terminal import console, recorded_page

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hotel.jsonl").write_bytes((files("callmark.demo") / "hotel.jsonl").read_bytes())
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror}") from None
    report = folder / "report.html"
    with recorded_page(report, title="callmark demo"):
        screen = console()
        for question, line in STEPS:
            screen.print()
            screen.print(Text(question, style="bold magenta"))
            screen.print(Text(f"$ callmark {line.format(folder=out)}", style="bold"), soft_wrap=True)
            screen.print()
            callmark.main(args=shlex.split(line.format(folder=shlex.quote(out))), prog_name="callmark", standalone_mode=False)
    screen.print()
    screen.print(Text.assemble("all of this as a page: ", (str(report), "bold")))
