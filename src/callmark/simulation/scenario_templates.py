"""Scenarios out of templates: texts with fields in braces, filled from rows of tables. Values in, values out; same seed, same scenarios.

A template is what a scenario is (`scenarioType`, `instructions`, `expected_function_calls`, …) with an `id` that the ids of its scenarios
begin with, and

    count: 4                                       how many scenarios; 1 if not given
    use: {other: action_items}                     which table a name draws from, where that is not its plural (`ticket` ← `tickets`)
    where: {item.kind: "{ticket.kind}"}            which rows go together; a list is any of its values
    variants: {opening: ["Hi, …", "Hello, …"]}     wordings, one of which is drawn wherever `{opening}` stands

`{ticket.title}` is that column of the drawn row, `{{` and `}}` are braces. A field that is a whole value keeps its type. What comes out of
a row is never read again: no field, no glob, no matcher. Two names of one table get different rows, rows do not repeat while there are
others, and neither do wordings. What one template gives does not depend on the others. What is wrong raises `BadInput` with the template
and the field.
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
from callmark.simulation.template_texts import Field, Filling, as_text, each_text, fields
from callmark.types import Case, Place
from callmark.wording import did_you_mean

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
SEED = 7
MOST_VALUES = 100_000  # of all templates together
MOST_SCENARIOS = 100_000
_MOST_TRIES = 1_000_000  # combinations of rows that are looked at for one scenario


class _Template(Struct):
    """A template as it stands in the file."""

    id: str
    instructions: str
    expected_function_calls: Any
    scenarioType: str = ""  # noqa: N815 - the file's own name
    group: str | None = None
    description: str = ""
    task_completion_condition: str = ""
    data: Any = None
    count: Any = 1
    use: dict[str, str] = {}
    where: dict[str, Any] = {}
    variants: dict[str, list[Any]] = {}

    def parts(self) -> dict[str, Any]:
        """What a scenario is made of, as far as it is there."""
        own = ("id", "count", "use", "where", "variants")
        return {name: value for name in self.__struct_fields__ if name not in own and (value := getattr(self, name)) not in (None, "")}


def scenarios_of(templates: Any, tables: Tables, *, seed: int = SEED, number: int | None = None) -> list[Case]:
    """The scenarios of all templates, in their order, under ids such as `create-03`.

    `number` is how many in all, shared out in proportion to the templates' counts. No template raises `BadInput`.
    """
    read = _read(templates)
    counts = [template.count for template in read]
    drawings = [_Drawing(template, tables, seed) for template in read]
    shares = counts if number is None else _shared_out(number, counts)
    if sum(shares) > MOST_SCENARIOS:
        raise BadInput(f"{sum(shares):,} scenarios are asked for, at most {MOST_SCENARIOS:,} are made")
    return [drawing.scenario(at) for drawing, share in zip(drawings, shares, strict=True) for at in range(1, share + 1)]


def _shared_out(number: int, counts: Sequence[int]) -> list[int]:
    ends = [number * sum(counts[: at + 1]) // sum(counts) for at in range(len(counts))]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def _read(templates: Any) -> list[_Template]:
    if not isinstance(templates, list) or not templates:
        raise BadInput("there are no templates: a list of them was expected")
    _refuse_endless(templates)
    known = _Template.__struct_fields__
    read: list[_Template] = []
    for at, given in enumerate(templates, 1):
        name = given.get("id") if isinstance(given, dict) else None
        where = f"template {name!r}" if isinstance(name, str) and name else f"the {at}. template"
        if not isinstance(given, dict):
            raise BadInput(f"{where} is {dump(given)[:40]}, an object was expected")
        for key in given:
            if key not in known:
                raise BadInput(
                    f"{where}: there is no field called {key!r}{did_you_mean(str(key), known)}", f"There are {', '.join(known)}."
                )
        try:
            template = msgspec.convert(given, _Template)
        except msgspec.ValidationError as error:
            raise BadInput(f"{where}: {explain_validation_error(str(error)).replace('the row has', 'it has')}") from None
        if template.count.__class__ is not int or template.count < 1:
            raise BadInput(f"{where}: count is {dump(template.count)}, a whole number from 1 on was expected")
        if empty := next((key for key, wordings in template.variants.items() if not wordings), None):
            raise BadInput(f"{where}: variants.{empty} has no wording")
        if not template.id or any(template.id == other.id for other in read):
            raise BadInput(f"{where}: its id is {'empty' if not template.id else 'that of another template'}", "Each needs one of its own.")
        read.append(template)
    return read


def _refuse_endless(templates: Any) -> None:
    """Refuse what YAML can say in a few lines and nobody can fill in: a list that holds itself, a list of lists of lists of one text."""
    rest, seen = [templates], 0
    while rest:
        item = rest.pop()
        seen += 1
        rest += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        if isinstance(item, float) and not isfinite(item):
            raise BadInput(f"the templates hold {item}, which is no value of JSON")
        if seen > MOST_VALUES:
            raise BadInput(f"the templates hold more than {MOST_VALUES:,} values, or one of them holds itself")
    if is_deeper_than(templates, DEEPEST):
        raise BadInput(f"the templates nest deeper than {DEEPEST}")


class _Drawing:
    """The scenarios of one template, one after the other."""

    def __init__(self, template: _Template, tables: Tables, seed: int) -> None:
        self.template = template
        self.name = f"template {template.id!r}"
        self._random = Random(f"{seed} {template.id}")
        self._table_of: dict[str, str] = {}
        self._rows: dict[str, Sequence[Row]] = {}
        self._check(tables)
        self._rows = {name: self._rows[name] for name in self._in_order()}
        self._used = {name: [0] * len(rows) for name, rows in self._rows.items()}
        self._seen: set[tuple[int, ...]] = set()
        self._decks: dict[str, list[Any]] = {name: [] for name in template.variants}
        self._tries = 0

    def scenario(self, at: int) -> Case:
        """The next one, under that number."""
        rows = {name: self._rows[name][index] for name, index in self._draw().items()}
        fill = Filling(rows, {name: self._wording(name) for name in self._decks})
        case_id = f"{self.template.id}-{at:02}"
        row = b""
        try:
            row = dump({"id": case_id, **{name: _filled(name, value, fill) for name, value in self.template.parts().items()}}).encode()
            case = scenarios.read(row, Place(case_id, 1, "item"), ReadContext())
        except (BadInput, ValueError) as error:
            raise BadInput(f"{self.name}, scenario {case_id}: {explain(row, error)}", getattr(error, "hint", "")) from None
        return structs.replace(case, place=None)

    def _check(self, tables: Tables) -> None:
        """Find the table of every name, and refuse every field that nothing could be put in place of."""
        template = self.template
        for name, table in template.use.items():
            if table not in tables:
                raise BadInput(f"{self.name}, use.{name}: there is no table called {table!r}{did_you_mean(table, tables)}", _listed(tables))
            self._add(name, table, tables)
        for place, value in {**template.parts(), "variants": template.variants, "where": template.where}.items():
            for path, text in each_text(value, place):
                try:
                    found = fields(text)
                except BadInput as error:
                    raise BadInput(f"{self.name}, {path}: {error}", error.hint) from None
                for field in found:
                    if not field.column and place in ("variants", "where"):
                        raise BadInput(
                            f"{self.name}, {path}: {field} has no dot, and a variant can stand neither in another nor in a condition"
                        )
                    self._check_field(field, f"{self.name}, {path}", tables)
        for key in template.where:
            name, dot, column = key.partition(".")
            if not dot:
                raise BadInput(f"{self.name}, where: {key!r} is no column, a name such as ticket.kind was expected")
            self._check_field(Field(name, column), f"{self.name}, where", tables)

    def _check_field(self, field: Field, where: str, tables: Tables) -> None:
        variants = self.template.variants
        if not field.column:
            if field.name not in variants:
                raise BadInput(
                    f"{where}: there is no variant for {field}{did_you_mean(field.name, variants)}",
                    "A column of a row has a dot: {ticket.title} is of the table tickets. {{ and }} are braces.",
                )
            return
        if field.name not in self._rows:
            name = field.name
            table = next((each for each in (name, f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies") if each in tables), None)
            if table is None:
                raise BadInput(
                    f"{where}: there is no table for {field}{did_you_mean(f'{name}s', tables)}",
                    f"{_listed(tables)} `use: {{{name}: TABLE}}` names one.",
                )
            self._add(name, table, tables)
        columns = self._rows[field.name][0]
        if field.column not in columns:
            table = self._table_of[field.name]
            raise BadInput(
                f"{where}: the table {table} has no column for {field}{did_you_mean(field.column, columns)}",
                f"It has {', '.join(columns)}.",
            )

    def _add(self, name: str, table: str, tables: Tables) -> None:
        if not tables[table]:
            raise BadInput(f"{self.name}: the table {table} has no rows")
        self._table_of[name], self._rows[name] = table, tables[table]

    def _in_order(self) -> list[str]:
        """The names, those first that others go by: otherwise rows of the others would decide which of theirs can still be drawn."""
        goes_by: dict[str, set[str]] = {name: set() for name in self._rows}
        for key, wanted in self.template.where.items():
            name = key.partition(".")[0]
            goes_by[name] |= {field.name for _, text in each_text(wanted) for field in fields(text)} - {name}
        names: list[str] = []
        while left := [name for name in goes_by if name not in names]:
            names.append(next((name for name in left if goes_by[name] <= set(names)), left[0]))
        return names

    def _draw(self) -> dict[str, int]:
        """A row for every name: a combination that was not there before, or, when all were, any; of rows that were drawn the least."""
        orders = {
            name: sorted(range(len(rows)), key=lambda index, used=self._used[name]: (used[index], self._random.random()))  # type: ignore[misc]
            for name, rows in self._rows.items()
        }
        first: dict[str, int] | None = None
        self._tries = 0
        for chosen in self._combinations(orders, {}):
            first = first or chosen
            if tuple(chosen.values()) not in self._seen:
                break
        else:
            if first is None:
                tried = f" among {_MOST_TRIES:,} combinations" if self._tries > _MOST_TRIES else ""
                tables = ", ".join(sorted(set(self._table_of.values())))
                raise BadInput(f"{self.name}: no rows of {tables} go together as `where` wants it{tried}")
            chosen = first
            self._seen.clear()
        self._seen.add(tuple(chosen.values()))
        for name, index in chosen.items():
            self._used[name][index] += 1
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
            if self._tries > _MOST_TRIES:  # conditions that nothing meets would be looked for in every combination there is
                return
            if index not in taken:
                more = {**chosen, name: index}
                if self._go_together(more):
                    yield from self._combinations(orders, more)

    def _go_together(self, chosen: Mapping[str, int]) -> bool:
        """Whether the rows so far meet every condition that is about them alone."""
        rows = {name: self._rows[name][index] for name, index in chosen.items()}
        fill = Filling(rows, {})
        for key, wanted in self.template.where.items():
            name, _, column = key.partition(".")
            about = {field.name for _, text in each_text(wanted) for field in fields(text)}
            if {name, *about} <= rows.keys():
                values = fill(wanted)
                if as_text(rows[name][column]) not in [as_text(value) for value in (values if isinstance(values, list) else [values])]:
                    return False
        return True

    def _wording(self, name: str) -> Any:
        """One of the wordings, each once before any comes again."""
        deck = self._decks[name]
        if not deck:
            deck += sorted(self.template.variants[name], key=lambda wording: self._random.random())
        return deck.pop()


def _filled(name: str, value: Any, fill: Filling) -> Any:
    """A part of a scenario. Of what is expected, the arguments are read as ground truth, in which a star or an object means something."""
    if name != "expected_function_calls" or not isinstance(value, list):
        return fill(value)
    return [
        {key: fill(item, "argument" if key == "arguments" else "text") for key, item in call.items()}
        if isinstance(call, dict)
        else fill(call)
        for call in value
    ]


def _listed(tables: Iterable[str]) -> str:
    return f"The tables are {', '.join(tables)}." if tables else "There are no tables."
