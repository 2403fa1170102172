"""One conversation of the expert: what it knows so far, and how it asks and calls.

A conversation is a generator: it yields the expert's texts and tool calls, and is sent the user's replies and the results. To find the next
step of a conversation in progress, its messages are replayed.
"""

import json
from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Any, TypeVar

from callmark import Call, Case
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import statement_templates
from callmark.worlds.retail.expert.noun_phrases import priced_items_phrase
from callmark.worlds.retail.expert.question_templates import PARTS, QUESTIONS_BY_ACT
from callmark.worlds.retail.expert.slot_matching import ORDER_ID
from callmark.worlds.retail.language.grammar import Grammar
from callmark.worlds.retail.plans.draft import Goal
from callmark.worlds.retail.plans.plan_schema import read_plan
from callmark.worlds.retail.store.records import Row

MAX_ATTEMPTS = 3  # times that the expert asks for the same thing

_T = TypeVar("_T")
Turn = str | Call
Steps = Generator[Turn, str, _T]
_GRAMMAR = Grammar(PARTS)


class ClarificationError(Exception):
    """The request remains unclear after repeated questions."""


class ExpertDialogue:
    """The expert's state in one conversation. `goal_turns`: what the user said since they stated the current goal."""

    def __init__(self, case: Case, trial: int) -> None:
        self.plan: Row = read_plan(case)
        self.user: Row = {}
        self.orders: dict[str, Row] = {}  # as last returned
        self.products: dict[str, Row] = {}
        self.product_ids: dict[str, str] = {}
        self.user_turns: list[str] = []
        self.goal_turns: list[str] = []
        self.rng = Random(f"{self.plan['seed']}/{case.id}/{trial}/expert")
        self.has_spoken_since_login = False  # once the user is identified
        self._queued_statements: list[str] = []
        self._used_templates: list[str] = []

    @property
    def goal_text(self) -> str:
        """Return what the user said since they stated the current goal."""
        return "\n".join(self.goal_turns)

    def queue_statement(self, templates: Sequence[str], **values: str) -> None:
        """Queue a statement to be said before the next one."""
        self._queued_statements.append(self.render(templates, **values))

    def say(self, templates: Sequence[str], **values: str) -> Steps[str]:
        """Say the queued statements and one of the templates, and return the user's answer."""
        text = " ".join([*self._queued_statements, self.render(templates, **values)])
        self._queued_statements.clear()
        self.has_spoken_since_login = bool(self.user)
        answer = yield text
        self.record_user_turn(answer)
        return answer

    def record_user_turn(self, text: str) -> None:
        """Store what the user said."""
        self.user_turns.append(text)
        self.goal_turns.append(text)

    def start_next_goal(self) -> None:
        """Forget what was said about the previous goal; the user's last message states the next one."""
        del self.goal_turns[:-1]

    def ask(self, act: str, is_understood: Callable[[str], bool], **values: str) -> Steps[str]:
        """Ask until the answer is understood, and return it. Raise `ClarificationError` if it never is."""
        for _ in range(MAX_ATTEMPTS):
            answer = yield from self.say(QUESTIONS_BY_ACT[act], **values)
            if is_understood(self.goal_text):
                return answer
        raise ClarificationError

    def call_tool(self, tool: str, **arguments: Any) -> Steps[Any]:
        """Call a tool and return its data, or its text if that is not JSON, such as an error."""
        result = yield Call(tool, arguments)
        try:
            return json.loads(result)
        except ValueError:
            return result

    def get_product(self, product_id: str) -> Steps[Row]:
        """Return a product, looked up once per conversation."""
        if product_id not in self.products:
            self.products[product_id] = yield from self.call_tool(tools.GET_PRODUCT, product_id=product_id)
        return self.products[product_id]

    def get_order(self, goal: Goal) -> Steps[Row]:
        """Return the order that a goal is about.

        The user is asked for its number unless it is clear; for a user who does not know it, all their orders are searched. The result is
        reported with the next question.
        """
        own_orders = self.user["orders"]
        if goal["same_order"]:
            return self.orders[goal["order_id"]]
        if len(own_orders) == 1 and not ORDER_ID.search(self.goal_text):
            return (yield from self._open_order(own_orders[0], statement_templates.ONLY_ORDER_FOUND, goal))
        is_described = "order" in goal["volunteered_slots"] and not goal["knows_order_id"]
        if not is_described and not ORDER_ID.search(self.goal_text):
            yield from self.say(QUESTIONS_BY_ACT["ask_order" if self.has_spoken_since_login else "ask_order_after_login"])
        for _ in range(MAX_ATTEMPTS):
            numbers = ORDER_ID.findall(self.goal_text)
            if not numbers:
                return (yield from self._search_orders(goal))
            if numbers[-1] in own_orders:
                return (yield from self._open_order(numbers[-1], statement_templates.ORDER_FOUND, goal))
            yield from self.say(QUESTIONS_BY_ACT["inform_wrong_order"], wrong=numbers[-1])
        raise ClarificationError

    def _search_orders(self, goal: Goal) -> Steps[Row]:
        for order_id in self.user["orders"]:
            order = self.orders.get(order_id) or (yield from self.call_tool(tools.GET_ORDER, order_id=order_id))
            self.orders[order_id] = order
            if goal["described_by_item"] in [item["name"] for item in order["items"]]:
                return (yield from self._open_order(order_id, statement_templates.ORDER_FOUND_BY_SEARCH, goal))
        raise ClarificationError

    def _open_order(self, order_id: str, templates: Sequence[str], goal: Goal) -> Steps[Row]:
        order = self.orders.get(order_id) or (yield from self.call_tool(tools.GET_ORDER, order_id=order_id))
        self.orders[order_id] = order
        described = goal["described_by_item"].lower()
        self.queue_statement(
            templates, order=order_id, status=order["status"], items=priced_items_phrase(order["items"]), described=described
        )
        return order

    def drop_queued_statements(self) -> None:
        """Drop the queued statements, because the next one covers them."""
        self._queued_statements.clear()

    def render(self, templates: Sequence[str], **values: str) -> str:
        """Return a rendering of one of the templates, preferring those that were not used in this conversation."""
        unused = [template for template in templates if template not in self._used_templates] or list(templates)
        template = self.rng.choice(unused)
        self._used_templates.append(template)
        all_values = {"first": self.plan["customer"]["first_name"], **values}
        return _GRAMMAR.render(template, self.rng, style="", values=all_values)
