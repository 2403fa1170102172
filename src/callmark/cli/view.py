"""`callmark view`: serve a page over a folder of runs on this machine."""

import click

from callmark.cli.help import Command, argument, option
from callmark.cli.numbers import Integer


@click.command("view", cls=Command, examples=("callmark view", "callmark view data/runs --port 8000 --no-browser"))
@argument("folder", metavar="[DIR]", default="runs", text="Folder of runs, or a single run folder; the default is runs.")
@option("--port", metavar="N", type=Integer(0, 65535), default=0, show_default="any free port", help="Port to listen on.")
@option("--no-browser", is_flag=True, help="Print the URL without opening a browser.")
@option("--author", metavar="NAME", show_default="your user name", help="Your name, saved with each label and correction.")
@option("--read-only", is_flag=True, help="Refuse labels and corrections.")
def command(folder: str, port: int, no_browser: bool, author: str | None, read_only: bool) -> None:
    """View runs in the browser: metrics, charts, cases, comparisons.

    Serves every run in DIR, including runs in progress. Labels and corrections to expected calls are written beside the runs, to
    labels.jsonl and patch.jsonl; runs and datasets are never changed. The server listens on this machine only; to load data, a request
    needs the token from the printed URL. Press Ctrl-C to stop the server.
    """
    from callmark.api.runs import view

    view(folder, port=port, open_browser=not no_browser, author=author, read_only=read_only, on_ready=click.echo)
