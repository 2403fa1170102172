"""Parsing agent turns. Most of the sentences were written after the code, which was then fixed where it failed."""

import pytest

from callmark.simulation.users.rule_based.agent_turn import parse_agent_turn
from callmark.simulation.users.rule_based.tasks import Task, read_tasks
from callmark.types import Case, Tool
from tests.simulation.form_agents import MEMORY, SERVER, action_item, scenario, ticket

TICKET, ITEM, CHANGE, SEARCH = read_tasks(
    scenario(
        ticket(),
        action_item(),
        {"goal": "update a ticket", "slots": {"ticket_id": "TKT-0012", "status": "Closed", "comment": "Works again"}},
        {"goal": "search tickets", "slots": {"query": "VPN", "status": "Open"}},
    )
)


@pytest.mark.parametrize(
    "task, said, slots",
    [
        (TICKET, "What should the ticket be called?", "title"),
        (TICKET, "Which team should look at this?", "department_code"),
        (TICKET, "How urgent is it?", "priority"),
        (TICKET, "Could you describe what is going wrong in a bit more detail?", "description"),
        (TICKET, "What would you like to see once this is fixed?", "expected_outcome"),
        (TICKET, "Standard or Expedited?", "workflow_type"),
        (TICKET, "Thanks. What is the subject line?", "title"),
        (TICKET, "Great, thanks for the title! Now, what department is this for?", "department_code"),
        (TICKET, "Please provide a title, a department and the priority.", "title department_code priority"),
        (TICKET, "I still need the following:\n- Title\n- Department", "title department_code"),
        (TICKET, "Is this Low, Medium, High or Critical?", "priority"),
        (TICKET, "Before I create the ticket, which priority should it have?", "priority"),
        (TICKET, "So that the right team can pick it up, how important is it?", "priority"),
        (TICKET, "Which workflow shall I use for it?", "workflow_type"),
        (TICKET, "Can you tell me more about the problem?", "description"),
        (TICKET, "What happened exactly?", "description"),
        (TICKET, "Sorry to hear that! Let's get a ticket opened. What would be a good short title?", "title"),
        (TICKET, "What result do you expect?", "expected_outcome"),
        (TICKET, "Which department does this belong to, and how severe is the problem?", "department_code priority"),
        (TICKET, "Title?", "title"),
        (TICKET, "Priority (Low/Medium/High/Critical):", "priority"),
        (TICKET, "Enter the department code:", "department_code"),
        (ITEM, "Who should take care of it?", "assigned_to"),
        (ITEM, "By when does it have to be done?", "due_date"),
        (ITEM, "Who is it for, and when is the deadline?", "assigned_to due_date"),
        (ITEM, "And the owner?", "assigned_to"),
        (ITEM, "What needs to be done exactly?", "description"),
        (ITEM, "To whom shall I assign the action item?", "assigned_to"),
        (ITEM, "What's the name of the action item?", "title"),
        (ITEM, "Is there a due date?", "due_date"),
        (ITEM, "Should I set a deadline?", "due_date"),
        (CHANGE, "Which ticket do you want to change?", "ticket_id"),
        (CHANGE, "What is the ticket number?", "ticket_id"),
        (CHANGE, "What should the new status be?", "status"),
        (CHANGE, "Do you want to leave a note?", "comment"),
        (SEARCH, "What should I search for?", "query"),
        (SEARCH, "What are you looking for?", "query"),
        (SEARCH, "Any particular status?", "status"),
        (TICKET, "Could I get a headline for this request?", "title"),
        (TICKET, "Let's give it a name. Any suggestion?", "title"),
        (TICKET, "How would you sum it up in one line?", "title"),
        (TICKET, "What do you want to call this ticket?", "title"),
        (TICKET, "Under which subject should I file it?", "title"),
        (TICKET, "Okay! And what's actually broken?", "description"),
        (TICKET, "Please walk me through the symptoms you are seeing.", "description"),
        (TICKET, "Mind elaborating on the issue a little?", "description"),
        (TICKET, "Give me some background on the problem, please.", "description"),
        (TICKET, "Help me understand what is going on.", "description"),
        (TICKET, "Whose area is this: IT, HR or Facilities?", "department_code"),
        (TICKET, "Which part of the organisation does it concern?", "department_code"),
        (TICKET, "Is it for HR or IT?", "department_code"),
        (TICKET, "Could you let me know the responsible division?", "department_code"),
        (TICKET, "What severity would you give it?", "priority"),
        (TICKET, "How fast do we have to react?", "priority"),
        (TICKET, "On a scale from Low to Critical, how pressing is this?", "priority"),
        (TICKET, "Can this wait or is it an emergency?", "priority"),
        (TICKET, "Kindly state the urgency of the matter.", "priority"),
        (TICKET, "Should it go through the standard track or be expedited?", "workflow_type"),
        (TICKET, "What kind of process applies here?", "workflow_type"),
        (TICKET, "Do you want the Standard workflow or the Expedited one?", "workflow_type"),
        (TICKET, "How will we know that it has been solved?", "expected_outcome"),
        (TICKET, "What are you hoping for in the end?", "expected_outcome"),
        (TICKET, "What's the desired end state?", "expected_outcome"),
        (TICKET, "Tell me what a good result would be.", "expected_outcome"),
        (TICKET, "To log this I need: the subject, the department, and how urgent it is.", "title department_code priority"),
        (TICKET, "Mandatory fields still open are priority and workflow type - what should I enter there?", "priority workflow_type"),
        (TICKET, "May I have the title and the description, please?", "title description"),
        (TICKET, "Noted, IT it is. How critical is the situation?", "priority"),
        (TICKET, "With that title, I'd suggest IT. Does the department fit?", "department_code"),
        (ITEM, "Whom shall I put down as owner?", "assigned_to"),
        (ITEM, "Who's going to handle it?", "assigned_to"),
        (ITEM, "Which colleague will be in charge?", "assigned_to"),
        (ITEM, "Give me the name of the person responsible.", "assigned_to"),
        (ITEM, "Is there someone you'd like to assign it to?", "assigned_to"),
        (ITEM, "What's the deadline for John?", "due_date"),
        (ITEM, "How much time do we have for it?", "due_date"),
        (ITEM, "On which day must it be finished?", "due_date"),
        (ITEM, "When would you like this completed?", "due_date"),
        (ITEM, "What is the target date, and who is the owner?", "due_date assigned_to"),
        (ITEM, "What exactly has to be done?", "description"),
        (ITEM, "Which title would you like for the action item?", "title"),
        (CHANGE, "Could you give me the reference of the ticket in question?", "ticket_id"),
        (CHANGE, "Which one do you mean?", "ticket_id"),
        (CHANGE, "Do you know the ID?", "ticket_id"),
        (CHANGE, "What state should I move it to?", "status"),
        (CHANGE, "Would you like to leave a remark as well?", "comment"),
        (SEARCH, "Which keywords should I use?", "query"),
        (SEARCH, "What shall I look up?", "query"),
        (SEARCH, "Do you want only tickets with a certain status?", "status"),
        (TICKET, "What name shall we put on the request?", "title"),
        (TICKET, "A brief heading, please.", "title"),
        (TICKET, "Which words best summarize your request?", "title"),
        (TICKET, "What seems to be the trouble?", "description"),
        (TICKET, "Would you mind explaining the situation?", "description"),
        (TICKET, "Could you share some more context?", "description"),
        (TICKET, "I'd like to hear more about the fault.", "description"),
        (TICKET, "Which department is affected?", "department_code"),
        (TICKET, "Where should I route this: IT or Finance?", "department_code"),
        (TICKET, "What's the importance of this request?", "priority"),
        (TICKET, "How bad is it?", "priority"),
        (TICKET, "Pick a priority: Low / Medium / High / Critical", "priority"),
        (TICKET, "How should the request be processed, standard or expedited?", "workflow_type"),
        (TICKET, "What would count as solved for you?", "expected_outcome"),
        (TICKET, "What should happen as a result?", "expected_outcome"),
        (TICKET, "Please fill in the remaining fields: department, priority.", "department_code priority"),
        (TICKET, "A few questions: 1) what's the title? 2) which department? 3) how urgent?", "title department_code priority"),
        (TICKET, "Got it. I also need to know how urgent this is.", "priority"),
        (TICKET, 'Alright, the title is "Server performance degradation". Next, the description?', "description"),
        (TICKET, "Do you have a preference for the workflow?", "workflow_type"),
        (ITEM, "Who will work on this?", "assigned_to"),
        (ITEM, "Tell me who should own it.", "assigned_to"),
        (ITEM, "Which engineer do you want to assign?", "assigned_to"),
        (ITEM, "And until when?", "due_date"),
        (ITEM, "What date should I note down?", "due_date"),
        (ITEM, "When's it due?", "due_date"),
        (ITEM, "Do you have a date in mind?", "due_date"),
        (ITEM, "How would you describe the work to be done?", "description"),
        (ITEM, "Name the action item.", "title"),
        (ITEM, "Person responsible?", "assigned_to"),
        (CHANGE, "Please enter the ticket ID.", "ticket_id"),
        (CHANGE, "Do you happen to have the ticket number handy?", "ticket_id"),
        (CHANGE, "Set it to which status?", "status"),
        (CHANGE, "Anything you'd like to note for the record?", "comment"),
        (SEARCH, "What keywords describe it?", "query"),
        (SEARCH, "Which text are we searching for?", "query"),
        (TICKET, "So, what would you like to name this request?", "title"),
        (TICKET, "Give me a catchy one-line summary.", "title"),
        (TICKET, "What do we put in the subject field?", "title"),
        (TICKET, "And the details of the incident?", "description"),
        (TICKET, "What went wrong?", "description"),
        (TICKET, "Can you paint me a picture of what's happening?", "description"),
        (TICKET, "Which team owns this kind of problem?", "department_code"),
        (TICKET, "Is this one for IT, Finance or HR?", "department_code"),
        (TICKET, "Who should this be routed to - which department?", "department_code"),
        (TICKET, "On the urgency: low, medium, high or critical?", "priority"),
        (TICKET, "How much of a hurry are you in?", "priority"),
        (TICKET, "What level of priority are we talking about?", "priority"),
        (TICKET, "Do you need this expedited?", "workflow_type"),
        (TICKET, "Which of the workflows fits best?", "workflow_type"),
        (TICKET, "Once we're finished, what should be different?", "expected_outcome"),
        (TICKET, "What outcome are you after?", "expected_outcome"),
        (ITEM, "Who gets this one?", "assigned_to"),
        (ITEM, "Which person should I assign this to?", "assigned_to"),
        (ITEM, "What's the due date we should aim for?", "due_date"),
        (ITEM, "How long does he have for this?", "due_date"),
        (ITEM, "What is the work about?", "description"),
        (ITEM, "What's a fitting title?", "title"),
        (CHANGE, "Which ticket is this about?", "ticket_id"),
        (CHANGE, "To what should I set the status?", "status"),
        (SEARCH, "What term do you want me to search?", "query"),
    ],
)
def test_question_asks_for_its_slots_in_any_wording(task: Task, said: str, slots: str) -> None:
    assert set(parse_agent_turn(said, task.slots, is_update=task.is_update).slots) == set(slots.split())


