"""The rule-based user: raises its tasks one by one, answers questions, checks a read-back before confirming it, and leaves when every task
is done or refused.

Its words depend only on the seed, the style, the scenario's id, the trial and the agent's turns.
"""

import re
from collections.abc import Sequence
from random import Random

from callmark.calls.strict import scrub
from callmark.calls.words import words
from callmark.errors import BadInput
from callmark.formats.scenarios import STYLES
from callmark.simulation.closing_words import closing_words
from callmark.simulation.session import NullContext, UserTurn
from callmark.simulation.users.provider import UserProvider
from callmark.simulation.users.rule_based.agent_turn import AgentTurn, parse_agent_turn
from callmark.simulation.users.rule_based.concepts import related_concept
from callmark.simulation.users.rule_based.phrases import IDENTIFIER
from callmark.simulation.users.rule_based.read_back import find_wrong_values, mentions_value
from callmark.simulation.users.rule_based.sentences import MAX_LENGTH
from callmark.simulation.users.rule_based.slot_matching import find_named_slots
from callmark.simulation.users.rule_based.task_progress import TaskProgress
from callmark.simulation.users.rule_based.tasks import Slot, Task, format_value, read_tasks, read_user_data
from callmark.simulation.users.rule_based.utterances import UtteranceGenerator, phrase_facts
from callmark.types import Case, Message
from callmark.wording import did_you_mean

MAX_REPEATS = 4  # of the same agent turn without progress, before the user gives up
_PATIENCE = {"plain": 9, "terse": 8, "chatty": 11, "impatient": 6}  # turns in a row without progress
_MAX_CORRECTIONS = 2  # of the same value
_VOLUNTEERED_SLOTS = 3  # by an impatient user
_SLOTS_AT_ONCE = {"plain": 6, "terse": 3, "chatty": 6, "impatient": 12}  # when the agent asks for all details
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|day|afternoon|evening)|dear)\b", re.IGNORECASE)
_CONCEPT_LABELS = {"id": "number", "query": "search term", "due": "due date", "outcome": "expected outcome", "workflow": "workflow"}


NAME = "rule-based"


class RuleBasedUser(NullContext):
    """Simulates every scenario; without a `style`, in the style of the scenario."""

    def __init__(self, style: str = "", *, seed: int = 0) -> None:
        self.label = f"{NAME}:{style}" if style else NAME
        self._style = style
        self._seed = seed

    def start_session(self, case: Case, trial: int) -> "RuleBasedUserSession":
        """Return the user of a scenario. Invalid data raises `BadInput`."""
        data = read_user_data(case)
        style = self._style or data.style
        # `agenda` is part of the seed: with another word, users would say something else
        random = Random(f"{self._seed} agenda {style} {trial} {scrub(case.id)}")
        closing = data.closing.strip()
        ending = "" if closing else closing_words(case.instructions)
        return RuleBasedUserSession(read_tasks(case), UtteranceGenerator(style, random), closing, ending)


