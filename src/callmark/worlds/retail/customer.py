"""The store's customers: users without a model. Each has a plan (`data.plan` of a scenario) and a manner, hears only what is said to them,
answers what they are asked, and moves on to the next wish when one is dealt with.

What they say depends on the seed, the id of the scenario, the trial, the place in the talk and what the shop says; on nothing else. No
sentence is said twice. Who is not understood, or does not understand, says it once more in other words, and then takes their leave.
"""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from callmark.calls.agreement import is_yes
from callmark.simulation.session import NothingToOpen, UserTurn
from callmark.types import Case, Message
from callmark.worlds.retail.phrasing import key, sentences, tidied
from callmark.worlds.retail.plan_form import plan_of
from callmark.worlds.retail.understanding import Act, acts_of
from callmark.worlds.retail.wish_words import Wish
from callmark.worlds.retail.wording import Plan, Wording

MOST_TURNS = 40
_TIMES_TOLD = 2  # that somebody answers the same question about the same wish
_DRAWS = 24  # ways to say it that are looked at, for one that says nothing again
_THANKS = re.compile(r"\bthank|\bgrateful|\bappreciate", re.IGNORECASE)
_RUN = 3  # words in a row that a customer rather does not use twice

_GIVE_UP = "<give up>"

_Way = Callable[[Random], str]


class Customers(NothingToOpen):
    """Plays every scenario with a plan of the store."""

    label = "customer"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def of(self, case: Case, trial: int) -> "Customer":
        """The customer of that scenario. One without a plan, or with one that lacks something, raises `BadInput`."""
        return Customer(plan_of(case), f"{self._seed}/{case.id}/{trial}")


