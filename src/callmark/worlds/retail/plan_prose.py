"""A plan in prose, for a model that plays the customer: who they are, what they want, what they know, how they talk."""

import re
from collections.abc import Callable, Mapping, Sequence

from callmark.worlds.retail.naming import noun, version
from callmark.worlds.retail.phrasing import listed
from callmark.worlds.retail.plan_draft import Wish
from callmark.worlds.retail.records import Row

_MANNERS = {
    "plain": "You write in plain, friendly sentences.",
    "chatty": "You like to chat, and tell a little of the story behind what you want.",
    "terse": "You write in very few words.",
    "polite": "You are very polite.",
    "impatient": "You are in a hurry, and want it done quickly.",
    "unsure": "You are a little unsure of yourself, and glad to be guided.",
}
_OUTCOMES = {
    "declined": "When the agent has summed it up and asks for your confirmation, you think again and say no.",
    "refused": "If the agent says that it is not possible, you accept that.",
}
_QUESTIONS = {
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


def instructions(plan: Row) -> str:
    """What a model is told that plays the customer."""
    wishes = [_wish(wish) for wish in plan["wishes"]]
    wants = wishes[0] if len(wishes) == 1 else " ".join(f"{place}. {wish}" for place, wish in enumerate(wishes, 1))
    several = "" if len(wishes) == 1 else "You want several things, and name the next only when the one before is dealt with. "
    return " ".join(
        (
            _who(plan),
            several + wants,
            "Say only what you are asked for, a little at a time, and make up nothing that does not stand here.",
            "Before the agent changes anything it should ask for your confirmation: if everything is right, say yes.",
            _MANNERS[plan["manner"]],
        )
    )


def completion(plan: Row) -> str:
    """What must have come about for the conversation to be over."""
    if plan["wishes"][-1]["outcome"] == "transferred":
        return "The agent has handed over to a human agent."
    return "Everything that was asked for is done, answered or refused, and nothing else is open."


def _who(plan: Row) -> str:
    customer = plan["customer"]
    name = f"You are {customer['first_name']} {customer['last_name']}, a customer of a retail store, zip code {customer['zip']}."
    if plan["login"] == "email":
        return f"{name} The email address of your account is {customer['email']}."
    if plan["login"] == "name and zip":
        return f"{name} You do not remember the email address of your account."
    believed = f"You believe that the email address of your account is {plan['mistyped_email']}"
    return f"{name} {believed}; if that does not work, give your name and zip code."


def _wish(wish: Wish) -> str:
    parts = [_WANTS[wish["kind"]](wish)]
    if wish["wrong_order_id"]:
        parts.append(f"At first you give the order number as {wish['wrong_order_id']}, by mistake.")
    if wish["alternative"]:
        parts.append(f"If that is sold out, you take {_version(wish['items'][0], wish['alternative']['new_options'])}.")
    if wish["because"] == "sold out":
        parts.append("If that is sold out, you leave it.")
    if wish["other_payment"]:
        parts.append(f"If that is not possible, use {payment_in_words(wish['other_payment'])}.")
    parts += _second_thought(wish)
    parts += [_OUTCOMES[wish["outcome"]]] if wish["outcome"] in _OUTCOMES else []
    return " ".join(parts)


def _cancel(wish: Wish) -> str:
    what = f"{_items(wish['items'])} from {_order(wish)}, but keep the rest" if wish["items"] else _order(wish)
    return f"You want to cancel {what}. Your reason: {wish['reason']}."


def _order_address(wish: Wish) -> str:
    return f"You want {_order(wish)} to be sent to {address_in_words(wish['address'])}."


def _default_address(wish: Wish) -> str:
    return f"You want the default address of your account to be {address_in_words(wish['address'])}."


def _swap(wish: Wish) -> str:
    verb = "exchange" if wish["kind"] == "exchange" else "change"
    if wish["other_product"]:
        return f"You want to {verb} {_items(wish['items'])} from {_order(wish)} for a {noun(wish['other_product'])}."
    new = listed([_version(item, item["new_options"]) for item in wish["items"]])
    pays = f"A price difference goes to {payment_in_words(wish['payment'])}."
    return f"You want to {verb} {_items(wish['items'])} from {_order(wish)}, and get {new} instead. {pays}"


def _return(wish: Wish) -> str:
    what = "everything" if wish["all_items"] else _items(wish["items"])
    return f"You want to return {what} from {_order(wish)}, refunded to {payment_in_words(wish['payment'])}."


def _order_payment(wish: Wish) -> str:
    return f"You want {_order(wish)} to be paid with {payment_in_words(wish['payment'])}."


def _question(wish: Wish) -> str:
    items = wish["items"]
    wanted = (
        _version(items[0], items[0]["new_options"])
        if items and "new_options" in items[0]
        else listed(list(wish["wanted_options"].values()))
    )
    return _QUESTIONS[wish["question"]].format(product=noun(wish["product"]), order=_order(wish), items=_items(items), wanted=wanted)


def _human(wish: Wish) -> str:
    return f"You want to speak to a human agent, about {_yours(wish['topic'])}."


def _beyond(wish: Wish) -> str:
    return f"You want help with {_yours(wish['topic'])}."


def _another(wish: Wish) -> str:
    return f"You want to know about the order {wish['order_id']}, which is not yours: it is that of {_yours(wish['whose'])}."


_WANTS: Mapping[str, Callable[[Wish], str]] = {
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
    "human": _human,
    "beyond scope": _beyond,
    "other customer": _another,
}


def _second_thought(wish: Wish) -> list[str]:
    thought = wish["second_thought"]
    when = "When you are first asked to confirm, you change your mind:"
    if "address" in thought:
        return [f"{when} it should be {thought['address'][thought['address']['part']]}."]
    if "wanted" in thought:
        return [f"{when} you would rather have {_version(wish['items'][0], thought['wanted']['new_options'])}."]
    if "items" in thought:
        return [f"{when} you want to return {_items(thought['items'])}, and nothing else."]
    return []


def _yours(words: str) -> str:
    return re.sub(r"\bmy\b", "your", words)


def _order(wish: Wish) -> str:
    if not wish["order_id"]:
        return ""
    if wish["same_order"]:
        return "the same order"
    if wish["knows_order"]:
        return f"your order {wish['order_id']}"
    return f"your order with the {noun(wish['described_by'])} (you do not know its number)"


def _items(items: Sequence[Row]) -> str:
    return listed([f"the {noun(item['name'])}" for item in items])


def _version(item: Row, options: Mapping[str, str]) -> str:
    return f"the {version(options, noun(item['name']), plural=item['name'].endswith('s'))}"


def payment_in_words(payment: Row) -> str:
    """A payment method as its owner calls it."""
    if payment["source"] == "credit_card":
        return f"your {payment['brand']} ending in {payment['last_four']}"
    return "your PayPal account" if payment["source"] == "paypal" else "your gift card"


def address_in_words(address: Row) -> str:
    """An address in a line."""
    parts = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join(part for part in parts if part)
