"""Generate scenarios from templates: a YAML list of templates, filled from tables in CSV files."""

import csv
import io
from collections import Counter
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from callmark.calls.strict import NotStrict, parse
from callmark.calls.yaml_text import MAX_CHARACTERS, read_yaml
from callmark.errors import BadInput
from callmark.formats import Output
from callmark.formats.regular_files import read_regular
from callmark.formats.scenarios import write
from callmark.simulation.scenario_templates import fill_templates
from callmark.synthesis.options import SEED
from callmark.types import Case
from callmark.wording import pluralize

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TEMPLATES, TABLES = "scenarios.yaml", "tables"
_JSON_SUFFIX = ":json"  # suffix of columns whose cells are JSON
_QUOTING_HINT = 'Quote a string that starts with a field: "{ticket.title}".'


class ScenarioSet(Struct, frozen=True):
    """The result of `synth_scenarios`.

    Attributes:
        scenarios: The scenarios.
        templates: Name of the template file.
        by_type: Number of scenarios by type.
        groups: Number of groups.
        duplicates: Number of scenarios that differ from an earlier one only in their id.
    """

    scenarios: list[Case]
    templates: str
    by_type: dict[str, int]
    groups: int
    duplicates: int


def synth_scenarios(
    out: str | PathLike[str] | None = None,
    *,
    templates: str | PathLike[str] | None = None,
    tables: str | PathLike[str] | None = None,
    number: int | None = None,
    seed: int = SEED,
) -> ScenarioSet:
    """Generate scenarios by filling templates with values from tables.

        callmark.synth_scenarios("scenarios.jsonl", templates="scenarios.yaml", tables="tables", number=100)

    The same templates, tables and seed give the same scenarios.

    Args:
        out: Output file; `-` is standard output. Without it, the scenarios are only returned.
        templates: YAML file with a list of templates; the help desk's by default.
        tables: Folder of CSV files; by default `tables` next to the templates, or else the folder of the templates. Columns named like
            `turns:json` contain JSON, all others text.
        number: Number of scenarios; by default as many as the templates define.
        seed: Seed of the random choices.

    Returns:
        The scenarios, with counts by type, of groups and of duplicates.

    Raises:
        BadInput: A file is missing, is not valid YAML or CSV, or a template refers to an unknown table or column.
        StorageError: The output file cannot be written.
    """
    helpdesk = files("callmark.worlds.helpdesk")
    file: Traversable = Path(templates) if templates is not None else helpdesk / TEMPLATES
    folder: Traversable = (
        Path(tables) if tables is not None else _tables_beside(Path(templates)) if templates is not None else helpdesk / TABLES
    )
    name = fspath(templates) if templates is not None else f"the help desk's {TEMPLATES}"
    template_list = read_yaml(_read_text(file, name), name, hint=_QUOTING_HINT)
    rows = _read_tables(folder, required=tables is not None)
    try:
        scenarios = fill_templates(template_list, rows, seed=seed, number=number)
    except BadInput as error:
        raise BadInput(f"{name}: {error}", error.hint) from None
    if out is not None:
        with Output(fspath(out)) as output:
            for case in scenarios:
                output.line(write(case))
    return ScenarioSet(
        scenarios,
        name,
        dict(Counter(case.scenario_type for case in scenarios)),
        len({case.group for case in scenarios if case.group is not None}),
        len(scenarios) - len({write(structs.replace(case, id="")) for case in scenarios}),
    )


def _read_text(file: "Traversable", name: str, *, regular: bool = False) -> str:
    """Return the text of a file. With `regular`, for a file that the user did not name, a pipe or a device raises `BadInput`."""
    try:
        data = read_regular(str(file), name, most=MAX_CHARACTERS) if regular and isinstance(file, Path) else file.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{name}: not valid UTF-8") from None
    except FileNotFoundError:
        raise BadInput(f"{name}: no such file") from None
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror}") from None


def _tables_beside(templates: Path) -> Path:
    """Return the folder `tables` next to the templates, or their own folder if there is none."""
    tables = templates.parent / TABLES
    return tables if tables.is_dir() else templates.parent


def _read_tables(folder: "Traversable", *, required: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every CSV file in a folder, by file stem. A missing folder is an error only if it is `required`."""
    if not folder.is_dir():
        if required:
            raise BadInput(f"{folder}: expected a folder of CSV files, got a file" if folder.is_file() else f"{folder}: no such folder")
        return {}
    csv_files = sorted((file for file in folder.iterdir() if file.name.endswith(".csv")), key=lambda file: file.name)
    return {file.name.removesuffix(".csv"): read_table(file) for file in csv_files}


def read_table(file: "Traversable") -> list[dict[str, Any]]:
    """Return the rows of a CSV file, without blank lines. Cells are text, except in columns marked as JSON."""
    name = file.name
    reader = csv.reader(io.StringIO(_read_text(file, name, regular=True), newline=""), strict=True)
    rows: list[dict[str, Any]] = []
    columns: list[str] = []
    try:
        for cells in filter(None, reader):
            place = f"{name}, line {reader.line_num}"
            if not columns:
                columns = cells
                if not all(names := [column.removesuffix(_JSON_SUFFIX) for column in cells]) or len(set(names)) < len(names):
                    raise BadInput(f"{place}: expected unique column names, got {', '.join(name or '(empty)' for name in names)}")
                continue
            if len(cells) != len(columns):
                raise BadInput(f"{place}: expected {pluralize(len(columns), 'cell')}, got {len(cells)}")
            rows.append(
                {column.removesuffix(_JSON_SUFFIX): _read_cell(cell, column, place) for column, cell in zip(columns, cells, strict=True)}
            )
    except csv.Error as error:
        raise BadInput(f"{name}, line {reader.line_num}: not valid CSV: {error}") from None
    return rows


def _read_cell(cell: str, column: str, place: str) -> Any:
    if not column.endswith(_JSON_SUFFIX):
        return cell
    try:
        return parse(cell)
    except NotStrict as problem:
        raise BadInput(f"{place}: {column}: not valid JSON: {problem}") from None
