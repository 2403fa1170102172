"""Expert answers to questions about orders, products and prices. Nothing is written."""

from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import statement_templates
from callmark.worlds.retail.expert.dialogue import ClarificationError, ExpertDialogue, Steps
from callmark.worlds.retail.expert.noun_phrases import (
    address_line,
    format_money,
    items_phrase_definite,
    option_sort_key,
    payment_method_phrase,
    priced_items_phrase,
)
from callmark.worlds.retail.expert.order_tasks import payment_method_details
from callmark.worlds.retail.language.grammar import join_phrases
from callmark.worlds.retail.language.noun_phrases import is_plural, product_noun, variant_phrase
from callmark.worlds.retail.plans.draft import Goal, difference_expression, price_difference, total_expression
from callmark.worlds.retail.store.payments import sum_amounts
from callmark.worlds.retail.store.records import Row, find_variant, last_payment_method_id


def answer_order_question(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Give an order's status, items, address or payment."""
    order = yield from dialogue.get_order(goal)
    dialogue.drop_queued_statements()
    payments = [entry["amount"] for entry in order["payment_history"] if entry["transaction_type"] == "payment"]
    yield from dialogue.say(
        statement_templates.ORDER_ANSWERS[goal["question"]],
        order=order["order_id"],
        status=order["status"],
        items=priced_items_phrase(order["items"]),
        total=format_money(sum_amounts(payments)),
        address=address_line(order["address"]),
        paid=payment_method_phrase(payment_method_details(dialogue, last_payment_method_id(order))),
    )


def answer_product_question(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Say which variants exist, which one is the cheapest, or whether one is available."""
    if not dialogue.product_ids:
        dialogue.product_ids = yield from dialogue.call_tool(tools.LIST_PRODUCT_TYPES)
    if goal["product"] not in dialogue.product_ids:
        raise ClarificationError
    product = yield from dialogue.get_product(dialogue.product_ids[goal["product"]])
    available = [variant for variant in product["variants"] if variant["available"]]
    cheapest = min(available, key=lambda variant: (variant["price"], variant["item_id"]))
    prices = sorted(variant["price"] for variant in product["variants"])
    requested = find_variant(product, goal["requested_options"]) or cheapest
    question = goal["question"]
    yield from dialogue.say(
        statement_templates.PRODUCT_ANSWERS["not available" if question == "available" and not requested["available"] else question],
        product=product_noun(product["name"]),
        options=_option_values_phrase(product),
        lowest=format_money(cheapest["price"]),
        prices=format_money(prices[0]) if prices[0] == prices[-1] else f"between {format_money(prices[0])} and {format_money(prices[-1])}",
        count=str(len(product["variants"])),
        available=str(len(available)),
        thing=variant_phrase(requested["options"], product_noun(product["name"]), plural=is_plural(product["name"])),
        **({"is": "are", "comes": "come"} if is_plural(product["name"]) else {"is": "is", "comes": "comes"}),
        price=format_money(requested["price"]),
    )


def answer_price_question(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Give the total price of items, or the price difference to another variant."""
    order = yield from dialogue.get_order(goal)
    dialogue.drop_queued_statements()
    items = goal["items"]
    values = {"order": order["order_id"], "items": priced_items_phrase(items)}
    if goal["question"] == "difference":
        item = items[0]
        yield from dialogue.get_product(item["product_id"])
        expression = difference_expression(items)
        values |= {
            "name": product_noun(item["name"]),
            "thing": variant_phrase(item["new_options"], product_noun(item["name"]), plural=is_plural(item["name"])),
            "price": format_money(item["new_price"]),
            "old_price": format_money(item["price"]),
            "more_or_less": "more" if price_difference(items) > 0 else "less",
        }
    else:
        expression = total_expression(items)
        values["items"] = priced_items_phrase(items) if goal["question"] == "total" else items_phrase_definite(items)
    result = yield from dialogue.call_tool(tools.CALCULATE, expression=expression)
    yield from dialogue.say(statement_templates.PRICE_ANSWERS[goal["question"]], sum=format_money(result), **values)


def _option_values_phrase(product: Row) -> str:
    """Return every option with its values in order: `color (black or white) and size (7, 8 or 9)`."""
    values: dict[str, list[str]] = {}
    for variant in product["variants"]:
        for name, value in variant["options"].items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    return join_phrases(
        [f"{name} ({join_phrases(sorted(option_values, key=option_sort_key), last='or')})" for name, option_values in values.items()]
    )