@pytest.mark.parametrize(
    "task, said, meaning",
    [
        (TICKET, "Shall I create the ticket?", "asks_confirmation"),
        (TICKET, "Is that correct?", "asks_confirmation"),
        (TICKET, "Does everything look right to you?", "asks_confirmation"),
        (TICKET, "Here is the summary. Title: Server performance degradation, Priority: High. OK to submit?", "asks_confirmation"),
        (TICKET, "Is there anything else I can help you with?", "asks_anything_else"),
        (TICKET, "Your ticket TKT-0042 has been created. Anything else?", "is_done asks_anything_else"),
        (TICKET, "I've opened ticket TKT-0042 for you.", "is_done"),
        (TICKET, "I'm sorry, I can't do that.", "is_refusal"),
        (TICKET, "Unfortunately that is not allowed by our policy.", "is_refusal"),
        (TICKET, "How can I help you today?", "asks_goal"),
        (TICKET, "Would you like to add an action item to this ticket?", "offer"),
        (TICKET, "Anything else you would like to add to the ticket before I create it?", "asks_to_add"),
        (TICKET, "I'll create the ticket with priority High. Is that alright?", "asks_confirmation"),
        (TICKET, "Please confirm.", "asks_confirmation"),
        (TICKET, "Reply YES to submit.", "asks_confirmation"),
        (TICKET, "What's your budget?", ""),
        (TICKET, "When do you need it by?", ""),
        (CHANGE, "What would you like to change?", "asks_what_to_change"),
        (CHANGE, 'I found TKT-0012: "VPN is down in the Berlin office". Is this the one you mean?', "asks_which_one"),
        (CHANGE, "Shall I close ticket TKT-0012 now?", "asks_confirmation"),
        (CHANGE, "Ticket TKT-0012 is now Closed.", "is_done"),
        (SEARCH, "Here are the tickets I found: TKT-0001, TKT-0002.", "is_found"),
        (TICKET, "I have everything. Ready for me to submit?", "asks_confirmation"),
        (TICKET, "Just to double-check: you'd like a Critical ticket for IT, right?", "asks_confirmation"),
        (TICKET, "Want me to go ahead and file it?", "asks_confirmation"),
        (TICKET, "If you agree, I will register it now. Do you agree?", "asks_confirmation"),
        (TICKET, "Are these details accurate?", "asks_confirmation"),
        (TICKET, "Once you say yes I will save it. Yes?", "asks_confirmation"),
        (TICKET, "Did I get everything right?", "asks_confirmation"),
        (TICKET, "That's been taken care of, your reference is INC-2231.", "is_done"),
        (TICKET, "All set! The request was filed under TKT-77.", "is_done"),
        (TICKET, "The ticket has not been created yet.", ""),
        (TICKET, "I will create the ticket once I know the priority.", ""),
        (TICKET, "It has been logged successfully.", "is_done"),
        (TICKET, "Created: TKT-0102.", "is_done"),
        (TICKET, "I'm unable to delete tickets.", "is_refusal"),
        (TICKET, "Deleting tickets isn't something I can do.", "is_refusal"),
        (TICKET, "You are not permitted to do this, only administrators can.", "is_refusal"),
        (TICKET, "Is there something more I can do for you?", "asks_anything_else"),
        (TICKET, "Do you need help with anything further?", "asks_anything_else"),
        (TICKET, "Will that be all for today?", "asks_anything_else"),
        (TICKET, "What can I do for you?", "asks_goal"),
        (TICKET, "Sorry, I didn't catch that. Could you rephrase?", "asks_goal"),
        (ITEM, "When did the problem start?", ""),
        (CHANGE, "Which fields should be modified?", "asks_what_to_change"),
        (CHANGE, "Tell me what has to be updated.", "asks_what_to_change"),
        (CHANGE, "Can I mark it as Closed now?", "asks_confirmation"),
        (SEARCH, "There are no matching tickets.", "is_found"),
        (TICKET, "Is everything as you'd expect it? Then I'll send it off.", "asks_confirmation"),
        (TICKET, "Okay to file this?", "asks_confirmation"),
        (TICKET, "So we're opening a Critical ticket with IT. Shall we?", "asks_confirmation"),
        (TICKET, "Here's your draft:\nTitle: X\nPriority: High\nConfirm?", "asks_confirmation"),
        (TICKET, "Your request is now in our system as INC0009.", "is_done"),
        (TICKET, "I have gone ahead and opened TKT-9.", "is_done"),
        (TICKET, "Ticket created.", "is_done"),
        (TICKET, "Done!", "is_done"),
        (TICKET, "Saved. Do you have any other requests?", "is_done asks_anything_else"),
        (TICKET, "Our rules do not allow me to do this.", "is_refusal"),
        (TICKET, "I am afraid that is beyond what I may do.", "is_refusal"),
        (TICKET, "Can I assist you with anything else?", "asks_anything_else"),
        (TICKET, "Shall we end the session?", "asks_anything_else"),
        (TICKET, "Let me know if you need anything else.", "asks_anything_else"),
        (TICKET, "Good morning! What's on your mind?", "asks_goal"),
        (TICKET, "I could not understand your message. What do you want to do?", "asks_goal"),
        (ITEM, "What task should be recorded?", ""),
        (CHANGE, "What changes would you like to make?", "asks_what_to_change"),
        (CHANGE, "How should I adjust the ticket?", "asks_what_to_change"),
        (CHANGE, "Done, TKT-0012 was moved to Closed.", "is_done"),
        (TICKET, "Shall I send this off?", "asks_confirmation"),
        (TICKET, "Everything correct so far?", "asks_confirmation"),
        (TICKET, "May I submit it now?", "asks_confirmation"),
        (TICKET, "Please check the above and tell me if I can go ahead.", "asks_confirmation"),
        (TICKET, "It's in! Your number is TKT-0311.", "is_done"),
        (TICKET, "I've gone and raised that for you.", "is_done"),
        (TICKET, "Sorry, no can do.", "is_refusal"),
        (TICKET, "I don't have the authority for that.", "is_refusal"),
        (TICKET, "Anything more on your list today?", "asks_anything_else"),
        (TICKET, "Do you have another request?", "asks_anything_else"),
        (CHANGE, "So what's the update?", "asks_what_to_change"),
    ],
)
def test_turns_without_a_question_about_a_slot_are_distinguished(task: Task, said: str, meaning: str) -> None:
    turn = parse_agent_turn(said, task.slots, is_update=task.is_update)
    names = ("asks_confirmation", "asks_which_one", "asks_to_add", "asks_anything_else", "asks_goal", "asks_what_to_change")
    found = {name for name in (*names, "offer", "is_refusal", "is_done") if getattr(turn, name)}
    found |= {"is_found"} if meaning == "is_found" and turn.is_found else set()
    assert not turn.slots
    assert found == set(meaning.split())


