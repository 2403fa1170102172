"""Expert tasks on orders and addresses: cancel, change the address, change the payment, return items."""

from callmark import is_confirmation
from callmark.worlds.retail import tools
from callmark.worlds.retail.expert import refusal_templates, statement_templates
from callmark.worlds.retail.expert.dialogue import ClarificationError, ExpertDialogue, Steps
from callmark.worlds.retail.expert.noun_phrases import (
    address_line,
    format_money,
    items_phrase_definite,
    payment_method_phrase,
    payment_method_with_balance,
    priced_items_phrase,
    refund_time,
)
from callmark.worlds.retail.expert.question_templates import QUESTIONS_BY_ACT
from callmark.worlds.retail.expert.slot_matching import mentions, mentions_address, mentions_cancel_reason, mentions_items, mentions_payment
from callmark.worlds.retail.language.grammar import join_phrases
from callmark.worlds.retail.plans.draft import Goal, total_expression
from callmark.worlds.retail.store.orders import REASONS
from callmark.worlds.retail.store.payments import net_payments, sum_amounts
from callmark.worlds.retail.store.records import Row, last_payment_method_id
from callmark.worlds.retail.store.store import EXCHANGED, MODIFIED, RETURNED

_PARTICIPLES = {"cancel": "cancelled", "return": "returned", "exchange": "exchanged"}
_VERBS = {"return": "return", "exchange": "exchange", "order items": "change"}


def find_refusal_reason(order: Row, needed: str) -> str:
    """Return why an order's status does not allow an action; "" if it does."""
    status = order["status"]
    if status in (needed, "cancelled"):
        return "" if status == needed else "cancelled"
    if needed == "delivered":
        return "asked once" if status in (RETURNED, EXCHANGED) else "not delivered"
    return {"processed": "shipped", MODIFIED: "changed once"}.get(status, "delivered")


def refuse_goal(dialogue: ExpertDialogue, goal: Goal, order: Row, refusal_reason: str, **values: str) -> Steps[None]:
    """Refuse with a reason."""
    dialogue.drop_queued_statements()
    done = _PARTICIPLES.get(goal["kind"], "changed")
    yield from dialogue.say(
        refusal_templates.REFUSALS[refusal_reason], order=order["order_id"], status=order["status"], done=done, **values
    )


def ask_confirmation(dialogue: ExpertDialogue, goal: Goal, **values: str) -> Steps[str]:
    """Summarize the action, ask for a yes, and return the answer."""
    dialogue.drop_queued_statements()
    return (yield from dialogue.say(statement_templates.CONFIRMATIONS[goal["kind"]], **values))


def confirm_goal(dialogue: ExpertDialogue, goal: Goal, **values: str) -> Steps[bool]:
    """Summarize the action and return whether the user says yes. After a no, say that nothing was changed."""
    is_confirmed = is_confirmation((yield from ask_confirmation(dialogue, goal, **values)))
    if not is_confirmed:
        yield from acknowledge_decline(dialogue)
    return is_confirmed


def acknowledge_decline(dialogue: ExpertDialogue) -> Steps[None]:
    """Say that nothing was changed."""
    yield from dialogue.say(refusal_templates.DECLINE_ACKNOWLEDGMENTS)


def ask_for_items(dialogue: ExpertDialogue, goal: Goal, order: Row) -> Steps[None]:
    """Ask which items it is about, unless that is clear."""
    are_named = mentions_items(dialogue.goal_text, goal["items"], all_items=goal["all_items"])
    if len(order["items"]) > 1 and not ("items" in goal["volunteered_slots"] and are_named):
        yield from dialogue.ask(
            "ask_items",
            lambda answer: mentions_items(answer, goal["items"], all_items=goal["all_items"]),
            verb=_VERBS[goal["kind"]],
        )


def payment_method_details(dialogue: ExpertDialogue, payment_method_id: str) -> Row:
    """Return a payment method from the user's details."""
    details: Row = next(method for method in dialogue.user["payment_methods"] if method["payment_method_id"] == payment_method_id)
    return details


def ask_for_payment(dialogue: ExpertDialogue, goal: Goal, act: str, methods: list[Row]) -> Steps[Row]:
    """Return the payment method that the user wants, asking for it unless it was volunteered."""
    payment = goal["payment"]
    if not ("payment" in goal["volunteered_slots"] and mentions_payment(dialogue.goal_text, payment, goal["original_payment"])):
        phrases = [payment_method_with_balance(method) if act == "ask_payment" else payment_method_phrase(method) for method in methods]
        first_answer = len(dialogue.goal_turns)
        yield from dialogue.ask(
            act,
            lambda answer: mentions_payment("\n".join(dialogue.goal_turns[first_answer:]), payment, goal["original_payment"]),
            methods=join_phrases(phrases),
            choice_of=join_phrases(phrases, last="or"),
        )
    return payment_method_details(dialogue, payment["payment_method_id"])


