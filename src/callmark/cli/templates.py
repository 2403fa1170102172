"""`callmark synth --scenarios-only`: read templates and tables, write scenarios, and report the counts."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from callmark.calls.yaml_text import read_yaml
from callmark.cli.dataset_options import refuse_same_file
from callmark.errors import BadInput
from callmark.wording import pluralize

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TEMPLATES, TABLES = "scenarios.yaml", "tables"
_JSON_SUFFIX = ":json"  # suffix of columns whose cells are JSON
_QUOTING_HINT = 'A text that begins with a field needs quotes: "{ticket.title}".'


def make_scenarios(templates: str | None, tables: str | None, *, number: int | None, seed: int, out: str, as_json: bool) -> None:
    """Fill templates from tables, write the scenarios, and report how many there are of each type."""
    from importlib.resources import files

    import msgspec

    from callmark.formats import Output
    from callmark.formats.scenarios import write
    from callmark.simulation.scenario_templates import scenarios_of

    refuse_same_file(file=templates, out=out)
    helpdesk = files("callmark.worlds.helpdesk")
    file: Traversable = Path(templates) if templates is not None else helpdesk / TEMPLATES
    folder: Traversable = (
        Path(tables) if tables is not None else Path(templates).parent / TABLES if templates is not None else helpdesk / TABLES
    )
    name = templates or f"the help desk's {TEMPLATES}"
    template_list = read_yaml(_read_text(file, name), name, hint=_QUOTING_HINT)
    rows = _read_tables(folder, required=tables is not None)
    try:
        scenarios = scenarios_of(template_list, rows, seed=seed, number=number)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    with Output(out) as output:
        for case in scenarios:
            output.line(write(case))
    types = Counter(case.scenario_type for case in scenarios)
    duplicates = len(scenarios) - len({write(msgspec.structs.replace(case, id="")) for case in scenarios})
    groups = len({case.group for case in scenarios if case.group is not None})
    if as_json:
        counts = {"scenarios": len(scenarios), "by_type": types, "groups": groups, "duplicates": duplicates}
        click.echo(msgspec.json.encode({"templates": name, "seed": seed, "out": out, **counts}), err=out == "-")
        return
    from callmark.reporting.safety import escape_controls, one_line
    from callmark.reporting.terminal import make_console

    console = make_console(sys.stderr if out == "-" else None)
    head = f"{pluralize(len(scenarios), 'scenario')} → {escape_controls(out) if out != '-' else 'standard output'}"
    console.print(f"{head}   ({escape_controls(name)}, seed {seed})", style="bold", soft_wrap=True)
    for scenario_type, count in types.items():
        console.print(f"  {count:>4,} {one_line(scenario_type, 80) or '(no type)'}")
    if groups:
        console.print(f"  {pluralize(groups, 'group')} of similar inputs with the same expectation", style="dim")
    if duplicates:
        console.print(f"  {duplicates:,} the same as an earlier one but for the id: the tables have too few rows", style="yellow")


def _read_text(file: "Traversable", name: str) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8 text") from None
    except FileNotFoundError:
        raise BadInput(f"there is no file {name}") from None
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}") from None


def _read_tables(folder: "Traversable", *, required: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every CSV file of a folder by file stem. A missing folder has none, unless the user named it."""
    if not folder.is_dir():
        if required:
            raise BadInput(f"{folder} is no folder, a folder of CSV files was expected")
        return {}
    csv_files = sorted((file for file in folder.iterdir() if file.name.endswith(".csv")), key=lambda file: file.name)
    return {file.name.removesuffix(".csv"): read_table(file) for file in csv_files}


def read_table(file: "Traversable") -> list[dict[str, Any]]:
    """Return the rows of a CSV file without blank lines. Cells are text, except in columns that are marked as JSON."""
    import csv
    import io

    name = file.name
    reader = csv.reader(io.StringIO(_read_text(file, name), newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    columns: list[str] = []
    try:
        for cells in filter(None, reader):
            place = f"{name}, line {reader.line_num}"
            if not columns:
                columns = cells
                if not all(names := [column.removesuffix(_JSON_SUFFIX) for column in cells]) or len(set(names)) < len(names):
                    raise BadInput(f"{place}: a column has no name, or the name of another")
                continue
            if len(cells) != len(columns):
                raise BadInput(f"{place}: {pluralize(len(cells), 'cell')}, but {pluralize(len(columns), 'column')}")
            rows.append(
                {column.removesuffix(_JSON_SUFFIX): _read_cell(cell, column, place) for column, cell in zip(columns, cells, strict=True)}
            )
    except csv.Error as error:
        raise BadInput(f"{name}, line {reader.line_num}: this is not CSV: {error}") from None
    return rows


def _read_cell(cell: str, column: str, place: str) -> Any:
    from callmark.calls.strict import NotStrict, parse

    if not column.endswith(_JSON_SUFFIX):
        return cell
    try:
        return parse(cell)
    except NotStrict as problem:
        raise BadInput(f"{place}: {column} holds no JSON: {problem}") from None
