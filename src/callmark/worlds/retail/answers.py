"""What the expert answers: about orders, products and prices. Nothing is written."""

from callmark.worlds.retail import expert_facts, tools
from callmark.worlds.retail.errands import own_method
from callmark.worlds.retail.expert_naming import goods, method, money, place, size_of, the_goods
from callmark.worlds.retail.naming import is_plural, noun, version
from callmark.worlds.retail.payments import total
from callmark.worlds.retail.phrasing import listed
from callmark.worlds.retail.plan_draft import Wish, difference, items_sum, swap_sum
from callmark.worlds.retail.records import Row, paid_with, variant_with
from callmark.worlds.retail.service import GivesUp, Service, Steps


def answer_about_an_order(service: Service, wish: Wish) -> Steps[None]:
    """Its status, what is in it, where it goes or how it was paid."""
    order = yield from service.see_order(wish)
    service.forget_what_was_found()
    payments = [one["amount"] for one in order["payment_history"] if one["transaction_type"] == "payment"]
    yield from service.say(
        expert_facts.STATUS[wish["question"]],
        order=order["order_id"],
        status=order["status"],
        items=goods(order["items"]),
        total=money(total(payments)),
        address=place(order["address"]),
        paid=method(own_method(service, paid_with(order))),
    )


def answer_about_a_product(service: Service, wish: Wish) -> Steps[None]:
    """Which variants there are, which is the cheapest, whether one is available."""
    if not service.product_ids:
        service.product_ids = yield from service.use(tools.LIST_PRODUCT_TYPES)
    if wish["product"] not in service.product_ids:
        raise GivesUp
    product = yield from service.see_product(service.product_ids[wish["product"]])
    available = [one for one in product["variants"] if one["available"]]
    cheapest = min(available, key=lambda one: (one["price"], one["item_id"]))
    prices = sorted(one["price"] for one in product["variants"])
    asked_for = variant_with(product, wish["wanted_options"]) or cheapest
    question = wish["question"]
    yield from service.say(
        expert_facts.PRODUCT["not available" if question == "available" and not asked_for["available"] else question],
        product=noun(product["name"]),
        options=_choices(product),
        lowest=money(cheapest["price"]),
        prices=money(prices[0]) if prices[0] == prices[-1] else f"between {money(prices[0])} and {money(prices[-1])}",
        count=str(len(product["variants"])),
        available=str(len(available)),
        thing=version(asked_for["options"], noun(product["name"]), plural=is_plural(product["name"])),
        **({"is": "are", "comes": "come"} if is_plural(product["name"]) else {"is": "is", "comes": "comes"}),
        price=money(asked_for["price"]),
    )


def answer_about_a_price(service: Service, wish: Wish) -> Steps[None]:
    """What items cost together, or how much another variant costs beyond what they have."""
    order = yield from service.see_order(wish)
    service.forget_what_was_found()
    items = wish["items"]
    values = {"order": order["order_id"], "items": goods(items)}
    if wish["question"] == "difference":
        item = items[0]
        yield from service.see_product(item["product_id"])
        expression = swap_sum(items)
        values |= {
            "name": noun(item["name"]),
            "thing": version(item["new_options"], noun(item["name"]), plural=is_plural(item["name"])),
            "price": money(item["new_price"]),
            "old_price": money(item["price"]),
            "more_or_less": "more" if difference(items) > 0 else "less",
        }
    else:
        expression = items_sum(items)
        values["items"] = goods(items) if wish["question"] == "total" else the_goods(items)
    result = yield from service.use(tools.CALCULATE, expression=expression)
    yield from service.say(expert_facts.PRICE[wish["question"]], sum=money(result), **values)


def _choices(product: Row) -> str:
    """Every option with its values, sizes in their order: `color (black or white) and size (7, 8 or 9)`."""
    values: dict[str, list[str]] = {}
    for one in product["variants"]:
        for name, value in one["options"].items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    return listed([f"{name} ({listed(sorted(some, key=size_of), last='or')})" for name, some in values.items()])
