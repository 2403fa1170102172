"""`callmark export`: what others take: so far the grader."""

import click


@click.group(name="export", short_help="Write what others take: the grader as one file.")
def command() -> None:
    """Write what others take.

    \b
    callmark export grader -o grader.py
    """


@command.command(short_help="Document 001's Python grader, as one file that needs nothing but Python.")
@click.option("-o", "--out", metavar="OUT", required=True, help="Where the program goes; - is standard output.")
def grader(out: str) -> None:
    """Write the suite `call` as one self-contained file: `grade(sample, item)`, nothing imported but the standard library. It gives
    the same score as callmark on every item; an item that uses $regex is refused by name.

    \b
    callmark export grader -o grader.py
    """
    from callmark.formats import write_lines
    from callmark.grading.standalone import export_source
    from callmark.reporting.safety import safe

    source = export_source()
    write_lines(out, source.rstrip("\n").encode().split(b"\n"))
    if out != "-":
        click.echo(f"{source.count(chr(10)):,} lines → {safe(out)}   (grade(sample, item) -> float)")
