"""Rule-based users of the store. Each follows a plan (`data.plan` of a scenario) in a style, answers questions, and pursues one goal
after the other.

What a user says depends only on the seed, the scenario's id, the trial, the turn and the agent's messages. No sentence is repeated. A user
who is not understood, or does not understand, rephrases once and then leaves.
"""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from callmark import Case, Message, NullContext, UserTurn, is_confirmation
from callmark.worlds.retail.language.grammar import sentence_key, split_sentences, tidy
from callmark.worlds.retail.plans.plan_schema import read_plan
from callmark.worlds.retail.user.dialogue_acts import DialogueAct, parse_dialogue_acts
from callmark.worlds.retail.user.goal_phrases import Goal
from callmark.worlds.retail.user.utterances import Plan, UtteranceGenerator

MAX_TURNS = 40
_MAX_REPEATS = 2  # answers to the same request about the same goal
_MAX_DRAWS = 24  # texts to choose from, to avoid repetition
_THANKS = re.compile(r"\bthank|\bgrateful|\bappreciate", re.IGNORECASE)
_NGRAM_LENGTH = 3  # word sequences that a user avoids repeating

_GIVE_UP = "<give up>"

_UtteranceFactory = Callable[[Random], str]


class RetailUser(NullContext):
    """A user for every scenario with a plan of the store."""

    label = "customer"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "RetailUserSession":
        """Return the user of that scenario and trial. A missing or incomplete plan raises `BadInput`."""
        return RetailUserSession(read_plan(case), f"{self._seed}/{case.id}/{trial}")


