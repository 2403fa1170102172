"""What the expert does about orders and addresses: cancel, send elsewhere, pay otherwise, take back."""

from callmark.calls.agreement import is_yes
from callmark.worlds.retail import expert_facts, expert_refusals, tools
from callmark.worlds.retail.expert_naming import goods, method, method_with_balance, money, place, the_goods, when
from callmark.worlds.retail.expert_words import WORDS
from callmark.worlds.retail.hearing import names_address, names_items, names_payment, names_reason, says
from callmark.worlds.retail.orders import REASONS
from callmark.worlds.retail.payments import paid, total
from callmark.worlds.retail.phrasing import listed
from callmark.worlds.retail.plan_draft import Wish, items_sum
from callmark.worlds.retail.records import Row, paid_with
from callmark.worlds.retail.service import GivesUp, Service, Steps
from callmark.worlds.retail.store import EXCHANGED, MODIFIED, RETURNED

_DONE = {"cancel": "cancelled", "return": "returned", "exchange": "exchanged"}
_VERBS = {"return": "return", "exchange": "exchange", "order items": "change"}


def why_not(order: Row, needed: str) -> str:
    """Why an order's status does not allow what needs another; an empty text where it does."""
    status = order["status"]
    if status in (needed, "cancelled"):
        return "" if status == needed else "cancelled"
    if needed == "delivered":
        return "asked once" if status in (RETURNED, EXCHANGED) else "not delivered"
    return {"processed": "shipped", MODIFIED: "changed once"}.get(status, "delivered")


def refuse(service: Service, wish: Wish, order: Row, because: str, **values: str) -> Steps[None]:
    """Say why not."""
    service.forget_what_was_found()
    done = _DONE.get(wish["kind"], "changed")
    yield from service.say(expert_refusals.REFUSED[because], order=order["order_id"], status=order["status"], done=done, **values)


def sum_up(service: Service, wish: Wish, **values: str) -> Steps[str]:
    """Tell all that would be done and ask for a yes; what they answer."""
    service.forget_what_was_found()
    return (yield from service.say(expert_facts.CONFIRM[wish["kind"]], **values))


def is_agreed(service: Service, wish: Wish, **values: str) -> Steps[bool]:
    """Whether they say yes to it. Where they do not, they are told that nothing happened."""
    agrees = is_yes((yield from sum_up(service, wish, **values)))
    if not agrees:
        yield from leave_it(service)
    return agrees


def leave_it(service: Service) -> Steps[None]:
    """Say that nothing was changed."""
    yield from service.say(expert_refusals.DECLINED)


def ask_for_items(service: Service, wish: Wish, order: Row) -> Steps[None]:
    """Which items it is about, where that is not clear."""
    named = names_items(service.heard, wish["items"], all_items=wish["all_items"])
    if len(order["items"]) > 1 and not ("items" in wish["tells"] and named):
        yield from service.ask(
            "ask_items",
            lambda heard: names_items(heard, wish["items"], all_items=wish["all_items"]),
            verb=_VERBS[wish["kind"]],
        )


def own_method(service: Service, payment_method_id: str) -> Row:
    """A payment method as the customer's details have it."""
    found: Row = next(one for one in service.user["payment_methods"] if one["payment_method_id"] == payment_method_id)
    return found


def ask_for_payment(service: Service, wish: Wish, act: str, methods: list[Row]) -> Steps[Row]:
    """The payment method that the customer wants, asked for unless it was told."""
    payment = wish["payment"]
    if not ("payment" in wish["tells"] and names_payment(service.heard, payment, wish["paid_with"])):
        told = [method_with_balance(one) if act == "ask_payment" else method(one) for one in methods]
        answers = len(service.since)
        yield from service.ask(
            act,
            lambda heard: names_payment("\n".join(service.since[answers:]), payment, wish["paid_with"]),
            methods=listed(told),
            choice_of=listed(told, last="or"),
        )
    return own_method(service, payment["payment_method_id"])


def ask_for_another_payment(service: Service, wish: Wish, why: str, act: str = "other_payment") -> Steps[Row | None]:
    """What they take instead of a payment method that cannot be used; None where they leave it."""
    service.forget_what_was_found()
    answer = yield from service.say(WORDS[act], why=why)
    other = wish["other_payment"]
    return own_method(service, other["payment_method_id"]) if other and names_payment(answer, other, wish["paid_with"]) else None


def cancel(service: Service, wish: Wish) -> Steps[None]:
    """Cancel an order: the whole of it, if it is pending, for one of two reasons."""
    order = yield from service.see_order(wish)
    because = why_not(order, "pending") or ("part of an order" if wish["items"] else "")
    if because:
        item = wish["items"][0]["name"].lower() if wish["items"] else ""
        yield from refuse(service, wish, order, because, item=item)
        return
    if not ("reason" in wish["tells"] and names_reason(service.heard, wish["reason"])):
        yield from service.say(WORDS["ask_reason"])
    if wish["reason"] not in REASONS:
        yield from refuse(service, wish, order, "other reason")
        return
    payment = own_method(service, paid_with(order))
    values = {
        "order": order["order_id"],
        "items": goods(order["items"]),
        "status": order["status"],
        "reason": wish["reason"],
        "refund": money(total(paid(order).values())),
        "payment": method(payment),
        "when": when(payment),
    }
    if (yield from is_agreed(service, wish, **values)):
        service.orders[order["order_id"]] = yield from service.use(tools.CANCEL_ORDER, order_id=order["order_id"], reason=wish["reason"])
        yield from service.say(expert_facts.DONE["cancel"], **values)


