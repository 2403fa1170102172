"""`callmark simulate`: simulated users talk to agents that have tools."""

from typing import Any

import click

from callmark.cli.dataset_options import DatasetOptions, dataset_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.model_options import FiniteNumber, ModelOptions, model_options
from callmark.cli.run import print_warning, show_runs
from callmark.errors import BadInput

_POSITIVE_INTEGER = click.IntRange(min=1)
_POSITIVE_NUMBER = FiniteNumber(min=0, min_open=True)


@click.command(name="simulate", short_help="Let simulated users talk to an agent; record, grade, show.")
@click.argument("scenarios", metavar="SCENARIOS|RUN")
@click.option("-a", "--agent", "agents", multiple=True, metavar="SPEC", help="Who is tested, or a name from callmark.toml; repeatable.")
@click.option("-u", "--user", metavar="SPEC", help="Who plays the users: rule-based[:STYLE], script, or a model; rule-based if not given.")
@click.option("-t", "--tools", multiple=True, metavar="SPEC", help="What the agent can call; its calls are carried out. May be repeated.")
@click.option("--system", metavar="FILE", help="The agent's system prompt.")
@click.option("--judge", metavar="SPEC", help="A model that judges when the task is completed; by words and end state if not given.")
@click.option("--trials", metavar="K", type=_POSITIVE_INTEGER, default=None, help="Hold each conversation K times; once if not given.")
@click.option("--max-turns", metavar="N", type=_POSITIVE_INTEGER, help="How often a user may speak; 30 if not given.")
@click.option(
    "--max-steps", metavar="N", type=_POSITIVE_INTEGER, help="Answers with calls that an agent may give in one turn; 20 if not given."
)
@click.option("--seed", metavar="N", type=int, help="Another seed makes other users of the same scenarios.")
@click.option("-o", "--out", metavar="DIR", help="The folder that runs go into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the agent's name and the time if not given.")
@click.option("--limit", metavar="N", type=_POSITIVE_INTEGER, help="The first N scenarios only.")
@click.option("--concurrency", metavar="N", type=_POSITIVE_INTEGER, help="Conversations at a time; 10 if not given.")
@click.option("--timeout", metavar="SECONDS", type=_POSITIVE_NUMBER, help="Of one answer of the agent; 120 if not given.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="Tries again after a time-out, a 429 or a 5xx; 5 if not given.")
@model_options()
@click.option("--max-cost", metavar="MONEY", type=_POSITIVE_NUMBER, help="Stop when so much is spent (prices are in callmark.toml).")
@click.option("--max-tokens-total", metavar="N", type=_POSITIVE_INTEGER, help="Stop when so many tokens went in and out.")
@click.option("--resume", is_flag=True, help="Go on with a run: hold only the conversations that have not been held.")
@click.option("--no-cache", is_flag=True, help="Ask models also what they were asked and answered before.")
@click.option(
    "-e", "--evaluator", "evaluators", multiple=True, metavar="NAME", help="process, state, policy, effort, call, schema, or your own."
)
@click.option("--policy", metavar="FILE", help="Rules for the evaluator policy, in YAML.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--details", is_flag=True, help="Of one agent: by scenario type, by function, by argument, over trials, and what that says.")
@click.option("--json", "as_json", is_flag=True, help="For machines: what grade --json gives, for each agent.")
@dataset_options(tools=False)
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
    """A simulated user talks to each agent about every scenario until the task is done; the calls that the agent makes are carried out,
    recorded and graded. RUN: the folder of a run, with --resume. Exit status 3: finished, but with errors.

    \b
    Agents: any model of callmark run, with --tools; without, a chatbot that reports the calls it made: python:module:function, chatbot:URL.
    Tools:  mcp:COMMAND  mcp:URL  python:module  python:module:Class  recorded:FILE  openapi:FILE
    callmark simulate scenarios.jsonl --agent openai:gpt-4.1-mini --tools "mcp:python server.py" --system prompt.md --trials 3
    callmark simulate scenarios.jsonl --agent chatbot:http://localhost:8000/chat --user openai:gpt-4.1-mini
    callmark simulate runs/bot --resume
    """
    from callmark.api.running import simulate
    from callmark.reporting.progress import progress_bars
    from callmark.runs.grade import GradeOptions
    from callmark.runs.selection import CaseSelection

    refuse_rejects_alone(options)
    refuse_same_file(file=scenarios, rejects=options.rejects)
    with options.reader() as reader, progress_bars() as progress:
        grade_options = GradeOptions(1, reader.on_bad, intervals="all" if as_json else "headline", detailed=True)
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


def read_text_file(option: str, path: str) -> str:
    """Return the text of a file that an option names; a file that is empty or no text raises `BadInput`."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{option} {path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    if "\0" in text:
        raise BadInput(f"{option} {path} is no text: there are zero bytes in it")
    if not text.strip():
        raise BadInput(f"{option} {path} is empty")
    return text