def test_slots_are_in_the_order_of_the_question() -> None:
    turn = parse_agent_turn("How urgent is it, which department is it for, and what is the title?", TICKET.slots)
    assert turn.slots == ["priority", "department_code", "title"]


def test_words_in_the_users_values_are_not_questions() -> None:
    (task,) = read_tasks(scenario(ticket(slots={**SERVER, "title": "Who assigns the priority by the due date?"})))
    turn = parse_agent_turn(
        'I have noted "Who assigns the priority by the due date?" as the title. Which department is it for?', task.slots
    )
    assert turn.slots == ["department_code"]


def test_problem_in_a_read_back_is_not_a_refusal() -> None:
    problem = "We cannot log in and it is not possible to work"
    (task,) = read_tasks(scenario(ticket(slots={**SERVER, "description": problem})))
    turn = parse_agent_turn(f"Description: {problem}\nI noted that {problem.lower()}. Correct?", task.slots)
    assert turn.asks_confirmation
    assert not turn.is_refusal


@pytest.mark.parametrize(
    "said, slot",
    [
        ("What is the loyalty tier of the passenger?", "membership"),
        ("How many bags will be checked in?", "total_baggages"),
        ("Should I include insurance?", "insurance"),
        ("Which cabin would you prefer?", "cabin"),
        ("Do you have a membership?", "membership"),
        ("Economy, business or first?", "cabin"),
    ],
)
def test_uncommon_slots_are_found_by_name_description_or_values(said: str, slot: str) -> None:
    properties = {
        "membership": {"type": "string", "description": "Loyalty tier of the passenger"},
        "total_baggages": {"type": "integer", "description": "How many bags are checked in"},
        "insurance": {"type": "boolean"},
        "cabin": {"type": "string", "enum": ["basic", "economy", "business"]},
    }
    tool = Tool("book", "", {"type": "object", "properties": properties})
    slots = {"membership": "gold", "total_baggages": 2, "insurance": True, "cabin": "business"}
    (task,) = read_tasks(Case("c", (), (tool,), instructions="…", data={"tasks": [{"goal": "book a flight", "slots": slots}]}))
    assert parse_agent_turn(said, task.slots).slots == [slot]


