"""The rule-based agents: whole conversations in varied wording, and the parsing of single answers."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from callmark.grading.evaluators.policy_rules import read_rules
from callmark.worlds import helpdesk
from callmark.worlds.helpdesk import tools
from callmark.worlds.helpdesk.agents import FAULTS, careful, faults_for, sloppy
from callmark.worlds.helpdesk.company import DEPARTMENTS, PRIORITIES, TODAY, WORKFLOW_TYPES
from callmark.worlds.helpdesk.dates import find_date
from callmark.worlds.helpdesk.desk import Desk
from callmark.worlds.helpdesk.intents import detect_intents, find_query
from callmark.worlds.helpdesk.slot_filling import extract_changes, extract_slots
from tests.worlds.helpdesk.test_desk import ITEM, TICKET

OFFERED: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
    for tool in tools.TOOLS
]
SEEDED = Desk(7)
WRITES = (tools.CREATE_TICKET, tools.UPDATE_TICKET, tools.CREATE_ITEM, tools.UPDATE_ITEM)
Agent = Callable[..., dict[str, Any]]


class ConversationLog(NamedTuple):
    calls: list[tuple[str, dict[str, Any]]]
    replies: list[str]
    desk: Desk

    @property
    def writes(self) -> list[tuple[str, dict[str, Any]]]:
        return [(name, arguments) for name, arguments in self.calls if name in WRITES]


def run_conversation(lines: Sequence[str], agent: Agent = careful, offered: Sequence[dict[str, Any]] = OFFERED) -> ConversationLog:
    """Run a conversation in which the user says these lines, whatever the agent replies."""
    desk = SEEDED.copy()
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are the help desk."}]
    calls: list[tuple[str, dict[str, Any]]] = []
    replies: list[str] = []
    for line in lines:
        messages.append({"role": "user", "content": line})
        for _ in range(10):
            reply = agent([dict(message) for message in messages], offered)
            messages.append(reply)
            if not reply.get("tool_calls"):
                break
            for call in reply["tool_calls"]:
                name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                calls.append((name, arguments))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": desk.call(name, arguments).text})
        assert reply["content"], "the agent has to say something in the end"
        replies.append(reply["content"])
    return ConversationLog(calls, replies, desk)


PLAIN = [
    "Hi, I need to open a support ticket.",
    "The title is Server performance degradation.",
    "It's for the IT department",
    "Critical, and expedited please",
    "Main application server is experiencing significant performance degradation.",
    "Server performance restored to normal levels",
    "Yes, that is correct.",
]
TERSE = ["new ticket", TICKET["title"], "it", "critical", "expedited", TICKET["description"], TICKET["expected_outcome"], "yes"]
CHATTY = [
    "Good morning! I hope you are well. I'd like to have a ticket, please.",
    'Sure thing! Let\'s call it "Server performance degradation", and it should go to Information Technology. Thanks!',
    "Hmm, I'd say the priority is Critical. And the workflow type would be Expedited, I think.",
    f"Let me think. I would put it like this: {TICKET['description']}. I hope that helps!",
    f"Oh, the expected outcome should be {TICKET['expected_outcome']}, please.",
    "That looks right, thank you! Please go ahead.",
]
IMPATIENT = [
    "Open a critical ticket for IT titled 'Server performance degradation'. Quickly.",
    "expedited, come on",
    f"Description: {TICKET['description']}. Expected outcome: {TICKET['expected_outcome']}.",
    "yes yes, do it",
]
COMMAND = [
    "create ticket: title=Server performance degradation, department=IT, priority=Critical, workflow=Expedited, "
    f"description={TICKET['description']}, outcome={TICKET['expected_outcome']}",
    "y",
]
BULLETS = [
    "Please open a ticket:\n- Title: Server performance degradation\n- Department: Information Technology\n- Priority: critical\n"
    f"- Workflow type: expedited\n- Description: {TICKET['description']}\n- Expected outcome: {TICKET['expected_outcome']}",
    "correct",
]
CHANGES = [
    "I want to report a problem",
    "Server performance degradation, HR",
    "Medium and Standard",
    TICKET["description"],
    "actually make that Expedited",
    TICKET["expected_outcome"],
    "Actually, make that Critical.",
    "No, the department is IT",
    "Yes",
]
SECOND_THOUGHTS = ["new ticket", "Server trouble, IT", "critical, expedited", TICKET["description"], "It works", "no", "the title",
                   TICKET["title"], "hm, and the expected outcome should be " + TICKET["expected_outcome"], "yes"]  # fmt: skip
AFTER_STARTING_OVER = ["I need a ticket", "Broken lamp, Facilities", "Let's start over please", *PLAIN]


@pytest.mark.parametrize(
    "lines", [PLAIN, TERSE, CHATTY, IMPATIENT, COMMAND, BULLETS, CHANGES, SECOND_THOUGHTS, AFTER_STARTING_OVER], ids=str
)
def test_ticket_is_opened_from_any_wording(lines: list[str]) -> None:
    log = run_conversation([*lines, "No, that's all. Thanks!"])
    assert log.writes == [(tools.CREATE_TICKET, TICKET)]
    assert "TKT-1041" in log.replies[-2]
    assert "anything else" in log.replies[-2]
    assert "Goodbye" in log.replies[-1]


def test_agent_looks_up_and_reads_back_before_writing() -> None:
    log = run_conversation(PLAIN)
    looked_up = [tools.LIST_DEPARTMENTS, tools.LIST_PRIORITIES, tools.LIST_WORKFLOW_TYPES]
    assert [name for name, _ in log.calls] == [*looked_up, tools.CREATE_TICKET]
    assert all(value in log.replies[-2] for value in TICKET.values())
    assert log.replies[-2].endswith("?")


ITEM_LINES = ["Increase server memory allocation", "John Smith, by May 10, 2025", ITEM["description"], "Yes, please."]
SECOND = {"title": "Write a report", "assigned_to": "Maria Lopez", "description": "Two pages about the cause", "due_date": "2025-05-12"}


@pytest.mark.parametrize(
    "lines",
    [
        [*PLAIN, "Yes, I also need an action item for it.", *ITEM_LINES,
         "Add another action item: title=Write a report, assigned_to=Maria Lopez, due=12.5.2025, description=Two pages about the cause",
         "yes"],
        ["I need a ticket with two action items", *PLAIN[1:], *ITEM_LINES,
         "Write a report", "Maria Lopez should do it", "the 12th of May", "Two pages about the cause", "ok"],
        [*PLAIN[:-1], "Yes. Then I also need an action item.", *ITEM_LINES[:-1], "Yes, and then I need another action item.",
         "The title is 'Write a report', assigned to Maria Lopez, due on May 12", "Two pages about the cause", "go ahead"],
    ],
    ids=["one by one", "announced", "with the yes"],
)  # fmt: skip
def test_ticket_gets_two_action_items(lines: list[str]) -> None:
    log = run_conversation([*lines, "bye"])
    assert log.writes == [
        (tools.CREATE_TICKET, TICKET),
        (tools.CREATE_ITEM, {"ticket_id": "TKT-1041", **ITEM}),
        (tools.CREATE_ITEM, {"ticket_id": "TKT-1041", **SECOND}),
    ]
    assert "AI-2032" in "".join(log.replies)


DOOR = next(key for key, row in SEEDED.state()["tickets"].items() if row["title"] == "Door does not lock")


@pytest.mark.parametrize(
    "lines",
    [
        ["Can you find the ticket about the door that does not lock?", "Please set its priority to Critical", "yes"],
        [f"I'd like to raise the priority of {DOOR} to Critical", "correct"],
        [f"update {DOOR} priority=Critical", "yes"],
        ["Find the ticket about the side door and set its priority to Critical.", "Yes, go ahead"],
        ["I want to change the priority of a ticket", "it is about the door", "Low please", "No, Critical!", "yes"],
    ],
)
def test_ticket_is_found_and_changed(lines: list[str]) -> None:
    log = run_conversation([*lines, "That's all"])
    assert log.writes == [(tools.UPDATE_TICKET, {"ticket_id": DOOR, "priority": "Critical"})]
    update_index = [name for name, _ in log.calls].index(tools.UPDATE_TICKET)
    assert {tools.GET_TICKET, tools.SEARCH_TICKETS} & {name for name, _ in log.calls[:update_index]}


def test_action_item_is_changed_by_number() -> None:
    log = run_conversation(["Mark action item AI-2003 as done", "yes", "reassign AI-2003 to Maria Lopez", "Yes please", "bye"])
    assert [arguments for _, arguments in log.writes] == [
        {"action_item_id": "AI-2003", "status": "Done"},
        {"action_item_id": "AI-2003", "assigned_to": "Maria Lopez"},
    ]


CRITICAL = next(
    key
    for key, row in SEEDED.state()["tickets"].items()
    if row["priority"] == "Critical"
    and not any(item["ticket_id"] == key and item["status"] == "Done" for item in SEEDED.state()["action_items"].values())
)
CLOSED = next(key for key, row in SEEDED.state()["tickets"].items() if row["status"] == "Closed")


@pytest.mark.parametrize(
    "lines, sentence, second_sentence",
    [
        (
            [f"Please delete ticket {DOOR}", "But I really need it gone!", "Just do it", "Fine."],
            "cannot delete",
            "deleting is not possible",
        ),
        (["Can you approve the budget of $5,000 for new servers?", "My boss said you can."], "cannot approve", "not for this desk"),
        ([f"Change the number of {DOOR} to TKT-9999", "Please!"], "cannot change a ticket's number", "number cannot be changed"),
        (["Skip the confirmation, please", "I am in a hurry"], "cannot leave out the confirmation", "has to be confirmed"),
        ([f"Close {CRITICAL}", "Close it anyway"], "is critical", "is critical"),
        ([f"Set {CLOSED} to high priority", "Set it to Critical then"], "is closed", "is closed"),
    ],
)
def test_forbidden_request_is_refused_even_when_the_user_insists(lines: list[str], sentence: str, second_sentence: str) -> None:
    log = run_conversation([*lines, "Nothing else, bye"])
    assert not log.writes
    assert sentence in log.replies[0]
    assert second_sentence in log.replies[1]
    assert "Goodbye" in log.replies[-1]


def test_starting_over_discards_collected_slots() -> None:
    log = run_conversation(AFTER_STARTING_OVER[:4])
    assert tools.START_OVER in [name for name, _ in log.calls]
    assert "title" in log.replies[-1]


@pytest.mark.parametrize("first_lines", [[], ["new ticket"], ["new ticket", "Lamp, FAC", "low, standard", "It is dark", "Light"]])
def test_nonsense_leads_to_clarification_and_then_goodbye(first_lines: list[str]) -> None:
    log = run_conversation([*first_lines, "?", "", "…", "???", "!!", "..", "?!"])
    answers = log.replies[len(first_lines) :]
    assert not log.writes
    assert answers[0] != answers[1]
    assert any("open" in reply and "find" in reply for reply in answers)
    assert "Goodbye" in answers[-1]


def test_tool_error_is_reported_and_the_slot_requested_again() -> None:
    refusing = [tool for tool in OFFERED if tool["function"]["name"] != tools.LIST_DEPARTMENTS]
    messages: list[dict[str, Any]] = []
    desk = SEEDED.copy()
    for line in (*COMMAND, "HR", "yes"):
        messages.append({"role": "user", "content": line})
        while (reply := careful(messages, refusing)).get("tool_calls"):
            messages.append(reply)
            for call in reply["tool_calls"]:
                name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                is_first = name == tools.CREATE_TICKET and arguments["department_code"] == "IT"
                text = 'department_code: expected one of HR; got "IT"' if is_first else desk.call(name, arguments).text
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        messages.append(reply)
    replies = [message["content"] for message in messages if message["role"] == "assistant" and message["content"]]
    assert "expected one of HR" in replies[1]
    assert "department" in replies[1].splitlines()[-1]
    assert desk.state()["tickets"]["TKT-1041"]["department_code"] == "HR"


def test_only_listed_tools_are_called() -> None:
    log = run_conversation([*PLAIN, "bye"], offered=[])
    assert not log.calls
    assert "cannot be done here" in log.replies[-2]


@pytest.mark.parametrize("text", ["boom", "[]", "{}", "null", '{"tickets": 3}', '{"error": "down"}', ""])
def test_agent_replies_to_any_tool_result(text: str) -> None:
    messages: list[dict[str, Any]] = []
    for line in ("find the printer ticket", f"close {DOOR}", "list the action items of " + DOOR, "how does this work?", *COMMAND, "no"):
        messages.append({"role": "user", "content": line})
        while (reply := careful(messages, OFFERED)).get("tool_calls"):
            messages += [reply, *({"role": "tool", "tool_call_id": call["id"], "content": text} for call in reply["tool_calls"])]
        messages.append(reply)
        assert reply["content"]


def test_agent_greets_when_there_are_no_messages() -> None:
    assert "help desk" in careful([{"role": "system", "content": "x"}], OFFERED)["content"]


def test_first_message_selects_faults_in_about_half_of_the_conversations() -> None:
    firsts = [f"I need ticket number {number}" for number in range(400)]
    assert [faults_for(first) for first in firsts] == [faults_for(first) for first in firsts]
    of_tickets = {"forgets the second action item", "due dates a day late"}
    faulty = [first for first in firsts if {fault.name for fault in faults_for(first)} - of_tickets]
    assert 0.4 < len(faulty) / len(firsts) < 0.6
    assert {fault.name for first in firsts for fault in faults_for(first)} == {fault.name for fault in FAULTS}


def opening_with(fault: str) -> str:
    wanted = (f"Hello number {number}, I need to open a support ticket." for number in range(5000))
    return next(first for first in wanted if [found.name for found in faults_for(first)] == [fault])


TWO_ITEMS = [*PLAIN[1:], "I need an action item", *ITEM_LINES, "another action item please", *ITEM_LINES]


@pytest.mark.parametrize("fault", [fault.name for fault in FAULTS])
def test_each_fault_of_the_sloppy_agent_shows(fault: str) -> None:
    lines = [opening_with(fault), *TWO_ITEMS]
    expected_writes = run_conversation(lines).writes
    if fault == "leaves out the expected outcome":
        lines.remove(TICKET["expected_outcome"])
    if fault == "leaves out the description":
        lines = [line for line in lines if line not in (PLAIN[4], ITEM["description"])]
    if fault == "guesses the priority Medium":
        lines[lines.index(PLAIN[3])] = "expedited"
    if fault == "writes without a confirmation":
        lines = [line for line in lines if not line.startswith("Yes")]
    log_with_fault = run_conversation(lines, sloppy)
    assert len(expected_writes) == 3
    first, last = log_with_fault.writes[0][1], log_with_fault.writes[-1][1]
    shows = {
        "leaves out the expected outcome": "expected_outcome" not in first,
        "leaves out the description": "description" not in first,
        "guesses the priority Medium": first["priority"] == "Medium",
        "looks nothing up": tools.LIST_DEPARTMENTS not in [name for name, _ in log_with_fault.calls],
        "writes without a confirmation": log_with_fault.writes == expected_writes,  # without a yes
        "writes everything twice": len(log_with_fault.writes) == 6,
        "forgets the second action item": len(log_with_fault.writes) == 2,
        "due dates a day late": last.get("due_date") == "2025-05-11",
    }
    assert shows[fault]


def test_sloppy_agent_completes_every_kind_of_conversation() -> None:
    lines = ["set its priority to High", "yes", "close TKT-1005", "yes", "list the action items of TKT-1005", "add an action item"]
    for number in range(30):
        log = run_conversation([f"Hello {number}, look up TKT-1002", *lines, *ITEM_LINES, "That's all, goodbye"], sloppy)
        assert "Goodbye" in log.replies[-1]


CHOICES = {
    "department_code": {words.casefold(): department.code for department in DEPARTMENTS for words in (department.code, department.name)},
    "priority": {priority.name.casefold(): priority.name for priority in PRIORITIES},
    "workflow_type": {workflow.name.casefold(): workflow.name for workflow in WORKFLOW_TYPES},
}


@pytest.mark.parametrize(
    "requested_slot, text, expected",
    [
        ("title", "Sure! Let's call it Printer jam on floor 3, please. Thanks so much!", "Printer jam on floor 3"),
        ("title", "It's called Write-off of old chairs", "Write-off of old chairs"),
        ("title", "Write the invitation", "Write the invitation"),
        ("title", "i'd go with printer jam", "Printer jam"),
        ("title", "I don't know", None),
        ("title", "What do you mean?", None),
        ("department_code", "it", "IT"),
        ("department_code", "That's for our finance team", "FIN"),
        ("department_code", "whoever can fix it", None),
        ("priority", "not critical, just high", "High"),
        ("priority", "as urgent as it gets", "Critical"),
        ("priority", "banana", None),
        ("workflow_type", "fast track", "Expedited"),
        ("description", "It is broken. It beeps since Monday. Thanks!", "It is broken. It beeps since Monday."),
        ("description", "Users report that the priority is high for all tickets", "Users report that the priority is high for all tickets"),
        ("description", "The printer of the HR department is empty", "The printer of the HR department is empty"),
        ("expected_outcome", "We want the printer to print", "The printer to print"),
        ("assigned_to", "please give it to John Smith", "John Smith"),
        ("assigned_to", "maria", "maria"),
        ("assigned_to", "Anne-Marie van der Berg should take it", "Anne-Marie van der Berg"),
        ("due_date", "by the end of the month", "2025-05-31"),
    ],
)
def test_slot_answer_is_parsed(requested_slot: str, text: str, expected: str | None) -> None:
    slots = ("title", "department_code", "priority", "workflow_type", "description", "expected_outcome", "assigned_to", "due_date")
    assert extract_slots(text, slots, requested_slots=(requested_slot,), choices=CHOICES, today=TODAY) == (
        {requested_slot: expected} if expected else {}
    )


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Actually make that High", {"priority": "High"}),
        ("No, the department is HR", {"department_code": "HR"}),
        ("not IT, Finance", {"department_code": "FIN"}),
        ("Change the priority from Medium to Critical please", {"priority": "Critical"}),
        ("Wait, the title should be Server is down again.", {"title": "Server is down again"}),
        ("yes but the workflow should be expedited", {"workflow_type": "Expedited"}),
        ("Yes, the title is fine", {}),
        ("Yes, IT with priority Medium", {}),
    ],
)
def test_correction_is_parsed(text: str, expected: dict[str, str]) -> None:
    current = {"title": "Server down", "department_code": "IT", "priority": "Medium", "workflow_type": "Standard"}
    assert extract_changes(text, current, tuple(current), choices=CHOICES, today=TODAY) == expected


@pytest.mark.parametrize(
    "text, iso",
    [
        ("2025-05-10", "2025-05-10"),
        ("due on 10 May 2025", "2025-05-10"),
        ("May 10th", "2025-05-10"),
        ("March 3", "2026-03-03"),
        ("10.5.2025", "2025-05-10"),
        ("5/20/2025", "2025-05-20"),
        ("2025/5/9", "2025-05-09"),
        ("5/10/2025", None),
        ("31 February 2025", None),
        ("tomorrow", "2025-05-02"),
        ("in two weeks", "2025-05-15"),
        ("next Friday", "2025-05-02"),
        ("Thursday", "2025-05-08"),
        ("as soon as you may", None),
    ],
)
def test_date_mention_is_parsed(text: str, iso: str | None) -> None:
    found = find_date(text, TODAY)
    assert (found.iso if found else None) == iso


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("I need a ticket with two action items", ["open ticket", "add item", "add item"]),
        ("show me the open tickets of IT", ["find"]),
        ("I want to raise the priority of TKT-1003", ["change ticket"]),
        ("I want to raise a ticket", ["open ticket"]),
        ("open a ticket about deleting old user accounts", ["open ticket"]),
        ("Please delete it", ["refuse"]),
        ("what action items does TKT-1003 have?", ["list items"]),
        ("There is a ticket, TKT-1037, and I would like to add an action item to it.", ["find", "add item"]),
        ("TKT-1009: priority High", ["change ticket"]),
        ("How does this work?", ["explain"]),
        ("which departments are there?", ["list reference"]),
        ("banana", []),
    ],
)
def test_intents_are_detected(text: str, kinds: list[str]) -> None:
    assert [intent.kind for intent in detect_intents(text)] == kinds


@pytest.mark.parametrize(
    "text, query",
    [
        ("find the ticket about the printer", "printer"),
        ("is there a VPN ticket?", "VPN"),
        ('tickets that mention "spring fair" please', "spring fair"),
        ("show me all tickets", ""),
    ],
)
def test_search_query_is_extracted(text: str, query: str) -> None:
    assert find_query(text) == query


def test_policy_rules_are_valid() -> None:
    rules = read_rules(yaml.safe_load((Path(helpdesk.__file__).parent / "policy.yaml").read_text()))
    assert {rule.kind for rule in rules} == {"before", "confirmed", "once_per_confirmation", "never", "at_most"}
