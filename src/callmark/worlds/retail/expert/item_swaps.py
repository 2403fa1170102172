"""Expert tasks that replace items with other variants, in a pending order (modify) or a delivered one (exchange)."""

from callmark import is_confirmation
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import statement_templates
from callmark.worlds.retail.expert.dialogue import ExpertDialogue, Steps
from callmark.worlds.retail.expert.noun_phrases import (
    format_money,
    indefinite_variant_phrase,
    option_choice_phrase,
    payment_method_phrase,
    pronoun_variant_phrase,
    with_article,
)
from callmark.worlds.retail.expert.order_tasks import (
    acknowledge_decline,
    ask_confirmation,
    ask_for_another_payment,
    ask_for_items,
    ask_for_payment,
    find_refusal_reason,
    payment_method_details,
    refuse_goal,
)
from callmark.worlds.retail.expert.question_templates import QUESTIONS_BY_ACT
from callmark.worlds.retail.expert.slot_matching import mentions, mentions_options
from callmark.worlds.retail.language.grammar import join_phrases
from callmark.worlds.retail.language.noun_phrases import is_plural, product_noun, variant_phrase
from callmark.worlds.retail.plans.draft import Goal, difference_expression, price_difference
from callmark.worlds.retail.store.records import Row, available_alternatives, changed_options, last_payment_method_id

_TOOLS = {"exchange": tools.EXCHANGE_ITEMS, "order items": tools.MODIFY_ORDER_ITEMS}
_REPLACEMENT_VERBS = {"exchange": "exchanged for", "order items": "replaced by"}


