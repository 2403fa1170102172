"""`callmark compare`: compare runs with the first of them."""

import click


@click.command(name="compare", short_help="Compare runs, case by case: what changed, and whether it is more than noise.")
@click.argument("runs", metavar="RUN RUN…", nargs=-1)
@click.option("--common", is_flag=True, help="Compare what is common to runs of different datasets.")
@click.option("--json", "as_json", is_flag=True, help="For machines: every metric, every fixed and broken case.")
def command(runs: tuple[str, ...], common: bool, as_json: bool) -> None:
    """Each run against the first, on the cases that both have: differences with intervals and p-values, what was fixed and what was broken,
    by tool and by fault, and how many cases a small difference would need to be seen.

    \b
    callmark compare runs/base runs/tuned
    callmark compare runs/base runs/a runs/b --json
    """
    from callmark.reporting.compare_view import show_comparisons
    from callmark.reporting.terminal import make_console
    from callmark.runs.compare import compare

    comparisons = compare(*runs, common=common)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(comparisons))
    else:
        show_comparisons(make_console(), comparisons)
