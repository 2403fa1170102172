"""`callmark view`: serve the page over a folder of runs on this machine."""

import click


@click.command(name="view", short_help="Look at a folder of runs in the browser; follows a run in progress.")
@click.argument("folder", metavar="[DIR]", default="runs")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="The port; any that is free if not given.")
@click.option("--no-browser", is_flag=True, help="Print the address, open nothing.")
def command(folder: str, port: int, no_browser: bool) -> None:
    """Every run in DIR (runs, if not given): its numbers, charts, cases and conversations, and runs compared. Only this machine can
    reach it, and only with the token in the address. It reads and never writes; Ctrl-C ends it.

    \b
    callmark view
    callmark view runs/base --no-browser
    """
    from callmark.api.runs import view

    view(folder, port=port, open_browser=not no_browser, on_ready=click.echo)
