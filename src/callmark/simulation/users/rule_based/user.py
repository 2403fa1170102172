"""A user without a model: a person with tasks, who brings them up one after the other, answers what is asked, looks at what is read back
before saying yes, and takes their leave when everything is done or was refused.

What they say depends on the seed, the style, the id of the scenario, the trial, and what the agent says; on nothing else.
"""

import re
from collections.abc import Sequence
from random import Random

from callmark.calls.strict import scrub
from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.formats.scenarios import STYLES
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.provider import UserProvider
from callmark.simulation.users.rule_based.concepts import instead_of
from callmark.simulation.users.rule_based.matters import Matter
from callmark.simulation.users.rule_based.phrases import IDENTIFIER
from callmark.simulation.users.rule_based.read_back import is_said, wrong_in
from callmark.simulation.users.rule_based.sentences import LONGEST
from callmark.simulation.users.rule_based.tasks import Slot, Task, data_of, tasks_of, written
from callmark.simulation.users.rule_based.understanding import Heard, understand
from callmark.simulation.users.rule_based.wording import Voice, facts
from callmark.types import Case, Message
from callmark.wording import did_you_mean

MOST_REPEATS = 4  # of the same words of the agent, with nothing new in between, that a user listens to
_PATIENCE = {"plain": 9, "terse": 8, "chatty": 11, "impatient": 6}  # turns in a row that bring nothing new
_CORRECTIONS = 2  # of the same value, after which a person lets it be
_UP_FRONT = 3  # values that an impatient person says before being asked
_AT_ONCE = {"plain": 6, "terse": 3, "chatty": 6, "impatient": 12}  # values, where details in general are asked for
_GREETS = re.compile(r"(?:hi|hello|hey|good (?:morning|day|afternoon|evening)|dear)\b", re.IGNORECASE)
_LABELS = {"id": "number", "query": "search term", "due": "due date", "outcome": "expected outcome", "workflow": "workflow"}


NAME = "rule-based"


class RuleBasedUser(NullContext):
    """Plays every scenario that has tasks or expected calls. `style` is that of the scenario where none is given."""

    def __init__(self, style: str = "", *, seed: int = 0) -> None:
        self.label = f"{NAME}:{style}" if style else NAME
        self._style = style
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "Person":
        """The person of that scenario. Data that cannot be used raises `BadInput`."""
        given = data_of(case)
        style = self._style or given.style
        chance = Random(f"{self._seed} agenda {style} {trial} {scrub(case.id)}")
        return Person(tasks_of(case), Voice(style, chance), given.closing.strip())


