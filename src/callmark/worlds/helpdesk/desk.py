"""The help desk's backend: tickets and action items in SQLite, generated from a seed, with every tool as a method.

A method returns plain data, or raises `ToolError` and changes nothing. `call` does the same by tool name, with any arguments that a model
sends.
"""

import json
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Self

from callmark import ToolResult
from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.company import (
    DEPARTMENTS,
    FIRST_NAMES,
    ISSUES,
    ITEM_STATUSES,
    LAST_NAMES,
    PLACES,
    PRIORITIES,
    STEPS,
    TODAY,
    WORKFLOW_TYPES,
)
from callmark.worlds.tool_calls import ToolError, quote_value, validate_arguments

FIRST_TICKET, FIRST_ITEM = 1001, 2001
TICKETS, ITEMS = 40, 30
MAX_RESULTS = 20
WORKFLOW = """1. Tell me what it is about. I look up departments, priorities and workflow types.
2. A new ticket needs a title, a department, a priority, a workflow type, a description and an expected outcome.
3. An action item belongs to a ticket and needs a title, a description, a due date and somebody it is assigned to.
4. I read everything back, and write nothing before you say yes.
5. A closed ticket stays as it is, and a critical one is closed only when one of its action items is done.
6. I cannot delete tickets, change their numbers or approve budgets."""

_TICKET = ("title", "department_code", "priority", "workflow_type", "status", "description", "expected_outcome")
_ITEM = ("ticket_id", "title", "assigned_to", "status", "description", "due_date")
_SCHEMA = f"""
create table tickets (ticket_id text primary key, {", ".join(f"{name} text not null" for name in _TICKET)}) without rowid;
create table action_items (action_item_id text primary key, {", ".join(f"{name} text not null" for name in _ITEM)}) without rowid;
"""
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset(
    ("a", "about", "and", "at", "for", "in", "is", "of", "on", "our", "that", "the", "to", "which", "with")
)  # ignored in a query
_TOOLS = {tool.name: tool for tool in tools.TOOLS}
_CODES = {department.code: department.name for department in DEPARTMENTS}

Row = dict[str, str]