class RetailUserSession:
    """One user in one conversation."""

    def __init__(self, plan: Plan, seed: str) -> None:
        self._plan = plan
        self._utterances = UtteranceGenerator(plan)
        self._seed = seed
        self._turn_count = 0
        self._goal_index = 0
        self._is_goal_stated = False
        self._request_counts: dict[tuple[int, str], int] = {}
        self._misunderstandings = 0  # turns in which the user recognized no act
        self._used_sentences: set[str] = set()
        self._used_ngrams: set[tuple[str, ...]] = set()

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the user's next turn; a goodbye ends the session."""
        if self._turn_count == 0:
            self._is_goal_stated = "goal" in self._plan["volunteered_slots"]
            return self._choose_text(self._utterances.opening)
        acts = parse_dialogue_acts(next((message.text for message in reversed(messages) if message.role == "assistant"), ""))
        if self._turn_count >= MAX_TURNS:
            return self._goodbye_turn(_GIVE_UP)
        if not acts:
            return self._clarification_turn()
        if acts[0] in ("inform_done", "inform_refused", "inform_declined") and self._is_goal_stated:
            return self._next_goal_turn(acts[0])
        if acts[0] in ("inform_transfer", "goodbye"):
            return self._goodbye_turn("<wait for them>" if acts[0] == "inform_transfer" else "<goodbye>")
        if any(self._count_request(act) > self._max_requests(act) for act in acts):
            return self._goodbye_turn(_GIVE_UP)
        factories = [make_text for act in acts if (make_text := self._answer(act)) is not None]
        if not factories:
            return self._clarification_turn()
        is_yes = None if "ask_confirmation" not in acts else not self._has_second_thought and self._goal["outcome"] != "declined"
        return self._choose_text(lambda rng: " ".join(make_text(rng) for make_text in factories), is_yes=is_yes)

    @property
    def _goal(self) -> Goal:
        return self._plan["goals"][self._goal_index]  # type: ignore[no-any-return]

    def _count_request(self, act: DialogueAct) -> int:
        """Count a request about the current goal and return how often it was made."""
        request = (self._goal_index, act)
        self._request_counts[request] = self._request_counts.get(request, 0) + 1
        return self._request_counts[request]

    def _max_requests(self, act: DialogueAct) -> int:
        return _MAX_REPEATS + bool(act == "ask_confirmation" and self._goal["second_thought"])

    def _answer(self, act: DialogueAct) -> _UtteranceFactory | None:
        """Return a factory for the answer to an act; None if there is no answer."""
        goal, utterances = self._goal, self._utterances
        if act in ("ask_goal", "inform_done", "inform_refused", "inform_declined"):
            return self._state_goal()
        if act == "ask_confirmation":
            return self._confirmation_answer
        factories: dict[str, tuple[Any, Callable[..., str]]] = {
            "ask_order": (goal["order_id"], utterances.order),
            "ask_items": (goal["items"], utterances.items),
            "ask_replacement": (goal["other_product"] or any("changes" in item for item in goal["items"]), utterances.replacement),
            "offer_alternatives": (goal["items"], utterances.alternative),
            "ask_payment": (goal["payment"], utterances.payment),
            "other_payment": (goal["payment"], utterances.other_payment),
            "ask_reason": (goal["reason"], utterances.reason),
            "ask_address": (goal["address"], utterances.address),
            "ask_topic": (goal["topic"], utterances.topic),
        }
        if act == "ask_email":
            return self._with_reminder(act, utterances.email)
        if act in ("ask_name_zip", "inform_not_found"):
            template = "<no luck><name>" if act == "inform_not_found" else "<sure><name><small>"
            return self._with_reminder(act, lambda rng: utterances.render(template, rng))
        if act == "inform_wrong_order":
            return lambda rng: utterances.order(goal, rng, corrected=bool(goal["knows_order_id"]))
        is_applicable, make_text = factories[act]
        return self._with_reminder(act, lambda rng: make_text(goal, rng)) if is_applicable else None

    def _with_reminder(self, act: DialogueAct, make_text: _UtteranceFactory) -> _UtteranceFactory:
        """Return the factory, with a remark on the earlier answer if the request is repeated."""
        if self._request_counts[self._goal_index, act] == 1:
            return make_text
        return lambda rng: f"{self._utterances.render('<as I said>', rng)} {make_text(rng)}"

    def _state_goal(self) -> _UtteranceFactory:
        goal, utterances = self._goal, self._utterances
        if self._is_goal_stated:
            return lambda rng: utterances.goal_statement(goal, rng, context="again")
        self._is_goal_stated = True
        return lambda rng: utterances.goal_statement(goal, rng, context="in answer")

    def _confirmation_answer(self, rng: Random) -> str:
        goal, utterances = self._goal, self._utterances
        if self._has_second_thought:
            return utterances.second_thought(goal, rng)
        return utterances.render("<decline>", rng) if goal["outcome"] == "declined" else utterances.yes(goal, rng)

    @property
    def _has_second_thought(self) -> bool:
        return bool(self._goal["second_thought"]) and self._request_counts[self._goal_index, "ask_confirmation"] == 1

    def _next_goal_turn(self, act: DialogueAct) -> UserTurn:
        """State the next goal, or say goodbye after the last one. Some users first ask why they were refused."""
        goal, utterances = self._goal, self._utterances
        is_refused = act == "inform_refused"
        if is_refused and goal["refusal_reaction"] == "asks why" and (self._goal_index, "why") not in self._request_counts:
            self._request_counts[self._goal_index, "why"] = 1
            return self._choose_text(lambda rng: utterances.render("<why not>", rng))
        is_explained = (self._goal_index, "why") in self._request_counts
        is_question = goal["kind"].endswith("question") or goal["kind"] == "order status"
        acknowledgment = (
            "<pity>" if is_refused or is_explained else "" if act == "inform_declined" else "<informed>" if is_question else "<thanks>"
        )
        if self._goal_index + 1 == len(self._plan["goals"]):
            goodbye = "<goodbye>" if act == "inform_done" and not is_explained else "<goodbye anyway>"
            return self._goodbye_turn(goodbye if acknowledgment in ("", "<thanks>") else f"{acknowledgment} {goodbye}")
        self._goal_index += 1
        return self._choose_text(
            lambda rng: f"{utterances.render(acknowledgment, rng)} {utterances.goal_statement(self._goal, rng, context='next')}"
        )

    def _clarification_turn(self) -> UserTurn:
        """Rephrase the goal once; give up the second time."""
        self._misunderstandings += 1
        if self._misunderstandings > 1:
            return self._goodbye_turn(_GIVE_UP)
        self._is_goal_stated = True
        utterances, goal = self._utterances, self._goal
        return self._choose_text(
            lambda rng: f"{utterances.render('<not understood>', rng)} {utterances.goal_statement(goal, rng, context='again')}"
        )

    def _goodbye_turn(self, template: str) -> UserTurn:
        turn = self._choose_text(lambda rng: self._utterances.render(template, rng))
        return UserTurn(turn.text, True, gave_up=template == _GIVE_UP)

    def _choose_text(self, make_text: _UtteranceFactory, *, is_yes: bool | None = None) -> UserTurn:
        """Draw several texts and return the one with the least repetition and at most one thank-you; never a repeated sentence.

        `is_yes`: whether the text must be a confirmation (True), must not be one (False), or either (None).
        """
        best, fewest = "", -1
        for draw in range(_MAX_DRAWS):
            text = tidy(make_text(Random(f"{self._seed}/{self._turn_count}/{draw}")))
            if is_yes is not None and is_confirmation(text) != is_yes:
                continue
            repetition = len(_ngrams(text) & self._used_ngrams) + max(len(_THANKS.findall(text)) - 1, 0) + 1000 * self._count_repeats(text)
            if not best or repetition < fewest:
                best, fewest = text, repetition
            if not repetition:
                break
        if self._count_repeats(best):
            best = " ".join(sentence for sentence in split_sentences(best) if sentence_key(sentence) not in self._used_sentences) or "..."
        self._turn_count += 1
        self._used_sentences.update(map(sentence_key, split_sentences(best)))
        self._used_ngrams |= _ngrams(best)
        return UserTurn(best, False)

    def _count_repeats(self, text: str) -> int:
        sentence_keys = [sentence_key(sentence) for sentence in split_sentences(text)]
        return len(sentence_keys) - len(set(sentence_keys) - self._used_sentences)


def _ngrams(text: str) -> set[tuple[str, ...]]:
    words = sentence_key(text).split()
    return {tuple(words[start : start + _NGRAM_LENGTH]) for start in range(len(words) - _NGRAM_LENGTH + 1)}
