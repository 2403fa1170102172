"""`callmark`: finds the command, runs it, and turns what went wrong into one sentence and an exit status.

0 fine · 1 a gate or `--strict` check not met · 2 bad input · 3 finished, with errors · 130 interrupted. `--debug`, anywhere, shows the
traceback as well.
"""

import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from callmark.errors import BadInput, BrokenRow
from callmark.wording import ended, nearest

SKIP_HINT = "Repair it, or pass --skip-bad to go on without it (--rejects FILE keeps such rows)."
COMMANDS = (
    "stats",
    "show",
    "lint",
    "filter",
    "split",
    "convert",
    "expand",
    "grade",
    "run",
    "simulate",
    "synth",
    "compare",
    "gate",
    "report",
    "view",
    "tools",
    "export",
    "demo",
)
INTERRUPTED = 130  # exit status
_RARELY = (50_000, 20, 50)  # rows are made and dropped by the thousand and hold no cycles: looking for some takes a tenth of the time


class Commands(click.Group):
    """Imports a command's module when it is asked for, so that starting stays fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"callmark.cli.{name}").command
        return found

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise BadInput(f"there is no command called {args[0]!r}{nearest(args[0], COMMANDS)}", "callmark --help lists them.")
        return super().resolve_command(context, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="callmark", message="callmark %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error (may stand anywhere).")
def callmark() -> None:
    """Tells, call by call and with the evidence, whether an agent calls the right tool with the right arguments.

    \b
    callmark demo                     see it work, with no file at hand
    callmark stats train.jsonl        what is in a dataset
    callmark lint train.jsonl         what is wrong with it
    callmark synth -n 300 -o data     conversations made over a store's tools, or yours
    callmark expand valid.jsonl -o eval.jsonl
    callmark grade eval.jsonl --predictions base.jsonl
    callmark run eval.jsonl --model openai:gpt-4.1-mini
    callmark simulate scenarios.jsonl --agent openai:gpt-4.1-mini --tools "mcp:python server.py"
    callmark compare runs/base runs/tuned
    callmark gate runs/tuned --min call.score=0.9
    callmark report runs/base runs/tuned -o report.html
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    gc.set_threshold(*_RARELY)
    _prepare_streams()
    debug = "--debug" in given
    status = run([argument for argument in given if argument != "--debug"], debug=debug)
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C while the process ends would take its status from it
    sys.exit(status)


def run(arguments: list[str], *, debug: bool = False) -> int:
    """The exit status of a command line."""
    try:
        status = callmark.main(args=arguments, prog_name="callmark", standalone_mode=False)
    except BadInput as error:
        hint = error.hint or (SKIP_HINT if isinstance(error, BrokenRow) else "")
        return _failed(error, str(error), hint, debug=debug)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return _failed(error, error.format_message(), usage, debug=debug)
    except (click.Abort, KeyboardInterrupt):
        click.echo("callmark: interrupted.", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click and rich leave with the latter: whoever read us has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "standard output cannot be written: "
        return _failed(error, f"{where}{error.strerror or error}", "", debug=debug)
    except Exception as error:
        return _failed(
            error, f"something went wrong inside callmark ({type(error).__name__}: {error})", "--debug shows where.", debug=debug
        )
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    """A closed stream becomes an empty one, and a letter that a terminal cannot show is written out."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _failed(error: Exception, sentence: str, hint: str, *, debug: bool) -> int:
    from callmark.reporting.safety import safe

    if debug:
        import traceback

        traceback.print_exception(error)
    click.echo(f"callmark: {ended(safe(sentence))}", err=True)
    if hint:
        click.echo(safe(hint), err=True)
    return 2