class Customer:
    """One customer in one conversation."""

    def __init__(self, plan: Plan, seed: str) -> None:
        self._plan = plan
        self._words = Wording(plan)
        self._seed = seed
        self._turn = 0
        self._at = 0
        self._raised = False
        self._asked: dict[tuple[int, str], int] = {}
        self._lost = 0  # turns in which nothing was understood
        self._said: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()

    async def speak(self, heard: Sequence[Message]) -> UserTurn:
        """What they say next; with their goodbye they are done."""
        if self._turn == 0:
            self._raised = "wish" in self._plan["tells"]
            return self._spoken(self._words.opening)
        acts = acts_of(next((message.text for message in reversed(heard) if message.role == "assistant"), ""))
        if self._turn >= MOST_TURNS:
            return self._leaving(_GIVE_UP)
        if not acts:
            return self._not_understood()
        if acts[0] in ("done_more", "refuse_more", "declined_more") and self._raised:
            return self._moved_on(acts[0])
        if acts[0] in ("transferred", "goodbye"):
            return self._leaving("<wait for them>" if acts[0] == "transferred" else "<goodbye>")
        if any(self._times(act) > self._patience(act) for act in acts):
            return self._leaving(_GIVE_UP)
        ways = [way for act in acts if (way := self._way(act)) is not None]
        if not ways:
            return self._not_understood()
        agrees = None if "confirm" not in acts else not self._has_second_thought and self._wish["outcome"] != "declined"
        return self._spoken(lambda chance: " ".join(way(chance) for way in ways), agrees=agrees)

    @property
    def _wish(self) -> Wish:
        return self._plan["wishes"][self._at]  # type: ignore[no-any-return]

    def _times(self, act: Act) -> int:
        """How often that was asked about this wish, with this time."""
        place = (self._at, act)
        self._asked[place] = self._asked.get(place, 0) + 1
        return self._asked[place]

    def _patience(self, act: Act) -> int:
        return _TIMES_TOLD + bool(act == "confirm" and self._wish["second_thought"])

    def _way(self, act: Act) -> _Way | None:
        """How that is answered; None where there is no answer to it."""
        wish, words = self._wish, self._words
        if act in ("ask_wish", "done_more", "refuse_more", "declined_more"):
            return self._wish_told()
        if act == "confirm":
            return self._confirmed
        ways: dict[str, tuple[Any, Callable[..., str]]] = {
            "ask_order": (wish["order_id"], words.order),
            "ask_items": (wish["items"], words.items),
            "ask_wanted": (wish["other_product"] or any("changes" in item for item in wish["items"]), words.wanted),
            "offer_others": (wish["items"], words.alternative),
            "ask_payment": (wish["payment"], words.payment),
            "other_payment": (wish["payment"], words.other_payment),
            "ask_reason": (wish["reason"], words.reason),
            "ask_address": (wish["address"], words.address),
            "ask_topic": (wish["topic"], words.topic),
        }
        if act == "ask_email":
            return self._repeated(act, words.email)
        if act in ("ask_name_zip", "not_found"):
            phrase = "<no luck><name>" if act == "not_found" else "<sure><name><small>"
            return self._repeated(act, lambda chance: words.plain(phrase, chance))
        if act == "wrong_order":
            return lambda chance: words.order(wish, chance, corrected=bool(wish["knows_order"]))
        known, way = ways[act]
        return self._repeated(act, lambda chance: way(wish, chance)) if known else None

    def _repeated(self, act: Act, way: _Way) -> _Way:
        """The answer, with a word on having given it before where that is so."""
        if self._asked[self._at, act] == 1:
            return way
        return lambda chance: f"{self._words.plain('<as I said>', chance)} {way(chance)}"

    def _wish_told(self) -> _Way:
        wish, words = self._wish, self._words
        if self._raised:
            return lambda chance: words.raised(wish, chance, how="again")
        self._raised = True
        return lambda chance: words.raised(wish, chance, how="in answer")

    def _confirmed(self, chance: Random) -> str:
        wish, words = self._wish, self._words
        if self._has_second_thought:
            return words.second_thought(wish, chance)
        return words.plain("<decline>", chance) if wish["outcome"] == "declined" else words.yes(wish, chance)

    @property
    def _has_second_thought(self) -> bool:
        return bool(self._wish["second_thought"]) and self._asked[self._at, "confirm"] == 1

    def _moved_on(self, act: Act) -> UserTurn:
        """The next wish, now that this one is dealt with; else goodbye. Some ask first why it was refused."""
        wish, words = self._wish, self._words
        refused = act == "refuse_more"
        if refused and wish["takes_refusal"] == "asks why" and (self._at, "why") not in self._asked:
            self._asked[self._at, "why"] = 1
            return self._spoken(lambda chance: words.plain("<why not>", chance))
        explained = (self._at, "why") in self._asked
        asked = wish["kind"].endswith("question") or wish["kind"] == "order status"
        lead = "<pity>" if refused or explained else "" if act == "declined_more" else "<informed>" if asked else "<thanks>"
        if self._at + 1 == len(self._plan["wishes"]):
            goodbye = "<goodbye>" if act == "done_more" and not explained else "<goodbye anyway>"
            return self._leaving(goodbye if lead in ("", "<thanks>") else f"{lead} {goodbye}")
        self._at += 1
        return self._spoken(lambda chance: f"{words.plain(lead, chance)} {words.raised(self._wish, chance, how='next')}")

    def _not_understood(self) -> UserTurn:
        """Once they say it in other words; then they give up."""
        self._lost += 1
        if self._lost > 1:
            return self._leaving(_GIVE_UP)
        self._raised = True
        words, wish = self._words, self._wish
        return self._spoken(lambda chance: f"{words.plain('<not understood>', chance)} {words.raised(wish, chance, how='again')}")

    def _leaving(self, phrase: str) -> UserTurn:
        said = self._spoken(lambda chance: self._words.plain(phrase, chance))
        return UserTurn(said.text, True, gave_up=phrase == _GIVE_UP)

    def _spoken(self, way: _Way, *, agrees: bool | None = None) -> UserTurn:
        """Of some ways to say it the one that repeats least of what they have said, and thanks once; never a sentence that they have said.
        `agrees`: whether it has to be a yes (True), must not be one (False), or is no answer to such a question (None).
        """
        best, least = "", -1
        for number in range(_DRAWS):
            text = tidied(way(Random(f"{self._seed}/{self._turn}/{number}")))
            if agrees is not None and is_yes(text) != agrees:
                continue
            repeated = len(_runs(text) & self._runs) + max(len(_THANKS.findall(text)) - 1, 0) + 1000 * self._repeats(text)
            if not best or repeated < least:
                best, least = text, repeated
            if not repeated:
                break
        if self._repeats(best):
            best = " ".join(sentence for sentence in sentences(best) if key(sentence) not in self._said) or "..."
        self._turn += 1
        self._said.update(map(key, sentences(best)))
        self._runs |= _runs(best)
        return UserTurn(best, False)

    def _repeats(self, text: str) -> int:
        keys = [key(sentence) for sentence in sentences(text)]
        return len(keys) - len(set(keys) - self._said)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = key(text).split()
    return {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
