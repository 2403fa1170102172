"""Utterance generation for one user: the opening, each goal, each answer.

The plan decides what is said (which order, which color); `opening_templates`, `answer_templates`, `reaction_templates` and `goal_phrases`
decide how. The random generator comes with each request.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

from callmark.worlds.retail.language.grammar import Grammar, join_phrases
from callmark.worlds.retail.language.noun_phrases import (
    address_phrase,
    contrast_phrase,
    items_phrase,
    payment_phrase,
    product_noun,
    replacement_phrase,
)
from callmark.worlds.retail.store.records import changed_options
from callmark.worlds.retail.user import answer_templates, opening_templates, reaction_templates
from callmark.worlds.retail.user.goal_phrases import (
    Goal,
    agreement_forms,
    backstory_first,
    cancel_reason_template,
    goal_grammar,
    goal_values,
    original_payment,
    other_product_phrase,
    slot_statement,
)

Plan = Mapping[str, Any]

_CONTRAST_RATE = 0.4  # of users who can name the old value as well: `red instead of black`
_BRIEF_RATE = 0.75  # of users who volunteer much, and so leave out the backstory
_NAME_RATE = 0.5  # of users without their email address who volunteer their name
_SHORT_OPENING = "<hello> <ask> <facts>"
_OPENINGS: Mapping[str, Sequence[str]] = {  # shapes by style; {why} is a backstory before the request, <why> one after it
    "": (*("<hello> <ask> <facts><tail>",) * 3, "<hello> {why} <ask> <facts><tail>", "<hello> <ask> <why> <facts>"),
    "terse": (*(_SHORT_OPENING,) * 4, "<hello> {why} <ask> <facts>", "<hello> <ask> <why> <facts>"),
    "chatty": (_SHORT_OPENING, "<hello> {why} <ask> <facts><tail>", "<hello> {why} <ask> <facts>", "<hello> <ask> <why> <facts><tail>"),
}


class UtteranceGenerator:
    """Generates the utterances of one user. Each method returns one wording."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.style: str = plan["style"]

    def opening(self, rng: Random) -> str:
        """Return the first message."""
        volunteered_slots = self.plan["volunteered_slots"]
        login = "" if "login" not in volunteered_slots else "<tell name>" if self.plan["login"] == "name and zip" else "<tell email>"
        if "goal" not in volunteered_slots:
            return self._render(f"{opening_templates.OPENING_WITHOUT_GOAL} {login}", rng, self._user_values())
        goal = self.plan["goals"][0]
        is_detailed = bool(login) or any(slot_statement(goal, slot) for slot in goal["volunteered_slots"])
        shape = _SHORT_OPENING if is_detailed and rng.random() < _BRIEF_RATE else rng.choice(_OPENINGS.get(self.style) or _OPENINGS[""])
        return self._render_goal(goal, shape, rng, login)

    def goal_statement(self, goal: Goal, rng: Random, *, context: Literal["next", "again", "in answer"]) -> str:
        """Return a statement of a goal: the next one, the same one rephrased, or a requested one."""
        return self._render_goal(goal, f"<{'instead' if goal['after_refusal'] and context == 'next' else context}> <facts>", rng)

    def email(self, rng: Random) -> str:
        """Return the account's email address; a user who does not know it says so, and perhaps gives their name."""
        if self.plan["login"] != "name and zip":
            return self.render("<sure><email><small>", rng)
        return self.render("<no email> <tell name>" if rng.random() < _NAME_RATE else "<no email>", rng)

    def render(self, template: str, rng: Random) -> str:
        """Return a template rendered with the user's own values only."""
        return self._render(template, rng, self._user_values())

    def order(self, goal: Goal, rng: Random, *, corrected: bool = False) -> str:
        """Return which order it is, with a correction if the first number was wrong."""
        if goal["same_order"]:
            return self.render("<sure><same order>", rng)
        if not goal["knows_order_id"]:
            return self._render("<order unknown><small>", rng, {"described": product_noun(goal["described_by_item"])})
        number = goal["order_id"] if corrected else goal["wrong_order_id"] or goal["order_id"]
        return self._render("<order again>" if corrected else "<sure><order><small>", rng, {"id": number})

    def items(self, goal: Goal, rng: Random) -> str:
        """Return which items it is about."""
        if goal["all_items"]:
            return self.render("<sure><everything>", rng)
        return self._render("<sure><items>", rng, {"goods": items_phrase(goal["items"], rng)})

    def replacement(self, goal: Goal, rng: Random) -> str:
        """Return the desired replacement."""
        if goal["other_product"]:
            return self._render("<sure><other product>", rng, {"other": other_product_phrase(goal)})
        contrast = contrast_phrase(goal["items"][0]) if len(goal["items"]) == 1 else ""
        if contrast and rng.random() < _CONTRAST_RATE:
            return self._render("<sure><contrast>", rng, {"contrast": contrast, **agreement_forms(goal)})
        return self._render("<sure><wanted>", rng, {"wanted": replacement_phrase(goal["items"], rng)})

    def alternative(self, goal: Goal, rng: Random) -> str:
        """Return which offered alternative the user takes, by its differences, or that they take none."""
        if not goal["alternative"]:
            return self.render("<leave it>", rng)
        return self._render("<alternative>", rng, {"wanted": _replacement_of(goal["items"][0], goal["alternative"], rng)})

    def payment(self, goal: Goal, rng: Random) -> str:
        """Return the payment method, or where a refund goes."""
        template = "<refund>" if goal["kind"] == "return" else "<payment>"
        return self._render(f"<sure>{template}", rng, {"payment": payment_phrase(goal["payment"], rng, original=original_payment(goal))})

    def other_payment(self, goal: Goal, rng: Random) -> str:
        """Return the payment method to use if the first is not possible, or that there is none."""
        if not goal["other_payment"]:
            return self.render("<leave it>", rng)
        return self._render(
            "<other payment>", rng, {"payment": payment_phrase(goal["other_payment"], rng, original=original_payment(goal))}
        )

    def reason(self, goal: Goal, rng: Random) -> str:
        """Return the reason to cancel."""
        return self._render(cancel_reason_template(goal), rng, {"reason": goal["reason"], **agreement_forms(goal)})

    def address(self, goal: Goal, rng: Random) -> str:
        """Return the new address."""
        template = "<same address>" if goal["same_address"] else "<default>" if goal["kind"] == "default address" else "<address>"
        return self._render(f"<sure>{template}<small>", rng, {"address": address_phrase(goal["address"], rng)})

    def topic(self, goal: Goal, rng: Random) -> str:
        """Return the topic for a human agent."""
        return self._render("<sure><topic>", rng, {"topic": goal["topic"]})

    def yes(self, goal: Goal, rng: Random) -> str:
        """Return a confirmation."""
        return self._render("<yes>", rng, agreement_forms(goal), goal)

    def second_thought(self, goal: Goal, rng: Random) -> str:
        """Return what the user changes when asked for confirmation."""
        second_thought = goal["second_thought"]
        if "address" in second_thought:
            return self._render("<rethink address>", rng, {"address": address_phrase(second_thought["address"], rng)})
        if "payment" in second_thought:
            return self._render("<rethink payment>", rng, {"payment": payment_phrase(second_thought["payment"], rng)})
        if "replacement" in second_thought:
            return self._render("<rethink wanted>", rng, {"wanted": _replacement_of(goal["items"][0], second_thought["replacement"], rng)})
        added, removed = (join_phrases([f"the {product_noun(name)}" for name in second_thought[key]]) for key in ("added", "left_out"))
        template = "<rethink both>" if added and removed else "<rethink added>" if added else "<rethink left out>"
        return self._render(template, rng, {"added": added, "left": removed, "goods": items_phrase(second_thought["items"], rng)})

    def _render_goal(self, goal: Goal, shape: str, rng: Random, login: str = "") -> str:
        """Return a goal in a given shape; <facts> are the volunteered slots and the login."""
        facts = " ".join(template for template in (*(slot_statement(goal, slot) for slot in goal["volunteered_slots"]), login) if template)
        values = self._user_values() | agreement_forms(goal) | goal_values(goal, rng)
        if "{why}" in shape:
            grammar = self._grammar(goal, rng)
            values |= backstory_first(goal, values, lambda marked: grammar.expand("<why>", rng, style=self.style, values=marked))
        return self._render(shape.replace("<facts>", facts), rng, values, goal)

    def _user_values(self) -> dict[str, str]:
        customer = self.plan["customer"]
        email = self.plan["mistyped_email"] if self.plan["login"] == "mistyped email" else customer["email"]
        return {"email": email, "first": customer["first_name"], "last": customer["last_name"], "zip": customer["zip"]}

    def _render(self, template: str, rng: Random, values: Mapping[str, str], goal: Goal | None = None) -> str:
        return self._grammar(goal, rng).render(template, rng, style=self.style, values=values)

    def _grammar(self, goal: Goal | None, rng: Random) -> Grammar:
        return Grammar(
            opening_templates.FRAMES, answer_templates.PARTS, reaction_templates.PARTS, *(goal_grammar(goal, rng) if goal else ())
        )


def _replacement_of(item: Mapping[str, Any], replacement_item: Mapping[str, Any], rng: Random) -> str:
    """Return another variant than the one wanted first, by its differences."""
    return replacement_phrase([{**item, "changes": changed_options(item["new_options"], replacement_item["new_options"])}], rng)