def swap_items(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Replace items with available variants of the same products, and charge or refund the difference."""
    order = yield from dialogue.get_order(goal)
    if refusal_reason := find_refusal_reason(order, "delivered" if goal["kind"] == "exchange" else "pending"):
        yield from refuse_goal(dialogue, goal, order, refusal_reason)
        return
    yield from ask_for_items(dialogue, goal, order)
    yield from _ask_for_replacement(dialogue, goal)
    if goal["other_product"]:
        item, other_product = product_noun(goal["items"][0]["name"]), with_article(product_noun(goal["other_product"]))
        yield from refuse_goal(dialogue, goal, order, "other product", item=item, other=other_product)
        return
    items = yield from _choose_available_items(dialogue, goal)
    if not items:
        yield from refuse_goal(dialogue, goal, order, "sold out")
        return
    chosen_method: Row | None = None
    revised = goal["second_thought"].get("replacement")
    while True:
        difference = price_difference(items)
        if difference and goal["uses_calculator"]:
            yield from dialogue.call_tool(tools.CALCULATE, expression=difference_expression(items))
        if difference and chosen_method is None:
            chosen_method = yield from _choose_difference_method(dialogue, goal, items)
        payment = chosen_method if difference else payment_method_details(dialogue, last_payment_method_id(order))
        if payment is None:
            yield from refuse_goal(dialogue, goal, order, "gift card")
            return
        values = {
            "order": order["order_id"],
            "changes": _changes_phrase(goal, items),
            "difference": _difference_phrase(goal, items, payment),
        }
        values["in_stock"] = "" if difference else dialogue.rng.choice(statement_templates.IN_STOCK)
        answer = yield from ask_confirmation(dialogue, goal, **values)
        if is_confirmation(answer):
            break
        if not revised or not mentions_options(answer, changed_options(items[0]["new_options"], revised["new_options"])):
            yield from acknowledge_decline(dialogue)
            return
        items, revised = [items[0] | revised], None
    dialogue.orders[order["order_id"]] = yield from dialogue.call_tool(
        _TOOLS[goal["kind"]],
        order_id=order["order_id"],
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[item["new_item_id"] for item in items],
        payment_method_id=payment["payment_method_id"],
    )
    yield from dialogue.say(
        statement_templates.COMPLETIONS[goal["kind"]],
        order=order["order_id"],
        new_items=_new_items_phrase(items),
        settled=_settlement_phrase(goal, items, payment),
    )


def _ask_for_replacement(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    def is_clear(answer: str) -> bool:
        if goal["other_product"]:
            return mentions(answer, goal["other_product"])
        return all(mentions_options(answer, item["changes"]) for item in goal["items"])

    if not ("replacement" in goal["volunteered_slots"] and is_clear(dialogue.goal_text)):
        options = {name: value for item in goal["items"] for name, value in item["options"].items()}
        choices = join_phrases([option_choice_phrase(name, value) for name, value in options.items()])
        yield from dialogue.ask("ask_replacement", is_clear, choices=choices)


def _choose_available_items(dialogue: ExpertDialogue, goal: Goal) -> Steps[list[Row]]:
    """Return the items with their replacements. A sold-out one is replaced with the user's alternative; empty if they want none."""
    items = []
    for item in goal["items"]:
        product = yield from dialogue.get_product(item["product_id"])
        variant = next(candidate for candidate in product["variants"] if candidate["item_id"] == item["new_item_id"])
        if variant["available"]:
            items.append(item)
            continue
        offers = [
            f"{pronoun_variant_phrase(item['name'], offer['options'])} ({format_money(offer['price'])})"
            for offer in available_alternatives(product, item, item["new_options"])
        ]
        dialogue.drop_queued_statements()
        answer = yield from dialogue.say(
            QUESTIONS_BY_ACT["offer_alternatives"],
            thing=variant_phrase(item["new_options"], product_noun(item["name"]), plural=is_plural(item["name"])),
            others=join_phrases(offers),
            **{"is": "are" if is_plural(item["name"]) else "is"},
        )
        alternative = goal["alternative"]
        if not alternative or not mentions_options(answer, changed_options(item["new_options"], alternative["new_options"])):
            return []
        items.append(item | alternative)
    return items


def _choose_difference_method(dialogue: ExpertDialogue, goal: Goal, items: list[Row]) -> Steps[Row | None]:
    """Return the payment method for the difference, asking for it if there is a choice; None if the user gives up."""
    difference, methods = price_difference(items), dialogue.user["payment_methods"]
    if len(methods) == 1:
        return payment_method_details(dialogue, methods[0]["payment_method_id"])
    dialogue.drop_queued_statements()
    dialogue.queue_statement(statement_templates.AVAILABILITY, new=_new_items_phrase(items), costs=_price_comparison(goal, items))
    payment: Row | None = yield from ask_for_payment(dialogue, goal, "ask_payment", methods)
    if payment and payment["source"] == "gift_card" and payment["balance"] < difference:
        comparison = (
            f"and the difference is {format_money(difference)}" if goal["uses_calculator"] else "which does not cover the difference"
        )
        reason = f"there is only {format_money(payment['balance'])} on your gift card, {comparison}"
        payment = yield from ask_for_another_payment(dialogue, goal, reason)
    return payment


def _changes_phrase(goal: Goal, items: list[Row]) -> str:
    verb = _REPLACEMENT_VERBS[goal["kind"]]
    first, *rest = [(f"the {product_noun(item['name'])}", indefinite_variant_phrase(item["name"], item["new_options"])) for item in items]
    return ", and ".join([f"{first[0]} would be {verb} {first[1]}", *(f"{old} {verb.split()[1]} {new}" for old, new in rest)])


def _new_items_phrase(items: list[Row]) -> str:
    return ", plus ".join([indefinite_variant_phrase(item["name"], item["new_options"]) for item in items])


def _price_comparison(goal: Goal, items: list[Row]) -> str:
    """Return the price difference if it was calculated, else both prices."""
    difference = price_difference(items)
    if goal["uses_calculator"]:
        return f"that is {format_money(abs(difference))} {'more' if difference > 0 else 'less'}"
    return join_phrases([f"{format_money(item['new_price'])} instead of {format_money(item['price'])}" for item in items])


def _difference_phrase(goal: Goal, items: list[Row], payment: Row) -> str:
    difference = price_difference(items)
    if not difference:
        return "The price stays the same"
    settlement = f"the difference {'is charged' if difference > 0 else 'is refunded'} to {payment_method_phrase(payment)}"
    return f"{_price_comparison(goal, items)}; {settlement}"


def _settlement_phrase(goal: Goal, items: list[Row], payment: Row) -> str:
    difference = price_difference(items)
    if not difference:
        return "There is nothing to pay"
    amount = format_money(abs(difference)) if goal["uses_calculator"] else "the difference"
    return f"{amount} {'is charged' if difference > 0 else 'is refunded'} to {payment_method_phrase(payment)}"
