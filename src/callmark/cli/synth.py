"""`callmark synth`: conversations for training, held over real tools; or scenarios out of templates."""

import shlex
from typing import TYPE_CHECKING, Any

import click

from callmark.cli.asking import Finite
from callmark.cli.grade import WITH_ERRORS
from callmark.cli.reading import say
from callmark.errors import BadInput
from callmark.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from callmark.config import Config
    from callmark.models.keys import Keys
    from callmark.models.model import ModelSettings
    from callmark.simulation.session import State
    from callmark.simulation.simulate import Named
    from callmark.synthesis.synthesis import Order
    from callmark.synthesis.world import World
    from callmark.types import Case, Tool

NUMBER, SEED, SHARE = 300, 7, 0.2
_POSITIVE = click.IntRange(min=1)
_MADE_UP = "openapi:"
_OF_SCENARIOS = ("templates", "tables")
_HINT = "Without --tools conversations are about a retail store; openapi:FILE makes results up."


@click.command(name="synth", short_help="Make conversations for training: same seed, same bytes.")
@click.option("-t", "--tools", multiple=True, metavar="SPEC", help="What the agent can call; a retail store of its own if not given.")
@click.option("--policy", metavar="FILE", help="The policy as text: the system prompt of every conversation.")
@click.option("--rules", metavar="FILE", help="The policy as rules in YAML; a conversation that breaks one is not kept.")
@click.option("--scenarios", metavar="FILE", help="Scenarios to go by, instead of plans that are made up.")
@click.option(
    "-a", "--agent", metavar="SPEC", help="Who answers, or a name from callmark.toml; an expert that needs no model if not given."
)
@click.option("-u", "--user", metavar="SPEC", help="Who plays the users; one without a model if not given.")
@click.option("-n", "--number", metavar="N", type=_POSITIVE, help=f"How many to keep; {NUMBER} if not given, of --scenarios all.")
@click.option("--seed", metavar="N", type=int, default=SEED, show_default=True, help="Another seed, other people, wishes and words.")
@click.option("--valid", metavar="SHARE", type=Finite(0, 1), help=f"How much of it goes to valid.jsonl; {SHARE} if not given.")
@click.option("--balance", is_flag=True, help="Every tool and every kind of plan about equally often.")
@click.option("--concurrency", metavar="N", type=_POSITIVE, help="Conversations at a time; 10 if not given.")
@click.option("--max-cost", metavar="MONEY", type=Finite(min=0, min_open=True), help="Stop when so much is spent (prices: callmark.toml).")
@click.option("--max-tokens-total", metavar="N", type=_POSITIVE, help="Stop when so many tokens went in and out.")
@click.option("--resume", is_flag=True, help="Go on where it was interrupted: hold only the conversations that have not been held.")
@click.option("--no-cache", is_flag=True, help="Ask models also what they were asked and answered before.")
@click.option("--config", metavar="FILE", help="callmark.toml; the current folder's if not given.")
@click.option("--scenarios-only", is_flag=True, help="Scenarios out of templates, no conversations.")
@click.option("--templates", metavar="FILE", help="A YAML list of templates; the help desk's own if not given.")
@click.option("--tables", metavar="DIR", help="A folder of CSV files, one a table; `tables` beside the templates if not given.")
@click.option(
    "-o", "--out", metavar="OUT", required=True, help="The folder for everything; of --scenarios-only a file, - is standard output."
)
@click.option("--json", "as_json", is_flag=True, help="The counts, for machines.")
def command(number: int | None, seed: int, out: str, as_json: bool, scenarios_only: bool, **given: Any) -> int:
    """An expert agent and a simulated user talk over real tools, as planned. A conversation is kept when lint finds nothing in it, every
    value has a source, the planned end state is reached and no rule is broken; what is not kept is replaced. Writes OUT/train.jsonl and
    OUT/valid.jsonl. No model is needed; models can speak instead. Exit status 3: fewer were kept than were asked for.

    --scenarios-only fills templates from tables: `{ticket.title}` is the column `title` of a row of `tickets.csv`. A column that is called
    `turns:json` holds JSON, every other one text.

    \b
    callmark synth -n 300 --seed 7 -o data
    callmark synth --tools openapi:petstore.yaml -n 100 -o pets
    callmark synth --tools "mcp:python server.py" --scenarios mine.jsonl --agent openai:gpt-4.1-mini --user openai:gpt-4.1-mini -o data
    callmark synth --scenarios-only --templates mine.yaml --tables tables -n 100 -o scenarios.jsonl
    """
    if scenarios_only:
        from callmark.cli.templates import make_scenarios

        _refuse_given({key: value for key, value in given.items() if key not in _OF_SCENARIOS}, "--scenarios-only makes no conversations")
        make_scenarios(given["templates"], given["tables"], number=number, seed=seed, out=out, as_json=as_json)
        return 0
    _refuse_given({key: given.pop(key) for key in _OF_SCENARIOS}, "templates are for --scenarios-only")
    if out == "-":
        raise BadInput("-o names a folder: conversations do not go to standard output")
    return _made(number, seed, out, as_json=as_json, **given)