class RuleBasedUserSession:
    """The user of one conversation. `closing` is its goodbye; `closing_words` are those that the instructions end every goodbye with."""

    def __init__(self, tasks: Sequence[Task], generator: UtteranceGenerator, closing: str = "", closing_words: str = "") -> None:
        self._tasks = [TaskProgress.from_task(task) for task in tasks]
        self._generator = generator
        self._closing = closing
        self._closing_words = closing_words
        self._task_index = 0
        self._turns_without_progress = 0
        self._turns_not_understood = 0  # since the user last got further
        self._agent_turn_counts: dict[str, int] = {}
        self._identifier = ""
        self._times_unknown: dict[str, int] = {}

    async def next_turn(self, messages: Sequence[Message]) -> UserTurn:
        """Return the next turn; a goodbye if no task is left."""
        text = _last_agent_text(messages)
        line, is_done = self._answer(text)
        not_understood = self._turns_not_understood
        did_not_understand = not_understood > 0 and 2 * not_understood >= self._turns_without_progress
        return UserTurn(self._generator.make_unique(line), is_done, did_not_understand=did_not_understand)

    @property
    def _current(self) -> TaskProgress:
        return self._tasks[self._task_index]

    def _answer(self, text: str) -> tuple[str, bool]:
        if text.strip():
            key = " ".join(words(text[:MAX_LENGTH]))
            count = self._agent_turn_counts[key] = self._agent_turn_counts.get(key, 0) + 1
            if count >= MAX_REPEATS or self._turns_without_progress >= _PATIENCE[self._generator.style]:
                return self._generator.say("give_up"), True
        if not self._current.is_raised:
            return self._raise_task(greeting=True), False
        if not text.strip():
            self._turns_without_progress += 2
            return (self._generator.say("give_up"), True) if self._turns_without_progress > 6 else (self._generator.say("hello"), False)
        progress = self._current
        turn = parse_agent_turn(text, progress.task.slots, is_update=progress.task.is_update)
        answer = self._respond(text, progress, turn)
        for identifier in IDENTIFIER.findall(text[:MAX_LENGTH]):
            self._identifier = identifier
        return answer

    def _respond(self, text: str, progress: TaskProgress, turn: AgentTurn) -> tuple[str, bool]:
        refused = turn.is_refusal and not turn.slots and (turn.has_alternative or not turn.asks_confirmation)
        if not turn.is_done and (refused or (progress.has_insisted and not (turn.question_text or turn.asks_anything_else))):
            return self._answer_refusal(progress)
        if self._is_finished(progress, turn):
            return self._finish_task(text, progress, turn)
        answers = []
        if turn.asks_confirmation:
            answers.append(self._check_read_back(text, progress, turn))
        elif turn.asks_which_one:
            answers.append(self._answer_which_one(text, progress))
        requested = [name for name in turn.slots if name not in progress.informed or not turn.asks_confirmation]
        if requested:
            answers.append(self._inform(progress, requested))
        if not answers:
            return self._answer_other(progress, turn)
        return " ".join(part for part in answers if part), False

    def _is_finished(self, progress: TaskProgress, turn: AgentTurn) -> bool:
        if turn.asks_confirmation or turn.asks_which_one:
            return False
        unsaid = [name for name in turn.slots if name not in progress.informed]
        later_task = self._find_later_task(turn.question_text)
        if turn.asks_what_to_change or turn.asks_all_details or turn.unknown_concepts:
            return False
        if turn.is_done or (progress.task.is_lookup and turn.is_found and not turn.slots):
            return not unsaid or later_task is not None
        if later_task is not None and not progress.uninformed and turn.slots:  # the agent moved on to a later task
            return True
        return turn.asks_anything_else and not turn.slots and (progress.is_confirmed or progress.was_reminded or not progress.uninformed)

    def _find_later_task(self, requested: str) -> int | None:
        """Return the index of a later task that a question mentions by words which the current task does not have, or None."""
        for index in range(self._task_index + 1, len(self._tasks)):
            if any(word in requested for word in self._tasks[index].task.words if word not in self._current.task.words):
                return index
        return None

    def _finish_task(self, text: str, progress: TaskProgress, turn: AgentTurn) -> tuple[str, bool]:
        """Raise the next task, or say goodbye if none is left. A pending change of mind comes first."""
        if progress.pending_changes and (turn.is_done or turn.asks_anything_else):
            return self._change_mind(progress), False
        progress.is_over = True
        self._note_progress()
        next_task = self._next_task()
        if next_task is None:
            changing = next((other for other in self._tasks if other.pending_changes), None)
            if changing:
                return self._change_mind(changing), False
            return self._say_goodbye("goodbye" if turn.asks_anything_else or turn.offer else "leave"), True
        next_turn = parse_agent_turn(text, next_task.task.slots, is_update=next_task.task.is_update)
        requested = next_turn.slots if turn.slots and any(word in next_turn.question_text for word in next_task.task.words) else []
        line = self._raise_task(greeting=False)
        requested = [name for name in requested if name not in next_task.informed]
        return (f"{line} {self._inform(next_task, requested)}" if requested else line), False

    def _raise_task(self, *, greeting: bool) -> str:
        """Raise the current task. Impatient users say several values at once."""
        progress = self._current
        progress.is_raised = True
        generator = self._generator
        line = progress.task.opening or generator.say("raise", goal=progress.task.goal)
        prefix = generator.say("greet" if greeting else "next")
        line = line if greeting and _GREETING.match(line) else f"{prefix}{line}"
        for name, slot in progress.task.slots.items():
            if mentions_value(line, slot.text) or (slot.says and mentions_value(line, slot.says)):
                progress.informed.add(name)
        if generator.style == "impatient":
            volunteered = [name for name in progress.uninformed if len(progress.text(name)) <= 80][:_VOLUNTEERED_SLOTS]
            if volunteered:
                line = f"{line} {generator.values(progress.slot_values(volunteered))}"
                progress.informed.update(volunteered)
        return line

    def _check_read_back(self, text: str, progress: TaskProgress, turn: AgentTurn) -> str:
        """Answer a read-back: correct wrong values, state a change of mind, add missing values; otherwise say yes."""
        other_slots = [slot for other in self._tasks if other is not progress and other.is_raised for slot in other.task.slots.values()]
        slots = {name: slot for name, slot in progress.task.slots.items() if name not in turn.slots}
        if turn.asks_about_intent and not any(mentions_value(text, progress.text(name)) for name in slots):
            self._turns_without_progress += 1
            return self._generator.say("yes")
        task_words = {name: progress.text(name) for name in slots}
        wrong = [
            name
            for name in find_wrong_values(text, slots, task_words, other_slots=other_slots, is_update=progress.task.is_update)
            if progress.times_corrected.get(name, 0) < _MAX_CORRECTIONS
        ]
        if wrong:
            self._turns_without_progress += 1
            for name in wrong:
                progress.times_corrected[name] = progress.times_corrected.get(name, 0) + 1
                progress.informed.add(name)
            return self._generator.say("correct", facts=phrase_facts(progress.slot_values(wrong), as_wish=True))
        changing = next((other for other in (progress, *self._tasks) if other.is_raised and other.pending_changes), None)
        if changing:
            return self._change_mind(changing)
        remaining = [name for name in progress.uninformed if name not in turn.slots and not mentions_value(text, progress.text(name))]
        if remaining:
            self._note_progress()
            progress.informed.update(remaining)
            return self._generator.say("add", facts=phrase_facts(progress.slot_values(remaining)))
        if progress.is_confirmed:
            self._turns_without_progress += 1
        progress.is_confirmed = True
        return self._generator.say("yes")

    def _change_mind(self, progress: TaskProgress) -> str:
        """State a change of mind, once."""
        names = [name for name, value in progress.pending_changes.items() if format_value(value) != progress.text(name)]
        progress.values |= progress.pending_changes
        progress.pending_changes = {}
        progress.informed.update(names)
        self._note_progress()
        return (
            self._generator.say("change", facts=phrase_facts(progress.slot_values(names), as_wish=True))
            if names
            else self._generator.say("yes")
        )

    def _answer_which_one(self, text: str, progress: TaskProgress) -> str:
        """Answer whether the agent found the right record."""
        id_slots = [name for name, slot in progress.task.slots.items() if slot.concept and slot.concept.key == "id"]
        for name in id_slots:
            if IDENTIFIER.search(text) and not mentions_value(text, progress.text(name)):
                self._turns_without_progress += 1
                return self._generator.say("not_this", which=progress.text(name))
        self._turns_without_progress += 1
        return self._generator.say("this")

    def _inform(self, progress: TaskProgress, names: Sequence[str]) -> str:
        """Answer questions about these slots. Values said before are repeated only if no new value is asked for."""
        generator = self._generator
        for name in names:
            progress.times_asked[name] = progress.times_asked.get(name, 0) + 1
        unsaid = [name for name in names if name not in progress.informed]
        if unsaid:
            self._note_progress()
        elif any(progress.times_asked[name] > 1 for name in names):  # one repeated question is tolerated
            self._turns_without_progress += 1
        names = [name for name in names if name in unsaid or progress.times_asked[name] > 1] if unsaid else names
        count = max(progress.times_asked[name] for name in names)
        progress.informed.update(names)
        prefix = generator.say("complain") if not unsaid and count < 3 and (count == 2 or generator.style == "impatient") else ""
        if len(names) == 1:
            answer = f"{prefix}{generator.value(progress.task.slots[names[0]], progress.text(names[0]), count)}"
            return f"{answer}{generator.say('remark')}" if count == 1 and answer.endswith((".", "!")) else answer
        if count >= 3:
            return "\n".join(f"{slot.label}: {value}" for slot, value in progress.slot_values(names))
        return f"{prefix}{generator.values(progress.slot_values(names))}"

    def _answer_other(self, progress: TaskProgress, turn: AgentTurn) -> tuple[str, bool]:
        """Answer a turn that neither asks for a known slot nor reports a result."""
        generator = self._generator
        if turn.asks_all_details or turn.asks_what_to_change:
            remaining = progress.uninformed or [name for name in progress.task.slots if not _is_identifier(progress.task.slots[name])]
            if remaining:
                return self._inform(progress, remaining[: _SLOTS_AT_ONCE[generator.style]]), False
        if (turn.unknown_concepts or turn.has_unknown_question) and (fact := self._state_fact(progress, turn)):
            return fact, False
        if turn.unknown_concepts:
            return self._answer_unknown(progress, turn), False
        if turn.options and (option_text := self._pick_option(progress, turn.options)):
            self._turns_without_progress += 1
            return generator.say("pick", which=option_text), False
        if turn.asks_to_add:
            self._turns_without_progress += 1
            if progress.uninformed:
                return self._volunteer(progress), False
            return generator.say("no_more"), False
        if turn.asks_anything_else:
            progress.was_reminded = True
            self._turns_without_progress += 1
            return generator.say("not_done", goal=progress.task.goal), False
        if turn.asks_goal:
            self._turns_without_progress += 1
            line = generator.say("again", goal=progress.task.goal)
            return (f"{line} {self._volunteer(progress)}" if progress.uninformed and self._turns_without_progress > 1 else line), False
        if turn.offer:
            return self._answer_offer(turn.offer)
        self._turns_without_progress += 1
        if turn.has_unknown_question:
            # at the second unknown question, the user says what it knows
            volunteers = self._turns_without_progress > 1 and bool(progress.task.slots)
            line = self._volunteer(progress) if volunteers else generator.say("unsure")
        else:
            line = self._volunteer(progress) if progress.uninformed else generator.say("go_on")
        if turn.has_unknown_question or turn.is_other_language:
            self._turns_not_understood += 1
        return line, False

    def _state_fact(self, progress: TaskProgress, turn: AgentTurn) -> str:
        """Return a value from the instructions that the agent asks for and that is not a slot of the task; empty if there is none.

        The id of a record is not one of them if the agent has just named another.
        """
        facts = progress.task.facts
        for name in find_named_slots(turn.question_text, facts)[0]:
            slot = facts[name]
            if not (self._identifier and _is_identifier(slot)) and name not in progress.stated_facts:
                progress.stated_facts.add(name)
                self._note_progress()
                return self._generator.value(slot, slot.text, 1)
        return ""

    def _answer_offer(self, offer: str) -> tuple[str, bool]:
        """Answer an offer: yes if it is about a later task."""
        later_task = self._find_later_task(offer)
        if later_task is None:
            self._turns_without_progress += 1
            return self._generator.say("no_offer"), False
        self._current.is_over = not self._current.uninformed
        self._task_index = later_task
        self._note_progress()
        return f"{self._generator.say('yes')} {self._raise_task(greeting=False)}", False

    def _answer_unknown(self, progress: TaskProgress, turn: AgentTurn) -> str:
        """Answer a question about something that is not a slot: with a related slot, the agent's last identifier, or, when asked again,
        an option. Otherwise, say that the user does not know.
        """
        key = turn.unknown_concepts[0]
        related = [name for name, slot in progress.task.slots.items() if slot.concept and slot.concept.key == related_concept(key)]
        if related and related[0] not in progress.informed:
            return self._inform(progress, related[:1])
        self._turns_without_progress += 1
        if key == "id":
            if turn.options and (option_text := self._pick_option(progress, turn.options)):
                return self._generator.say("pick", which=option_text)
            if self._identifier:
                return self._generator.say("recent", which=self._identifier)
        count = self._times_unknown[key] = self._times_unknown.get(key, 0) + 1
        if count > 1 and turn.options:
            return self._generator.say("pick", which=turn.options[0][:80])
        if count > 1 and progress.task.slots:
            return self._volunteer(progress)
        return self._generator.say("unknown", label=_CONCEPT_LABELS.get(key, key))

    def _volunteer(self, progress: TaskProgress) -> str:
        return self._inform(progress, progress.uninformed[:2] or list(progress.task.slots))

    def _pick_option(self, progress: TaskProgress, options: Sequence[str]) -> str:
        """Return the option that shares the most words with the task; empty if none stands out."""
        task_texts = [
            progress.task.goal,
            progress.task.opening,
            *(text for name, slot in progress.task.slots.items() for text in (progress.text(name), slot.says)),
        ]
        task_words = {word for text in task_texts for word in words(text) if len(word) > 1}
        scores = [len(task_words & set(words(option))) for option in options]
        best = max(scores)
        if not best or scores.count(best) == len(scores) > 1:
            return ""
        option = options[scores.index(best)]
        identifier = IDENTIFIER.search(option)
        return identifier[0] if identifier else option[:80].strip(" .?!")

    def _answer_refusal(self, progress: TaskProgress) -> tuple[str, bool]:
        if not progress.has_insisted:
            progress.has_insisted = True
            self._turns_without_progress += 1
            return self._generator.say("insist", goal=progress.task.goal), False
        progress.is_over = True
        acceptance = self._generator.say("accept")
        if self._next_task() is None:
            return f"{acceptance} {self._say_goodbye('leave')}", True
        self._note_progress()
        return f"{acceptance} {self._raise_task(greeting=False)}", False

    def _say_goodbye(self, act: str) -> str:
        if self._closing or not self._closing_words:
            return self._closing or self._generator.say(act)
        spoken = self._closing_words.rstrip(".!")
        return f"{self._generator.say(act)} {spoken[:1].upper()}{spoken[1:]}."

    def _next_task(self) -> TaskProgress | None:
        """Make the next open task the current one and return it; None if all are over."""
        for index, progress in enumerate(self._tasks):
            if not progress.is_over:
                self._task_index = index
                return progress
        return None

    def _note_progress(self) -> None:
        self._turns_without_progress = self._turns_not_understood = 0
        self._agent_turn_counts.clear()


def _is_identifier(slot: Slot) -> bool:
    return slot.concept is not None and slot.concept.key in ("id", "query")


def _last_agent_text(messages: Sequence[Message]) -> str:
    """Return the agent's text since the user's last turn."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            break
        texts.append(message.text)
    return "\n".join(reversed(texts))


def _open(options: str | None, seed: int) -> RuleBasedUser:
    if options is not None and options not in STYLES:
        raise BadInput(f"unknown style {options!r} for the {NAME} user{did_you_mean(options, STYLES)}", f"Styles: {', '.join(STYLES)}.")
    return RuleBasedUser(options or "", seed=seed)


USER = UserProvider(
    NAME,
    _open,
    f"follows the scenario's tasks by rules, without a model; style: {', '.join(STYLES)}, or the scenario's own",
    (NAME, *(f"{NAME}:{s}" for s in STYLES)),
)
