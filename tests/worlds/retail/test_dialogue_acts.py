"""Dialogue act recognition: every template of the expert, several questions at once, and other agents' wording."""

from collections.abc import Iterable, Mapping
from random import Random

import pytest

from callmark.worlds.retail.expert import question_templates, refusal_templates, statement_templates
from callmark.worlds.retail.language.grammar import Grammar
from callmark.worlds.retail.user.dialogue_acts import parse_dialogue_acts

DRAWS = 25
GRAMMAR = Grammar(question_templates.PARTS)
ACT_BY_QUESTION = {
    "ask_order_after_login": "ask_order",
    "ask_refund_payment": "ask_payment",
    "goodbye_after_no": "goodbye",
    "inform_incomplete_email": "inform_not_found",
    "ask_only_payment": "other_payment",
}
CLOSING_ACTS = ("inform_done", "inform_refused", "inform_declined")  # a customer answers them alike, except for a word of regret
Templates = Iterable[str] | Mapping[str, Iterable[str]]


def flatten(templates: Templates) -> list[str]:
    return [template for some in (templates.values() if isinstance(templates, Mapping) else [templates]) for template in some]


def render_samples(template: str) -> list[str]:
    return [GRAMMAR.render(template, Random(draw), style="", values=question_templates.SAMPLE_VALUES) for draw in range(DRAWS)]


@pytest.mark.parametrize("act", question_templates.QUESTIONS_BY_ACT)
def test_user_recognizes_every_question_of_the_expert(act: str) -> None:
    for template in question_templates.QUESTIONS_BY_ACT[act]:
        for text in render_samples(template):
            assert parse_dialogue_acts(text) == (ACT_BY_QUESTION.get(act, act),), text


@pytest.mark.parametrize(
    "templates, acts",
    [
        (statement_templates.CONFIRMATIONS, ("ask_confirmation",)),
        (statement_templates.COMPLETIONS, ("inform_done",)),
        (statement_templates.ORDER_ANSWERS, ("inform_done",)),
        (statement_templates.PRICE_ANSWERS, ("inform_done",)),
        (statement_templates.PRODUCT_ANSWERS, ("inform_done", "inform_refused")),
        (refusal_templates.REFUSALS, ("inform_refused",)),
        (refusal_templates.EXPLANATIONS, CLOSING_ACTS),
        (refusal_templates.DECLINE_ACKNOWLEDGMENTS, ("inform_declined",)),
    ],
)
def test_user_recognizes_every_statement_of_the_expert(templates: Templates, acts: tuple[str, ...]) -> None:
    for template in flatten(templates):
        for text in render_samples(template):
            acts_found = parse_dialogue_acts(text)
            assert acts_found in [(act,) for act in acts], text


@pytest.mark.parametrize(
    "statement", [*statement_templates.ORDER_FOUND, *statement_templates.ORDER_FOUND_BY_SEARCH, *statement_templates.AVAILABILITY]
)
def test_statement_does_not_hide_the_question_after_it(statement: str) -> None:
    for act in ("ask_items", "ask_payment", "ask_reason", "ask_address", "ask_replacement"):
        for template in question_templates.QUESTIONS_BY_ACT[act]:
            for text in render_samples(f"{statement} {template}")[:5]:
                assert parse_dialogue_acts(text) == (act,), text


@pytest.mark.parametrize(
    "text, acts",
    [
        ("Could you tell me the order number and the reason for the cancellation?", ("ask_order", "ask_reason")),
        ("What is the order number? And what is the new address?", ("ask_order", "ask_address")),
        ("Please provide your email address. I also need the order number.", ("ask_email", "ask_order")),
        ("Which item would you like to return, and to which payment method should the refund go?", ("ask_items", "ask_payment")),
    ],
)
def test_several_questions_in_one_message_are_recognized(text: str, acts: tuple[str, ...]) -> None:
    assert parse_dialogue_acts(text) == acts


@pytest.mark.parametrize(
    "text, act",
    [
        ("I can help you modify your order! For security, can you please provide your email address?", "ask_email"),
        ("Please confirm your email so I can look you up.", "ask_email"),
        ("Can you tell me the order ID, or do you want me to list your recent orders?", "ask_order"),
        ("I found it. Please provide the new address details: street, city, state, zip and country.", "ask_address"),
        ("You want it in black. Is that correct? Please reply 'yes' to proceed.", "ask_confirmation"),
        ("It will be shipped to 12 Oak Street, Austin, TX 78701, USA. Is this address correct?", "ask_confirmation"),
        ("The exchange is done. Let me know if there is anything else I can help with!", "inform_done"),
        ("It is changed, and there is nothing to pay. Anything else?", "inform_done"),
        ("I’m sorry, that isn’t possible. Is there anything else?", "inform_refused"),
        ("I am going to transfer you to a human agent.", "inform_transfer"),
        ("Thank you for shopping with us!", "goodbye"),
    ],
)
def test_wording_of_other_agents_is_recognized(text: str, act: str) -> None:
    assert parse_dialogue_acts(text) == (act,)


@pytest.mark.parametrize("text", ["", "   ", "Hmm.", "Let me look that up.", "Thanks, one moment.", "42", "?"])
def test_text_without_a_request_has_no_acts(text: str) -> None:
    assert parse_dialogue_acts(text) == ()
