"""`callmark simulate`: simulate conversations between users and agents."""

from typing import Any

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, print_warning, refuse_rejects_alone, refuse_same_file
from callmark.cli.help import Command, argument, option
from callmark.cli.model_options import ModelOptions, env_option, model_options, tag_option
from callmark.cli.numbers import NATURAL_NUMBER, POSITIVE_INTEGER, POSITIVE_NUMBER, Integer
from callmark.cli.run import show_runs
from callmark.errors import BadInput


@click.command(
    "simulate",
    cls=Command,
    exit_status={0: "Finished.", 2: "Invalid input.", 3: "Finished with errors, or stopped by a limit.", 130: "Interrupted."},
    examples=(
        'callmark simulate scenarios.jsonl -a openai:gpt-4.1 -t "mcp:python server.py"',
        "callmark simulate ground-truth --agent chatbot:http://localhost:8000/chat",
        "callmark simulate runs/bot --resume",
    ),
)
@argument(
    "scenarios", metavar="SCENARIOS", text="Scenario file, folder of scenario files, or - for standard input. With --resume, a run folder."
)
@option(
    "-a", "--agent", "agents", group="Simulation", multiple=True, metavar="AGENT", help="Agent, or a name from callmark.toml. Repeatable."
)
@option("-u", "--user", group="Simulation", metavar="USER", show_default="rule-based", help="Simulated user.")
@option("-t", "--tools", group="Simulation", multiple=True, metavar="TOOLS", help="Tools that the agent can call. Repeatable.")
@option(
    "--share-server/--no-share-server",
    "share_server",
    group="Simulation",
    default=None,
    show_default="only if all tools are read-only",
    help="Share one tool server between all conversations.",
)
@option("--system", group="Simulation", metavar="FILE", help="File with the agent's system prompt.")
@option("--judge", group="Simulation", metavar="MODEL", show_default="rules", help="Model that decides whether the task is complete.")
@option(
    "--max-turns", group="Simulation", metavar="N", type=POSITIVE_INTEGER, show_default="30", help="Maximum user turns per conversation."
)
@option(
    "--max-steps",
    group="Simulation",
    metavar="N",
    type=POSITIVE_INTEGER,
    show_default="20",
    help="Maximum agent messages with tool calls per user turn.",
)
@option("--seed", group="Simulation", metavar="N", type=Integer(), show_default="0", help="Random seed of the simulated users.")
@env_option("Simulation", "mcp:COMMAND or cmd:COMMAND")
@model_options()
@option("--limit", group="Run", metavar="N", type=POSITIVE_INTEGER, help="Use only the first N scenarios.")
@option("--trials", group="Run", metavar="K", type=POSITIVE_INTEGER, show_default="1", help="Simulate every scenario K times.")
@option("--resume", group="Run", is_flag=True, help="Resume an interrupted run: simulate missing conversations and retry errors.")
@option("--no-cache", group="Run", is_flag=True, help="Ignore the response cache.")
@option("--concurrency", group="Limits", metavar="N", type=POSITIVE_INTEGER, show_default="10", help="Maximum concurrent conversations.")
@option(
    "--timeout",
    group="Limits",
    metavar="SECONDS",
    type=POSITIVE_NUMBER,
    show_default="120",
    help="Timeout for one response from the agent.",
)
@option(
    "--retries",
    group="Limits",
    metavar="N",
    type=NATURAL_NUMBER,
    show_default="5",
    help="Maximum retries after a failed request (timeout, HTTP 429 or 5xx, closed connection, invalid body).",
)
@option(
    "--max-cost",
    group="Limits",
    metavar="AMOUNT",
    type=POSITIVE_NUMBER,
    help="Stop at a cost of AMOUNT (needs prices in callmark.toml).",
)
@option("--max-tokens-total", group="Limits", metavar="N", type=POSITIVE_INTEGER, help="Stop after N input and output tokens in total.")
@option(
    "-e",
    "--evaluator",
    "evaluators",
    group="Evaluators",
    multiple=True,
    metavar="EVALUATOR",
    show_default="process, state, effort",
    help="Evaluator: process, state, policy, effort, trajectory, decision, call, schema, reply, or your own as MODULE:NAME. Repeatable.",
)
@option("--policy", group="Evaluators", metavar="FILE", help="YAML file with rules for the policy evaluator.")
@option("-o", "--out", group="Output", metavar="DIR", show_default="runs", help="Folder for runs.")
@option("--name", group="Output", metavar="NAME", show_default="agent and time", help="Name of the run.")
@tag_option()
@option("--details", group="Output", is_flag=True, help="Add breakdowns by scenario type, tool, argument and trial (one agent only).")
@option("--json", "as_json", group="Output", is_flag=True, help="Print JSON: for each agent, the same as grade --json.")
@dataset_options(
    tools=False, skip_bad_help="Skip and list files and rows that cannot be read, and scenarios that the tools do not support."
)
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def command(
    scenarios: str,
    agents: tuple[str, ...],
    system: str | None,
    no_cache: bool,
    details: bool,
    as_json: bool,
    timeout: float | None,
    retries: int | None,
    options: DatasetOptions,
    model_options: ModelOptions,
    **others: Any,
) -> int:
    """Simulate users who talk to agents, and grade the agents.

    A simulated user plays every scenario with each agent until the task is complete or a limit is reached. The agent's tool calls are
    executed, recorded and graded. If SCENARIOS is a folder, every JSON and
    JSONL file in it is read, and the results are also reported by file.

    \b
    Agents:
      any model that callmark run supports, except scripted: and replay:, with
      --tools; or a chatbot that executes and reports its own calls:
      python:MODULE:FUNCTION      chatbot:URL        langgraph:MODULE:NAME
      openai-agents:…             pydantic-ai:…      agent-framework:…
      semantic-kernel:…           adk:…
    Tools:
      mcp:COMMAND   mcp:URL   python:MODULE   python:MODULE:CLASS
      recorded:FILE           openapi:FILE    FILE.json
    Users:
      rule-based[:plain|terse|chatty|impatient]   script   any model
    """
    from callmark.api.running import simulate
    from callmark.reporting.progress import progress_bars
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    refuse_same_file(file=scenarios, rejects=options.rejects)
    with options.reader(list_skipped=True) as reader, progress_bars() as progress:
        grade_options = GradeOptions(1, reader.on_bad, detailed=True)
        runs = simulate(
            CaseSelection(scenarios, options.format_name),
            agents,
            system=None if system is None else read_text_file("--system", system),
            settings=model_options.settings(timeout=timeout, retries=retries),
            cache=not no_cache,
            options=grade_options,
            progress=progress,
            warn=print_warning,
            **others,
        )
    return show_runs(runs, grade_options, as_json=as_json, details=details)


def read_text_file(name: str, path: str) -> str:
    """Return the text of a file that an option names; a file that is empty or not text raises `BadInput`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{name}: {path}: {_read_problem(error)}") from None
    if "\0" in text:
        raise BadInput(f"{name}: {path}: not a text file: it contains null bytes")
    if not text.strip():
        raise BadInput(f"{name}: {path}: the file is empty")
    return text


def _read_problem(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "not UTF-8 text"
