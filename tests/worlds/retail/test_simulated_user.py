"""Customers in whole conversations: with the expert, with agents that do not listen, and one answer at a time."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import pytest

from callmark.calls.agreement import is_confirmation
from callmark.errors import BadInput
from callmark.simulation.session import UserTurn
from callmark.types import Case, Message, Prediction
from callmark.worlds.retail.language.grammar import Grammar, sentence_key, split_sentences
from callmark.worlds.retail.language.noun_phrases import contrast_phrase, variant_phrase
from callmark.worlds.retail.plans.generator import STYLES
from callmark.worlds.retail.user import answer_templates, backstory_templates, goal_templates, opening_templates, reaction_templates
from callmark.worlds.retail.user.simulated_user import MAX_TURNS, RetailUser
from callmark.worlds.retail.user.utterances import UtteranceGenerator
from callmark.worlds.retail.world import RetailWorld
from tests.worlds.retail.conversations import held

REAL = 0.44  # distinct 4-grams a word in the user turns of the 55 real conversations; tests/real computes it
NUMBER = 55


@lru_cache
def conversations(number: int = NUMBER, seed: int = 7) -> list[Prediction]:
    """What came of that many plans, spoken by the expert and the customer."""
    return held(RetailWorld().plans(number, seed=seed), seed=seed)


def turns(replies: Iterable[Any]) -> list[list[str]]:
    """What the users said, by conversation."""
    return [[message.text for message in reply.transcript if message.role == "user"] for reply in replies]


def four_grams_a_word(talks: Iterable[Sequence[str]]) -> float:
    """Distinct runs of four words within a turn, lower-cased and split at white space, over the number of words."""
    found: set[tuple[str, ...]] = set()
    number = 0
    for text in (text for talk in talks for text in talk):
        words = text.lower().split()
        number += len(words)
        found.update(tuple(words[at : at + 4]) for at in range(len(words) - 3))
    return len(found) / number


@lru_cache
def plans(number: int = 240) -> list[Case]:
    return RetailWorld().plans(number, seed=11)


def read_plan(kind: str, **wanted: Any) -> Case:
    """A plan whose first wish is of the kind, and has these values."""
    return next(
        case
        for case in plans()
        if (goal := case.data["plan"]["goals"][0])["kind"] == kind and all(goal[name] == value for name, value in wanted.items())
    )


def talked(case: Case, said: Iterable[str], *, seed: int = 7, trial: int = 0) -> list[UserTurn]:
    """What a customer answers to each text in turn, until they are done; their opening first."""

    async def talk() -> list[UserTurn]:
        speaker = RetailUser(seed).start_session(case, trial)
        heard: list[Message] = []
        spoken = [await speaker.next_turn(heard)]
        for text in said:
            if spoken[-1].done:
                break
            heard += [Message("user", spoken[-1].text), Message("assistant", text)]
            spoken.append(await speaker.next_turn(heard))
        return spoken

    return asyncio.run(talk())


def test_with_the_expert_every_conversation_comes_to_its_end() -> None:
    assert {reply.ending for reply in conversations()} == {"completed", "transfer"}


def test_nobody_says_a_sentence_twice() -> None:
    for talk in turns(conversations()):
        said = [sentence_key(sentence) for text in talk for sentence in split_sentences(text)]
        assert len(said) == len(set(said)), talk


def test_the_language_is_at_least_as_varied_as_that_of_real_people() -> None:
    talks = turns(conversations())
    assert four_grams_a_word(talks) > REAL + 0.16
    words = [len(text.split()) for talk in talks for text in talk]
    assert 8 < sum(words) / len(words) < 14


def test_no_two_customers_open_alike() -> None:
    openings = [talk[0] for talk in turns(conversations())]
    assert len(set(openings)) == len(openings)


def test_nothing_of_the_grammar_is_left_in_what_is_said() -> None:
    for talk in turns(conversations()):
        for text in talk:
            assert not set(text) & set("[]{}<>|\0"), text
            assert text == " ".join(text.split())
            assert not text[0].islower() or "@" in text.split()[0], text


def test_the_same_seed_says_the_same_and_another_something_else() -> None:
    case = read_plan("exchange")
    shop = ["What is your email address?", "What is the order number?", "What would you like instead?", "Shall I go ahead? (yes/no)"]
    assert talked(case, shop) == talked(case, shop)
    assert talked(case, shop) != talked(case, shop, seed=8)
    assert talked(case, shop) != talked(case, shop, trial=1)


def test_what_one_customer_says_does_not_depend_on_the_others() -> None:
    async def both() -> list[str]:
        users = RetailUser(7)
        one, other = users.start_session(plans()[0], 0), users.start_session(plans()[1], 0)
        await other.next_turn([])
        return [(await one.next_turn([])).text]

    assert asyncio.run(both()) == [talked(plans()[0], [])[0].text]


STUBBORN = (
    "Could you tell me your email address?",
    "What are your first and last name, and your zip code?",
    "I could not find an account. What are your first and last name and your zip code?",
    "Could you tell me the order number?",
    "I could not find that order number. Could you check the order number again?",
    "Which item would you like to change?",
    "What would you like instead?",
    "Unfortunately that is sold out. Available are others. Would you like one of those?",
    "Which payment method would you like to use?",
    "Unfortunately that is not possible. Is there another payment method that you would like to use?",
    "May I ask the reason?",
    "What is the new address?",
    "What is it about?",
    "Shall I go ahead? (yes/no)",
    "What can I help you with today?",
    "Is there anything else I can do for you?",
    "I'm sorry, that is not possible. Is there anything else?",
    "Bananas.",
    "",
)


@pytest.mark.parametrize("text", STUBBORN)
def test_an_agent_that_always_says_the_same_is_left_soon_and_without_a_sentence_said_twice(text: str) -> None:
    for case in plans()[:30]:
        spoken = talked(case, [text] * MAX_TURNS)
        said = [sentence_key(sentence) for one in spoken for sentence in split_sentences(one.text)]
        assert spoken[-1].done, spoken
        assert len(spoken) <= 9, spoken
        assert len(said) == len(set(said)), spoken
        assert all(one.text.strip(" .") for one in spoken), spoken


def test_an_agent_that_asks_in_circles_is_left_too() -> None:
    for case in plans()[:30]:
        spoken = talked(case, STUBBORN[:14] * 10)
        assert spoken[-1].done
        assert len(spoken) <= MAX_TURNS + 1


def test_who_is_not_understood_says_it_once_more_in_other_words_and_then_leaves() -> None:
    case = read_plan("cancel", knows_order=True)
    first, again, leave = talked(case, ["Hmm.", "Hmm."])
    assert first.text != again.text
    assert (again.done, leave.done) == (False, True)
    assert (again.gave_up, leave.gave_up) == (False, True)


@pytest.mark.parametrize("style", dict.fromkeys(STYLES))
@pytest.mark.parametrize("kind", reaction_templates.YES)
def test_a_yes_is_one_for_the_policy(kind: str, style: str) -> None:
    case = read_plan(kind)
    wording = UtteranceGenerator({**case.data["plan"], "style": style})
    for draw in range(60):
        text = wording.yes(case.data["plan"]["goals"][0], Random(draw))
        assert is_confirmation(text), text


@pytest.mark.parametrize("style", dict.fromkeys(STYLES))
def test_a_no_and_a_second_thought_are_none(style: str) -> None:
    thoughtful = [case for case in plans() if any(goal["second_thought"] for goal in case.data["plan"]["goals"])]
    assert {name for case in thoughtful for goal in case.data["plan"]["goals"] for name in goal["second_thought"]} >= {
        "address",
        "replacement",
        "items",
    }
    for case in thoughtful:
        wording = UtteranceGenerator({**case.data["plan"], "style": style})
        goal = next(goal for goal in case.data["plan"]["goals"] if goal["second_thought"])
        for draw in range(10):
            assert not is_confirmation(text := wording.second_thought(goal, Random(draw))), text
            assert not is_confirmation(text := wording.render("<decline>", Random(draw))), text
            assert not is_confirmation(text := wording.render("<leave it>", Random(draw))), text


def test_who_declines_says_no_when_it_is_summed_up() -> None:
    case = read_plan("default address", outcome="declined")
    *_, answer = talked(case, ["The address would be changed. Shall I go ahead? (yes/no)"])
    assert not is_confirmation(answer.text)
    assert not answer.done


def test_a_second_thought_comes_at_the_first_summary_and_a_yes_at_the_next() -> None:
    case = next(case for case in plans() if "address" in case.data["plan"]["goals"][0]["second_thought"])
    first, second = talked(case, ["It goes there. Shall I go ahead? (yes/no)", "And now it goes there. Shall I go ahead? (yes/no)"])[1:]
    new = case.data["plan"]["goals"][0]["second_thought"]["address"]
    assert all(new[part] in first.text for part in ("address1", "address2", "city", "state", "zip"))
    assert (is_confirmation(first.text), is_confirmation(second.text)) == (False, True)


def test_a_refusal_is_asked_about_once_by_those_who_do() -> None:
    case = next(case for case in plans() if case.data["plan"]["goals"][0]["refusal_reaction"] == "asks why")
    no = "I'm sorry, that is not possible. Is there anything else?"
    why, after = talked(case, [no, no])[1:]
    assert "?" in why.text
    assert not why.done
    assert after.done == (len(case.data["plan"]["goals"]) == 1)


def test_several_questions_get_one_answer_with_everything_in_it() -> None:
    case = read_plan("order address", knows_order=True, wrong_order_id="", same_order=False)
    goal = case.data["plan"]["goals"][0]
    *_, answer = talked(case, ["What is the order number? And what is the new address?"])
    assert goal["order_id"] in answer.text
    assert goal["address"]["address1"] in answer.text


@pytest.mark.parametrize(
    "broken, sentence",
    [
        ({}, "Object missing required field `customer`"),
        ([], "Expected `object`, got `array`"),
        ({"goals": []}, "Expected `array` of length >= 1 - at `$.wishes`"),
        ({"goals": [{"kind": "steal"}]}, "Invalid enum value 'steal' - at `$.wishes[0].kind`"),
        ({"goals": [{"kind": "cancel"}]}, "Object missing required field `outcome` - at `$.wishes[0]`"),
        ({"customer": None}, "Expected `object`, got `null` - at `$.customer`"),
    ],
    ids=str,
)
def test_a_scenario_whose_plan_lacks_something_cannot_be_played(broken: Any, sentence: str) -> None:
    plan = {**read_plan("cancel").data["plan"], **broken} if broken else broken
    with pytest.raises(BadInput, match=re.escape(f"mine: `data.plan` is no plan of the retail store: {sentence}")):
        RetailUser(7).start_session(Case("mine", instructions="Buy something.", data={"plan": plan}), 0)


@pytest.mark.parametrize(
    "options, head, text",
    [
        ({}, "one", "one"),
        ({"color": "black", "size": "9"}, "one", "black one in size 9"),
        ({"size": "cabin", "color": "navy"}, "suitcase", "navy suitcase in cabin size"),
        (
            {"strap": "steel", "dial": "white"},
            "wristwatch",
            "wristwatch with a steel strap and a white dial",
        ),
        ({"laptop sleeve": "no"}, "backpack", "backpack without a laptop sleeve"),
        ({"waterproof": "yes"}, "boots", "waterproof boots"),
        ({"waterproof": "no"}, "one", "one that is not waterproof"),
        ({"memory": "16 GB", "storage": "512 GB"}, "laptop", "laptop with 16 GB of memory and 512 GB of storage"),
    ],
)
def test_options_are_said_as_people_say_them(options: dict[str, str], head: str, text: str) -> None:
    assert variant_phrase(options, head) == text


@pytest.mark.parametrize(
    "options, changes, text",
    [
        ({"color": "blue"}, {"color": "black"}, "black instead of blue"),
        ({"size": "8"}, {"size": "9"}, "size 9 instead of 8"),
        ({"memory": "8 GB"}, {"memory": "16 GB"}, "the ones with 16 GB of memory instead of 8 GB"),
        ({"color": "blue", "size": "8"}, {"color": "red", "size": "9"}, ""),
        ({"waterproof": "yes"}, {"waterproof": "no"}, ""),
    ],
)
def test_one_change_may_be_said_with_what_it_was(options: dict[str, str], changes: dict[str, str], text: str) -> None:
    assert contrast_phrase({"name": "Sneakers", "options": options, "changes": changes}) == text


def _swap(name: str, options: dict[str, str], changes: dict[str, str], kind: str = "exchange") -> str:
    goal = {"kind": kind, "other_product": "", "refusal_reason": "", "items": [{"name": name, "options": options, "changes": changes}]}
    return " ".join(backstory_templates.backstories(goal))


def test_circumstances_fit_the_goods_and_the_change() -> None:
    assert "too tight" in _swap("T-Shirt", {"size": "M"}, {"size": "L"})
    assert "too loose" in _swap("T-Shirt", {"size": "M"}, {"size": "S"})
    assert "too small" in _swap("Sneakers", {"size": "8"}, {"size": "9"})
    assert not any(word in _swap("Monitor", {"size": "27 inch"}, {"size": "24 inch"}) for word in ("tight", "loose", "on me"))
    assert "too tight" not in _swap("T-Shirt", {"size": "M"}, {"size": "L"}, "order items")  # nobody has tried it on yet
    assert _swap("Laptop", {"screen": "13 inch"}, {"screen": "15 inch"}) == ""


class Anything(dict[str, str]):
    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return name


@pytest.mark.parametrize("style", dict.fromkeys(STYLES))
def test_every_phrase_can_be_said(style: str) -> None:
    tables = [
        opening_templates.FRAMES,
        answer_templates.PARTS,
        reaction_templates.PARTS,
        opening_templates.QUESTION_FRAMES,
        opening_templates.PERSONAL_FRAMES,
    ]
    own = [*goal_templates.ACTIONS.values(), *goal_templates.QUESTIONS.values(), *goal_templates.OTHERS.values()]
    grammar = Grammar(*tables, dict.fromkeys(("vp", "my", "do", "wh", "direct", "why"), ""))
    phrases = [*(name for table in tables for name in table.values()), *(phrase for table in own for phrase in table.values())]
    for phrase in [*phrases, opening_templates.OPENING_WITHOUT_GOAL]:
        for draw in range(10):
            grammar.render(phrase, Random(draw), style=style, values=Anything())
