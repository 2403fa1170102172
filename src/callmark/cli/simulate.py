"""`callmark simulate`: simulated users talk to agents that have tools."""

import os
from typing import TYPE_CHECKING, Any

import click

from callmark.cli.asking import AskingOptions, Finite, asking_options
from callmark.cli.grade import OUT
from callmark.cli.reading import ReadingOptions, reading_options, refuse_rejects_alone, refuse_same_file
from callmark.cli.run import asked_and_graded, begun, opened_cache, refuse_unpriced, shown
from callmark.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from callmark.cli.asking import Named
    from callmark.models.model import ModelSettings
    from callmark.runs.store import SimulatedInfo

_POSITIVE = click.IntRange(min=1)
_MORE_THAN_NOTHING = Finite(min=0, min_open=True)


@click.command(name="simulate", short_help="Let simulated users talk to an agent; record, grade, show.")
@click.argument("scenarios", metavar="SCENARIOS|RUN")
@click.option("-a", "--agent", "agents", multiple=True, metavar="SPEC", help="Who is tested, or a name from callmark.toml; repeatable.")
@click.option("-u", "--user", metavar="SPEC", help="Who plays the users: agenda, agenda:STYLE, script, or a model; agenda if not given.")
@click.option("-t", "--tools", multiple=True, metavar="SPEC", help="What the agent can call; its calls are carried out. May be repeated.")
@click.option("--system", metavar="FILE", help="The agent's system prompt.")
@click.option("--judge", metavar="SPEC", help="A model that judges when the task is completed; by words and end state if not given.")
@click.option("--trials", metavar="K", type=_POSITIVE, default=None, help="Hold each conversation K times; once if not given.")
@click.option("--max-turns", metavar="N", type=_POSITIVE, help="How often a user may speak; 30 if not given.")
@click.option("--max-steps", metavar="N", type=_POSITIVE, help="Answers with calls that an agent may give in one turn; 20 if not given.")
@click.option("--seed", metavar="N", type=int, help="Another seed makes other users of the same scenarios.")
@click.option("-o", "--out", metavar="DIR", help="The folder that runs go into; runs if not given.")
@click.option("--name", metavar="NAME", help="The run's own folder in it; made of the agent's name and the time if not given.")
@click.option("--limit", metavar="N", type=_POSITIVE, help="The first N scenarios only.")
@click.option("--concurrency", metavar="N", type=_POSITIVE, help="Conversations at a time; 10 if not given.")
@click.option("--timeout", metavar="SECONDS", type=_MORE_THAN_NOTHING, help="Of one answer of the agent; 120 if not given.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="Tries again after a time-out, a 429 or a 5xx; 5 if not given.")
@asking_options()
@click.option("--max-cost", metavar="MONEY", type=_MORE_THAN_NOTHING, help="Stop when so much is spent (prices are in callmark.toml).")
@click.option("--max-tokens-total", metavar="N", type=_POSITIVE, help="Stop when so many tokens went in and out.")
@click.option("--resume", is_flag=True, help="Go on with a run: hold only the conversations that have not been held.")
@click.option("--no-cache", is_flag=True, help="Ask models also what they were asked and answered before.")
@click.option("--evaluator", "evaluators", multiple=True, metavar="NAME", help="process, state, policy, effort, call, schema, or your own.")
@click.option("--policy", metavar="FILE", help="Rules for the evaluator policy, in YAML.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--details", is_flag=True, help="Of one agent: by scenario type, by function, by argument, over trials, and what that says.")
@click.option("--json", "as_json", is_flag=True, help="For machines: what grade --json gives, for each agent.")
@reading_options(tools=False)
def command(
    scenarios: str,
    agents: tuple[str, ...],
    user: str | None,
    tools: tuple[str, ...],
    system: str | None,
    judge: str | None,
    trials: int | None,
    max_turns: int | None,
    max_steps: int | None,
    seed: int | None,
    out: str | None,
    name: str | None,
    limit: int | None,
    concurrency: int | None,
    max_cost: float | None,
    max_tokens_total: int | None,
    resume: bool,
    no_cache: bool,
    evaluators: tuple[str, ...],
    policy: str | None,
    config: str | None,
    details: bool,
    as_json: bool,
    reading: ReadingOptions,
    asking: AskingOptions,
    **pace: Any,
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
    from msgspec import structs

    from callmark.analysis.summary import SHOWN
    from callmark.config import read_config, read_policy
    from callmark.models.keys import Keys
    from callmark.runs.grade_run import GradeOptions
    from callmark.runs.source import Cases
    from callmark.runs.worker import Budget
    from callmark.simulation.simulate import simulated_grading, simulation_runs

    refuse_rejects_alone(reading)
    refuse_same_file(file=scenarios, rejects=reading.rejects)
    settings = read_config(config)
    grading = simulated_grading(settings.grading, evaluators)
    if policy:
        grading = structs.replace(grading, policy=read_policy(policy))
    keys = Keys.here()
    which = Cases(scenarios, reading.dialect, None, limit, trials or 1, scenarios=True)
    chosen = [asking.model(word, settings.models, **pace) for word in agents]
    before: SimulatedInfo | None = None
    if os.path.isdir(scenarios):
        given = {"agent": chosen, "user": user, "judge": judge, "tools": tools, "system": system}
        chosen = chosen or _kept_agent(scenarios, [part for part, value in given.items() if value])
        which, held, out, name, before = begun(scenarios, which, chosen, trials=trials, resume=resume, given=(out, name))
        chosen = [(label, asking.over(model, **pace)) for label, model in held]
    if not chosen:
        raise BadInput("--agent is missing: who should be tested?", "callmark run --list-models shows what there is.")
    plan = _plan(
        before,
        named=settings.models,
        user=user,
        judge=judge,
        tools=tools or None,
        system=None if system is None else text_of("--system", system),
        max_turns=max_turns,
        max_steps=max_steps,
        seed=seed,
    )
    if max_cost is not None and not any(voice is not None and voice.price is not None for voice in (plan.user, plan.judge)):
        refuse_unpriced([model for _, model in chosen], keys)
    with reading.reader() as reader:
        how = GradeOptions(1, reader.on_bad, intervals=None if as_json else SHOWN, detailed=True)
        cache = None if no_cache else opened_cache(keys)
        runs = simulation_runs(
            which, chosen, plan, grading, keys, cache=cache, at_once=concurrency, out=out or OUT, name=name, resume=resume, how=how
        )
        asked = asked_and_graded(runs, cache, Budget(max_cost, max_tokens_total))
    return shown(asked, as_json=as_json, details=details)


def _plan(
    before: "SimulatedInfo | None",
    *,
    named: "Mapping[str, ModelSettings]",
    user: str | None,
    judge: str | None,
    **given: Any,
) -> "SimulatedInfo":
    """How conversations are held: as they were before, or as usual, but for what is given."""
    from msgspec import structs

    from callmark.models.model import ModelSettings
    from callmark.runs.store import SimulatedInfo
    from callmark.simulation.simulate import MAX_STEPS
    from callmark.simulation.simulator import MAX_TURNS

    plan = before or SimulatedInfo(ModelSettings(model="agenda"), max_turns=MAX_TURNS, max_steps=MAX_STEPS)
    voices = {part: named.get(word, ModelSettings(model=word)) for part, word in (("user", user), ("judge", judge)) if word}
    return structs.replace(plan, **voices, **{key: value for key, value in given.items() if value is not None})


def _kept_agent(run: str, given: "Collection[str]") -> "list[Named]":
    """The agent of a run, where it is written down as it was. What had something secret in it has to be given again."""
    from callmark.models.keys import HIDDEN
    from callmark.runs.store import RunFolder

    asked = RunFolder(run).read().asked
    if asked is None or asked.simulated is None or not asked.secret:
        return []
    plan = asked.simulated
    written = {"agent": [asked.model], "user": [plan.user], "judge": [plan.judge], "tools": plan.tools, "system": [plan.system]}
    hidden = [part for part, values in written.items() if HIDDEN in str(values)]
    if missing := [f"--{part}" for part in hidden if part not in given]:
        raise BadInput(f"{run}: {' and '.join(missing)} had something secret in it, which is not kept", "Give it again.")
    return [(asked.label, asked.model)]


def text_of(option: str, path: str) -> str:
    """The text that an option names a file of; what is no text, or none at all, raises `BadInput`."""
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
