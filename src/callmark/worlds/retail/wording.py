"""How one customer puts into words what their plan has: their opening, each wish, each answer. Chance is given with every question.

What an answer is made of (which order, which color) comes from the plan; how it is said from openings, replies and reactions, and from
wish_words, which has the words of each wish.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

from callmark.worlds.retail import openings, reactions, replies
from callmark.worlds.retail.naming import all_called, in_place_of, noun, wanted, way_to_pay, written_address
from callmark.worlds.retail.phrasing import Grammar, listed
from callmark.worlds.retail.records import changes_between
from callmark.worlds.retail.wish_words import Wish, agreeing, another, paid_before, parts_of, reason_of, statement_of, told_by, why_first

Plan = Mapping[str, Any]

_OTHERWISE = 0.4  # of those who could, name what it was as well: `red instead of black`
_BRIEF = 0.75  # of those who tell much at once, and so leave out how it came about
_NAME_AT_ONCE = 0.5  # of those without their email address
_SHORT = "<hello> <ask> <facts>"
_OPENINGS: Mapping[str, Sequence[str]] = {  # shapes, by manner; {why} is said before what is wanted, <why> after it
    "": (*("<hello> <ask> <facts><tail>",) * 3, "<hello> {why} <ask> <facts><tail>", "<hello> <ask> <why> <facts>"),
    "terse": (*(_SHORT,) * 4, "<hello> {why} <ask> <facts>", "<hello> <ask> <why> <facts>"),
    "chatty": (_SHORT, "<hello> {why} <ask> <facts><tail>", "<hello> {why} <ask> <facts>", "<hello> <ask> <why> <facts><tail>"),
}


class Wording:
    """The words of one customer. Every method gives one way to say it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.manner: str = plan["manner"]

    def opening(self, chance: Random) -> str:
        """The first thing that they say."""
        tells = self.plan["tells"]
        login = "" if "login" not in tells else "<tell name>" if self.plan["login"] == "name and zip" else "<tell email>"
        if "wish" not in tells:
            return self._say(f"{openings.NO_WISH} {login}", chance, self._person())
        wish = self.plan["wishes"][0]
        tells_much = bool(login) or any(statement_of(wish, name) for name in wish["tells"])
        shape = _SHORT if tells_much and chance.random() < _BRIEF else chance.choice(_OPENINGS.get(self.manner) or _OPENINGS[""])
        return self._of_wish(wish, shape, chance, login)

    def raised(self, wish: Wish, chance: Random, *, how: Literal["next", "again", "in answer"]) -> str:
        """A wish later on: the next one, one in other words, or one that they are asked for."""
        return self._of_wish(wish, f"<{'instead' if wish['after_refusal'] and how == 'next' else how}> <facts>", chance)

    def email(self, chance: Random) -> str:
        """The email address that the account is under; who does not know it says so, and perhaps their name."""
        if self.plan["login"] != "name and zip":
            return self.plain("<sure><email><small>", chance)
        return self.plain("<no email> <tell name>" if chance.random() < _NAME_AT_ONCE else "<no email>", chance)

    def plain(self, phrase: str, chance: Random) -> str:
        """A phrase with nothing in it but what is known of the person."""
        return self._say(phrase, chance, self._person())

    def order(self, wish: Wish, chance: Random, *, corrected: bool = False) -> str:
        """Which order it is. Who has a number wrong says that first."""
        if wish["same_order"]:
            return self.plain("<sure><same order>", chance)
        if not wish["knows_order"]:
            return self._say("<order unknown><small>", chance, {"described": noun(wish["described_by"])})
        number = wish["order_id"] if corrected else wish["wrong_order_id"] or wish["order_id"]
        return self._say("<order again>" if corrected else "<sure><order><small>", chance, {"id": number})

    def items(self, wish: Wish, chance: Random) -> str:
        """Which of the items it is about."""
        if wish["all_items"]:
            return self.plain("<sure><everything>", chance)
        return self._say("<sure><items>", chance, {"goods": all_called(wish["items"], chance)})

    def wanted(self, wish: Wish, chance: Random) -> str:
        """What they want instead."""
        if wish["other_product"]:
            return self._say("<sure><other product>", chance, {"other": another(wish)})
        contrast = in_place_of(wish["items"][0]) if len(wish["items"]) == 1 else ""
        if contrast and chance.random() < _OTHERWISE:
            return self._say("<sure><contrast>", chance, {"contrast": contrast, **agreeing(wish)})
        return self._say("<sure><wanted>", chance, {"wanted": wanted(wish["items"], chance)})

    def alternative(self, wish: Wish, chance: Random) -> str:
        """What they take of what there is, by what tells it from what is sold out; or that they leave it."""
        if not wish["alternative"]:
            return self.plain("<leave it>", chance)
        return self._say("<alternative>", chance, {"wanted": _instead(wish["items"][0], wish["alternative"], chance)})

    def payment(self, wish: Wish, chance: Random) -> str:
        """What they pay with, or where their money goes back to."""
        phrase = "<refund>" if wish["kind"] == "return" else "<payment>"
        return self._say(f"<sure>{phrase}", chance, {"payment": way_to_pay(wish["payment"], chance, before=paid_before(wish))})

    def other_payment(self, wish: Wish, chance: Random) -> str:
        """What they pay with when the first is not possible; or that they leave it."""
        if not wish["other_payment"]:
            return self.plain("<leave it>", chance)
        return self._say("<other payment>", chance, {"payment": way_to_pay(wish["other_payment"], chance, before=paid_before(wish))})

    def reason(self, wish: Wish, chance: Random) -> str:
        """Why they cancel."""
        return self._say(reason_of(wish), chance, {"reason": wish["reason"], **agreeing(wish)})

    def address(self, wish: Wish, chance: Random) -> str:
        """Where it is to go, or where they live."""
        phrase = "<same address>" if wish["same_address"] else "<default>" if wish["kind"] == "default address" else "<address>"
        return self._say(f"<sure>{phrase}<small>", chance, {"address": written_address(wish["address"], chance)})

    def topic(self, wish: Wish, chance: Random) -> str:
        """What they want to talk to a person about."""
        return self._say("<sure><topic>", chance, {"topic": wish["topic"]})

    def yes(self, wish: Wish, chance: Random) -> str:
        """That it may be done."""
        return self._say("<yes>", chance, agreeing(wish), wish)

    def second_thought(self, wish: Wish, chance: Random) -> str:
        """What they want changed, now that they hear it."""
        thought = wish["second_thought"]
        if "address" in thought:
            return self._say("<rethink address>", chance, {"address": written_address(thought["address"], chance)})
        if "payment" in thought:
            return self._say("<rethink payment>", chance, {"payment": way_to_pay(thought["payment"], chance)})
        if "wanted" in thought:
            return self._say("<rethink wanted>", chance, {"wanted": _instead(wish["items"][0], thought["wanted"], chance)})
        added, left = (listed([f"the {noun(one)}" for one in thought[name]]) for name in ("added", "left_out"))
        phrase = "<rethink both>" if added and left else "<rethink added>" if added else "<rethink left out>"
        return self._say(phrase, chance, {"added": added, "left": left, "goods": all_called(thought["items"], chance)})

    def _of_wish(self, wish: Wish, shape: str, chance: Random, login: str = "") -> str:
        """A wish in that shape; <facts> are what it tells at once, and who they are."""
        facts = " ".join(phrase for phrase in (*(statement_of(wish, name) for name in wish["tells"]), login) if phrase)
        values = self._person() | agreeing(wish) | told_by(wish, chance)
        if "{why}" in shape:
            grammar = self._grammar(wish, chance)
            values |= why_first(wish, values, lambda marked: grammar.part("<why>", chance, manner=self.manner, values=marked))
        return self._say(shape.replace("<facts>", facts), chance, values, wish)

    def _person(self) -> dict[str, str]:
        customer = self.plan["customer"]
        email = self.plan["mistyped_email"] if self.plan["login"] == "mistyped email" else customer["email"]
        return {"email": email, "first": customer["first_name"], "last": customer["last_name"], "zip": customer["zip"]}

    def _say(self, phrase: str, chance: Random, values: Mapping[str, str], wish: Wish | None = None) -> str:
        return self._grammar(wish, chance).say(phrase, chance, manner=self.manner, values=values)

    def _grammar(self, wish: Wish | None, chance: Random) -> Grammar:
        return Grammar(openings.FRAMES, replies.PARTS, reactions.PARTS, *(parts_of(wish, chance) if wish else ()))


def _instead(item: Mapping[str, Any], other: Mapping[str, Any], chance: Random) -> str:
    """Another version than the one that they wanted at first, by what is different."""
    return wanted([{**item, "changes": changes_between(item["new_options"], other["new_options"])}], chance)