def change_order_address(service: Service, wish: Wish) -> Steps[None]:
    """Send a pending order elsewhere."""
    order = yield from service.see_order(wish)
    if because := why_not(order, "pending"):
        yield from refuse(service, wish, order, because)
        return
    address = yield from _agreed_address(
        service, wish, order["address"], order=order["order_id"], status=order["status"], items=the_goods(order["items"])
    )
    if address:
        order_id = order["order_id"]
        service.orders[order_id] = yield from service.use(tools.MODIFY_ORDER_ADDRESS, order_id=order_id, **address)
        yield from service.say(expert_facts.DONE["order address"], order=order_id, address=place(address), city=address["city"])


def change_default_address(service: Service, wish: Wish) -> Steps[None]:
    """Change the address of the account."""
    address = yield from _agreed_address(service, wish, service.user["address"])
    if address:
        service.user = yield from service.use(tools.MODIFY_USER_ADDRESS, user_id=service.user["user_id"], **address)
        yield from service.say(expert_facts.DONE["default address"], address=place(address), city=address["city"])


def _agreed_address(service: Service, wish: Wish, old: Row, **values: str) -> Steps[Row | None]:
    """The new address, asked for unless it was told, and confirmed; None where they do not want it after all."""
    address: Row = wish["address"]
    told = wish["same_address"] or ("address" in wish["tells"] and names_address(service.heard, address))
    if not (told and names_address("\n".join(service.said), address)):
        yield from service.ask("ask_address", lambda heard: names_address(heard, address))
    heard = yield from sum_up(service, wish, **values, address=place(address), old_address=place(old))
    corrected: Row = wish["second_thought"].get("address", {})
    if corrected and not is_yes(heard) and says(heard, corrected[corrected["part"]]):
        address = {name: value for name, value in corrected.items() if name != "part"}
        heard = yield from sum_up(service, wish, **values, address=place(address), old_address=place(old))
    if is_yes(heard):
        return address
    yield from leave_it(service)
    return None


def change_order_payment(service: Service, wish: Wish) -> Steps[None]:
    """Let a pending order be paid by another payment method."""
    order = yield from service.see_order(wish)
    if because := why_not(order, "pending"):
        yield from refuse(service, wish, order, because)
        return
    old, price = own_method(service, paid_with(order)), total(paid(order).values())
    others = [one for one in service.user["payment_methods"] if one != old]
    payment: Row | None = yield from ask_for_payment(service, wish, "ask_payment", others or [old])
    if payment == old:
        yield from refuse(service, wish, order, "same method", payment=method(old))
        return
    if payment and payment["source"] == "gift_card" and payment["balance"] < price:
        why = f"there is only {money(payment['balance'])} on your gift card, and the order comes to {money(price)}"
        payment = yield from ask_for_another_payment(service, wish, why)
    if payment is None:
        yield from refuse(service, wish, order, "gift card")
        return
    values = {
        "order": order["order_id"],
        "status": order["status"],
        "refund": money(price),
        "payment": method(payment),
        "paid": method(old),
        "when": when(old),
    }
    if (yield from is_agreed(service, wish, **values)):
        service.orders[order["order_id"]] = yield from service.use(
            tools.MODIFY_ORDER_PAYMENT, order_id=order["order_id"], payment_method_id=payment["payment_method_id"]
        )
        yield from service.say(expert_facts.DONE["order payment"], **values)


def send_back(service: Service, wish: Wish) -> Steps[None]:
    """Take back items of a delivered order, refunded to what it was paid with or to a gift card."""
    order = yield from service.see_order(wish)
    if because := why_not(order, "delivered"):
        yield from refuse(service, wish, order, because)
        return
    yield from ask_for_items(service, wish, order)
    payment = yield from _refund_goes_to(service, wish, order)
    thought = wish["second_thought"]
    items: list[Row] = wish["items"]
    while True:
        refund = items[0]["price"] if len(items) == 1 else (yield from service.use(tools.CALCULATE, expression=items_sum(items)))
        values = {"order": order["order_id"], "items": the_goods(items), "refund": money(refund), "payment": method(payment)}
        heard = yield from sum_up(service, wish, **values)
        if is_yes(heard):
            break
        if not thought or not names_items(heard, _named(thought)):
            yield from leave_it(service)
            return
        items, thought = thought["items"], {}
    ids = [item["item_id"] for item in items]
    service.orders[order["order_id"]] = yield from service.use(
        tools.RETURN_ITEMS, order_id=order["order_id"], item_ids=ids, payment_method_id=payment["payment_method_id"]
    )
    yield from service.say(expert_facts.DONE["return"], **values)


def _named(thought: Row) -> list[Row]:
    return [{"name": name} for name in (*thought["added"], *thought["left_out"])]


def _refund_goes_to(service: Service, wish: Wish, order: Row) -> Steps[Row]:
    """Asked for only where there is a choice."""
    original = own_method(service, paid_with(order))
    allowed = [original, *(one for one in service.user["payment_methods"] if one["source"] == "gift_card" and one != original)]
    is_told = "payment" in wish["tells"] and names_payment(service.heard, wish["payment"], wish["paid_with"])
    if len(allowed) == 1 and not is_told and wish["payment"]["payment_method_id"] == original["payment_method_id"]:
        return original
    payment: Row | None = yield from ask_for_payment(service, wish, "ask_refund_payment", allowed)
    if payment not in allowed:
        why = f"a refund for this order can go only to {listed([method(one) for one in allowed], last='or')}"
        payment = yield from ask_for_another_payment(service, wish, why, "only_payment" if len(allowed) == 1 else "other_payment")
    if payment is None:
        raise GivesUp
    return payment
