"""Checking a read-back: another spelling is correct, another value is wrong."""

import pytest

from callmark.simulation.users.rule_based.read_back import find_wrong_values, is_same_value, mentions_value
from callmark.simulation.users.rule_based.tasks import read_tasks
from tests.simulation.form_agents import action_item, scenario, ticket

TICKET, ITEM = read_tasks(scenario(ticket(says={"department_code": "the people in computing"}), action_item()))


def wrong(text: str) -> dict[str, str]:
    slots = {**ITEM.slots, **TICKET.slots}
    return find_wrong_values(text, slots, {name: slot.text for name, slot in slots.items()}, other_slots=list(ITEM.slots.values()))


@pytest.mark.parametrize(
    "text",
    [
        "Title: Server performance degradation\nPriority: Critical\nDepartment: IT\nDue: 2025-05-10. Correct?",
        "**Priority:** critical | **Department:** Information Technology (IT)",
        "| Field | Value |\n| Priority | Critical |\n| Due date | 10 May 2025 |",
        "I'll open a Critical priority ticket for IT titled 'Server performance degradation', okay?",
        "Department: the computing people, priority level: Critical, assigned to: John Smith",
        "The due date is May 10, 2025 and it is assigned to John Smith.",
        "Title: Increase server memory allocation. Is that right?",
        "Is the priority right?",
        "Shall I set the priority to what you said?",
        "Department: Info Tech. Shall I go on?",
        "Workflow: expedited\nStatus: new",
        "The title is fine. The priority is important to us. Shall I?",
        "",
        "🎉" * 1000,
    ],
)
def test_correct_and_missing_values_are_not_wrong(text: str) -> None:
    assert wrong(text) == {}


@pytest.mark.parametrize(
    "text, found",
    [
        ("Priority: High. Correct?", {"priority": "High"}),
        ("- **Priority**: High\n- **Department**: HR", {"priority": "High", "department_code": "HR"}),
        ("priority = low; department = FIN", {"priority": "low", "department_code": "FIN"}),
        ("| Priority | Low |", {"priority": "Low"}),
        ("I'll open a High priority ticket. Okay?", {"priority": "high"}),
        ("The priority is High, right?", {"priority": "High"}),
        ("Priority set to Medium. Shall I save it?", {"priority": "Medium"}),
        ("Title: Printer is broken. Submit?", {"title": "Printer is broken"}),
        ("Assigned to: Mary Jones", {"assigned_to": "Mary Jones"}),
        ("It is due by 2025-06-01. Correct?", {"due_date": "2025-06-01"}),
        ("Due date: 11 May 2025", {"due_date": "11 May 2025"}),
        ("Due date: (none)", {"due_date": ""}),
        ("Workflow type: Standard", {"workflow_type": "Standard"}),
    ],
)
def test_another_value_in_its_place_is_wrong(text: str, found: dict[str, str]) -> None:
    assert wrong(text) == found


@pytest.mark.parametrize(
    "value, text, same",
    [
        ("IT", "Information Technology", True),
        ("FAC", "Facilities", True),
        ("HR", "Human Resources", True),
        ("HR", "Finance", False),
        ("2025-05-10", "10 May 2025", True),
        ("2025-05-10", "May 11, 2025", False),
        ("High", "high priority", True),
        ("High", "higher", False),
        ("John Smith", "Mr John Smith", True),
        ("John Smith", "John Smythe", False),
        ("2", "two", False),
    ],
)
def test_equivalent_spellings_are_the_same_value(value: str, text: str, same: bool) -> None:
    assert is_same_value(value, text) is same


@pytest.mark.parametrize(
    "text, value, is_mentioned",
    [
        ("it is slow", "IT", False),
        ("for IT.", "IT", True),
        ("Our server performance degradation again", "Server performance degradation", True),
        ("until 10 May 2025", "2025-05-10", True),
        ("server", "Server performance degradation", False),
    ],
)
def test_mentioned_values_are_found(text: str, value: str, is_mentioned: bool) -> None:
    assert mentions_value(text, value) is is_mentioned
