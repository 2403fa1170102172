"""An independent agent for the help desk: other words, another order, other confirmations than the demo's agents. It was written without
looking at the users.

It fills in forms from the last field to the first, asks for one value at a time, shows the form as a table, and saves it after a yes. Like
every help desk agent, it stores no state: it replays the conversation from its messages each time.
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from callmark.worlds.helpdesk import tools as names
from callmark.worlds.helpdesk.company import DEPARTMENTS, PRIORITIES, TICKET_STATUSES, WORKFLOW_TYPES

Call = tuple[str, dict[str, str]]
Session = Generator[str | Call, str, Any]  # yields a text or a call, and receives the user's turn or the result

TICKET = {
    "expected_outcome": "How will you know that the matter is settled? Tell me the result you are after.",
    "description": "And what is going on at the moment? Just describe it.",
    "workflow_type": "We have four lanes: Standard, Expedited, Scheduled, Compliance. Which one do I put you in?",
    "priority": "On our scale of Low, Medium, High and Critical, where does it sit?",
    "department_code": "Whose turf is this? I need the department.",
    "title": "Last box: a short name for the whole thing, please.",
}
ITEM = {
    "due_date": "When must it be finished? Any calendar date will do.",
    "description": "What precisely does the person have to do?",
    "assigned_to": "Who gets the job? First and last name.",
    "title": "And under which name do I list this to-do?",
}
BOXES = {
    "expected_outcome": "Result",
    "description": "Description",
    "workflow_type": "Lane",
    "priority": "Priority",
    "department_code": "Department",
    "title": "Name",
    "due_date": "Finish by",
    "assigned_to": "Person",
    "status": "Status",
}
FORBIDDEN = r"\b(?:delete|wipe|remove) (?:the )?ticket\b|\bticket\b.{0,20}\bgone\b|\bapprove\b|\bsign off\b|\bnumber of (?:the )?ticket\b"
CHANGE = (
    r"\bpriority\b.*\bticket\b|\bticket\b.*\b(?:priority|department|status)\b|\bstatus\b|\bhand(?:ed)? (?:it )?over\b|\bhand\b.*\bover\b|"
    r"\bwrong department\b|\bmove\b|\bset\b|\bchange\b|\bupdate\b|\bTKT-\d+\b"
)
NEW = r"\b(?:new|open|create) (?:a |new |support )*ticket\b|\btitle(?: is|:)"
WORDS = {
    "priority": {one.name: one.name for one in PRIORITIES},
    "workflow_type": {one.name: one.name for one in WORKFLOW_TYPES},
    "status": {one: one for one in TICKET_STATUSES},
    "department_code": {**{one.name: one.code for one in DEPARTMENTS}, **{one.code: one.code for one in DEPARTMENTS}},
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SHRUG = r"\b(?:don't|do not|couldn't|can't) (?:\w+ )?(?:know|say|tell|think)\b|\bno (?:idea|preference)\b|\bhave no\b|\bcan we go on\b"
FAREWELL = "Then I close the counter. All the best!"


class Goodbye(Exception):  # noqa: N818 - not an error
    """The user leaves."""


def clerk(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the next message: a text, or one call."""
    dialogue = _serve()
    turn = next(dialogue)
    created = 0
    for message in messages:
        if message["role"] in ("user", "tool"):
            turn = dialogue.send(str(message.get("content") or ""))
            created += message["role"] == "tool"
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}
    function = {"name": turn[0], "arguments": json.dumps(turn[1])}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{created}", "type": "function", "function": function}]}


def _serve() -> Session:
    said = yield "Counter three, whose turn is it?"
    ticket = ""
    while True:
        try:
            if _leaves(said):
                raise Goodbye
            if re.search(FORBIDDEN, said, re.IGNORECASE):
                said = yield "That is off limits at this counter, I am not permitted to do it. Another matter, perhaps?"
            elif re.search(r"\baction item\b|\bto-?do\b|\btask\b", said, re.IGNORECASE):
                said = yield from _item(said, ticket)
            elif re.search(CHANGE, said, re.IGNORECASE) and not re.search(NEW, said, re.IGNORECASE):
                said = yield from _change(said)
            elif re.search(r"\btickets?\b|\breport\b|\bissue\b|\bproblem\b|\bbroken\b|\blook at\b", said, re.IGNORECASE):
                sheet = yield from _fill_form(TICKET, said, "Let us fill in a sheet for a new ticket, from the bottom up.")
                found = yield (names.CREATE_TICKET, sheet)
                ticket = _read(found).get("ticket_id", "")
                said = yield f"Stamped and filed, it now runs under {ticket or found}. Was that your only matter, or do you have more?"
            else:
                said = yield "I deal with tickets and the to-dos that hang on them. Which of the two brings you here?"
        except Goodbye:
            said = yield FAREWELL


def _item(said: str, ticket: str) -> Session:
    number = _ticket_in(said) or ticket
    while not number:
        number = _ticket_in((yield "A to-do hangs on a ticket. Tell me the number of that ticket (TKT-…)."))
    sheet = yield from _fill_form(ITEM, said, f"A to-do for {number} then.")
    found = yield (names.CREATE_ITEM, {"ticket_id": number, **sheet})
    return (yield f"On the list as {_read(found).get('action_item_id', found)}. Was that your only matter, or do you have more?")