def _made(
    number: int | None,
    seed: int,
    out: str,
    *,
    as_json: bool,
    max_cost: float | None,
    max_tokens_total: int | None,
    no_cache: bool,
    config: str | None,
    **given: Any,
) -> int:
    """Make conversations, and show what came of it."""
    from callmark.cli.run import opened_cache
    from callmark.config import read_config
    from callmark.models.keys import Keys
    from callmark.reporting.progress import watching
    from callmark.runs.worker import Budget
    from callmark.synthesis.synthesis import synthesize

    keys, settings = Keys.here(), read_config(config)
    order = _order(number, seed, out, settings, keys, **given)
    if max_cost is not None:
        _refuse_unpriced([order.agent[1] if order.agent else None, order.user], keys)
    asks_models = order.agent is not None or order.user is not None
    try:
        with watching() as watch:
            made = synthesize(
                order,
                keys,
                budget=Budget(max_cost, max_tokens_total),
                cache=lambda: opened_cache(keys) if asks_models and not no_cache else None,
                watch=watch,
            )
    except KeyboardInterrupt:
        say("callmark: what was held is kept; the same command with --resume goes on.")
        raise
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"out": out, **msgspec.to_builtins(made)}))
    else:
        from callmark.reporting.synth_view import show_synthesis
        from callmark.reporting.terminal import console

        show_synthesis(console(), made, out, shlex.quote(out))
    return WITH_ERRORS if made.missing or made.errors or made.stopped else 0


def _order(
    number: int | None,
    seed: int,
    out: str,
    config: "Config",
    keys: "Keys",
    *,
    tools: tuple[str, ...],
    policy: str | None,
    rules: str | None,
    scenarios: str | None,
    agent: str | None,
    user: str | None,
    valid: float | None,
    balance: bool,
    concurrency: int | None,
    resume: bool,
) -> "Order":
    """What is to be made, by what was given."""
    from callmark.cli.simulate import text_of
    from callmark.models.model import ModelSettings
    from callmark.simulation.simulate import first_look
    from callmark.synthesis.synthesis import Order
    from callmark.worlds.retail.tools import TOOLS

    named = config.models
    speaker: Named | None = None if agent is None else (agent, named[agent]) if agent in named else (None, ModelSettings(model=agent))
    if policy is not None and policy.endswith((".yaml", ".yml")):
        raise BadInput(f"--policy {policy} is YAML: the policy text was expected", "--rules FILE takes rules.")
    if len(tools) > 1 and any(spec.startswith(_MADE_UP) for spec in tools):
        raise BadInput("results are made up for one OpenAPI file alone, not beside other --tools")
    if scenarios is not None and balance:
        raise BadInput("--balance is about plans that are made up: those of --scenarios are as they are")
    plans = None if scenarios is None else _scenarios(scenarios)
    listed, state = first_look(tools, keys, at_state=_are_the_stores) if tools else (TOOLS, None)
    world = _world(tools, listed, plans, label=scenarios or "", spoken=agent is not None)
    if plans is None:
        _refuse_another_store(state)
    if plans is not None and number is not None and number > len(plans):
        raise BadInput(f"{number:,} conversations cannot be made of {counted(len(plans), 'scenario')}: {scenarios} has no more")
    return Order(
        world,
        number or (NUMBER if plans is None else len(plans)),
        out,
        seed=seed,
        valid=SHARE if valid is None else valid,
        balance=balance,
        tools=tools,
        listed=listed,
        system=None if policy is None else text_of("--policy", policy),
        rules=None if rules is None else _rules(rules, listed),
        agent=speaker,
        user=None if user is None else named.get(user, ModelSettings(model=user)),
        grading=config.grading,
        resume=resume,
        at_once=concurrency,
    )


