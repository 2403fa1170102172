"""Parse an agent turn: what it asks, offers, refuses and reports. Only patterns are used, so any agent's wording works.

Nothing raises: a text that no pattern matches, in any language, is an empty turn or one with an unknown question.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from callmark.simulation.users.rule_based.phrases import (
    ABOUT_EXISTING,
    ALL_DETAILS,
    ALSO,
    ALTERNATIVE,
    ANYTHING_TO_ADD,
    ASKS_ANYTHING_ELSE,
    ASKS_CONFIRMATION,
    CHOICE,
    DONE,
    DONE_AUXILIARY,
    FOUND,
    GIVES_REFERENCE,
    IDENTIFIER,
    IDENTIFY,
    INTENT,
    LEAVING,
    NOT_A_CONFIRMATION,
    NOT_YET,
    OFFER,
    OPEN_QUESTION,
    PAST_DATE,
    READ_BACK,
    REFUSAL,
    WHAT_TO_CHANGE,
    WOULD_ADD,
)
from callmark.simulation.users.rule_based.sentences import Sentence, clauses, clean_text, is_wh_question, sentences
from callmark.simulation.users.rule_based.slot_matching import (
    find_named_slots,
    find_options,
    find_slots_by_choice,
    find_slots_by_description,
    find_slots_by_list,
    find_slots_by_value,
    slot_key,
)
from callmark.simulation.users.rule_based.tasks import Slot

_MAX_SENTENCES = 60  # from the end, plus a quarter as many from the start
_COMMON_ENGLISH = re.compile(
    r"\b(?:the|an?|i|i'm|i've|you|your|we|it|it's|is|are|was|be|to|of|for|and|or|in|on|at|with|this|that|what|which|who|when|how|have|has|"
    r"do|does|can|will|not|no|yes|ok|okay|please|thanks|thank|done|sure|hello|hi|goodbye|bye|sorry|all|more|anything|created|updated|"
    r"booked|one|moment|my|me)\b"
)
_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|(?<!\w)'([^'\n]{3,400})'(?!\w)")


class AgentTurn(Struct):
    """A parsed agent turn.

    `slots` are the user's slots that it asks for, `unknown_concepts` what else it asks for, `options` the choices it offers,
    `question_text` the text of all its questions, `offer` the text of an offer of something else.
    `asks_confirmation`: to confirm what the agent is about to do; `asks_about_intent`: to confirm what the user wants; `asks_which_one`:
    whether a record is the right one; `asks_to_add`: whether there is something to add; `asks_goal`: what the user wants.
    `is_other_language`: it has letters, but no common English word.
    """

    slots: list[str] = []
    unknown_concepts: list[str] = []
    options: list[str] = []
    question_text: str = ""
    asks_confirmation: bool = False
    asks_about_intent: bool = False
    asks_which_one: bool = False
    asks_to_add: bool = False
    asks_anything_else: bool = False
    asks_goal: bool = False
    asks_all_details: bool = False
    asks_what_to_change: bool = False
    offer: str = ""
    has_unknown_question: bool = False
    is_refusal: bool = False
    has_alternative: bool = False
    is_done: bool = False
    is_found: bool = False
    is_other_language: bool = False


def parse_agent_turn(text: str, slots: Mapping[str, Slot], *, is_update: bool = False) -> AgentTurn:
    """Parse an agent turn against the user's slots. `is_update`: the user wants a change, so a reported change may complete the task."""
    text = clean_text(text)
    turn = AgentTurn(is_other_language=_is_other_language(text))
    parts = list(sentences(text))
    if len(parts) > _MAX_SENTENCES:
        parts = parts[: _MAX_SENTENCES // 4] + parts[-_MAX_SENTENCES:]
    for sentence in parts:
        masked = _without_quotes_and_values(sentence.text, slots)
        if sentence.is_question:
            turn.question_text += f" {masked.casefold()}"
            _read_question(sentence, masked, slots, turn)
        elif not sentence.is_list_item:
            _read_statement(sentence.text, masked.casefold(), slots, turn, is_update=is_update)
    if (turn.has_unknown_question or turn.unknown_concepts) and not (
        turn.slots or turn.asks_confirmation or turn.asks_anything_else or turn.asks_which_one
    ):
        turn.slots += find_slots_by_list(text, slots)
    turn.asks_about_intent = turn.asks_confirmation and INTENT.search(turn.question_text) is not None
    turn.options = find_options(parts) if turn.question_text and CHOICE.search(turn.question_text) else []
    turn.slots = list(dict.fromkeys(turn.slots))
    turn.unknown_concepts = [
        key for key in dict.fromkeys(turn.unknown_concepts) if key not in {slot_key(slots[name]) for name in turn.slots}
    ]
    turn.has_unknown_question = turn.has_unknown_question and not (
        turn.slots or turn.asks_confirmation or turn.asks_anything_else or turn.asks_to_add
    )
    if any(name for name in turn.slots if slot_key(slots[name]) != "description"):
        turn.asks_all_details = False
    return turn


def _is_other_language(text: str) -> bool:
    return any(map(str.isalpha, text)) and _COMMON_ENGLISH.search(text.casefold()) is None


def _read_question(sentence: Sentence, masked: str, slots: Mapping[str, Slot], turn: AgentTurn) -> None:
    lower_text = masked.casefold()
    if IDENTIFY.search(lower_text) and not is_wh_question(lower_text):
        turn.asks_which_one = True
        return
    if LEAVING.search(lower_text) or (ASKS_ANYTHING_ELSE.search(lower_text) and not ASKS_CONFIRMATION.search(lower_text)):
        if ANYTHING_TO_ADD.search(lower_text):
            turn.asks_to_add = True
        else:
            turn.asks_anything_else = True
        return
    chosen_slots = find_slots_by_choice(sentence.text, slots)
    if chosen_slots:
        turn.slots += chosen_slots
        return
    question_clauses, is_confirmation = "", False
    kind = ""
    for clause, starts_question in clauses(masked):
        if starts_question or not kind:
            clause_confirms = ASKS_CONFIRMATION.search(clause) is not None and not is_wh_question(clause)
            kind = "confirm" if clause_confirms else "ask"
            is_confirmation = is_confirmation or clause_confirms
        if kind == "ask":
            question_clauses += f"{clause}, "
    if (
        not is_confirmation
        and ASKS_CONFIRMATION.search(lower_text)
        and not is_wh_question(question_clauses.strip() or lower_text)
        and not sentence.is_list_item
    ):
        is_confirmation, question_clauses = True, ""
    if (
        is_confirmation
        and WOULD_ADD.search(lower_text)
        and not READ_BACK.search(sentence.text)
        and (about_slots := find_named_slots(lower_text, slots)[0])
    ):
        turn.slots += [name for name in about_slots if slots[name].text.casefold() not in sentence.text.casefold()]
        turn.asks_confirmation = turn.asks_confirmation or not turn.slots
        return
    if is_confirmation:
        if ALSO.search(lower_text):
            turn.offer = lower_text
        else:
            turn.asks_confirmation = True
    question_clauses = question_clauses.strip(", ")
    if question_clauses:
        _read_requested_slots(question_clauses, lower_text, sentence, slots, turn, is_confirmation=is_confirmation)


def _read_requested_slots(
    question_clauses: str, lower_text: str, sentence: Sentence, slots: Mapping[str, Slot], turn: AgentTurn, *, is_confirmation: bool
) -> None:
    found, missing = find_named_slots(question_clauses, slots)
    if WHAT_TO_CHANGE.search(lower_text) and not found:
        turn.asks_what_to_change = True
        return
    everything = ALL_DETAILS.search(lower_text) is not None
    if everything and all(slot_key(slots[name]) == "description" for name in found):
        turn.asks_all_details = True
        turn.slots += found
        return
    if found:
        turn.slots += found
        return
    if OPEN_QUESTION.search(lower_text):
        turn.asks_goal = True
    elif described := find_slots_by_description(question_clauses, slots):
        turn.slots += described
    elif missing and not is_confirmation:
        turn.unknown_concepts += missing
    elif sentence.is_list_item or is_confirmation:
        pass
    elif OFFER.search(lower_text) and (about_slots := find_slots_by_value(lower_text, slots)):
        turn.slots += about_slots
    elif OFFER.search(lower_text):
        turn.offer = lower_text
    else:
        turn.has_unknown_question = True


def _read_statement(text: str, lower_text: str, slots: Mapping[str, Slot], turn: AgentTurn, *, is_update: bool) -> None:
    if ASKS_ANYTHING_ELSE.search(lower_text):
        turn.asks_anything_else = True
    if (
        ASKS_CONFIRMATION.search(lower_text)
        and re.search(r"\b(?:confirm|yes|approval|go-?ahead|otherwise)\b", lower_text)
        and not NOT_A_CONFIRMATION.search(lower_text)
    ):
        turn.asks_confirmation = True
    if FOUND.search(lower_text):
        turn.is_found = True
    if READ_BACK.match(text) and not DONE.search(lower_text.partition(":")[0]):
        return
    if OPEN_QUESTION.search(lower_text):
        turn.asks_goal = True
    elif REFUSAL.search(lower_text):
        turn.is_refusal = True
    if ALTERNATIVE.search(lower_text):
        turn.has_alternative = True
    if _reports_done(text, lower_text, slots, is_update=is_update):
        turn.is_done = True


def _reports_done(text: str, lower_text: str, slots: Mapping[str, Slot], *, is_update: bool) -> bool:
    if ABOUT_EXISTING.search(lower_text):
        return False
    if GIVES_REFERENCE.search(lower_text):
        return True
    for match in DONE.finditer(lower_text):
        before = re.split(r"[;,.!]", lower_text[: match.start()])[-1]
        if NOT_YET.search(before) or PAST_DATE.match(lower_text, match.end()):
            continue
        if match["part"] and not is_update and _mentions_label(lower_text[match.end() :], slots):
            continue
        if DONE_AUXILIARY.search(before) or IDENTIFIER.search(text) or (match["whole"] and len(before.split()) < 4):
            return True
    return False


def _mentions_label(text: str, slots: Mapping[str, Slot]) -> bool:
    return any(re.search(rf"\b(?:{_labels(slot)})\b", text) for slot in slots.values())


def _labels(slot: Slot) -> str:
    return "|".join(filter(None, (re.escape(slot.label.casefold()), slot.concept.read_back_labels if slot.concept else "")))


def _without_quotes_and_values(text: str, slots: Mapping[str, Slot]) -> str:
    """Return the text without quotations and the user's longer values, whose words are not questions."""
    text = _QUOTED.sub(lambda match: match[0] if len((match[1] or match[2]).split()) < 3 else " it ", text)
    for slot in slots.values():
        value = slot.text
        if len(value.split()) > 2 and value.casefold() in text.casefold():
            text = re.sub(re.escape(value), "it", text, flags=re.IGNORECASE)
    return text
