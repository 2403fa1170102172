"""`callmark demo`: the main workflow from start to end, offline, on data from the package."""

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from hashlib import sha256
from io import StringIO
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

import click

from callmark.cli.help import Command, argument, option
from callmark.errors import BadInput, CallmarkError, StorageError

if TYPE_CHECKING:
    from rich.console import Console

MAX_RESULT = 4  # lines of a command's output that are shown without --verbose


class Step(NamedTuple):
    """A step of a demo: what happens, the command line, and patterns of the lines of its output that are shown."""

    title: str
    command: str
    result: tuple[str, ...]


class Demo(NamedTuple):
    """A demo: the package files it starts with, its steps, the number of runs it makes, its report, and commands to try next."""

    files: tuple[str, ...]
    steps: tuple[Step, ...]
    runs: int
    report: str
    next_commands: tuple[str, ...]


HEADER = r" · .*\bconversations?\b"
CALL = r"^ {6}\w+\("
VERDICT = r"^\S+ (is (better|worse|within noise)|and \S+ have identical) |^Too few conversations "
EXPAND = "Expand: make every tool call a test case, with the messages before it and the expected call."
EXPAND_ABSTAIN = "Expand: make every tool call, and every assistant turn without one, a test case."
SHOW_CASE = "Show one case: the calls so far, and the call that is expected next."
HOTEL_LINT = Step(
    "Lint a dataset with ten planted flaws, each of a different kind.",
    "lint {folder}/hotel.jsonl",
    (r"^\d+ findings: ", r"^schema_violation ", r"^hallucinated_value ", r"^conflicting_expected "),
)
RUN = Step(
    "Run three models. These are scripted and make known mistakes; an LLM is run the same way.",
    "run {folder}/eval.jsonl -o {folder}/runs --model scripted:hasty --model scripted:forgetful --model scripted:perfect",
    (r"^ +scripted-hasty +scripted-forgetful", r"^  call\.score ", VERDICT),
)
REPORT = Step(
    "Write a report: every case, every fault and what changed, on one page that opens from disk.",
    "report {runs} -o {folder}/report.html",
    (r"report\.html",),
)
NEXT = ("view {folder}/runs", "compare {run[0]} {run[2]} --details", "grade {run[0]} --details")
DEMOS = {
    "store": Demo(
        ("hotel/hotel.jsonl",),
        (
            Step(
                "Synthesize conversations with a store's tool server, without an LLM. Flawed ones are rejected.",
                "synth --tools 'mcp:{python} -m callmark.worlds.retail' -n 120 --seed 7 -o {data}",
                (r"^\d+ conversations → ", r"^ +\d+ train\.jsonl$", r"^ +\d+ valid\.jsonl$"),
            ),
            Step(
                "Describe the dataset: conversations, messages, calls and tools.",
                "stats {data}/train.jsonl {data}/valid.jsonl",
                (HEADER, r"^ +messages ", r"^total "),
            ),
            Step("Show the conversation with the most calls.", "show {data}/valid.jsonl --most-calls", (HEADER, CALL)),
            Step(
                "Lint both files, and check that no validation conversation leaks into the training data.",
                "lint --train {data}/train.jsonl --valid {data}/valid.jsonl",
                (HEADER, r"^No findings", r"^\d+ findings?: "),
            ),
            HOTEL_LINT,
            Step(
                "Filter: keep conversations that find the customer, then get their details, without hallucinated values.",
                "filter {data}/train.jsonl -o {folder}/good.jsonl --rejects {folder}/rejects.jsonl "
                "--require 'find_* > get_user_details(user_id=$result)' --consistent user_id --grounded --clean",
                (r"^grounded ", r"^All rules ", r"good\.jsonl"),
            ),
            Step(EXPAND, "expand {data}/valid.jsonl -o {folder}/eval.jsonl", (HEADER, r"eval\.jsonl")),
            Step(SHOW_CASE, "show {folder}/eval.jsonl --row 3", (CALL, r"^ +EXPECTED")),
            RUN,
            Step(
                "Compare two runs: is one better, or is the difference within noise?",
                "compare {run[0]} {run[1]}",
                (VERDICT, r" fixed · ", r"^  most broken: "),
            ),
            Step(
                "Gate a release: exit status 0 or 1, for CI.",
                "gate {run[2]} --min call.score=0.9 --max-errors 0 --baseline {run[0]} --max-drop call.score=0.02",
                (r"^Gate ", r"^  [✓✗] "),
            ),
            REPORT,
        ),
        3,
        "{folder}/report.html",
        NEXT,
    ),
    "hotel": Demo(
        ("hotel/hotel.jsonl",),
        (
            Step(
                "Describe a dataset: conversations, messages, calls and tools.",
                "stats {folder}/hotel.jsonl",
                (HEADER, r"^ +messages ", r"^mean ", r"^total "),
            ),
            Step("Show the conversation with the most calls.", "show {folder}/hotel.jsonl --most-calls", (HEADER, CALL)),
            HOTEL_LINT,
            Step(
                "Filter: keep conversations that find the guest, then get their record, without errors or hallucinated values.",
                "filter {folder}/hotel.jsonl -o {folder}/good.jsonl --rejects {folder}/rejects.jsonl "
                "--require 'find_guest_* > get_guest(guest_id=$result)' --consistent guest_id --grounded --clean",
                (r"^grounded ", r"^All rules ", r"good\.jsonl"),
            ),
            Step(EXPAND_ABSTAIN, "expand {folder}/good.jsonl -o {folder}/eval.jsonl --abstain", (r"eval\.jsonl", r"expect no call")),
            Step(SHOW_CASE, "show {folder}/eval.jsonl --row 2", (CALL, r"^ +EXPECTED")),
            RUN,
            REPORT,
        ),
        3,
        "{folder}/report.html",
        NEXT,
    ),
    "chatbot": Demo(
        ("helpdesk/workflow.md", "helpdesk/policy.yaml", "helpdesk/callmark.toml"),
        (
            Step(
                "Make scenarios for a help desk's chatbot from templates and tables, with their expected calls.",
                "synth --scenarios-only -o {folder}/scenarios.jsonl",
                (r"^\d+ scenarios → ", r"^ +\d+ create_ticket$", r"^ +\d+ changes_mind$", r"^ +\d+ not_allowed$"),
            ),
            Step(
                "Simulate users who chat with two agents over a real tool server. Both are rule-based; one is sloppy on purpose.",
                "simulate {folder}/scenarios.jsonl --agent careful --agent sloppy --tools 'mcp:{python} -m callmark.worlds.helpdesk' "
                "--system {folder}/workflow.md --config {folder}/callmark.toml --trials 3 -o {folder}/runs",
                (r"^ +careful +sloppy", r"^  process\.reliability ", VERDICT, r" fixed · "),
            ),
            Step(
                "Write a report: every conversation, every call and every fault, on one page that opens from disk.",
                "report {runs} -o {folder}/chatbot.html",
                (r"chatbot\.html",),
            ),
        ),
        2,
        "{folder}/chatbot.html",
        ("view {folder}/runs", "compare {run[0]} {run[1]} --details", "grade {run[1]} --details"),
    ),
}


