"""Generate scenarios from templates: texts with fields in braces, filled from table rows. Pure; the same seed gives the same scenarios.

A template has the fields of a scenario (`scenarioType`, `instructions`, `expected_function_calls`, …), an `id` that prefixes the ids of its
scenarios, and

    count: 4                                       number of scenarios (default: 1)
    use: {other: action_items}                     table for a name that is not the singular of its table (`ticket` ← `tickets`)
    where: {item.kind: "{ticket.kind}"}            conditions that the rows must meet; a list means any of its values
    variants: {opening: ["Hi, …", "Hello, …"]}     alternatives, one of which replaces `{opening}`

`{ticket.title}` is a column of the selected row, `{{` and `}}` are literal braces. A field that is the entire value keeps its type. Values
from rows are never interpreted as fields, globs or matchers. Two names for the same table get different rows; rows and variants repeat only
after all were used. Templates are independent of each other. Invalid templates raise `BadInput` that names the template and the field.

Templates of the LOB evaluation (`scenario_name, user_instructions, task_completion, expected_function_calls`) are read too: their user is
told the values that the expected calls use.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from random import Random
from typing import Any

import msgspec
from msgspec import Struct, structs

from callmark.calls.messages import explain_validation_error
from callmark.calls.strict import DEEPEST, dump, is_deeper_than
from callmark.errors import BadInput
from callmark.formats import scenarios
from callmark.formats.format import ReadContext
from callmark.formats.problems import explain
from callmark.simulation.template_texts import Field, TemplateFiller, as_text, fields, iterate_texts
from callmark.types import Case, Place
from callmark.wording import did_you_mean

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
SEED = 7
MAX_VALUES = 100_000  # of all templates
MAX_SCENARIOS = 100_000
_MAX_TRIES = 1_000_000  # combinations of rows per scenario


class _Template(Struct):
    """A template as it is in the file."""

    id: str
    instructions: str
    expected_function_calls: Any
    scenarioType: str = ""  # noqa: N815 - the name in the file
    group: str | None = None
    description: str = ""
    task_completion_condition: str = ""
    data: Any = None
    expected_output: Any = None
    count: Any = 1
    use: dict[str, str] = {}
    where: dict[str, Any] = {}
    variants: dict[str, list[Any]] = {}

    def parts(self) -> dict[str, Any]:
        """Return the fields of the scenario that are set."""
        template_keys = ("id", "count", "use", "where", "variants")
        return {
            name: value for name in self.__struct_fields__ if name not in template_keys and (value := getattr(self, name)) not in (None, "")
        }


def fill_templates(templates: Any, tables: Tables, *, seed: int = SEED, number: int | None = None) -> list[Case]:
    """Return the scenarios of all templates in order, with ids such as `create-03`.

    `number` is the total, distributed in proportion to the counts of the templates. An empty list of templates raises `BadInput`.
    """
    read = _read_templates(templates)
    counts = [template.count for template in read]
    generators = [_ScenarioGenerator(template, tables, seed) for template in read]
    requested_counts = counts if number is None else _distribute(number, counts)
    if sum(requested_counts) > MAX_SCENARIOS:
        raise BadInput(f"{sum(requested_counts):,} scenarios requested, but the maximum is {MAX_SCENARIOS:,}")
    return [
        generator.scenario(index)
        for generator, requested_count in zip(generators, requested_counts, strict=True)
        for index in range(1, requested_count + 1)
    ]


def _distribute(number: int, counts: Sequence[int]) -> list[int]:
    ends = [number * sum(counts[: index + 1]) // sum(counts) for index in range(len(counts))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _read_templates(templates: Any) -> list[_Template]:
    if not isinstance(templates, list) or not templates:
        raise BadInput("no templates found: expected a list of at least one template")
    _refuse_oversized(templates)
    known = _Template.__struct_fields__
    read: list[_Template] = []
    for index, given in enumerate(templates, 1):
        name = given.get("id") if isinstance(given, dict) else None
        where = f"template {name!r}" if isinstance(name, str) and name else f"template {index}"
        if not isinstance(given, dict):
            raise BadInput(f"{where}: expected an object, got {dump(given)[:40]}")
        if is_lob_template(given):
            given = _from_lob_template(given)
            where = f"template {given['id']!r}"
        for key in given:
            if key not in known:
                raise BadInput(f"{where}: unknown field {key!r}{did_you_mean(str(key), known)}", f"Fields: {', '.join(known)}.")
        try:
            template = msgspec.convert(given, _Template)
        except msgspec.ValidationError as error:
            raise BadInput(f"{where}: {explain_validation_error(str(error))}") from None
        if template.count.__class__ is not int or template.count < 1:
            raise BadInput(f"{where}: count: expected an integer of at least 1, got {dump(template.count)}")
        if empty := next((key for key, variants in template.variants.items() if not variants), None):
            raise BadInput(f"{where}: variants.{empty}: expected at least one variant, got none")
        if not template.id or any(template.id == other.id for other in read):
            raise BadInput(
                f"{where}: id is {'empty' if not template.id else 'used by another template'}", "Every template needs its own id."
            )
        read.append(template)
    return read


def is_lob_template(given: Any) -> bool:
    """Return whether a template is one of the LOB evaluation."""
    return isinstance(given, dict) and isinstance(given.get("user_instructions"), str) and isinstance(given.get("scenario_name"), str)


def _from_lob_template(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template of the LOB evaluation as one of ours. Its instructions name no values, so those of the expected calls are added."""
    known: dict[str, dict[str, None]] = {}
    for _, text in iterate_texts(given.get("expected_function_calls")):
        for field in fields(text):
            if field.column:
                known.setdefault(field.name, {})[field.column] = None
    lists = [f"{name.capitalize()} data:\n" + "\n".join(f'- {column}: "{Field(name, column)}"' for column in known[name]) for name in known]
    renamed = {"scenario_name": "scenarioType", "user_instructions": "instructions", "task_completion": "task_completion_condition"}
    template = {renamed.get(key, key): value for key, value in given.items()}
    instructions = f"{given['user_instructions'].strip()}\n\n" + "\n\n".join(lists)
    return {"id": given["scenario_name"], **template, "instructions": instructions.strip()}


