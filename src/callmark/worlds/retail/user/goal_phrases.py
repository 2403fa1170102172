"""The wording of one goal: its templates, noun phrases for its order and items, and forms that agree with them in number."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from callmark.worlds.retail.language.noun_phrases import (
    address_phrase,
    article,
    is_plural,
    items_phrase,
    payment_phrase,
    plural_noun,
    product_noun,
    replacement_phrase,
    variant_phrase,
)
from callmark.worlds.retail.user import opening_templates, reaction_templates
from callmark.worlds.retail.user.backstory_templates import backstories
from callmark.worlds.retail.user.goal_templates import ACTIONS, OTHERS, QUESTIONS

Goal = Mapping[str, Any]

_KNOWN_REASONS = ("no longer needed", "ordered by mistake")
_ITEM_GOAL_KINDS = (
    "return",
    "exchange",
    "order items",
    "price question",
)  # kinds about items; their item phrases include the order
_FORM_NAMES = ("it", "itis", "itwas", "itdoes", "they", "one", "ones", "comes", "does")
_GENERIC_FORMS = ("one", "ones")  # the other forms refer to the thing itself
_MARK = re.compile(r"\0(\w+)\0")


def goal_grammar(goal: Goal, rng: Random) -> Sequence[Mapping[str, str]]:
    """Return the templates of a goal, which override the generic ones."""
    kind, volunteered_slots = goal["kind"], goal["volunteered_slots"]
    if kind in ACTIONS:
        phrases = ACTIONS[kind]
        suffix = " wanted" if "replacement" in volunteered_slots else " part" if kind == "cancel" and goal["items"] else ""
        vp = phrases[f"vp{suffix}"]
        agent_vp, user_vp = (f"[{vp}|{phrases[key]}]" if key in phrases else vp for key in (f"yours{suffix}", f"mine{suffix}"))
        return [{"vp": agent_vp, "my": user_vp, "why": _backstory(goal, rng), "do": reaction_templates.YES[kind]}]
    if kind in QUESTIONS:
        question = QUESTIONS[goal["question"]]
        suffix = " wanted" if "replacement" in volunteered_slots and "wh wanted" in question else ""
        backstory = QUESTIONS[kind].get(f"why {goal['question']}", QUESTIONS[kind]["why"])
        return [
            opening_templates.QUESTION_FRAMES,
            {"wh": question[f"wh{suffix}"], "direct": question[f"direct{suffix}"], "why": backstory},
        ]
    templates = OTHERS[kind]
    return [opening_templates.PERSONAL_FRAMES, {"my": templates["vp"], "why": "" if "topic" in volunteered_slots else templates["why"]}]


def goal_values(goal: Goal, rng: Random) -> dict[str, str]:
    """Return the template values of a goal: phrases for its order, items and volunteered slots."""
    order = _order_phrase(goal, rng)
    values = {
        "order": order,
        "goods": _items_phrase(goal, order, rng),
        "reason": goal["reason"],
        "topic": goal["topic"],
        "whose": goal["order_owner"],
    }
    if goal["other_product"]:
        values["wanted"] = other_product_phrase(goal)
    elif goal["items"] and "changes" in goal["items"][0]:
        values["wanted"] = replacement_phrase(goal["items"], rng)
    if goal["product"]:
        name, plural = product_noun(goal["product"]), is_plural(goal["product"])
        values |= {
            "product": name,
            "products": plural_noun(goal["product"]),
            "version": f"the {variant_phrase(goal['requested_options'], name, plural=plural)}",
        }
    if goal["payment"]:
        values["payment"] = payment_phrase(goal["payment"], rng, original=original_payment(goal))
    if goal["address"]:
        values["address"] = address_phrase(goal["address"], rng)
    return values


def backstory_first(goal: Goal, values: Mapping[str, str], render: Callable[[Mapping[str, str]], str]) -> dict[str, str]:
    """Return values for a backstory that precedes the request: it names the thing, and the request says `it`.

    `render` renders the backstory with given values.
    """
    noun = "goods" if goal["kind"] in _ITEM_GOAL_KINDS else "order"
    backstory = render({**values, **{form: f"\0{form}\0" for form in _FORM_NAMES}})
    first_mark = _MARK.search(backstory)
    if first_mark is None:
        return {"why": backstory}
    named_backstory = backstory.replace(first_mark[0], _name_form(goal, first_mark[1], values[noun]), 1)
    backstory_values = {"why": _MARK.sub(lambda match: values[match[1]], named_backstory)}
    return backstory_values if first_mark[1] in _GENERIC_FORMS or goal["product"] else backstory_values | {noun: values["it"]}


def slot_statement(goal: Goal, slot: str) -> str:
    """Return the template that states a volunteered slot; "" for a slot that the request itself contains."""
    if slot == "payment":
        return {"return": "<tell refund>", "order payment": "<tell payment>"}.get(goal["kind"], "<tell difference>")
    if slot == "address":
        return "<same address>" if goal["same_address"] else f"<tell {'default' if goal['kind'] == 'default address' else 'address'}>"
    if slot == "topic":
        return "<tell topic>" if goal["kind"] == "human" else ""
    return cancel_reason_template(goal) if slot == "reason" else ""


def cancel_reason_template(goal: Goal) -> str:
    """Return the template that gives the reason to cancel."""
    return f"<{goal['reason']}>" if goal["reason"] in _KNOWN_REASONS else "<other reason>"


def other_product_phrase(goal: Goal) -> str:
    """Return the other product that the user wants."""
    name = product_noun(goal["other_product"])
    return name if is_plural(name) else f"{article(name)} {name}"


def original_payment(goal: Goal) -> Mapping[str, Any] | None:
    """Return the payment method that may be called the original one; None if the goal is to change it."""
    return None if goal["kind"] == "order payment" else goal["original_payment"]


def agreement_forms(goal: Goal) -> dict[str, str]:
    """Return the words that agree in number with the subject of the goal."""
    singular = ("it", "it's", "it was", "it does", "it", "one", "one", "comes", "does")
    plural = ("them", "they're", "they were", "they do", "they", "some", "ones", "come", "do")
    return dict(zip(_FORM_NAMES, plural if _is_plural_goal(goal) else singular, strict=True))


def _is_plural_goal(goal: Goal) -> bool:
    if goal["product"]:
        return is_plural(goal["product"])
    if goal["kind"] not in _ITEM_GOAL_KINDS:
        return False
    return len(goal["items"]) > 1 or ("items" in goal["volunteered_slots"] and is_plural(goal["items"][0]["name"]))


def _name_form(goal: Goal, form: str, noun: str) -> str:
    """Return an agreeing form with the noun in place of the pronoun."""
    name = goal["product"] or (goal["items"][0]["name"] if goal["items"] and "items" in goal["volunteered_slots"] else "")
    if form in _GENERIC_FORMS or goal["product"]:
        is_bare_noun = form == "ones" or not name or is_plural(name)
        return (
            "the same thing" if not name else product_noun(name) if is_bare_noun else f"{article(product_noun(name))} {product_noun(name)}"
        )
    verbs = {"itis": ("is", "are"), "itwas": ("was", "were"), "itdoes": ("does", "do")}
    return f"{noun} {verbs[form][_is_plural_goal(goal)]}" if form in verbs else noun


def _backstory(goal: Goal, rng: Random) -> str:
    """Return a backstory, preferably one that fits the items.

    "" if a reason is volunteered or the order's status contradicts it.
    """
    kind, refusal_reason = goal["kind"], goal["refusal_reason"]
    if (
        "reason" in goal["volunteered_slots"]
        or refusal_reason in ("delivered", "cancelled", "part of an order")
        or goal["other_product"]
        or goal["same_order"]
    ):
        return ""
    if refusal_reason == "not delivered":
        return ACTIONS["return"]["why early"] if kind == "return" else ACTIONS["order items"]["why"]
    fitting = backstories(goal) if "items" in goal["volunteered_slots"] else []
    return rng.choice([*fitting, *fitting, ACTIONS[kind]["why"]])


def _order_phrase(goal: Goal, rng: Random) -> str:
    """Return the order as it reads within a sentence."""
    if goal["same_order"]:
        return rng.choice(("the same order", "that order", "that same order", "the order we just talked about"))
    if goal["kind"] == "other customer":
        return str(goal["order_id"])
    if "order" not in goal["volunteered_slots"]:
        return rng.choice(("an order", "one of my orders", "my order", "an order of mine", "an order I placed"))
    if _is_identified_by_items(goal):
        return "my order"
    if not goal["knows_order_id"]:
        name = product_noun(goal["described_by_item"])
        return rng.choice((f"my order with the {name}", f"the order that has the {name}", f"the order with the {name} in it"))
    number = goal["wrong_order_id"] or goal["order_id"]
    return rng.choice((f"order {number}", f"my order {number}", f"order number {number}", f"my order ({number})"))


def _items_phrase(goal: Goal, order: str, rng: Random) -> str:
    """Return the items as they read within a sentence, with their order if it is volunteered or they are not named."""
    are_named = "items" in goal["volunteered_slots"]
    if not are_named:
        items = rng.choice(
            ("a few things", "some things", "several items") if len(goal["items"]) > 1 else ("something", "an item", "one item")
        )
    else:
        items = rng.choice(("all the items", "all the things")) if goal["all_items"] else items_phrase(goal["items"], rng)
    if goal["kind"] not in _ITEM_GOAL_KINDS or (
        are_named and not goal["all_items"] and "order" not in goal["volunteered_slots"] and not goal["same_order"]
    ):
        return items
    if _is_identified_by_items(goal):
        return rng.choice((items, f"{items.replace('my ', 'the ')} I ordered", f"{items.replace('my ', 'the ')} I bought"))
    return f"{items} {rng.choice(('in', 'from'))} {order}"


def _is_identified_by_items(goal: Goal) -> bool:
    """Return whether the named items already identify an order without a number."""
    named_items = [item["name"] for item in goal["items"]] if "items" in goal["volunteered_slots"] and not goal["all_items"] else []
    return not goal["knows_order_id"] and goal["described_by_item"] in named_items