@click.command("demo", cls=Command, examples=("callmark demo", "callmark demo hotel", "callmark demo chatbot --verbose"))
@argument(
    "demo_name",
    metavar="[store|hotel|chatbot]",
    type=click.Choice(tuple(DEMOS)),
    default="store",
    text="Demo to run; the default is store.",
)
@option("-o", "--out", metavar="DIR", default="callmark-demo", show_default=True, help="Folder for the demo files.")
@option("--verbose", is_flag=True, help="Print the full output of each command.")
def command(demo_name: str, out: str, verbose: bool) -> None:
    """Run the main workflow on built-in data, offline.

    Each step prints what happens, the command to copy, and a few lines of its result. The demo ends with a report and commands to try next.

    store: synthesizes a dataset with a store's tool server, describes, lints and filters it, and cuts it into cases; runs and grades
    three scripted models, compares two of them, and gates one. hotel: the same, shorter, on a small dataset with planted flaws. chatbot:
    simulates users who chat with two help desk agents.
    """
    from importlib.resources import files

    from rich.text import Text

    from callmark.reporting.terminal import make_console

    demo = DEMOS[demo_name]
    folder = Path(out)
    written = DemoFiles(folder, demo)
    try:
        if folder.is_file():
            raise BadInput(f"-o: expected a folder, got the file {out}")
        folder.mkdir(parents=True, exist_ok=True)
        written.refuse_others()
        for name in demo.files:
            (folder / Path(name).name).write_bytes((files("callmark.worlds") / name).read_bytes())
    except OSError as error:
        raise StorageError(f"{out} cannot be written: {error.strerror}") from None
    data = next(str(path) for path in _data_folders(folder) if not path.exists())
    console = make_console()

    def fill(command_line: str, python: str = "python") -> str:
        """Return a command line with the paths of this demo."""
        manifests = sorted((folder / "runs").glob("*/run.json"), key=lambda run: run.stat().st_mtime)[-demo.runs :]
        runs = [shlex.quote(str(manifest.parent)) for manifest in manifests]
        return command_line.format(folder=shlex.quote(out), data=shlex.quote(data), runs=" ".join(runs), run=runs, python=python)

    try:
        for number, step in enumerate(demo.steps, 1):
            console.print(Text(f"{number}. {step.title}", style="bold magenta"), soft_wrap=True)
            console.print(Text(f"$ callmark {fill(step.command)}", style="bold"), soft_wrap=True)
            arguments = shlex.split(fill(step.command, python=sys.executable.replace(" ", r"\ ") + " -P"))
            for line in _run_step(console, arguments, step.result, verbose=verbose):
                console.print(Text(f"  {line}"), soft_wrap=True)
            console.print()
    finally:
        written.remember()
    console.print(Text.assemble(("Report: ", "bold magenta"), demo.report.format(folder=out), " (open it in a browser)"), soft_wrap=True)
    console.print(Text("Next, try:", style="bold magenta"))
    for next_command in demo.next_commands:
        console.print(Text(f"  callmark {fill(next_command)}", style="bold"), soft_wrap=True)


