"""A plan in prose, as instructions for an LLM user: who they are, what they want, what they know, how they write."""

import re
from collections.abc import Callable, Mapping, Sequence

from callmark.worlds.retail.language.grammar import join_phrases
from callmark.worlds.retail.language.noun_phrases import product_noun, variant_phrase
from callmark.worlds.retail.plans.draft import Goal
from callmark.worlds.retail.store.records import Row

_STYLES = {
    "plain": "You write in plain, friendly sentences.",
    "chatty": "You like to chat, and tell a little of the story behind what you want.",
    "terse": "You write in very few words.",
    "polite": "You are very polite.",
    "impatient": "You are in a hurry, and want it done quickly.",
    "unsure": "You are a little unsure of yourself, and glad to be guided.",
}
_OUTCOME_TEXTS = {
    "declined": "When the agent has summed it up and asks for your confirmation, you think again and say no.",
    "refused": "If the agent says that it is not possible, you accept that.",
}
_QUESTION_TEXTS = {
    "options": "You want to know which options there are for the {product} and what it costs.",
    "count": "You want to know how many kinds of {product} there are, and how many are available.",
    "cheapest": "You want to know which {product} is the cheapest that is available.",
    "available": "You want to know whether the {product} is available as {wanted}.",
    "status": "You want to know the status of {order}.",
    "items": "You want to know what is in {order}.",
    "address": "You want to know where {order} is sent to.",
    "payment": "You want to know how {order} was paid.",
    "refund": "You want to know how much you would get back for {items} from {order}. You do not want to return anything now.",
    "total": "You want to know what everything in {order} costs together.",
    "difference": "You want to know how much more or less {wanted} would cost than {items} from {order}. You do not want to change it now.",
}


def write_instructions(plan: Row) -> str:
    """Return the instructions for an LLM user."""
    goals = [_goal_text(goal) for goal in plan["goals"]]
    request = goals[0] if len(goals) == 1 else " ".join(f"{place}. {goal}" for place, goal in enumerate(goals, 1))
    ordering = "" if len(goals) == 1 else "You want several things, and name the next only when the one before is dealt with. "
    return " ".join(
        (
            _identity_text(plan),
            ordering + request,
            "Say only what you are asked for, a little at a time, and make up nothing that does not stand here.",
            "Before the agent changes anything it should ask for your confirmation: if everything is right, say yes.",
            _STYLES[plan["style"]],
        )
    )


def write_completion_condition(plan: Row) -> str:
    """Return the condition under which the conversation is complete."""
    if plan["goals"][-1]["outcome"] == "transferred":
        return "The agent has handed over to a human agent."
    return "Everything that was asked for is done, answered or refused, and nothing else is open."


def _identity_text(plan: Row) -> str:
    customer = plan["customer"]
    name = f"You are {customer['first_name']} {customer['last_name']}, a customer of a retail store, zip code {customer['zip']}."
    if plan["login"] == "email":
        return f"{name} The email address of your account is {customer['email']}."
    if plan["login"] == "name and zip":
        return f"{name} You do not remember the email address of your account."
    believed = f"You believe that the email address of your account is {plan['mistyped_email']}"
    return f"{name} {believed}; if that does not work, give your name and zip code."


def _goal_text(goal: Goal) -> str:
    sentences = [_GOAL_TEXTS[goal["kind"]](goal)]
    if goal["wrong_order_id"]:
        sentences.append(f"At first you give the order number as {goal['wrong_order_id']}, by mistake.")
    if goal["alternative"]:
        sentences.append(f"If that is sold out, you take {_variant_text(goal['items'][0], goal['alternative']['new_options'])}.")
    if goal["refusal_reason"] == "sold out":
        sentences.append("If that is sold out, you leave it.")
    if goal["other_payment"]:
        sentences.append(f"If that is not possible, use {payment_text(goal['other_payment'])}.")
    sentences += _second_thought(goal)
    sentences += [_OUTCOME_TEXTS[goal["outcome"]]] if goal["outcome"] in _OUTCOME_TEXTS else []
    return " ".join(sentences)


def _cancel(goal: Goal) -> str:
    object_text = f"{_items_text(goal['items'])} from {_order_text(goal)}, but keep the rest" if goal["items"] else _order_text(goal)
    return f"You want to cancel {object_text}. Your reason: {goal['reason']}."