def _change(said: str) -> Session:
    number = _ticket_in(said)
    sheet = {field: value for field in ("priority", "status", "department_code") if (value := _value(field, said))}
    while not number:
        user_text = yield "Which sheet do I pull out of the drawer? A number helps, or a few words from its name."
        if _leaves(user_text):
            raise Goodbye
        number = _ticket_in(user_text)
        if not number:
            words = re.split(
                r"\b(?:title|called|named|about|search term[:,]) ", re.split(r"\n|\. For the ", user_text.replace("that before. ", ""))[0]
            )[-1]
            found = _read((yield (names.SEARCH_TICKETS, {"query": _plain(words)}))).get("tickets", [])
            number = found[0]["ticket_id"] if len(found) == 1 else ""
    before = _read((yield (names.GET_TICKET, {"ticket_id": number})))
    if before.get("status") == "Closed":
        return (yield f"{number} is closed, and what is closed cannot be altered any more, I am sorry. Another matter, perhaps?")
    field = next((one for one in ("priority", "status", "department_code") if one.removesuffix("_code") in said.casefold()), "")
    while not sheet:
        user_text = yield f"I have {number} here ({before.get('title')}). " + (
            f"What shall its {field.removesuffix('_code')} be from now on?"
            if field
            else "Which entry do I alter: priority, status or department?"
        )
        if _leaves(user_text):
            raise Goodbye
        field = next((one for one in ("priority", "status", "department_code") if one.removesuffix("_code") in user_text.casefold()), field)
        sheet = {field: value} if field and (value := _value(field, user_text)) else {}
    sheet = yield from _confirm_form(sheet, f"So {number} gets altered like this:")
    yield (names.UPDATE_TICKET, {"ticket_id": number, **sheet})
    return (yield f"{number} is altered. Was that your only matter, or do you have more?")


def _fill_form(form: Mapping[str, str], said: str, first: str) -> Session:
    """Fill in every field of a form, including values that were said in advance, and confirm it."""
    sheet = {field: value for field in form if (value := _labelled(field, said))}
    say = f"{first} "
    for field, question in form.items():
        while field not in sheet:
            user_text = yield say + question
            if _leaves(user_text):
                raise Goodbye
            filled = {other: value for other in form if (value := _labelled(other, user_text))}
            if not filled and not re.search(SHRUG, user_text, re.IGNORECASE) and (value := _value(field, user_text)):
                filled = {field: value}
            say = "" if filled else "I could not make that out. "
            sheet |= filled
    return (yield from _confirm_form({field: sheet[field] for field in form}, "The sheet reads:"))


def _confirm_form(sheet: dict[str, str], first: str) -> Session:
    while True:
        rows = "\n".join(f"| {BOXES[field]} | {value} |" for field, value in sheet.items())
        user_text = yield f"{first}\n| box | entry |\n|---|---|\n{rows}\nMay I file it like that, yes or no?"
        changed = {
            field: value for field in sheet if _named(field, user_text) and (value := _value(field, user_text)) and value != sheet[field]
        }
        if changed:
            sheet = {**sheet, **changed}
        elif _leaves(user_text):
            raise Goodbye
        elif re.search(
            r"\b(?:yes|yep|yeah|sure|right|correct|exactly|ok|okay|please do|go ahead|perfect|fine|good)\b", user_text, re.IGNORECASE
        ):
            return sheet


def _named(field: str, said: str) -> bool:
    return field.removesuffix("_code").replace("_", " ") in said.casefold() or BOXES[field].casefold() in said.casefold()


def _labelled(field: str, said: str) -> str:
    label = field.removesuffix("_code").replace("_", " ")
    found = re.search(rf"\b{label}: *(.+?)(?:\.(?= \w[\w ]*:)|\.?$)", said, re.IGNORECASE | re.MULTILINE)
    return _value(field, found[1]) if found else ""


def _value(field: str, said: str) -> str:
    if field in WORDS:
        found = {match.start(): value for word, value in WORDS[field].items() if (match := re.search(rf"\b{word}\b", said, re.IGNORECASE))}
        return found[max(found)] if found else ""  # after a correction, the last value is right
    return _day(said) if field == "due_date" else _plain(said)


def _plain(said: str) -> str:
    """Return the value in a text: the part in quotes, after a colon, or after `is`, else the whole text."""
    text = said.strip().strip("!").rstrip(".").strip()
    text = re.sub(r"^(?:it|that)'s ", "", text, flags=re.IGNORECASE)
    if quoted := re.search(r"[\"“](.+)[\"”]", text):
        return quoted[1].rstrip(".")
    if after := re.match(
        r"(?:[\w' ,]{0,60}: |(?:the |its |it |that |i'd |i would |let's )+(?:[\w ]{0,30}?)(?:is|call it|say|be|goes to) )(.+)$",
        text,
        re.IGNORECASE,
    ):
        return after[1]
    return text


def _day(said: str) -> str:
    if iso := re.search(r"\b\d{4}-\d\d-\d\d\b", said):
        return iso[0]
    month = "|".join(MONTHS)
    day_first = re.search(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({month})\w*,? ?(\d{{4}})?", said, re.IGNORECASE)
    month_first = re.search(rf"\b({month})\w* (\d{{1,2}})(?:st|nd|rd|th)?,? ?(\d{{4}})?", said, re.IGNORECASE)
    if day_first:
        day, name, year = day_first.groups()
    elif month_first:
        name, day, year = month_first.groups()
    else:
        return ""
    return f"{year or 2025}-{MONTHS.index(name.casefold()) + 1:02}-{int(day):02}"


def _ticket_in(said: str) -> str:
    found = re.search(r"\bTKT-\d+\b", said, re.IGNORECASE)
    return found[0].upper() if found else ""


def _leaves(said: str) -> bool:
    return bool(
        re.search(r"\b(?:good ?bye|bye|i give up|never ?mind)\b|^\W*(?:no, )?(?:nothing else|that(?: i|')s all)\b", said, re.IGNORECASE)
    )


def _read(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