def _refuse_oversized(templates: Any) -> None:
    """Refuse values that a few lines of YAML can make huge: a list that contains itself, nested lists of aliases."""
    rest, count_seen = [templates], 0
    while rest:
        item = rest.pop()
        count_seen += 1
        rest += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        if isinstance(item, float) and not isfinite(item):
            raise BadInput(f"the templates contain {item}, which is not a JSON value")
        if count_seen > MAX_VALUES:
            raise BadInput(f"the templates contain more than {MAX_VALUES:,} values, or a value that contains itself")
    if is_deeper_than(templates, DEEPEST):
        raise BadInput(f"the templates are nested deeper than {DEEPEST} levels")


class _ScenarioGenerator:
    """Generates the scenarios of one template."""

    def __init__(self, template: _Template, tables: Tables, seed: int) -> None:
        self.template = template
        self.name = f"template {template.id!r}"
        self._random = Random(f"{seed} {template.id}")
        self._table_of: dict[str, str] = {}
        self._rows: dict[str, Sequence[Row]] = {}
        self._check(tables)
        self._rows = {name: self._rows[name] for name in self._dependency_order()}
        self._use_counts = {name: [0] * len(rows) for name, rows in self._rows.items()}
        self._used_combinations: set[tuple[int, ...]] = set()
        self._variant_decks: dict[str, list[Any]] = {name: [] for name in template.variants}
        self._tries = 0

    def scenario(self, number: int) -> Case:
        """Return the next scenario, with that number in its id."""
        rows = {name: self._rows[name][index] for name, index in self._choose_rows().items()}
        filler = TemplateFiller(rows, {name: self._choose_variant(name) for name in self._variant_decks})
        case_id = f"{self.template.id}-{number:02}"
        row = b""
        try:
            row = dump({"id": case_id, **{name: _fill_part(name, value, filler) for name, value in self.template.parts().items()}}).encode()
            case = scenarios.read(row, Place(case_id, 1, "item"), ReadContext())
        except (BadInput, ValueError) as error:
            raise BadInput(f"{self.name}, scenario {case_id}: {explain(row, error)}", getattr(error, "hint", "")) from None
        return structs.replace(case, place=None)

    def _check(self, tables: Tables) -> None:
        """Find the table for every name, and refuse fields that cannot be filled."""
        template = self.template
        for name, table in template.use.items():
            if table not in tables:
                raise BadInput(
                    f"{self.name}, use.{name}: unknown table {table!r}{did_you_mean(table, tables)}", _tables_hint(tables, table)
                )
            self._add(name, table, tables)
        for place, value in {**template.parts(), "variants": template.variants, "where": template.where}.items():
            for path, text in iterate_texts(value, place):
                try:
                    found = fields(text)
                except BadInput as error:
                    raise BadInput(f"{self.name}, {path}: {error}", error.hint) from None
                for field in found:
                    if not field.column and place in ("variants", "where"):
                        raise BadInput(
                            f"{self.name}, {path}: expected a column such as {{ticket.kind}}, got {field}",
                            "Variants cannot be used in other variants or in conditions.",
                        )
                    self._check_field(field, f"{self.name}, {path}", tables)
        for key in template.where:
            name, dot, column = key.partition(".")
            if not dot:
                raise BadInput(f"{self.name}, where: expected a column such as ticket.kind, got {key!r}")
            self._check_field(Field(name, column), f"{self.name}, where", tables)

    def _check_field(self, field: Field, where: str, tables: Tables) -> None:
        variants = self.template.variants
        if not field.column:
            if field.name not in variants:
                raise BadInput(
                    f"{where}: no variants for {field}{did_you_mean(field.name, variants)}",
                    "A column is written with a dot: {ticket.title} is the title of a row of tickets. {{ and }} are literal braces.",
                )
            return
        if field.name not in self._rows:
            name = field.name
            names = (name, f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies")
            table = next((each for each in names if each in tables), None) or _only_table_with(names, tables)
            if table is None:
                raise BadInput(
                    f"{where}: no table for {field}{did_you_mean(f'{name}s', tables)}",
                    f"{_tables_hint(tables, f'{name}s')}{f' `use: {{{name}: TABLE}}` selects one.' if tables else ''}",
                )
            self._add(name, table, tables)
        columns = self._rows[field.name][0]
        if field.column not in columns:
            table = self._table_of[field.name]
            raise BadInput(
                f"{where}: table {table} has no column for {field}{did_you_mean(field.column, columns)}",
                f"Columns: {', '.join(columns)}.",
            )

    def _add(self, name: str, table: str, tables: Tables) -> None:
        if not tables[table]:
            raise BadInput(f"{self.name}: table {table} has no rows")
        self._table_of[name], self._rows[name] = table, [_with_column_names(row) for row in tables[table]]

    def _dependency_order(self) -> list[str]:
        """Return the names in dependency order: a name comes after the names that its conditions refer to."""
        depends_on: dict[str, set[str]] = {name: set() for name in self._rows}
        for key, condition in self.template.where.items():
            name = key.partition(".")[0]
            depends_on[name] |= {field.name for _, text in iterate_texts(condition) for field in fields(text)} - {name}
        names: list[str] = []
        while remaining := [name for name in depends_on if name not in names]:
            names.append(next((name for name in remaining if depends_on[name] <= set(names)), remaining[0]))
        return names

    def _choose_rows(self) -> dict[str, int]:
        """Return a row index for every name: a new combination of the least used rows, or a repeated one after all were used."""
        orders = {
            name: sorted(range(len(rows)), key=lambda index, used=self._use_counts[name]: (used[index], self._random.random()))  # type: ignore[misc]
            for name, rows in self._rows.items()
        }
        first: dict[str, int] | None = None
        self._tries = 0
        for chosen in self._combinations(orders, {}):
            first = first or chosen
            if tuple(chosen.values()) not in self._used_combinations:
                break
        else:
            if first is None:
                tried = f" ({_MAX_TRIES:,} combinations tried)" if self._tries > _MAX_TRIES else ""
                tables = ", ".join(sorted(set(self._table_of.values())))
                raise BadInput(f"{self.name}: no rows of {tables} meet the conditions in `where`{tried}")
            chosen = first
            self._used_combinations.clear()
        self._used_combinations.add(tuple(chosen.values()))
        for name, index in chosen.items():
            self._use_counts[name][index] += 1
        return chosen

    def _combinations(self, orders: Mapping[str, Sequence[int]], chosen: dict[str, int]) -> Iterator[dict[str, int]]:
        name = next((each for each in orders if each not in chosen), None)
        if name is None:
            yield chosen
            return
        table = self._table_of[name]
        taken = {index for other, index in chosen.items() if self._table_of[other] == table}
        for index in orders[name]:
            self._tries += 1
            if self._tries > _MAX_TRIES:  # conditions that no rows meet would try every combination
                return
            if index not in taken:
                more = {**chosen, name: index}
                if self._meets_conditions(more):
                    yield from self._combinations(orders, more)

    def _meets_conditions(self, chosen: Mapping[str, int]) -> bool:
        """Return whether the chosen rows meet every condition that refers only to them."""
        rows = {name: self._rows[name][index] for name, index in chosen.items()}
        filler = TemplateFiller(rows, {})
        for key, condition in self.template.where.items():
            name, _, column = key.partition(".")
            condition_names = {field.name for _, text in iterate_texts(condition) for field in fields(text)}
            if {name, *condition_names} <= rows.keys():
                values = filler(condition)
                if as_text(rows[name][column]) not in [as_text(value) for value in (values if isinstance(values, list) else [values])]:
                    return False
        return True

    def _choose_variant(self, name: str) -> Any:
        """Return a variant; each is used once before any repeats."""
        variants_left = self._variant_decks[name]
        if not variants_left:
            variants_left += sorted(self.template.variants[name], key=lambda variant: self._random.random())
        return variants_left.pop()


def _fill_part(name: str, value: Any, filler: TemplateFiller) -> Any:
    """Return a filled field of the scenario. Values in expected arguments are escaped, because stars and objects have a meaning there."""
    if name != "expected_function_calls" or not isinstance(value, list):
        return filler(value)
    return [
        {key: filler(item, "argument" if key == "arguments" else "text") for key, item in call.items()}
        if isinstance(call, dict)
        else filler(call)
        for call in value
    ]


def _only_table_with(names: Sequence[str], tables: Iterable[str]) -> str | None:
    """Return the only table that has one of these words in its name: `dummy_action_items` for `action`; None if several have."""
    found = [table for table in tables if set(table.casefold().replace("-", "_").split("_")) & set(names)]
    return found[0] if len(found) == 1 else None


def _with_column_names(row: Row) -> Row:
    """Return a row in which a column such as `Due Date` is also `due_date`."""
    return {**{"_".join(column.casefold().split()): value for column, value in row.items()}, **row}


def _tables_hint(tables: Iterable[str], wanted: str) -> str:
    if tables:
        return f"Tables: {', '.join(tables)}."
    return f"There are no tables. Add {wanted}.csv to the tables folder (--tables DIR)."
