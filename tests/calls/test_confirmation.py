"""Texts that confirm and texts that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.calls.confirmation import is_confirmation

YES = [
    "yes",
    "Yes.",
    "YES!",
    "Yep, go ahead",
    "yeah, please do",
    "Sure",
    "Sure, go ahead.",
    "sure thing, thanks",
    "ok",
    "O.K.",
    "Okay, please.",
    "Alright, do it",
    "All right then",
    "correct",
    "That's right.",
    "That’s correct, thank you",
    "Confirmed",
    "I confirm. Please go ahead with this payment.",
    "Please proceed.",
    "please do",
    "Go ahead and create it",
    "Looks good to me!",
    "That sounds good. Please proceed with the booking.",
    "Yes, everything looks correct. Please go ahead and finalize the booking.",
    "Yes, please downgrade all of them to economy class.",
    "Yes, please use the credit card ending in 9725 for the upgrade.",
    "Yes, I'd like to proceed with those changes. And please use a gift card.",
    "Oh, I see. Yes, please use the certificate.",
    "Great, thank you. Yes please.",
    "Yes, please proceed. No insurance.",
    "Yes, please proceed. I do not want insurance.",
    "No changes, please go ahead",
    "It costs more than I thought, but yes, go ahead",
    "Actually, yes.",
    "Could you please go ahead with that?",
    "Of course",
    "Absolutely, that works for me",
    "👍",
    "fine by me",
    "Yes, cancel the reservation",
    "In that case, please go ahead and book the flight using my credit card.",
    "You can proceed",
    "Sure! Thank you very much.",
    "Yes, please go ahead. Also, could I get a refund?",
]
NO = [
    "Please do nothing.",
    "In that case, please do nothing for now.",
    "",
    "...",
    "no",
    "No.",
    "No, thanks",
    "nope, that's wrong",
    "not yet",
    "Yes, but change the title first",
    "yes, however the priority should be High",
    "Yes. But make it Critical.",
    "Sure, but not before Monday",
    "Yes, go ahead. Actually, wait.",
    "Wait, hold on",
    "Yes, except the second one",
    "Yes, we are not done yet: I still need to add an action item.",
    "Yes, change the department to HR instead",
    "Yes?",
    "OK?",
    "Is that correct?",
    "Should you go ahead?",
    "Please don't go ahead",
    "do not proceed",
    "That's not correct",
    "I'm not sure",
    "maybe",
    "Sure, my user ID is mia_li_3668.",
    "Okay, I need a ticket for my printer",
    "Right, so the printer is broken",
    "Please cancel my reservation 4OG6T3",
    "I'll go with the first option, Flight HAT136 & HAT039.",
    "Please use the gift card with the smallest balance.",
    "Thank you for finding those. Please downgrade all of them to economy.",
    "Could you upgrade me to business class for that segment, please?",
    "I'll go ahead without the travel insurance.",
    "Great, thank you for your help!",
    "Thanks",
    "The printer says it is ok",
    "Yesterday it still worked",
    "Don't do it",
    "No, please do not go ahead",
    "Yes, don't",
    "Sure! My user ID is aarav_garcia_1177.",
    "Sounds good. I'll gather the details and get back to you. Thanks for your help!",
    "Let's go with Option 1. Please make that change for me.",
    "Alright, then. I'd like to change my recent reservation.",
]


@pytest.mark.parametrize("said", YES)
def test_confirmations(said: str) -> None:
    assert is_confirmation(said)


@pytest.mark.parametrize("said", NO)
def test_texts_that_do_not_confirm(said: str) -> None:
    assert not is_confirmation(said)


def test_phrase_tables_are_large_enough() -> None:
    assert len(set(YES) | set(NO)) >= 60


@pytest.mark.parametrize(
    "said, yes",
    [
        ("ja", True),
        ("Ja, bitte!", True),
        ("Machen Sie das, passt so", True),
        ("nein", False),
        ("yes", False),
        ("I do not say ja", False),
        ("ja, but later", False),
        ("Jahr", False),
    ],
)
def test_given_words_replace_the_usual_ones(said: str, yes: bool) -> None:
    assert is_confirmation(said, ["Ja", "passt so"]) is yes


@pytest.mark.laws
@given(st.text() | st.lists(st.sampled_from(["yes", "no", "but", ",", ".", "?", "go ahead", "not", "ok", "wait"])).map(" ".join))
def test_no_text_raises(said: str) -> None:
    assert is_confirmation(said) in (True, False)
    assert not is_confirmation(f"{said}. But not yet")
