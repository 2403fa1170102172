"""What the expert does where items are replaced by other variants: in a pending order, or in a delivered one."""

from callmark.calls.agreement import is_yes
from callmark.worlds.retail import expert_facts, tools
from callmark.worlds.retail.errands import (
    ask_for_another_payment,
    ask_for_items,
    ask_for_payment,
    leave_it,
    own_method,
    refuse,
    sum_up,
    why_not,
)
from callmark.worlds.retail.expert_naming import choice, method, money, one_of, variant, with_article
from callmark.worlds.retail.expert_words import WORDS
from callmark.worlds.retail.hearing import names_options, says
from callmark.worlds.retail.naming import is_plural, noun, version
from callmark.worlds.retail.phrasing import listed
from callmark.worlds.retail.plan_draft import Wish, difference, swap_sum
from callmark.worlds.retail.records import Row, changes_between, offered, paid_with
from callmark.worlds.retail.service import Service, Steps

_TOOLS = {"exchange": tools.EXCHANGE_ITEMS, "order items": tools.MODIFY_ORDER_ITEMS}
_REPLACED = {"exchange": "exchanged for", "order items": "replaced by"}


def swap(service: Service, wish: Wish) -> Steps[None]:
    """Replace items by other variants of the same products, if they are available; the difference is paid or refunded."""
    order = yield from service.see_order(wish)
    if because := why_not(order, "delivered" if wish["kind"] == "exchange" else "pending"):
        yield from refuse(service, wish, order, because)
        return
    yield from ask_for_items(service, wish, order)
    yield from _ask_what_is_wanted(service, wish)
    if wish["other_product"]:
        item, other = noun(wish["items"][0]["name"]), with_article(noun(wish["other_product"]))
        yield from refuse(service, wish, order, "other product", item=item, other=other)
        return
    items = yield from _available(service, wish)
    if not items:
        yield from refuse(service, wish, order, "sold out")
        return
    named: Row | None = None
    later = wish["second_thought"].get("wanted")
    while True:
        cost = difference(items)
        if cost and wish["works_out_sums"]:
            yield from service.use(tools.CALCULATE, expression=swap_sum(items))
        if cost and named is None:
            named = yield from _paid_by(service, wish, items)
        payment = named if cost else own_method(service, paid_with(order))
        if payment is None:
            yield from refuse(service, wish, order, "gift card")
            return
        values = {"order": order["order_id"], "changes": _changes(wish, items), "difference": _difference(wish, items, payment)}
        values["in_stock"] = "" if cost else service.chance.choice(expert_facts.IN_STOCK)
        heard = yield from sum_up(service, wish, **values)
        if is_yes(heard):
            break
        if not later or not names_options(heard, changes_between(items[0]["new_options"], later["new_options"])):
            yield from leave_it(service)
            return
        items, later = [items[0] | later], None
    service.orders[order["order_id"]] = yield from service.use(
        _TOOLS[wish["kind"]],
        order_id=order["order_id"],
        item_ids=[item["item_id"] for item in items],
        new_item_ids=[item["new_item_id"] for item in items],
        payment_method_id=payment["payment_method_id"],
    )
    yield from service.say(
        expert_facts.DONE[wish["kind"]], order=order["order_id"], new_items=_new(items), settled=_settled(wish, items, payment)
    )


def _ask_what_is_wanted(service: Service, wish: Wish) -> Steps[None]:
    def is_clear(heard: str) -> bool:
        if wish["other_product"]:
            return says(heard, wish["other_product"])
        return all(names_options(heard, item["changes"]) for item in wish["items"])

    if not ("wanted" in wish["tells"] and is_clear(service.heard)):
        options = {name: value for item in wish["items"] for name, value in item["options"].items()}
        choices = listed([choice(name, value) for name, value in options.items()])
        yield from service.ask("ask_wanted", is_clear, choices=choices)


def _available(service: Service, wish: Wish) -> Steps[list[Row]]:
    """The items with what comes in their place. What is sold out may become something else; empty where it is left."""
    items = []
    for item in wish["items"]:
        product = yield from service.see_product(item["product_id"])
        found = next(one for one in product["variants"] if one["item_id"] == item["new_item_id"])
        if found["available"]:
            items.append(item)
            continue
        there = [f"{one_of(item['name'], one['options'])} ({money(one['price'])})" for one in offered(product, item, item["new_options"])]
        service.forget_what_was_found()
        heard = yield from service.say(
            WORDS["offer_others"],
            thing=version(item["new_options"], noun(item["name"]), plural=is_plural(item["name"])),
            others=listed(there),
            **{"is": "are" if is_plural(item["name"]) else "is"},
        )
        other = wish["alternative"]
        if not other or not names_options(heard, changes_between(item["new_options"], other["new_options"])):
            return []
        items.append(item | other)
    return items


def _paid_by(service: Service, wish: Wish, items: list[Row]) -> Steps[Row | None]:
    """The payment method for the difference, asked for where there is a choice; None where they leave it."""
    cost, methods = difference(items), service.user["payment_methods"]
    if len(methods) == 1:
        return own_method(service, methods[0]["payment_method_id"])
    service.forget_what_was_found()
    service.tell(expert_facts.AVAILABLE, new=_new(items), costs=_costs(wish, items))
    payment: Row | None = yield from ask_for_payment(service, wish, "ask_payment", methods)
    if payment and payment["source"] == "gift_card" and payment["balance"] < cost:
        too_much = f"and the difference is {money(cost)}" if wish["works_out_sums"] else "which does not cover the difference"
        why = f"there is only {money(payment['balance'])} on your gift card, {too_much}"
        payment = yield from ask_for_another_payment(service, wish, why)
    return payment


def _changes(wish: Wish, items: list[Row]) -> str:
    replaced = _REPLACED[wish["kind"]]
    first, *rest = [(f"the {noun(item['name'])}", variant(item["name"], item["new_options"])) for item in items]
    return ", and ".join([f"{first[0]} would be {replaced} {first[1]}", *(f"{old} {replaced.split()[1]} {new}" for old, new in rest)])


def _new(items: list[Row]) -> str:
    return ", plus ".join([variant(item["name"], item["new_options"]) for item in items])


def _costs(wish: Wish, items: list[Row]) -> str:
    """How the prices compare: the difference where it was worked out, else both."""
    cost = difference(items)
    if wish["works_out_sums"]:
        return f"that is {money(abs(cost))} {'more' if cost > 0 else 'less'}"
    return listed([f"{money(item['new_price'])} instead of {money(item['price'])}" for item in items])


def _difference(wish: Wish, items: list[Row], payment: Row) -> str:
    cost = difference(items)
    if not cost:
        return "The price stays the same"
    goes = f"the difference {'is charged' if cost > 0 else 'is refunded'} to {method(payment)}"
    return f"{_costs(wish, items)}; {goes}"


def _settled(wish: Wish, items: list[Row], payment: Row) -> str:
    cost = difference(items)
    if not cost:
        return "There is nothing to pay"
    what = money(abs(cost)) if wish["works_out_sums"] else "the difference"
    return f"{what} {'is charged' if cost > 0 else 'is refunded'} to {method(payment)}"
