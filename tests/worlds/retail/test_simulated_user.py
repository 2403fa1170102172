"""Simulated users in whole conversations: with the expert, with agents that ignore their answers, and one answer at a time."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any

import pytest

from callmark.calls.confirmation import is_confirmation
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
from tests.worlds.retail.conversations import run_conversations

REAL_4GRAM_RATIO = 0.44  # distinct 4-grams per word in the user turns of the 55 real conversations; computed in tests/real
CONVERSATION_COUNT = 55


@lru_cache
def simulate(count: int = CONVERSATION_COUNT, seed: int = 7) -> list[Prediction]:
    """Return the predictions of that many plans, played by the expert and the user."""
    return run_conversations(RetailWorld().plans(count, seed=seed), seed=seed)


def user_turns(predictions: Iterable[Any]) -> list[list[str]]:
    """Return the user texts of each conversation."""
    return [[message.text for message in prediction.transcript if message.role == "user"] for prediction in predictions]


def distinct_4grams_per_word(turn_lists: Iterable[Sequence[str]]) -> float:
    """Return distinct word 4-grams within turns, lower-cased and split at white space, divided by the number of words."""
    found: set[tuple[str, ...]] = set()
    count = 0
    for text in (text for user_texts in turn_lists for text in user_texts):
        words = text.lower().split()
        count += len(words)
        found.update(tuple(words[start : start + 4]) for start in range(len(words) - 3))
    return len(found) / count


@lru_cache
def plans(count: int = 240) -> list[Case]:
    return RetailWorld().plans(count, seed=11)


def find_plan(kind: str, **fields: Any) -> Case:
    """Return a plan whose first goal is of the kind and has these values."""
    return next(
        case
        for case in plans()
        if (goal := case.data["plan"]["goals"][0])["kind"] == kind and all(goal[name] == value for name, value in fields.items())
    )


def run_user(case: Case, agent_texts: Iterable[str], *, seed: int = 7, trial: int = 0) -> list[UserTurn]:
    """Return the opening and the answers to each text in turn, until the user is done."""

    async def user_texts() -> list[UserTurn]:
        session = RetailUser(seed).start_session(case, trial)
        messages: list[Message] = []
        user_messages = [await session.next_turn(messages)]
        for text in agent_texts:
            if user_messages[-1].done:
                break
            messages += [Message("user", user_messages[-1].text), Message("assistant", text)]
            user_messages.append(await session.next_turn(messages))
        return user_messages

    return asyncio.run(user_texts())


def test_every_conversation_with_the_expert_completes() -> None:
    assert {prediction.ending for prediction in simulate()} == {"completed", "transfer"}


def test_user_never_repeats_a_sentence() -> None:
    for user_texts in user_turns(simulate()):
        sentences = [sentence_key(sentence) for text in user_texts for sentence in split_sentences(text)]
        assert len(sentences) == len(set(sentences)), user_texts


def test_language_is_at_least_as_varied_as_that_of_real_users() -> None:
    turn_lists = user_turns(simulate())
    assert distinct_4grams_per_word(turn_lists) > REAL_4GRAM_RATIO + 0.16
    words = [len(text.split()) for user_texts in turn_lists for text in user_texts]
    assert 8 < sum(words) / len(words) < 14


def test_openings_are_unique() -> None:
    openings = [user_texts[0] for user_texts in user_turns(simulate())]
    assert len(set(openings)) == len(openings)


def test_utterances_contain_no_template_syntax() -> None:
    for user_texts in user_turns(simulate()):
        for text in user_texts:
            assert not set(text) & set("[]{}<>|\0"), text
            assert text == " ".join(text.split())
            assert not text[0].islower() or "@" in text.split()[0], text


def test_words_depend_on_seed_and_trial() -> None:
    case = find_plan("exchange")
    shop = ["What is your email address?", "What is the order number?", "What would you like instead?", "Shall I go ahead? (yes/no)"]
    assert run_user(case, shop) == run_user(case, shop)
    assert run_user(case, shop) != run_user(case, shop, seed=8)
    assert run_user(case, shop) != run_user(case, shop, trial=1)


def test_user_sessions_are_independent() -> None:
    async def both() -> list[str]:
        users = RetailUser(7)
        first, second = users.start_session(plans()[0], 0), users.start_session(plans()[1], 0)
        await second.next_turn([])
        return [(await first.next_turn([])).text]

    assert asyncio.run(both()) == [run_user(plans()[0], [])[0].text]


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
def test_user_soon_leaves_an_agent_that_repeats_itself(text: str) -> None:
    for case in plans()[:30]:
        user_messages = run_user(case, [text] * MAX_TURNS)
        sentences = [sentence_key(sentence) for turn in user_messages for sentence in split_sentences(turn.text)]
        assert user_messages[-1].done, user_messages
        assert len(user_messages) <= 9, user_messages
        assert len(sentences) == len(set(sentences)), user_messages
        assert all(first.text.strip(" .") for first in user_messages), user_messages


def test_user_leaves_an_agent_that_asks_in_circles() -> None:
    for case in plans()[:30]:
        user_messages = run_user(case, STUBBORN[:14] * 10)
        assert user_messages[-1].done
        assert len(user_messages) <= MAX_TURNS + 1


def test_user_rephrases_once_and_then_leaves() -> None:
    case = find_plan("cancel", knows_order_id=True)
    first, again, leave = run_user(case, ["Hmm.", "Hmm."])
    assert first.text != again.text
    assert (again.done, leave.done) == (False, True)
    assert (again.gave_up, leave.gave_up) == (False, True)


@pytest.mark.parametrize("style", dict.fromkeys(STYLES))
@pytest.mark.parametrize("kind", reaction_templates.YES)
def test_yes_counts_as_a_confirmation(kind: str, style: str) -> None:
    case = find_plan(kind)
    utterances = UtteranceGenerator({**case.data["plan"], "style": style})
    for draw in range(60):
        text = utterances.yes(case.data["plan"]["goals"][0], Random(draw))
        assert is_confirmation(text), text


@pytest.mark.parametrize("style", dict.fromkeys(STYLES))
def test_no_and_second_thought_are_not_confirmations(style: str) -> None:
    plans_with_second_thought = [case for case in plans() if any(goal["second_thought"] for goal in case.data["plan"]["goals"])]
    assert {name for case in plans_with_second_thought for goal in case.data["plan"]["goals"] for name in goal["second_thought"]} >= {
        "address",
        "replacement",
        "items",
    }
    for case in plans_with_second_thought:
        utterances = UtteranceGenerator({**case.data["plan"], "style": style})
        goal = next(goal for goal in case.data["plan"]["goals"] if goal["second_thought"])
        for draw in range(10):
            assert not is_confirmation(text := utterances.second_thought(goal, Random(draw))), text
            assert not is_confirmation(text := utterances.render("<decline>", Random(draw))), text
            assert not is_confirmation(text := utterances.render("<leave it>", Random(draw))), text


def test_declining_user_says_no_to_the_confirmation_question() -> None:
    case = find_plan("default address", outcome="declined")
    *_, answer = run_user(case, ["The address would be changed. Shall I go ahead? (yes/no)"])
    assert not is_confirmation(answer.text)
    assert not answer.done


def test_second_thought_comes_at_the_first_confirmation_question() -> None:
    case = next(case for case in plans() if "address" in case.data["plan"]["goals"][0]["second_thought"])
    first, second = run_user(case, ["It goes there. Shall I go ahead? (yes/no)", "And now it goes there. Shall I go ahead? (yes/no)"])[1:]
    new = case.data["plan"]["goals"][0]["second_thought"]["address"]
    assert all(new[part] in first.text for part in ("address1", "address2", "city", "state", "zip"))
    assert (is_confirmation(first.text), is_confirmation(second.text)) == (False, True)


def test_user_asks_once_why_they_are_refused() -> None:
    case = next(case for case in plans() if case.data["plan"]["goals"][0]["refusal_reaction"] == "asks why")
    no = "I'm sorry, that is not possible. Is there anything else?"
    why, after = run_user(case, [no, no])[1:]
    assert "?" in why.text
    assert not why.done
    assert after.done == (len(case.data["plan"]["goals"]) == 1)


def test_several_questions_get_one_complete_answer() -> None:
    case = find_plan("order address", knows_order_id=True, wrong_order_id="", same_order=False)
    goal = case.data["plan"]["goals"][0]
    *_, answer = run_user(case, ["What is the order number? And what is the new address?"])
    assert goal["order_id"] in answer.text
    assert goal["address"]["address1"] in answer.text


@pytest.mark.parametrize(
    "broken, sentence",
    [
        ({}, "Object missing required field `customer`"),
        ([], "Expected `object`, got `array`"),
        ({"goals": []}, "Expected `array` of length >= 1 - at `$.goals`"),
        ({"goals": [{"kind": "steal"}]}, "Invalid enum value 'steal' - at `$.goals[0].kind`"),
        ({"goals": [{"kind": "cancel"}]}, "Object missing required field `outcome` - at `$.goals[0]`"),
        ({"customer": None}, "Expected `object`, got `null` - at `$.customer`"),
    ],
    ids=str,
)
def test_incomplete_plan_is_rejected(broken: Any, sentence: str) -> None:
    plan = {**find_plan("cancel").data["plan"], **broken} if broken else broken
    with pytest.raises(BadInput, match=re.escape(f"mine: `data.plan` is not a plan of the retail store: {sentence}")):
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
def test_options_become_natural_phrases(options: dict[str, str], head: str, text: str) -> None:
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
def test_single_change_is_phrased_as_a_contrast(options: dict[str, str], changes: dict[str, str], text: str) -> None:
    assert contrast_phrase({"name": "Sneakers", "options": options, "changes": changes}) == text


def _swap(name: str, options: dict[str, str], changes: dict[str, str], kind: str = "exchange") -> str:
    goal = {"kind": kind, "other_product": "", "refusal_reason": "", "items": [{"name": name, "options": options, "changes": changes}]}
    return " ".join(backstory_templates.backstories(goal))


def test_backstories_fit_the_product_and_the_change() -> None:
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
def test_every_user_template_renders(style: str) -> None:
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
