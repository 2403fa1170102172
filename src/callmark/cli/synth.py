"""`callmark synth`: generate conversations over real tools, or scenarios from templates."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from callmark.cli.dataset_options import JSON_HELP, print_stderr, print_warning, refuse_same_file
from callmark.cli.exit_status import WITH_ERRORS
from callmark.cli.help import Command, option
from callmark.cli.model_options import env_option
from callmark.cli.numbers import FRACTION, POSITIVE_INTEGER, POSITIVE_NUMBER, Integer
from callmark.errors import BadInput
from callmark.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER, SEED, VALID_SHARE = 300, 7, 0.2
_TOOLS = "Tools that the agent can call: mcp:COMMAND, a JSON list of tools, an OpenAPI file, or as for callmark simulate. Repeatable."
_TEMPLATE_OPTIONS = ("templates", "tables")


@click.command(
    "synth",
    cls=Command,
    exit_status={0: "Finished.", 2: "Invalid input.", 3: "Fewer conversations than requested, or errors.", 130: "Interrupted."},
    examples=(
        "callmark synth --tools tools.json -n 200 -o data",
        "callmark synth --tools 'mcp:python server.py' -n 100 -o data",
        "callmark synth --scenarios-only --templates mine.yaml -o scenarios.jsonl",
    ),
)
@option("-t", "--tools", group="Conversations", multiple=True, metavar="TOOLS", show_default="a retail store", help=_TOOLS)
@option(
    "--world",
    group="Conversations",
    metavar="WORLD",
    help="World (tools and data) to generate plans for: retail, or one from an installed package.",
)
@option(
    "--from-faults",
    group="Conversations",
    multiple=True,
    metavar="RUN",
    help="Only plans that use the tools, arguments and branches that failed in RUN, in proportion to the faults. Repeatable.",
)
@option("--scenarios", group="Conversations", metavar="FILE", help="Scenarios to follow instead of generated plans.")
@option(
    "--system",
    group="Conversations",
    metavar="FILE",
    help="File with the system prompt of every conversation, for example a policy document.",
)
@option("--policy", group="Conversations", metavar="FILE", help="Policy rules in YAML; conversations that violate a rule are rejected.")
@option(
    "--planner",
    group="Conversations",
    metavar="MODEL",
    show_default="rules",
    help="Model that makes the plans, or a name from callmark.toml. Plans are checked against the schemas.",
)
@option(
    "-a", "--agent", group="Conversations", metavar="AGENT", show_default="rule-based expert", help="Agent, or a name from callmark.toml."
)
@option("-u", "--user", group="Conversations", metavar="USER", show_default="rule-based", help="Simulated user.")
@env_option("Conversations", "mcp:COMMAND or cmd:COMMAND")
@option("--balance", group="Conversations", is_flag=True, help="Use every tool and every kind of plan about equally often.")
@option(
    "--valid",
    group="Conversations",
    metavar="FRACTION",
    type=FRACTION,
    show_default=str(VALID_SHARE),
    help="Fraction of conversations to hold out in valid.jsonl.",
)
@option("--scenarios-only", group="Scenarios", is_flag=True, help="Generate scenarios from templates instead of conversations.")
@option(
    "--templates",
    group="Scenarios",
    metavar="FILE",
    show_default="the built-in help desk templates",
    help="YAML file with a list of scenario templates.",
)
@option(
    "--tables", group="Scenarios", metavar="DIR", show_default="tables, next to the templates", help="Folder of CSV files, one per table."
)
@option(
    "-n",
    "--number",
    group="Run",
    metavar="N",
    type=POSITIVE_INTEGER,
    show_default=f"{NUMBER}, or one per scenario in --scenarios",
    help="Number of conversations or scenarios; with --scenarios-only, by default as many as the templates specify.",
)
@option("--seed", group="Run", metavar="N", type=Integer(), default=SEED, show_default=True, help="Random seed.")
@option("--resume", group="Run", is_flag=True, help="Resume an interrupted run: simulate missing conversations and retry errors.")
@option("--no-cache", group="Run", is_flag=True, help="Ignore the response cache.")
@option("--concurrency", group="Limits", metavar="N", type=POSITIVE_INTEGER, show_default="10", help="Maximum concurrent conversations.")
@option(
    "--max-cost",
    group="Limits",
    metavar="AMOUNT",
    type=POSITIVE_NUMBER,
    help="Stop at a cost of AMOUNT (needs prices in callmark.toml).",
)
@option("--max-tokens-total", group="Limits", metavar="N", type=POSITIVE_INTEGER, help="Stop after N input and output tokens in total.")
@option(
    "-o",
    "--out",
    group="Output",
    metavar="PATH",
    required=True,
    help="Output folder. With --scenarios-only, the output file, or - for standard output.",
)
@option("--json", "as_json", group="Output", is_flag=True, help=JSON_HELP)
@option("--config", metavar="FILE", show_default="callmark.toml", help="Configuration file.")
def command(number: int | None, seed: int, out: str, as_json: bool, scenarios_only: bool, **given: Any) -> int:
    """Generate training conversations, or scenarios to simulate.

    An expert agent and a simulated user follow a plan, and the agent's tool calls are executed. A conversation is kept if it passes lint,
    has no hallucinated values, reaches the planned end state and violates no policy rule; otherwise it is rejected and replaced. Writes
    train.jsonl and valid.jsonl. No model is needed, but --planner, --agent and --user can be models. The same seed gives the same output.

    Plans are made from the schemas of the tools. Tool results from an MCP server are real; while planning, callmark calls its tools
    to find values. Results for a list of tools or an OpenAPI file are mocked, and every row says so.

    With --scenarios-only, fills templates from CSV tables instead: {ticket.title} is the value of the title column in a row
    of tickets.csv. Columns whose names end in :json contain JSON; all others contain text.
    """
    if scenarios_only:
        _refuse_given(
            {key: value for key, value in given.items() if key not in _TEMPLATE_OPTIONS},
            "cannot be used with --scenarios-only, which generates no conversations",
        )
        _synthesize_scenarios(out, given["templates"], given["tables"], number=number, seed=seed, as_json=as_json)
        return 0
    _refuse_given({key: given.pop(key) for key in _TEMPLATE_OPTIONS}, "needs --scenarios-only")
    if out == "-":
        raise BadInput("-o: expected a folder, got -: conversations cannot be written to standard output")
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
    from callmark.reporting.safety import escape_breaks, one_line
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    target = escape_breaks(out) if out != "-" else "standard output"
    head = f"{pluralize(count, 'scenario')} → {target}   ({escape_breaks(result.templates)}, seed {seed})"
    console.print(head, style="bold", soft_wrap=True)
    for scenario_type, number_of_type in result.by_type.items():
        console.print(f"  {number_of_type:>4,} {one_line(scenario_type, 80) or '(no type)'}")
    if result.groups:
        console.print(f"  {pluralize(result.groups, 'group')} of similar inputs with the same expected calls", style="dim")
    if result.duplicates:
        console.print(
            f"  {result.duplicates:,} identical to an earlier one except for the ID: the tables have too few rows", style="yellow"
        )


def _synthesize(out: str, *, as_json: bool, no_cache: bool, system: str | None, valid: float | None, **options: Any) -> int:
    """Synthesize conversations, show the report and return the exit status."""
    from callmark.cli.simulate import read_text_file
    from callmark.reporting.progress import progress_bars
    from callmark.reporting.safety import one_line
    from callmark.synthesis.synth import synth

    if system is not None and system.endswith((".yaml", ".yml")):
        raise BadInput(f"--system: expected a text file, got the YAML file {system}", "Pass policy rules with --policy FILE.")
    text = None if system is None else read_text_file("--system", system)
    try:
        with progress_bars() as progress:
            report = synth(
                out,
                system=text,
                valid=VALID_SHARE if valid is None else valid,
                cache=not no_cache,
                progress=progress,
                warn=lambda sentence: print_warning(one_line(sentence, 300)),
                **options,
            )
    except KeyboardInterrupt:
        print_stderr("callmark: finished conversations are saved. To resume, repeat the command with --resume.")
        raise
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"out": out, **msgspec.to_builtins(report)}))
    else:
        from callmark.reporting.synth_view import show_synthesis
        from callmark.reporting.terminal import make_console

        show_synthesis(make_console(), report, out, shlex.quote(out))
    return WITH_ERRORS if report.missing or report.errors or report.stopped else 0


def _refuse_given(given: "Mapping[str, Any]", why: str) -> None:
    for key, value in given.items():
        if value not in (None, False, ()):
            raise BadInput(f"--{key.replace('_', '-')} {why}")