def _order_address(goal: Goal) -> str:
    return f"You want {_order_text(goal)} to be sent to {address_text(goal['address'])}."


def _default_address(goal: Goal) -> str:
    return f"You want the default address of your account to be {address_text(goal['address'])}."


def _swap(goal: Goal) -> str:
    verb = "exchange" if goal["kind"] == "exchange" else "change"
    if goal["other_product"]:
        return f"You want to {verb} {_items_text(goal['items'])} from {_order_text(goal)} for a {product_noun(goal['other_product'])}."
    new = join_phrases([_variant_text(item, item["new_options"]) for item in goal["items"]])
    payment_note = f"A price difference goes to {payment_text(goal['payment'])}."
    return f"You want to {verb} {_items_text(goal['items'])} from {_order_text(goal)}, and get {new} instead. {payment_note}"


def _return(goal: Goal) -> str:
    object_text = "everything" if goal["all_items"] else _items_text(goal["items"])
    return f"You want to return {object_text} from {_order_text(goal)}, refunded to {payment_text(goal['payment'])}."


def _order_payment(goal: Goal) -> str:
    return f"You want {_order_text(goal)} to be paid with {payment_text(goal['payment'])}."


def _question(goal: Goal) -> str:
    items = goal["items"]
    replacement = (
        _variant_text(items[0], items[0]["new_options"])
        if items and "new_options" in items[0]
        else join_phrases(list(goal["requested_options"].values()))
    )
    return _QUESTION_TEXTS[goal["question"]].format(
        product=product_noun(goal["product"]), order=_order_text(goal), items=_items_text(items), wanted=replacement
    )


def _human_text(goal: Goal) -> str:
    return f"You want to speak to a human agent, about {_second_person(goal['topic'])}."


def _beyond_scope(goal: Goal) -> str:
    return f"You want help with {_second_person(goal['topic'])}."


def _other_customer(goal: Goal) -> str:
    return f"You want to know about the order {goal['order_id']}, which is not yours: it is that of {_second_person(goal['order_owner'])}."


_GOAL_TEXTS: Mapping[str, Callable[[Goal], str]] = {
    "cancel": _cancel,
    "order address": _order_address,
    "default address": _default_address,
    "order items": _swap,
    "exchange": _swap,
    "return": _return,
    "order payment": _order_payment,
    "product question": _question,
    "price question": _question,
    "order status": _question,
    "human": _human_text,
    "beyond scope": _beyond_scope,
    "other customer": _other_customer,
}


def _second_thought(goal: Goal) -> list[str]:
    thought = goal["second_thought"]
    lead = "When you are first asked to confirm, you change your mind:"
    if "address" in thought:
        return [f"{lead} it should be {thought['address'][thought['address']['part']]}."]
    if "replacement" in thought:
        return [f"{lead} you would rather have {_variant_text(goal['items'][0], thought['replacement']['new_options'])}."]
    if "items" in thought:
        return [f"{lead} you want to return {_items_text(thought['items'])}, and nothing else."]
    return []


def _second_person(text: str) -> str:
    return re.sub(r"\bmy\b", "your", text)


def _order_text(goal: Goal) -> str:
    if not goal["order_id"]:
        return ""
    if goal["same_order"]:
        return "the same order"
    if goal["knows_order_id"]:
        return f"your order {goal['order_id']}"
    return f"your order with the {product_noun(goal['described_by_item'])} (you do not know its number)"


def _items_text(items: Sequence[Row]) -> str:
    return join_phrases([f"the {product_noun(item['name'])}" for item in items])


def _variant_text(item: Row, options: Mapping[str, str]) -> str:
    return f"the {variant_phrase(options, product_noun(item['name']), plural=item['name'].endswith('s'))}"


def payment_text(payment: Row) -> str:
    """Return a payment method as the user refers to it."""
    if payment["source"] == "credit_card":
        return f"your {payment['brand']} ending in {payment['last_four']}"
    return "your PayPal account" if payment["source"] == "paypal" else "your gift card"


def address_text(address: Row) -> str:
    """Return an address in one line."""
    sentences = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join(part for part in sentences if part)