class Person:
    """One user in one conversation."""

    def __init__(self, tasks: Sequence[Task], voice: Voice, closing: str = "") -> None:
        self._matters = [Matter.of(task) for task in tasks]
        self._voice = voice
        self._closing = closing
        self._at = 0
        self._fruitless = 0
        self._heard_before: dict[str, int] = {}
        self._identifier = ""
        self._declined: dict[str, int] = {}

    async def next_turn(self, heard: Sequence[Message]) -> UserTurn:
        """What they say next; a goodbye when nothing is left to be done."""
        text = _last_said(heard)
        line, done = self._answer(text)
        return UserTurn(self._voice.once(line), done)

    @property
    def _now(self) -> Matter:
        return self._matters[self._at]

    def _answer(self, text: str) -> tuple[str, bool]:
        if text.strip():
            key = " ".join(words(text[:LONGEST]))
            times = self._heard_before[key] = self._heard_before.get(key, 0) + 1
            if times >= MOST_REPEATS or self._fruitless >= _PATIENCE[self._voice.style]:
                return self._voice.say("give_up"), True
        if not self._now.raised:
            return self._raised(greeting=True), False
        if not text.strip():
            self._fruitless += 2
            return (self._voice.say("give_up"), True) if self._fruitless > 6 else (self._voice.say("hello"), False)
        matter = self._now
        heard = understand(text, matter.task.slots, updates=matter.task.updates)
        answer = self._respond(text, matter, heard)
        for found in IDENTIFIER.findall(text[:LONGEST]):
            self._identifier = found
        return answer

    def _respond(self, text: str, matter: Matter, heard: Heard) -> tuple[str, bool]:
        refused = heard.refusal and not heard.slots and (heard.alternative or not heard.confirm)
        if not heard.done and (refused or (matter.insisted and not (heard.asked or heard.closing))):
            return self._refused(matter)
        if self._is_finished(matter, heard):
            return self._on_to_next(text, matter, heard)
        parts = []
        if heard.confirm:
            parts.append(self._checked(text, matter, heard))
        elif heard.identify:
            parts.append(self._identified(text, matter))
        asked = [name for name in heard.slots if name not in matter.told or not heard.confirm]
        if asked:
            parts.append(self._told(matter, asked))
        if not parts:
            return self._otherwise(matter, heard)
        return " ".join(part for part in parts if part), False

    def _is_finished(self, matter: Matter, heard: Heard) -> bool:
        if heard.confirm or heard.identify:
            return False
        new = [name for name in heard.slots if name not in matter.told]
        later = self._later(heard.asked)
        if heard.change or heard.everything or heard.missing:
            return False
        if heard.done or (matter.task.looks and heard.found and not heard.slots):
            return not new or later is not None
        if later is not None and not matter.untold and heard.slots:  # the agent has gone on by itself
            return True
        return heard.closing and not heard.slots and (matter.confirmed or matter.reminded or not matter.untold)

    def _later(self, asked: str) -> int | None:
        """The task after this one of which a question has words that this one has not."""
        for index in range(self._at + 1, len(self._matters)):
            if any(word in asked for word in self._matters[index].task.words if word not in self._now.task.words):
                return index
        return None

    def _on_to_next(self, text: str, matter: Matter, heard: Heard) -> tuple[str, bool]:
        """What they want next, now that this is done; goodbye where that was all. Who has changed their mind, unasked, says so first."""
        if matter.pending and (heard.done or heard.closing):
            return self._changed(matter), False
        matter.over = True
        self._progress()
        ahead = self._ahead()
        if ahead is None:
            changing = next((other for other in self._matters if other.pending), None)
            if changing:
                return self._changed(changing), False
            return self._closing or self._voice.say("goodbye" if heard.closing or heard.offer else "leave"), True
        again = understand(text, ahead.task.slots, updates=ahead.task.updates)
        asked = again.slots if heard.slots and any(word in again.asked for word in ahead.task.words) else []
        line = self._raised(greeting=False)
        asked = [name for name in asked if name not in ahead.told]
        return (f"{line} {self._told(ahead, asked)}" if asked else line), False

    def _raised(self, *, greeting: bool) -> str:
        """Bring up the task that it is now about. Those who are impatient say several things at once."""
        matter = self._now
        matter.raised = True
        voice = self._voice
        line = matter.task.opening or voice.say("raise", goal=matter.task.goal)
        lead = voice.say("greet" if greeting else "next")
        line = line if greeting and _GREETS.match(line) else f"{lead}{line}"
        for name, slot in matter.task.slots.items():
            if is_said(line, slot.text) or (slot.says and is_said(line, slot.says)):
                matter.told.add(name)
        if voice.style == "impatient":
            first = [name for name in matter.untold if len(matter.text(name)) <= 80][:_UP_FRONT]
            if first:
                line = f"{line} {voice.values(matter.pairs(first))}"
                matter.told.update(first)
        return line

    def _checked(self, text: str, matter: Matter, heard: Heard) -> str:
        """The answer to a read-back: what is wrong in it, what they want otherwise now, what is missing; else yes."""
        besides = [slot for other in self._matters if other is not matter and other.raised for slot in other.task.slots.values()]
        slots = {name: slot for name, slot in matter.task.slots.items() if name not in heard.slots}
        if heard.intent and not any(is_said(text, matter.text(name)) for name in slots):
            self._fruitless += 1
            return self._voice.say("yes")
        wanted = {name: matter.text(name) for name in slots}
        wrong = [
            name
            for name in wrong_in(text, slots, wanted, besides=besides, updating=matter.task.updates)
            if matter.corrected.get(name, 0) < _CORRECTIONS
        ]
        if wrong:
            self._fruitless += 1
            for name in wrong:
                matter.corrected[name] = matter.corrected.get(name, 0) + 1
                matter.told.add(name)
            return self._voice.say("correct", facts=facts(matter.pairs(wrong), should=True))
        changing = next((other for other in (matter, *self._matters) if other.raised and other.pending), None)
        if changing:
            return self._changed(changing)
        left = [name for name in matter.untold if name not in heard.slots and not is_said(text, matter.text(name))]
        if left:
            self._progress()
            matter.told.update(left)
            return self._voice.say("besides", facts=facts(matter.pairs(left)))
        if matter.confirmed:
            self._fruitless += 1
        matter.confirmed = True
        return self._voice.say("yes")

    def _changed(self, matter: Matter) -> str:
        """They have changed their mind, and say so: once."""
        names = [name for name, value in matter.pending.items() if written(value) != matter.text(name)]
        matter.wanted |= matter.pending
        matter.pending = {}
        matter.told.update(names)
        self._progress()
        return self._voice.say("change", facts=facts(matter.pairs(names), should=True)) if names else self._voice.say("yes")

    def _identified(self, text: str, matter: Matter) -> str:
        """Whether what the agent has found is what they mean."""
        known = [name for name, slot in matter.task.slots.items() if slot.concept and slot.concept.key == "id"]
        for name in known:
            if IDENTIFIER.search(text) and not is_said(text, matter.text(name)):
                self._fruitless += 1
                return self._voice.say("not_this", which=matter.text(name))
        self._fruitless += 1
        return self._voice.say("this")

    def _told(self, matter: Matter, names: Sequence[str]) -> str:
        """The answer to questions for these things. What was said before is said again only where nothing new is asked."""
        voice = self._voice
        for name in names:
            matter.asked[name] = matter.asked.get(name, 0) + 1
        new = [name for name in names if name not in matter.told]
        if new:
            self._progress()
        elif any(matter.asked[name] > 1 for name in names):  # to be asked once for what one has said already is no waste of time yet
            self._fruitless += 1
        names = [name for name in names if name in new or matter.asked[name] > 1] if new else names
        times = max(matter.asked[name] for name in names)
        matter.told.update(names)
        lead = voice.say("complain") if not new and times < 3 and (times == 2 or voice.style == "impatient") else ""
        if len(names) == 1:
            answer = f"{lead}{voice.value(matter.task.slots[names[0]], matter.text(names[0]), times)}"
            return f"{answer}{voice.say('remark')}" if times == 1 and answer.endswith((".", "!")) else answer
        if times >= 3:
            return "\n".join(f"{slot.label}: {value}" for slot, value in matter.pairs(names))
        return f"{lead}{voice.values(matter.pairs(names))}"

    def _otherwise(self, matter: Matter, heard: Heard) -> tuple[str, bool]:
        """The answer where nothing that they know was asked for by name, and nothing was done."""
        voice = self._voice
        if heard.everything or heard.change:
            left = matter.untold or [name for name in matter.task.slots if not _identifies(matter.task.slots[name])]
            if left:
                return self._told(matter, left[: _AT_ONCE[voice.style]]), False
        if heard.missing:
            return self._not_known(matter, heard), False
        if heard.options and (picked := self._picked(matter, heard.options)):
            self._fruitless += 1
            return voice.say("pick", which=picked), False
        if heard.more:
            self._fruitless += 1
            if matter.untold:
                return self._volunteered(matter), False
            return voice.say("no_more"), False
        if heard.closing:
            matter.reminded = True
            self._fruitless += 1
            return voice.say("not_done", goal=matter.task.goal), False
        if heard.wish:
            self._fruitless += 1
            line = voice.say("again", goal=matter.task.goal)
            return (f"{line} {self._volunteered(matter)}" if matter.untold and self._fruitless > 1 else line), False
        if heard.offer:
            return self._offered(heard.offer)
        self._fruitless += 1
        if heard.question:
            if self._fruitless > 1 and matter.task.slots:  # asked twice what they make nothing of, they tell what they know
                return self._volunteered(matter), False
            return voice.say("unsure"), False
        return (self._volunteered(matter) if matter.untold else voice.say("go_on")), False

    def _offered(self, offer: str) -> tuple[str, bool]:
        """The answer to whether they want something besides: yes where it is what they want next."""
        later = self._later(offer)
        if later is None:
            self._fruitless += 1
            return self._voice.say("no_offer"), False
        self._now.over = not self._now.untold
        self._at = later
        self._progress()
        return f"{self._voice.say('yes')} {self._raised(greeting=False)}", False

    def _not_known(self, matter: Matter, heard: Heard) -> str:
        """What they say to a question for something that they have no slot for: what comes near it, the number that the agent has told
        them, one of what there is to choose from when they are asked again; else that they do not know.
        """
        key = heard.missing[0]
        near = [name for name, slot in matter.task.slots.items() if slot.concept and slot.concept.key == instead_of(key)]
        if near and near[0] not in matter.told:
            return self._told(matter, near[:1])
        self._fruitless += 1
        if key == "id":
            if heard.options and (picked := self._picked(matter, heard.options)):
                return self._voice.say("pick", which=picked)
            if self._identifier:
                return self._voice.say("recent", which=self._identifier)
        times = self._declined[key] = self._declined.get(key, 0) + 1
        if times > 1 and heard.options:
            return self._voice.say("pick", which=heard.options[0][:80])
        if times > 1 and matter.task.slots:
            return self._volunteered(matter)
        return self._voice.say("unknown", label=_LABELS.get(key, key))

    def _volunteered(self, matter: Matter) -> str:
        return self._told(matter, matter.untold[:2] or list(matter.task.slots))

    def _picked(self, matter: Matter, options: Sequence[str]) -> str:
        """The option that shares most with what they want; empty where none shares anything."""
        wish = [
            matter.task.goal,
            matter.task.opening,
            *(text for name, slot in matter.task.slots.items() for text in (matter.text(name), slot.says)),
        ]
        wanted = {word for text in wish for word in words(text) if len(word) > 1}
        scores = [len(wanted & set(words(option))) for option in options]
        best = max(scores)
        if not best or scores.count(best) == len(scores) > 1:
            return ""
        option = options[scores.index(best)]
        found = IDENTIFIER.search(option)
        return found[0] if found else option[:80].strip(" .?!")

    def _refused(self, matter: Matter) -> tuple[str, bool]:
        if not matter.insisted:
            matter.insisted = True
            self._fruitless += 1
            return self._voice.say("insist", goal=matter.task.goal), False
        matter.over = True
        accepted = self._voice.say("accept")
        if self._ahead() is None:
            return f"{accepted} {self._closing or self._voice.say('leave')}", True
        self._progress()
        return f"{accepted} {self._raised(greeting=False)}", False

    def _ahead(self) -> Matter | None:
        """The next task that is not over, now the one that it is about; None where there is none."""
        for index, matter in enumerate(self._matters):
            if not matter.over:
                self._at = index
                return matter
        return None

    def _progress(self) -> None:
        self._fruitless = 0
        self._heard_before.clear()


def _identifies(slot: Slot) -> bool:
    return slot.concept is not None and slot.concept.key in ("id", "query")


def _last_said(heard: Sequence[Message]) -> str:
    """Everything that the agent has said since the user spoke."""
    said: list[str] = []
    for message in reversed(heard):
        if message.role == "user":
            break
        said.append(message.text)
    return "\n".join(reversed(said))


def _open(options: str | None, seed: int) -> RuleBasedUser:
    if options is not None and options not in STYLES:
        raise BadInput(f"there is no {NAME} user called {options!r}{did_you_mean(options, STYLES)}", f"They are {', '.join(STYLES)}.")
    return RuleBasedUser(options or "", seed=seed)


USER = UserProvider(
    NAME,
    _open,
    f"follows its tasks without a model; {', '.join(STYLES)}, or as the scenario says",
    (NAME, *(f"{NAME}:{s}" for s in STYLES)),
)