class Desk:
    """A help desk in memory. `copy` is cheap; copies share nothing."""

    def __init__(self, seed: int = 7) -> None:
        self._db = _database()
        self._db.executescript(_SCHEMA)
        _fill(self._db, random.Random(seed))

    def copy(self) -> Self:
        """Return another desk with the same state."""
        other = object.__new__(type(self))
        other._db = _database()
        self._db.backup(other._db)
        return other

    def close(self) -> None:
        self._db.close()

    def state(self) -> dict[str, dict[str, Row]]:
        """Return every table as rows by key."""
        return {
            table: {row.pop(key): row for row in self._rows(f"select * from {table} order by {key}")}
            for table, key in (("tickets", "ticket_id"), ("action_items", "action_item_id"))
        }

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool call. An unknown tool, invalid arguments and a refusal return an error that says why, and change nothing."""
        try:
            return ToolResult(
                json.dumps(_METHODS[_check_tool(name)](self, **validate_arguments(_TOOLS[name], arguments)), ensure_ascii=False)
            )
        except ToolError as refusal:
            return ToolResult(str(refusal), is_error=True)

    def create_support_ticket(self, **ticket: str) -> Row:
        """Return the new ticket with its id and the status Open."""
        _check_department(ticket)
        texts = {"description": "", "expected_outcome": ""}
        return self._insert("tickets", {"ticket_id": self._next_id("TKT", "tickets", "ticket_id"), "status": "Open", **texts, **ticket})

    def update_support_ticket(self, ticket_id: str, **changes: str) -> Row:
        """Return the updated ticket. An update without changes, and any update of a closed ticket, raises `ToolError`."""
        ticket = self._ticket(ticket_id)
        if not changes:
            raise ToolError(f"no changes for {ticket_id}; expected at least one of {', '.join(_TICKET)}")
        if ticket["status"] == "Closed":
            raise ToolError(f"{ticket_id} is closed and cannot be changed; open a new ticket instead")
        _check_department(changes)
        changed = ticket | changes
        if changed["status"] == "Closed" and "Critical" in (ticket["priority"], changed["priority"]) and not self._has_done_item(ticket_id):
            raise ToolError(f"{ticket_id} is Critical and none of its action items is Done: a critical ticket can be closed only if one is")
        self._update("tickets", "ticket_id", ticket_id, changes)
        return changed

    def search_tickets(self, query: str = "", **filters: str) -> dict[str, Any]:
        """Return the number of matching tickets and the first of them by id. Without a filter, all tickets match. Case is ignored."""
        _check_department(filters)
        where = " and ".join(f"{name} = ?" for name in filters) or "1"
        words = [word for word in _WORD.findall(query.casefold()) if word not in _STOP_WORDS]
        found = [
            row
            for row in self._rows(f"select * from tickets where {where} order by ticket_id", *filters.values())
            if all(word in f"{row['ticket_id']} {row['title']} {row['description']}".casefold() for word in words)
        ]
        columns = ("ticket_id", "title", "department_code", "priority", "status")
        return {"count": len(found), "tickets": [{name: row[name] for name in columns} for row in found[:MAX_RESULTS]]}

    def get_support_ticket(self, ticket_id: str) -> dict[str, Any]:
        """Return the ticket with its action items."""
        return {**self._ticket(ticket_id), "action_items": self._items(ticket_id)}

    def create_action_item(self, ticket_id: str, **item: str) -> Row:
        """Return the new action item with its id and the status Open."""
        _check_date(item)
        self._check_open(ticket_id)
        item_id = self._next_id("AI", "action_items", "action_item_id")
        return self._insert(
            "action_items", {"action_item_id": item_id, "ticket_id": ticket_id, "status": "Open", "description": "", **item}
        )

    def update_action_item(self, action_item_id: str, **changes: str) -> Row:
        """Return the updated action item. An update without changes, and one for a closed ticket, raises `ToolError`."""
        _check_date(changes)
        found = self._rows("select * from action_items where action_item_id = ?", action_item_id)
        if not found:
            raise ToolError(f"there is no action item {action_item_id!r}; expected an id such as AI-{FIRST_ITEM}")
        if not changes:
            raise ToolError(f"no changes for {action_item_id}; expected at least one of {', '.join(_ITEM[1:])}")
        self._check_open(found[0]["ticket_id"])
        self._update("action_items", "action_item_id", action_item_id, changes)
        return found[0] | changes

    def list_action_items(self, ticket_id: str) -> dict[str, Any]:
        """Return the action items of a ticket, possibly none."""
        self._ticket(ticket_id)
        return {"ticket_id": ticket_id, "action_items": self._items(ticket_id)}

    def list_departments(self) -> list[Row]:
        return [department._asdict() for department in DEPARTMENTS]

    def list_priorities(self) -> list[Row]:
        return [priority._asdict() for priority in PRIORITIES]

    def list_workflow_types(self) -> list[Row]:
        return [workflow._asdict() for workflow in WORKFLOW_TYPES]

    def ask_clarification(self, question: str) -> Row:
        """Return the question to ask the user; the desk stores nothing."""
        return {"ask": question}

    def start_over(self) -> Row:
        """Return a note. Nothing is undone: written records stay."""
        return {"started_over": "Nothing that was collected is kept. What was written stays."}

    def explain_workflow(self) -> Row:
        return {"workflow": WORKFLOW}

    def _rows(self, query: str, *values: str) -> list[Row]:
        cursor = self._db.execute(query, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _insert(self, table: str, row: Row) -> Row:
        with self._db:
            self._db.execute(f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))})", tuple(row.values()))
        return row

    def _update(self, table: str, key: str, row_id: str, changes: Row) -> None:
        with self._db:
            self._db.execute(
                f"update {table} set {', '.join(f'{name} = ?' for name in changes)} where {key} = ?", (*changes.values(), row_id)
            )

    def _next_id(self, letters: str, table: str, key: str) -> str:
        (last,) = self._db.execute(f"select max(cast(substr({key}, {len(letters) + 2}) as integer)) from {table}").fetchone()
        return f"{letters}-{last + 1}"

    def _ticket(self, ticket_id: str) -> Row:
        found = self._rows("select * from tickets where ticket_id = ?", ticket_id)
        if not found:
            raise ToolError(f"there is no ticket {ticket_id!r}; expected an id such as TKT-{FIRST_TICKET}")
        return found[0]

    def _check_open(self, ticket_id: str) -> None:
        if self._ticket(ticket_id)["status"] == "Closed":
            raise ToolError(f"{ticket_id} is closed, so its action items cannot be changed; open a new ticket instead")

    def _items(self, ticket_id: str) -> list[Row]:
        return self._rows("select * from action_items where ticket_id = ? order by action_item_id", ticket_id)

    def _has_done_item(self, ticket_id: str) -> bool:
        return any(item["status"] == "Done" for item in self._items(ticket_id))


_METHODS: dict[str, Callable[..., Any]] = {name: getattr(Desk, name.partition("-")[2]) for name in _TOOLS}


def _database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _check_tool(name: str) -> str:
    if name not in _METHODS:
        raise ToolError(f"there is no tool {name!r}; expected one of {', '.join(_METHODS)}")
    return name


def _check_department(values: Mapping[str, str]) -> None:
    code = values.get("department_code")
    if code is not None and code not in _CODES:
        known = ", ".join(f"{code} ({name})" for code, name in _CODES.items())
        raise ToolError(f"department_code: expected one of {known}; got {quote_value(code)}")


def _check_date(values: Mapping[str, str]) -> None:
    due_date = values.get("due_date")
    if due_date is None:
        return
    try:
        if not _ISO_DATE.fullmatch(due_date):
            raise ValueError
        date.fromisoformat(due_date)
    except ValueError:
        raise ToolError(f"due_date: expected a date such as 2025-05-10, got {quote_value(due_date)}") from None


def _fill(db: sqlite3.Connection, rng: random.Random) -> None:
    """Insert seeded tickets and action items.

    Most tickets are open or in progress, and about one in five is Critical. No Critical ticket is closed and no closed ticket has action
    items, so the data comply with the desk's own rules from the start.
    """
    issues = [(code, *issue) for code, of_department in ISSUES.items() for issue in of_department]
    sampled = rng.sample(issues, TICKETS)
    tickets: list[tuple[str, ...]] = []
    for number, (code, title, description, outcome) in enumerate(sampled, FIRST_TICKET):
        place = rng.choice(PLACES)
        priority = rng.choice(("Low", "Medium", "Medium", "High", "Critical"))
        workflow = "Expedited" if priority == "Critical" else rng.choice(("Standard", "Standard", "Scheduled", "Compliance"))
        status = rng.choice(("Open", "Open", "Open", "Open", "In Progress", "In Progress", "On Hold", "Resolved", "Closed"))
        status = "In Progress" if (priority, status) == ("Critical", "Closed") else status
        tickets.append((f"TKT-{number}", title, code, priority, workflow, status, description.format(place=place), outcome))
    open_tickets = [ticket[0] for ticket in tickets if ticket[5] != "Closed"]
    items: list[tuple[str, ...]] = []
    for number in range(FIRST_ITEM, FIRST_ITEM + ITEMS):
        title, description = rng.choice(STEPS)
        person = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        due = (date.fromisoformat(TODAY) + timedelta(days=rng.randrange(1, 60))).isoformat()
        items.append((f"AI-{number}", rng.choice(open_tickets), title, person, rng.choice(ITEM_STATUSES), description, due))
    with db:
        db.executemany("insert into tickets values (?, ?, ?, ?, ?, ?, ?, ?)", tickets)
        db.executemany("insert into action_items values (?, ?, ?, ?, ?, ?, ?)", items)
