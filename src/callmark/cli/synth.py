"""`callmark synth`: synthesize conversations over real tools, or scenarios from templates."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from callmark.cli.dataset_options import print_stderr, refuse_same_file
from callmark.cli.exit_status import WITH_ERRORS
from callmark.cli.model_options import FiniteNumber
from callmark.errors import BadInput
from callmark.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER, SEED, VALID_SHARE = 300, 7, 0.2
_POSITIVE = click.IntRange(min=1)
_TEMPLATE_OPTIONS = ("templates", "tables")


@click.command(name="synth", short_help="Make conversations for training: same seed, same bytes.")
@click.option("-t", "--tools", multiple=True, metavar="SPEC", help="What the agent can call; a retail store of its own if not given.")
@click.option("--world", metavar="NAME", help="What conversations are about: retail, or a world of an installed package.")
@click.option("--policy", metavar="FILE", help="The policy as text: the system prompt of every conversation.")
@click.option("--rules", metavar="FILE", help="The policy as rules in YAML; a conversation that breaks one is not kept.")
@click.option("--scenarios", metavar="FILE", help="Scenarios to go by, instead of plans that are made up.")
@click.option(
    "-a", "--agent", metavar="SPEC", help="Who answers, or a name from callmark.toml; an expert that needs no model if not given."
)
@click.option("-u", "--user", metavar="SPEC", help="Who plays the users; one without a model if not given.")
@click.option("-n", "--number", metavar="N", type=_POSITIVE, help=f"How many to keep; {NUMBER} if not given, of --scenarios all.")
@click.option("--seed", metavar="N", type=int, default=SEED, show_default=True, help="Another seed, other people, wishes and words.")
@click.option("--valid", metavar="SHARE", type=FiniteNumber(0, 1), help=f"How much of it goes to valid.jsonl; {VALID_SHARE} if not given.")
@click.option("--balance", is_flag=True, help="Every tool and every kind of plan about equally often.")
@click.option("--concurrency", metavar="N", type=_POSITIVE, help="Conversations at a time; 10 if not given.")
@click.option(
    "--max-cost", metavar="MONEY", type=FiniteNumber(min=0, min_open=True), help="Stop when so much is spent (prices: callmark.toml)."
)
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
        _refuse_given(
            {key: value for key, value in given.items() if key not in _TEMPLATE_OPTIONS}, "--scenarios-only makes no conversations"
        )
        _synthesize_scenarios(out, given["templates"], given["tables"], number=number, seed=seed, as_json=as_json)
        return 0
    _refuse_given({key: given.pop(key) for key in _TEMPLATE_OPTIONS}, "templates are for --scenarios-only")
    if out == "-":
        raise BadInput("-o names a folder: conversations do not go to standard output")
    return _synthesize(out, as_json=as_json, number=number, seed=seed, **given)


def _synthesize_scenarios(out: str, templates: str | None, tables: str | None, *, number: int | None, seed: int, as_json: bool) -> None:
    """Fill templates from tables, write the scenarios, and print how many there are of each type."""
    from callmark.api.scenarios import synth_scenarios

    refuse_same_file(file=templates, out=out)
    result = synth_scenarios(out, templates=templates, tables=tables, number=number, seed=seed)
    count = len(result.scenarios)
    if as_json:
        import msgspec

        counts = {"scenarios": count, "by_type": result.by_type, "groups": result.groups, "duplicates": result.duplicates}
        click.echo(msgspec.json.encode({"templates": result.templates, "seed": seed, "out": out, **counts}), err=out == "-")
        return
    from callmark.reporting.safety import escape_controls, one_line
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    target = escape_controls(out) if out != "-" else "standard output"
    head = f"{pluralize(count, 'scenario')} → {target}   ({escape_controls(result.templates)}, seed {seed})"
    console.print(head, style="bold", soft_wrap=True)
    for scenario_type, number_of_type in result.by_type.items():
        console.print(f"  {number_of_type:>4,} {one_line(scenario_type, 80) or '(no type)'}")
    if result.groups:
        console.print(f"  {pluralize(result.groups, 'group')} of similar inputs with the same expectation", style="dim")
    if result.duplicates:
        console.print(f"  {result.duplicates:,} the same as an earlier one but for the id: the tables have too few rows", style="yellow")


def _synthesize(out: str, *, as_json: bool, no_cache: bool, policy: str | None, valid: float | None, **options: Any) -> int:
    """Synthesize conversations, show the report and return the exit status."""
    from callmark.cli.simulate import read_text_file
    from callmark.reporting.progress import progress_bars
    from callmark.synthesis.synth import synth

    if policy is not None and policy.endswith((".yaml", ".yml")):
        raise BadInput(f"--policy {policy} is YAML: the policy text was expected", "--rules FILE takes rules.")
    text = None if policy is None else read_text_file("--policy", policy)
    try:
        with progress_bars() as progress:
            report = synth(
                out,
                policy=text,
                valid=VALID_SHARE if valid is None else valid,
                cache=not no_cache,
                progress=progress,
                warn=_warn,
                **options,
            )
    except KeyboardInterrupt:
        print_stderr("callmark: what was held is kept; the same command with --resume goes on.")
        raise
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"out": out, **msgspec.to_builtins(report)}))
    else:
        from callmark.reporting.synth_view import show_synthesis
        from callmark.reporting.terminal import make_console

        show_synthesis(make_console(), report, out, shlex.quote(out))
    return WITH_ERRORS if report.missing or report.errors or report.stopped else 0


def _warn(sentence: str) -> None:
    from callmark.reporting.safety import one_line

    print_stderr(f"callmark: {one_line(sentence, 300)}")


def _refuse_given(given: "Mapping[str, Any]", why: str) -> None:
    for key, value in given.items():
        if value not in (None, False, ()):
            raise BadInput(f"{why}: --{key.replace('_', '-')} cannot be given")
