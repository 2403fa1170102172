"""`callmark`: find the command, run it, and turn an error into one sentence and an exit status.

Exit statuses: 0 success, 1 a gate or `--strict` check failed, 2 bad input, 3 finished with errors, 130 interrupted (Ctrl-C, SIGTERM,
SIGHUP). `--debug`, anywhere on the command line, adds the traceback; `--trust` allows what a file runs, imports or sends.
"""

import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import click

from callmark.cli.completion import DETECT, VARIABLE, Shell, install
from callmark.cli.consent import TRUST, decision
from callmark.cli.exit_status import BAD_INPUT, INTERRUPTED, known_status, set_status
from callmark.cli.help import Group, option
from callmark.cli.signals import end_like_ctrl_c, ignore_signals
from callmark.cli.usage_errors import describe_usage_error, usage_hint
from callmark.errors import BrokenRow, CallmarkError
from callmark.reporting.safe_stream import safe_streams
from callmark.reporting.safety import indent_breaks
from callmark.trust import decided_by
from callmark.wording import end_sentence

SKIP_HINT = "Fix the row, or pass --skip-bad to continue without it (--rejects FILE saves the skipped rows)."
_WITHOUT_SKIP_BAD = ("tools", "synth")  # commands that read rows but have no --skip-bad
TITLES = {
    "Data": ("stats", "show", "lint", "filter", "split", "convert", "expand", "synth", "tools"),
    "Evaluate": ("grade", "run", "simulate"),
    "Analyze": ("compare", "gate", "report", "view"),
    "More": ("export", "demo"),
}
COMMANDS = tuple(name for names in TITLES.values() for name in names)
_GC_THRESHOLDS = (50_000, 20, 50)  # rows are allocated by the thousand and hold no cycles: collecting them costs a tenth of the time


class Commands(Group):
    """The commands. Each module is imported when its command is used, so that start-up stays fast."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"callmark.cli.{name}").command
        return found


def _install_completion(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    """Write the completion script of a shell instead of running a command."""
    if shell is None or context.resilient_parsing:
        return
    click.echo(install(context.command, shell))
    context.exit()


@click.group(
    cls=Commands,
    titles=TITLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    exit_status={
        0: "Success.",
        1: "A gate or a --strict check failed, or filter kept no rows.",
        2: "Invalid input or command line.",
        3: "Finished with errors, which are excluded from the scores.",
        130: "Interrupted by Ctrl-C, SIGTERM or SIGHUP.",
    },
)
@option(
    "--install-completion",
    metavar="[bash|zsh|fish]",
    type=Shell(),
    is_flag=False,
    flag_value=DETECT,
    expose_value=False,
    callback=_install_completion,
    help="Install shell completion; by default, for the current shell.",
)
@click.version_option(package_name="callmark", message="callmark %(version)s")
@option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error (works anywhere on the command line).")
@option(
    TRUST,
    is_flag=True,
    expose_value=False,
    help="Trust the run folder, ./callmark.toml and .env for this and all later commands: allow the commands, imports and requests that "
    "they specify (works anywhere on the command line).",
)
def callmark() -> None:
    """Measure tool calling: does the model call the right tool with the right arguments?

    callmark checks datasets, runs models and agents, grades each tool call against the expected call, explains every fault, and compares
    runs.

    \b
    Start with:
      callmark demo                                         take an offline tour
      callmark stats train.jsonl                            describe a dataset
      callmark run eval.jsonl --model openai:gpt-4.1-mini   run and grade a model

    Run callmark COMMAND --help for details on a command.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    if os.environ.get(VARIABLE):  # a shell requests completions
        with safe_streams():
            callmark.main(prog_name="callmark")
    given = list(sys.argv[1:] if arguments is None else arguments)
    gc.set_threshold(*_GC_THRESHOLDS)
    _prepare_streams()
    end_like_ctrl_c()
    debug = "--debug" in given
    status = run([argument for argument in given if argument != "--debug"], debug=debug)
    if status == INTERRUPTED:
        ignore_signals()
    sys.exit(status)


def run(arguments: list[str], *, debug: bool = False) -> int:
    """Run a command line and return its exit status. Everything it prints is escaped (`reporting/safe_stream.py`).

    Standard output is flushed: nothing is left to fail at interpreter exit.
    """
    others = [argument for argument in arguments if argument != TRUST]
    with safe_streams(), decided_by(decision(trusted=len(others) < len(arguments))):
        return _run_to_end(others, debug=debug)


def _run_to_end(arguments: list[str], *, debug: bool) -> int:
    status = set_status(0)
    try:
        status = _run_command(arguments, debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe stopped reading
        _discard(sys.stdout)
        return known_status()
    except OSError as error:
        _discard(sys.stdout)
        if status == BAD_INPUT:  # an error is reported already
            return status
        where = f"{error.filename}: " if error.filename else "standard output: cannot be written: "
        return _report_error(error, f"{where}{error.strerror or error}", "", debug=debug)
    return status


def _run_command(arguments: list[str], *, debug: bool) -> int:
    """Run a command line and return its exit status; only errors in writing standard output are raised."""
    try:
        status = callmark.main(args=arguments, prog_name="callmark", standalone_mode=False)
    except CallmarkError as error:
        hint = error.hint
        if isinstance(error, BrokenRow) and not hint:
            hint = "Fix the row." if arguments[0] in _WITHOUT_SKIP_BAD else SKIP_HINT
        return _report_error(error, str(error), hint, debug=debug)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _report_error(error, describe_usage_error(error), usage_hint(error), debug=debug)
    except (click.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for the end of input, but no command asks for input
            return _report_internal_error(error.__cause__, debug=debug)
        with suppress(OSError):
            click.echo("callmark: interrupted.", err=True)
        return INTERRUPTED
    except SystemExit:  # click and rich raise it for a broken pipe
        raise BrokenPipeError from None
    except OSError:
        raise
    except Exception as error:
        return _report_internal_error(error, debug=debug)
    return status if isinstance(status, int) else 0


def _report_internal_error(error: Exception, *, debug: bool) -> int:
    return _report_error(error, f"internal error ({type(error).__name__}: {error})", "--debug shows the traceback.", debug=debug)


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
    try:
        if debug:
            import traceback

            traceback.print_exception(error)
        click.echo(f"callmark: {end_sentence(indent_breaks(sentence))}", err=True)
        if hint:
            click.echo(indent_breaks(hint), err=True)
    except OSError:  # standard error cannot be written: the exit status remains
        _discard(sys.stderr)
    return BAD_INPUT