@pytest.mark.parametrize(
    "name, said",
    [
        ("dueDate", "By when?"),
        ("assignee", "Who should do it?"),
        ("owner_name", "Who is in charge?"),
        ("customer_email", "What's your e-mail?"),
        ("ticket-id", "What is the ticket number?"),
        ("start_time", "What time suits you?"),
        ("destination", "Where do you want to fly to?"),
        ("num_guests", "And the guests?"),
        ("reason", "Why do you want to cancel it?"),
        ("shipping_address", "Where should we send it?"),
        ("search_text", "What are you looking for?"),
        ("quantity", "How many of them?"),
    ],
)
def test_name_of_an_argument_determines_its_concept(name: str, said: str) -> None:
    (task,) = read_tasks(scenario({"goal": "do it", "slots": {name: "x1", "zzz": "y"}}))
    assert parse_agent_turn(said, task.slots).slots == [name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "?",
        "???",
        "…",
        "🎉🎉",
        "Какой приоритет?",
        "优先级是什么？",
        "¿Qué?",
        "<b></b>",
        "| | |",
        "\ud800?",
        "- \n- \n- ?",
        "a" * 1_000_000,
        "who? " * 200_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_no_agent_text_raises(text: str) -> None:
    for task in (TICKET, ITEM, CHANGE, SEARCH):
        parse_agent_turn(text, task.slots, is_update=task.is_update)


def test_options_come_from_a_list_or_a_sentence() -> None:
    listed = parse_agent_turn("Which one?\n1. TKT-0001: Printer\n2. TKT-0002: VPN", SEARCH.slots)
    inline = parse_agent_turn("Which department (IT, HR or Finance)?", ITEM.slots)
    assert listed.options == ["TKT-0001: Printer", "TKT-0002: VPN"]
    assert inline.options == ["IT", "HR", "Finance"]
    assert inline.unknown_concepts == ["department"]


def test_list_of_needed_details_asks_for_all_of_them() -> None:
    text = "Please send me:\n* the title\n* who does it\n* what has to be done\n* by when"
    assert set(parse_agent_turn(text, ITEM.slots).slots) == set(MEMORY)