def ask_for_another_payment(dialogue: ExpertDialogue, goal: Goal, reason: str, act: str = "other_payment") -> Steps[Row | None]:
    """Return the payment method that replaces one that cannot be used; None if the user names none."""
    dialogue.drop_queued_statements()
    answer = yield from dialogue.say(QUESTIONS_BY_ACT[act], why=reason)
    fallback = goal["other_payment"]
    return (
        payment_method_details(dialogue, fallback["payment_method_id"])
        if fallback and mentions_payment(answer, fallback, goal["original_payment"])
        else None
    )


def cancel_order(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Cancel a whole pending order for one of the two accepted reasons."""
    order = yield from dialogue.get_order(goal)
    refusal_reason = find_refusal_reason(order, "pending") or ("part of an order" if goal["items"] else "")
    if refusal_reason:
        item = goal["items"][0]["name"].lower() if goal["items"] else ""
        yield from refuse_goal(dialogue, goal, order, refusal_reason, item=item)
        return
    if not ("reason" in goal["volunteered_slots"] and mentions_cancel_reason(dialogue.goal_text, goal["reason"])):
        yield from dialogue.say(QUESTIONS_BY_ACT["ask_reason"])
    if goal["reason"] not in REASONS:
        yield from refuse_goal(dialogue, goal, order, "other reason")
        return
    payment = payment_method_details(dialogue, last_payment_method_id(order))
    values = {
        "order": order["order_id"],
        "items": priced_items_phrase(order["items"]),
        "status": order["status"],
        "reason": goal["reason"],
        "refund": format_money(sum_amounts(net_payments(order).values())),
        "payment": payment_method_phrase(payment),
        "when": refund_time(payment),
    }
    if (yield from confirm_goal(dialogue, goal, **values)):
        dialogue.orders[order["order_id"]] = yield from dialogue.call_tool(
            tools.CANCEL_ORDER, order_id=order["order_id"], reason=goal["reason"]
        )
        yield from dialogue.say(statement_templates.COMPLETIONS["cancel"], **values)


def change_order_address(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Change the address of a pending order."""
    order = yield from dialogue.get_order(goal)
    if refusal_reason := find_refusal_reason(order, "pending"):
        yield from refuse_goal(dialogue, goal, order, refusal_reason)
        return
    address = yield from _confirm_address(
        dialogue, goal, order["address"], order=order["order_id"], status=order["status"], items=items_phrase_definite(order["items"])
    )
    if address:
        order_id = order["order_id"]
        dialogue.orders[order_id] = yield from dialogue.call_tool(tools.MODIFY_ORDER_ADDRESS, order_id=order_id, **address)
        yield from dialogue.say(
            statement_templates.COMPLETIONS["order address"], order=order_id, address=address_line(address), city=address["city"]
        )


def change_default_address(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Change the default address of the account."""
    address = yield from _confirm_address(dialogue, goal, dialogue.user["address"])
    if address:
        dialogue.user = yield from dialogue.call_tool(tools.MODIFY_USER_ADDRESS, user_id=dialogue.user["user_id"], **address)
        yield from dialogue.say(statement_templates.COMPLETIONS["default address"], address=address_line(address), city=address["city"])


def _confirm_address(dialogue: ExpertDialogue, goal: Goal, old: Row, **values: str) -> Steps[Row | None]:
    """Return the confirmed new address, asking for it unless it was volunteered; None if the user declines."""
    address: Row = goal["address"]
    is_volunteered = goal["same_address"] or ("address" in goal["volunteered_slots"] and mentions_address(dialogue.goal_text, address))
    if not (is_volunteered and mentions_address("\n".join(dialogue.user_turns), address)):
        yield from dialogue.ask("ask_address", lambda answer: mentions_address(answer, address))
    answer = yield from ask_confirmation(dialogue, goal, **values, address=address_line(address), old_address=address_line(old))
    corrected: Row = goal["second_thought"].get("address", {})
    if corrected and not is_confirmation(answer) and mentions(answer, corrected[corrected["part"]]):
        address = {name: value for name, value in corrected.items() if name != "part"}
        answer = yield from ask_confirmation(dialogue, goal, **values, address=address_line(address), old_address=address_line(old))
    if is_confirmation(answer):
        return address
    yield from acknowledge_decline(dialogue)
    return None


def change_order_payment(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Change the payment method of a pending order."""
    order = yield from dialogue.get_order(goal)
    if refusal_reason := find_refusal_reason(order, "pending"):
        yield from refuse_goal(dialogue, goal, order, refusal_reason)
        return
    old, price = payment_method_details(dialogue, last_payment_method_id(order)), sum_amounts(net_payments(order).values())
    other_methods = [method for method in dialogue.user["payment_methods"] if method != old]
    payment: Row | None = yield from ask_for_payment(dialogue, goal, "ask_payment", other_methods or [old])
    if payment == old:
        yield from refuse_goal(dialogue, goal, order, "same method", payment=payment_method_phrase(old))
        return
    if payment and payment["source"] == "gift_card" and payment["balance"] < price:
        reason = f"there is only {format_money(payment['balance'])} on your gift card, and the order comes to {format_money(price)}"
        payment = yield from ask_for_another_payment(dialogue, goal, reason)
    if payment is None:
        yield from refuse_goal(dialogue, goal, order, "gift card")
        return
    values = {
        "order": order["order_id"],
        "status": order["status"],
        "refund": format_money(price),
        "payment": payment_method_phrase(payment),
        "paid": payment_method_phrase(old),
        "when": refund_time(old),
    }
    if (yield from confirm_goal(dialogue, goal, **values)):
        dialogue.orders[order["order_id"]] = yield from dialogue.call_tool(
            tools.MODIFY_ORDER_PAYMENT, order_id=order["order_id"], payment_method_id=payment["payment_method_id"]
        )
        yield from dialogue.say(statement_templates.COMPLETIONS["order payment"], **values)


def return_items(dialogue: ExpertDialogue, goal: Goal) -> Steps[None]:
    """Return items of a delivered order, refunded to the original payment method or a gift card."""
    order = yield from dialogue.get_order(goal)
    if refusal_reason := find_refusal_reason(order, "delivered"):
        yield from refuse_goal(dialogue, goal, order, refusal_reason)
        return
    yield from ask_for_items(dialogue, goal, order)
    payment = yield from _choose_refund_method(dialogue, goal, order)
    second_thought = goal["second_thought"]
    items: list[Row] = goal["items"]
    while True:
        refund = (
            items[0]["price"] if len(items) == 1 else (yield from dialogue.call_tool(tools.CALCULATE, expression=total_expression(items)))
        )
        values = {
            "order": order["order_id"],
            "items": items_phrase_definite(items),
            "refund": format_money(refund),
            "payment": payment_method_phrase(payment),
        }
        answer = yield from ask_confirmation(dialogue, goal, **values)
        if is_confirmation(answer):
            break
        if not second_thought or not mentions_items(answer, _changed_items(second_thought)):
            yield from acknowledge_decline(dialogue)
            return
        items, second_thought = second_thought["items"], {}
    ids = [item["item_id"] for item in items]
    dialogue.orders[order["order_id"]] = yield from dialogue.call_tool(
        tools.RETURN_ITEMS, order_id=order["order_id"], item_ids=ids, payment_method_id=payment["payment_method_id"]
    )
    yield from dialogue.say(statement_templates.COMPLETIONS["return"], **values)


def _changed_items(second_thought: Row) -> list[Row]:
    return [{"name": name} for name in (*second_thought["added"], *second_thought["left_out"])]


def _choose_refund_method(dialogue: ExpertDialogue, goal: Goal, order: Row) -> Steps[Row]:
    """Return the payment method for the refund, asking for it only if there is a choice."""
    original = payment_method_details(dialogue, last_payment_method_id(order))
    allowed = [original, *(method for method in dialogue.user["payment_methods"] if method["source"] == "gift_card" and method != original)]
    is_volunteered = "payment" in goal["volunteered_slots"] and mentions_payment(
        dialogue.goal_text, goal["payment"], goal["original_payment"]
    )
    if len(allowed) == 1 and not is_volunteered and goal["payment"]["payment_method_id"] == original["payment_method_id"]:
        return original
    payment: Row | None = yield from ask_for_payment(dialogue, goal, "ask_refund_payment", allowed)
    if payment not in allowed:
        reason = f"a refund for this order can go only to {join_phrases([payment_method_phrase(method) for method in allowed], last='or')}"
        payment = yield from ask_for_another_payment(dialogue, goal, reason, "ask_only_payment" if len(allowed) == 1 else "other_payment")
    if payment is None:
        raise ClarificationError
    return payment
