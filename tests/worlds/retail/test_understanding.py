"""What customers understand: every wording of the expert, several questions at once, and the words of others."""

from collections.abc import Iterable, Mapping
from random import Random

import pytest

from callmark.worlds.retail import expert_facts, expert_refusals, expert_words
from callmark.worlds.retail.phrasing import Grammar
from callmark.worlds.retail.understanding import acts_of

DRAWS = 25
GRAMMAR = Grammar(expert_words.PARTS)
ACT_OF = {
    "ask_order_after_login": "ask_order",
    "ask_refund_payment": "ask_payment",
    "goodbye_after_no": "goodbye",
    "incomplete_email": "not_found",
    "only_payment": "other_payment",
}
MORE = ("done_more", "refuse_more", "declined_more")  # a customer answers them alike, but for a word of regret
Phrases = Iterable[str] | Mapping[str, Iterable[str]]


def each(phrases: Phrases) -> list[str]:
    return [phrase for some in (phrases.values() if isinstance(phrases, Mapping) else [phrases]) for phrase in some]


def said(phrase: str) -> list[str]:
    return [GRAMMAR.say(phrase, Random(draw), manner="", values=expert_words.SAMPLE) for draw in range(DRAWS)]


@pytest.mark.parametrize("act", expert_words.WORDS)
def test_every_question_of_the_expert_is_understood(act: str) -> None:
    for phrase in expert_words.WORDS[act]:
        for text in said(phrase):
            assert acts_of(text) == (ACT_OF.get(act, act),), text


@pytest.mark.parametrize(
    "phrases, acts",
    [
        (expert_facts.CONFIRM, ("confirm",)),
        (expert_facts.DONE, ("done_more",)),
        (expert_facts.STATUS, ("done_more",)),
        (expert_facts.PRICE, ("done_more",)),
        (expert_facts.PRODUCT, ("done_more", "refuse_more")),
        (expert_refusals.REFUSED, ("refuse_more",)),
        (expert_refusals.EXPLAINED, MORE),
        (expert_refusals.DECLINED, ("declined_more",)),
    ],
)
def test_every_statement_of_the_expert_is_understood(phrases: Phrases, acts: tuple[str, ...]) -> None:
    for phrase in each(phrases):
        for text in said(phrase):
            heard = acts_of(text)
            assert heard in [(act,) for act in acts], text


@pytest.mark.parametrize("found", [*expert_facts.FOUND, *expert_facts.FOUND_BY_LOOKING, *expert_facts.AVAILABLE])
def test_what_was_found_does_not_hide_the_question_after_it(found: str) -> None:
    for act in ("ask_items", "ask_payment", "ask_reason", "ask_address", "ask_wanted"):
        for phrase in expert_words.WORDS[act]:
            for text in said(f"{found} {phrase}")[:5]:
                assert acts_of(text) == (act,), text


@pytest.mark.parametrize(
    "text, acts",
    [
        ("Could you tell me the order number and the reason for the cancellation?", ("ask_order", "ask_reason")),
        ("What is the order number? And what is the new address?", ("ask_order", "ask_address")),
        ("Please provide your email address. I also need the order number.", ("ask_email", "ask_order")),
        ("Which item would you like to return, and to which payment method should the refund go?", ("ask_items", "ask_payment")),
    ],
)
def test_several_questions_in_one_message(text: str, acts: tuple[str, ...]) -> None:
    assert acts_of(text) == acts


@pytest.mark.parametrize(
    "text, act",
    [
        ("I can help you modify your order! For security, can you please provide your email address?", "ask_email"),
        ("Please confirm your email so I can look you up.", "ask_email"),
        ("Can you tell me the order ID, or do you want me to list your recent orders?", "ask_order"),
        ("I found it. Please provide the new address details: street, city, state, zip and country.", "ask_address"),
        ("You want it in black. Is that correct? Please reply 'yes' to proceed.", "confirm"),
        ("It will be shipped to 12 Oak Street, Austin, TX 78701, USA. Is this address correct?", "confirm"),
        ("The exchange is done. Let me know if there is anything else I can help with!", "done_more"),
        ("It is changed, and there is nothing to pay. Anything else?", "done_more"),
        ("I’m sorry, that isn’t possible. Is there anything else?", "refuse_more"),
        ("I am going to transfer you to a human agent.", "transferred"),
        ("Thank you for shopping with us!", "goodbye"),
    ],
)
def test_the_words_of_other_agents(text: str, act: str) -> None:
    assert acts_of(text) == (act,)


@pytest.mark.parametrize("text", ["", "   ", "Hmm.", "Let me look that up.", "Thanks, one moment.", "42", "?"])
def test_what_says_nothing_is_not_understood(text: str) -> None:
    assert acts_of(text) == ()