def _world(tools: tuple[str, ...], listed: "Sequence[Tool]", plans: "Sequence[Case] | None", *, label: str, spoken: bool) -> "World":
    """The world that these tools belong to, its plans replaced where others are given. Any other tools need plans, and an agent."""
    from callmark.synthesis.given import GivenPlans

    known = _known_world(tools, listed)
    if plans is not None:
        return GivenPlans(plans, label, world=known, tools=tools)
    if known is None:
        missing = "--scenarios is" if spoken else "--scenarios and --agent are"
        raise BadInput(f"nobody knows what conversations over these tools are about: {missing} missing", _HINT)
    return known


def _known_world(tools: tuple[str, ...], listed: "Sequence[Tool]") -> "World | None":
    if any(spec.startswith(_MADE_UP) for spec in tools):
        from callmark.synthesis.api_world import api_world

        return api_world(tools[0].removeprefix(_MADE_UP))
    if not _are_the_stores(listed):
        return None
    from callmark.worlds.retail.world import store_world

    return store_world()


def _are_the_stores(listed: "Sequence[Tool]") -> bool:
    from callmark.worlds.retail.tools import TOOLS

    return {tool.name for tool in listed} == {tool.name for tool in TOOLS}


def _refuse_another_store(state: "State | None") -> None:
    """Plans are made of the store as it is when nothing is said: a server that tells that it has other customers cannot carry them out."""
    from callmark.worlds.retail.world import is_store_state

    if state is not None and not is_store_state(state):
        raise BadInput(
            "these are the tools of the retail store, but its customers, products and orders are not those that plans are made of",
            "Start the store without --seed, or give --scenarios and --agent.",
        )


def _rules(path: str, listed: "Sequence[Tool]") -> "dict[str, Any]":
    """The rules of a file. One that is about none of the tools is said to be: it can never be broken."""
    from callmark.calls.globs import fits_glob
    from callmark.config import read_policy
    from callmark.grading.evaluators.policy_rules import read_rules
    from callmark.reporting.safety import one_line

    given = read_policy(path)
    for rule in read_rules(given):
        last = [pattern.steps[-1].name for pattern in rule.calls]
        if not any(fits_glob(name, tool.name) for name in last for tool in listed):
            say(f"callmark: no tool is called {one_line(' or '.join(last), 100)}, so the rule {one_line(rule.id, 60)} is never broken.")
    return given


def _scenarios(path: str) -> "list[Case]":
    from callmark.formats import load
    from callmark.types import Case

    found = [case for case in load(path) if isinstance(case, Case) and case.is_scenario]
    if not found:
        raise BadInput(f"{path} holds no scenarios", "callmark synth --scenarios-only makes some.")
    seen: set[str] = set()
    for case in found:
        if case.id in seen:
            raise BadInput(f"{case.place}: the id {case.id!r} stands for two scenarios")
        seen.add(case.id)
    return found


def _refuse_given(given: "Mapping[str, Any]", why: str) -> None:
    for key, value in given.items():
        if value not in (None, False, ()):
            raise BadInput(f"{why}: --{key.replace('_', '-')} cannot be given")


def _refuse_unpriced(models: "Sequence[ModelSettings | None]", keys: "Keys") -> None:
    from callmark.cli.run import refuse_unpriced

    asked = [model for model in models if model is not None]
    if not asked:
        raise BadInput("--max-cost is about models, and none is asked: name one with --agent or --user")
    if all(model.price is None for model in asked):
        refuse_unpriced(asked, keys)