class DemoFiles:
    """The files that a demo writes into its folder. Their digests are stored there, so that a demo replaces its own files and no others."""

    def __init__(self, folder: Path, demo: Demo) -> None:
        steps = " ".join(step.command for step in demo.steps)
        names = [*(Path(name).name for name in demo.files), *re.findall(r"(?:-o|--rejects) \{folder\}/(\S+\.\w+)", steps)]
        self._paths = [folder / name for name in dict.fromkeys(names)]
        self._digests = folder / ".callmark-demo.json"

    def refuse_others(self) -> None:
        """Raise `BadInput` for a file that exists and is not one that a demo wrote."""
        known = self._known()
        for path in self._paths:
            if path.exists() and (not path.is_file() or known.get(path.name) != _digest(path)):
                raise BadInput(f"{path} already exists, and was not written by the demo", "Pass another folder with -o DIR.")

    def remember(self) -> None:
        """Store the digests of the files that exist."""
        digests = {path.name: _digest(path) for path in self._paths if path.is_file()}
        with suppress(OSError):
            self._digests.write_text(json.dumps({**self._known(), **digests}, indent=2) + "\n", encoding="utf-8")

    def _known(self) -> dict[str, str]:
        try:
            known = json.loads(self._digests.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _run_step(console: "Console", arguments: list[str], patterns: Sequence[str], *, verbose: bool) -> list[str]:
    """Run a command and return the first lines of its output that match a pattern; with `verbose`, print all of it and return nothing.

    A command that fails has its output printed, and raises its own error, or `CallmarkError` with its exit status.
    """
    from callmark.cli.main import callmark

    printed = StringIO()
    try:
        with nullcontext() if verbose else redirect_stdout(printed):
            status = callmark.main(args=arguments, prog_name="callmark", standalone_mode=False)
        if status:
            raise CallmarkError(f"callmark {arguments[0]} ended with exit status {status}")
    except Exception:
        console.out(printed.getvalue(), end="", highlight=False)
        raise
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    shown = [line for line in lines if any(re.search(pattern, line) for pattern in patterns)][:MAX_RESULT]
    return dedent("\n".join(shown)).splitlines()


def _data_folders(folder: Path) -> Iterator[Path]:
    """Yield candidate folders for synthetic data, so that existing ones are not overwritten."""
    yield folder / "data"
    yield from (folder / f"data-{number}" for number in count(2))
