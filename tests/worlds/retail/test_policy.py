"""policy.yaml: for every rule a conversation that breaks only that rule, and conversations that comply with all of them."""

from pathlib import Path

import pytest

import callmark.worlds.retail as retail
from callmark.config import read_policy
from callmark.grading.attempt import Attempt
from callmark.grading.evaluators.policy import PolicyEvaluator
from callmark.grading.evaluators.policy_rules import read_rules
from callmark.types import Call, Message, Prediction
from callmark.worlds.retail import tools

FOLDER = Path(retail.__file__).parent
RULES = read_rules(read_policy(str(FOLDER / "policy.yaml")))

HELLO, YES, NO = "user: Hi, I need help with my order.", "user: Yes, please.", "user: No, leave it."
FOUND = 'find_user_id_by_email(email=a@example.com) = {"user_id": "sara_doe_496"}'
OTHER = 'find_user_id_by_email(email=b@example.com) = {"user_id": "omar_kim_123"}'
NOBODY = "find_user_id_by_email(email=c@example.com) = there is no customer"
BY_NAME = 'find_user_id_by_name_zip(first_name=Sara) = {"user_id": "sara_doe_496"}'
DETAILS = "get_user_details(user_id=sara_doe_496) = {}"
OTHERS_DETAILS = "get_user_details(user_id=omar_kim_123) = {}"
ORDER, PRODUCT = "get_order_details(order_id=#W1) = {}", "get_product_details(product_id=1) = {}"
ADDRESS, TRANSFER = "modify_user_address(user_id=sara_doe_496) = {}", "transfer_to_human_agents(summary=x) = Transfer successful"
LOGIN = (HELLO, FOUND, DETAILS)
ORDER_ACTIONS = [name for name in tools.WRITES if name != tools.MODIFY_USER_ADDRESS]
REPLACING = [tools.MODIFY_ORDER_ITEMS, tools.EXCHANGE_ITEMS]


def action(name: str) -> str:
    return f"{name}(order_id=#W1) = {{}}"


def transcript(*steps: str) -> tuple[Message, ...]:
    """Return messages from steps: `user: …` is a user message, any other a call with its result: `name(key=value) = result`."""
    messages: list[Message] = []
    for number, step in enumerate(steps):
        if step.startswith("user: "):
            messages.append(Message("user", step.removeprefix("user: ")))
            continue
        signature, _, result = step.partition(" = ")
        name, _, argument = signature.removesuffix(")").partition("(")
        key, _, value = argument.partition("=")
        call = Call(name, {key: value}, str(number))
        messages += (Message("assistant", "", (call,)), Message("tool", result, tool_call_id=str(number)))
    return tuple(messages)


def broken_rules(*steps: str) -> set[str]:
    """Return the ids of the rules that a conversation breaks."""
    messages = transcript(*steps)
    calls = tuple(call for message in messages for call in message.calls)
    attempt = Attempt((), calls, prediction=Prediction("a", calls=calls, transcript=messages))
    return {note.sentence.partition(" (")[0] for note in PolicyEvaluator(RULES).evaluate(attempt).notes}


KEPT = [
    (HELLO,),
    (*LOGIN, ORDER),
    (*LOGIN, PRODUCT, "calculate(expression=1) = 1"),
    (HELLO, NOBODY, BY_NAME, DETAILS, ORDER, YES, action(tools.CANCEL_ORDER)),
    (HELLO, FOUND, "list_all_product_types(x=1) = {}", DETAILS, ORDER),
    *((*LOGIN, ORDER, PRODUCT, YES, action(name)) for name in tools.WRITES),
    (*LOGIN, ORDER, YES, action(tools.CANCEL_ORDER), "user: And my address, too.", YES, ADDRESS),
    (*LOGIN, ORDER, NO),
    (HELLO, TRANSFER),
    (*LOGIN, ORDER, TRANSFER),
]
BROKEN: list[tuple[str, tuple[str, ...]]] = [
    ("login-first", (HELLO, PRODUCT)),
    ("login-first", (HELLO, "list_all_product_types(x=1) = {}", FOUND, DETAILS)),
    ("login-first", (HELLO, DETAILS)),
    ("account-seen", (HELLO, FOUND, ORDER)),
    ("account-seen", (HELLO, FOUND, OTHERS_DETAILS, ORDER)),
    ("account-seen", (HELLO, NOBODY, DETAILS, ORDER)),
    ("account-seen", (HELLO, FOUND, YES, ADDRESS)),
    ("one-customer", (*LOGIN, OTHER, OTHERS_DETAILS)),
    ("few-lookups", (HELLO, *[NOBODY] * 4, BY_NAME)),
    *(("order-seen", (*LOGIN, PRODUCT, YES, action(name))) for name in ORDER_ACTIONS),
    *(("product-seen", (*LOGIN, ORDER, YES, action(name))) for name in REPLACING),
    *(("one-action-per-yes", (*LOGIN, ORDER, PRODUCT, YES, action(tools.CANCEL_ORDER), action(name))) for name in tools.WRITES),
    ("transfer-is-the-end", (*LOGIN, TRANSFER, ORDER)),
    ("transfer-is-the-end", (*LOGIN, TRANSFER, TRANSFER)),
    *(("no-other-actions", (*LOGIN, action(name))) for name in ("place_order", "create_order", "refund_payment", "delete_user")),
    *(("no-other-actions", (*LOGIN, action(name))) for name in ("add_payment_method", "apply_discount")),
]


@pytest.mark.parametrize("steps", KEPT, ids=range(len(KEPT)))
def test_compliant_conversation_breaks_no_rule(steps: tuple[str, ...]) -> None:
    assert broken_rules(*steps) == set()


@pytest.mark.parametrize("rule, steps", BROKEN, ids=[f"{rule}-{number}" for number, (rule, _) in enumerate(BROKEN)])
def test_violation_is_reported_for_its_rule(rule: str, steps: tuple[str, ...]) -> None:
    assert broken_rules(*steps) == {rule}


@pytest.mark.parametrize("name", tools.WRITES)
@pytest.mark.parametrize("text", [NO, "user: What would it cost?", "user: Yes, but to my PayPal account, not to the card."])
def test_action_without_a_yes_is_unconfirmed(name: str, text: str) -> None:
    """The earlier yes was for another action, so the rule of one action per yes is broken as well."""
    earlier = (*LOGIN, ORDER, PRODUCT, YES, ADDRESS)
    assert broken_rules(*earlier, text, action(name)) == {"confirmed", "one-action-per-yes"}
    assert broken_rules(*earlier, YES, action(name)) == set()


def test_every_rule_has_a_violation_case() -> None:
    assert {rule.id for rule in RULES} == {rule for rule, _ in BROKEN} | {"confirmed"}


def test_policy_names_every_status_and_reason_of_the_store() -> None:
    text = (FOLDER / "policy.md").read_text()
    for words in ("pending (items modified)", "return requested", "exchange requested", "no longer needed", "ordered by mistake"):
        assert words in " ".join(text.split())
