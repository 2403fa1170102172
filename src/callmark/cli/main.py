"""`callmark`: find the command, run it, and turn an error into one sentence and an exit status.

0 fine · 1 a gate or `--strict` check failed · 2 bad input · 3 finished, with errors · 130 interrupted. `--debug`, anywhere on the command
line, shows the traceback as well.
"""

import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click

from callmark.cli.exit_status import BAD_INPUT, INTERRUPTED
from callmark.errors import BadInput, BrokenRow, CallmarkError
from callmark.wording import did_you_mean, end_sentence

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
_GC_THRESHOLDS = (50_000, 20, 50)  # rows are allocated by the thousand and hold no cycles: collecting them costs a tenth of the time


class Commands(click.Group):
    """The commands. Each module is imported when its command is used, so that start-up stays fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"callmark.cli.{name}").command
        return found

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise BadInput(f"there is no command called {args[0]!r}{did_you_mean(args[0], COMMANDS)}", "callmark --help lists them.")
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
    gc.set_threshold(*_GC_THRESHOLDS)
    _prepare_streams()
    debug = "--debug" in given
    status = run([argument for argument in given if argument != "--debug"], debug=debug)
    if status == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C at interpreter exit would replace the exit status
    sys.exit(status)


def run(arguments: list[str], *, debug: bool = False) -> int:
    """Run a command line and return its exit status. Standard output is flushed: nothing is left to fail at interpreter exit."""
    status = 0
    try:
        status = _run_command(arguments, debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe has read enough
        _discard(sys.stdout)
        return 0
    except OSError as error:
        _discard(sys.stdout)
        if status == BAD_INPUT:  # an error is reported already
            return status
        where = f"{error.filename}: " if error.filename else "standard output cannot be written: "
        return _report_error(error, f"{where}{error.strerror or error}", "", debug=debug)
    return status


def _run_command(arguments: list[str], *, debug: bool) -> int:
    """Run a command line and return its exit status; only errors of writing standard output are raised."""
    try:
        status = callmark.main(args=arguments, prog_name="callmark", standalone_mode=False)
    except CallmarkError as error:
        hint = error.hint or (SKIP_HINT if isinstance(error, BrokenRow) else "")
        return _report_error(error, str(error), hint, debug=debug)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        usage = error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else ""
        return _report_error(error, error.format_message(), usage, debug=debug)
    except (click.Abort, KeyboardInterrupt):
        click.echo("callmark: interrupted.", err=True)
        return INTERRUPTED
    except SystemExit:  # click and rich raise it for a broken pipe
        raise BrokenPipeError from None
    except OSError:
        raise
    except Exception as error:
        return _report_error(
            error, f"something went wrong inside callmark ({type(error).__name__}: {error})", "--debug shows where.", debug=debug
        )
    return status if isinstance(status, int) else 0


def _prepare_streams() -> None:
    """Replace a closed stream by an empty one, and escape characters that a terminal cannot show."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard(stream: TextIO) -> None:
    """Discard what is still buffered for a stream: writing it failed once, and the interpreter would try again at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    with suppress(OSError):
        stream.flush()


def _report_error(error: Exception, sentence: str, hint: str, *, debug: bool) -> int:
    """Print an error as one sentence, with its hint on a second line, and return exit status 2."""
    from callmark.reporting.safety import escape_controls

    try:
        if debug:
            import traceback

            traceback.print_exception(error)
        click.echo(f"callmark: {end_sentence(escape_controls(sentence))}", err=True)
        if hint:
            click.echo(escape_controls(hint), err=True)
    except OSError:  # standard error cannot be written: the exit status still tells
        _discard(sys.stderr)
    return BAD_INPUT
