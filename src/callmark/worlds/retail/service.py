"""One customer served by the expert: what it knows so far, what it says and calls next.

A conversation is a generator: it gives out what is said or which tool is called, and is sent what the customer or the tool answers. So one
that is under way is had again, from its messages, to know what comes next.
"""

import json
from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Any, TypeVar

from callmark.types import Call, Case
from callmark.worlds.retail import expert_facts, tools
from callmark.worlds.retail.expert_naming import goods
from callmark.worlds.retail.expert_words import PARTS, WORDS
from callmark.worlds.retail.hearing import ORDER
from callmark.worlds.retail.phrasing import Grammar
from callmark.worlds.retail.plan_draft import Wish
from callmark.worlds.retail.plan_form import plan_of
from callmark.worlds.retail.records import Row

PATIENCE = 3  # times that a thing is asked for

_T = TypeVar("_T")
Turn = str | Call
Steps = Generator[Turn, str, _T]
_GRAMMAR = Grammar(PARTS)


class GivesUp(Exception):  # noqa: N818 - it is what the expert does
    """The customer cannot be helped by asking once more."""


class Service:
    """What the expert knows in one conversation. `since`: what the customer said since they named the wish that is dealt with."""

    def __init__(self, case: Case, trial: int) -> None:
        self.plan: Row = plan_of(case)
        self.user: Row = {}
        self.orders: dict[str, Row] = {}  # as they were last seen
        self.products: dict[str, Row] = {}
        self.product_ids: dict[str, str] = {}
        self.said: list[str] = []
        self.since: list[str] = []
        self.chance = Random(f"{self.plan['seed']}/{case.id}/{trial}/expert")
        self.is_greeted = False  # whether anything was said since it is known who they are
        self._told: list[str] = []
        self._used: list[str] = []

    @property
    def heard(self) -> str:
        """What the customer said since they named the wish."""
        return "\n".join(self.since)

    def tell(self, phrases: Sequence[str], **values: str) -> None:
        """Have something said before what is said next."""
        self._told.append(self.worded(phrases, **values))

    def say(self, phrases: Sequence[str], **values: str) -> Steps[str]:
        """Say it, and what there was to tell, and hear the answer."""
        said = " ".join([*self._told, self.worded(phrases, **values)])
        self._told.clear()
        self.is_greeted = bool(self.user)
        answer = yield said
        self.hear(answer)
        return answer

    def hear(self, text: str) -> None:
        """Remember what the customer said."""
        self.said.append(text)
        self.since.append(text)

    def begin_anew(self) -> None:
        """The last thing that the customer said was the next wish."""
        del self.since[:-1]

    def ask(self, act: str, understood: Callable[[str], bool], **values: str) -> Steps[str]:
        """The answer to a question, asked until it is understood. Raises `GivesUp` when it never is."""
        for _ in range(PATIENCE):
            answer = yield from self.say(WORDS[act], **values)
            if understood(self.heard):
                return answer
        raise GivesUp

    def use(self, tool: str, **arguments: Any) -> Steps[Any]:
        """Call a tool, and have its data; text where it is no JSON, as an error is."""
        result = yield Call(tool, arguments)
        try:
            return json.loads(result)
        except ValueError:
            return result

    def see_product(self, product_id: str) -> Steps[Row]:
        """The product, looked up once in a conversation."""
        if product_id not in self.products:
            self.products[product_id] = yield from self.use(tools.GET_PRODUCT, product_id=product_id)
        return self.products[product_id]

    def see_order(self, wish: Wish) -> Steps[Row]:
        """The order that a wish is about. The customer is asked for its number, unless there is no doubt; whoever does not know it has
        their orders looked through. What was found is told with the next question.
        """
        theirs = self.user["orders"]
        if wish["same_order"]:
            return self.orders[wish["order_id"]]
        if len(theirs) == 1 and not ORDER.search(self.heard):
            return (yield from self._look_at(theirs[0], expert_facts.FOUND_THE_ONLY_ONE, wish))
        is_described = "order" in wish["tells"] and not wish["knows_order"]
        if not is_described and not ORDER.search(self.heard):
            yield from self.say(WORDS["ask_order" if self.is_greeted else "ask_order_after_login"])
        for _ in range(PATIENCE):
            numbers = ORDER.findall(self.heard)
            if not numbers:
                return (yield from self._look_through(wish))
            if numbers[-1] in theirs:
                return (yield from self._look_at(numbers[-1], expert_facts.FOUND, wish))
            yield from self.say(WORDS["wrong_order"], wrong=numbers[-1])
        raise GivesUp

    def _look_through(self, wish: Wish) -> Steps[Row]:
        for order_id in self.user["orders"]:
            order = self.orders.get(order_id) or (yield from self.use(tools.GET_ORDER, order_id=order_id))
            self.orders[order_id] = order
            if wish["described_by"] in [item["name"] for item in order["items"]]:
                return (yield from self._look_at(order_id, expert_facts.FOUND_BY_LOOKING, wish))
        raise GivesUp

    def _look_at(self, order_id: str, phrases: Sequence[str], wish: Wish) -> Steps[Row]:
        order = self.orders.get(order_id) or (yield from self.use(tools.GET_ORDER, order_id=order_id))
        self.orders[order_id] = order
        described = wish["described_by"].lower()
        self.tell(phrases, order=order_id, status=order["status"], items=goods(order["items"]), described=described)
        return order

    def forget_what_was_found(self) -> None:
        """Tell nothing of it: what comes next says it all."""
        self._told.clear()

    def worded(self, phrases: Sequence[str], **values: str) -> str:
        """One of the phrases; none that was used in this conversation before, as long as there are others."""
        fresh = [phrase for phrase in phrases if phrase not in self._used] or list(phrases)
        phrase = self.chance.choice(fresh)
        self._used.append(phrase)
        known = {"first": self.plan["customer"]["first_name"], **values}
        return _GRAMMAR.say(phrase, self.chance, manner="", values=known)
