"""Utterance templates of the rule-based user: several per dialogue act, in four styles. The seed determines their order, and no line
repeats.

Free text is quoted, is the whole line, or follows its label and a colon.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from callmark.simulation.users.rule_based.tasks import Slot

_YES_TEMPLATES = (
    "Yes, please go ahead.",
    "Yes, that is correct.",
    "That's right, go ahead.",
    "Yes, that looks good to me.",
    "Correct, please do.",
    "Yes, do it please.",
    "Sure, go ahead.",
    "Yes, everything is right.",
)
TEMPLATES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "greet": {
        "plain": ("Hi! ", "Hello. ", "Good morning. ", ""),
        "terse": ("",),
        "chatty": ("Hi there! Hope you're having a good day. ", "Hello! Lovely to have some help. ", "Hey! Thanks for being here. "),
        "impatient": ("", "Quickly please: ", "I don't have much time. "),
    },
    "raise": {
        "plain": ("I'd like to {goal}.", "I need to {goal}, please.", "Can you help me to {goal}?", "I want to {goal}."),
        "terse": ("{Goal}.", "{Goal}, please.", "Need to {goal}."),
        "chatty": (
            "So, I was wondering whether you could help me to {goal}?",
            "I hope this is the right place: I would like to {goal}.",
            "I have something for you. I'd like to {goal}, if that's all right.",
        ),
        "impatient": ("I need to {goal}, right now.", "I have to {goal}. Please be quick.", "{Goal}, please, and fast."),
    },
    "next": {
        "plain": ("Thanks. ", "Thank you. ", "Great. ", "Good, thanks. "),
        "terse": ("Next: ", "Then: ", "Also: "),
        "chatty": ("Wonderful, thank you so much! ", "Oh great, that was easy! ", "Perfect, you're a star! "),
        "impatient": ("Fine. ", "Good. Next: ", "OK. "),
    },
    "again": {
        "plain": ("As I said, I'd like to {goal}.", "What I need is to {goal}.", "It's about this: I want to {goal}."),
        "terse": ("{Goal}!", "I said: {goal}.", "Just {goal}."),
        "chatty": ("Sorry if I was unclear! What I'm trying to do is to {goal}.", "Let me try again: I'd love to {goal}."),
        "impatient": ("Again: I need to {goal}.", "I told you already, I have to {goal}."),
    },
    "yes": {
        "plain": _YES_TEMPLATES,
        "terse": ("Yes.", "Yes, go ahead.", "Correct.", "Yep.", "Right, do it.", "OK, go ahead."),
        "chatty": (
            "Yes, that's exactly it, please go ahead!",
            "Yes please, that sounds perfect. Thank you!",
            "That's right! Please go ahead, and thanks for checking with me.",
            "Yes, all correct as far as I can see. Go ahead!",
        ),
        "impatient": ("Yes, just do it.", "Yes, go ahead already.", "Correct. Please hurry.", "Yes! Go on."),
    },
    "this": {
        "plain": ("Yes, that's the one.", "Yes, that one.", "Right, I mean that one."),
        "terse": ("Yes, that one.", "Yes."),
        "chatty": ("Yes, that's the very one, well found!", "Oh yes, that one exactly."),
        "impatient": ("Yes, obviously that one.", "Yes. That one."),
    },
    "not_this": {"plain": ("No, I mean another one: {which}.", "No, not that one. It is {which}.", "That isn't it. I mean {which}.")},
    "correct": {
        "plain": ("No, {facts}.", "Not quite: {facts}.", "That's not right, {facts}.", "Please correct that: {facts}."),
        "terse": ("No. {Facts}.", "Wrong: {facts}.", "No, {facts}."),
        "chatty": ("Almost! But {facts}.", "Oh, there's a slip in there: {facts}.", "Nearly perfect, only that {facts}."),
        "impatient": ("No! {Facts}.", "That's wrong: {facts}.", "No, listen: {facts}."),
    },
    "change": {
        "plain": (
            "Actually, I've changed my mind: {facts}.",
            "Wait, one change: {facts}.",
            "On second thought, {facts}.",
        ),
        "terse": ("Change: {facts}.", "Wait. {Facts}."),
        "chatty": ("Oh, hold on, I've been thinking about it again: {facts}.", "Hmm, you know what? I changed my mind: {facts}."),
        "impatient": ("No, wait: {facts}.", "Stop, I need that changed: {facts}."),
    },
    "add": {
        "plain": ("One more thing before that: {facts}.", "Please add this: {facts}.", "I should add that {facts}."),
        "terse": ("Add: {facts}.", "Also, {facts}."),
        "chatty": ("Oh, I nearly forgot to mention: {facts}.", "Before you do, let me add something: {facts}."),
        "impatient": ("You forgot something: {facts}.", "Add this too: {facts}."),
    },
    "unknown": {
        "plain": (
            "I don't know the {label}, I have no preference.",
            "I have no preference about the {label}.",
            "I can't tell you the {label}, please take whatever is usual.",
            "No idea about the {label}, anything is fine.",
        ),
        "terse": ("Don't know the {label}.", "No preference on the {label}.", "The {label}? Any."),
        "chatty": (
            "Oh, the {label}? I really couldn't say, whatever you think is best.",
            "Hmm, I honestly don't know about the {label}. Please just use what is usual!",
        ),
        "impatient": ("I don't know the {label}. Just take the default.", "No preference about the {label}, just go on."),
    },
    "unsure": {
        "plain": (
            "I'm not sure what you mean, I don't know that.",
            "Sorry, I don't know.",
            "I can't say, I have no preference there.",
            "I have no information about that.",
        ),
        "terse": ("Don't know.", "No idea.", "No preference."),
        "chatty": ("Hmm, that is a good question, but I really don't know!", "I'm afraid I have no idea about that one, sorry!"),
        "impatient": ("I don't know that. Can we go on?", "No idea, and I don't think it matters."),
    },
    "no_more": {
        "plain": ("No, that's everything.", "No, nothing to add.", "No, that is all there is to it.", "Nothing more on that."),
        "terse": ("No.", "Nothing more.", "No, nothing."),
        "chatty": ("No, I think I've told you everything I know!", "Nope, that's really the whole story."),
        "impatient": ("No, nothing. Go on.", "No. Just do it."),
    },
    "no_offer": {
        "plain": ("No, thank you, that's not needed.", "No thanks.", "No, I don't need that."),
        "terse": ("No.", "No thanks, not needed.", "Not needed."),
        "chatty": ("That's kind of you, but no, thank you.", "Oh no, I don't need that, but thanks for asking!"),
        "impatient": ("No. I don't need that.", "No, skip that."),
    },
    "insist": {
        "plain": (
            "Are you sure? I really need to {goal}.",
            "Could you make an exception? It is important to me to {goal}.",
            "Please try once more, I have to {goal}.",
        ),
        "terse": ("Please. I need to {goal}.", "Try again: {goal}."),
        "chatty": (
            "Oh dear, is there really no way? I was counting on being able to {goal}.",
            "Hmm, couldn't you look again? I'd so much like to {goal}.",
        ),
        "impatient": ("That can't be. I have to {goal}.", "Come on, there must be a way to {goal}."),
    },
    "accept": {
        "plain": ("All right, then leave it.", "OK, I understand. Never mind then.", "Fine, then we leave it at that."),
        "terse": ("OK, forget it.", "Fine, leave it.", "Never mind then."),
        "chatty": ("Ah well, rules are rules, I understand. Never mind then!", "That's a pity, but I understand. Let's leave it."),
        "impatient": ("Fine, forget it then.", "Whatever, leave it."),
    },
    "go_on": {
        "plain": (
            "All right, please go ahead.",
            "OK. Can you do that now?",
            "Good. Is it done then?",
            "Fine, please carry on.",
            "What happens next?",
        ),
        "terse": ("OK, go on.", "Go ahead.", "Is it done?"),
        "chatty": ("Sounds good, I'll wait while you do that!", "No problem, take your time. Is it done yet?", "Lovely, please carry on!"),
        "impatient": ("And? Is it done?", "Please just do it.", "I'm waiting."),
    },
    "hello": {
        "plain": ("Hello? Are you still there?", "Hello, is anybody there?", "Are you there? I got no answer.", "I didn't get an answer.")
    },
    "not_done": {"plain": ("Yes, we are not done yet: I still need to {goal}.", "Yes, there is still this: I want to {goal}.")},
    "complain": {
        "plain": ("As I said: ", "I mentioned that already: "),
        "terse": ("Again: ", "As I said: "),
        "chatty": ("I think I said so before, but no problem: ", "Happy to repeat it: "),
        "impatient": ("I already told you! ", "You asked me that before. ", "How often do I have to say this? "),
    },
    "pick": {
        "plain": ("{which}, please.", "I'll take {which}.", "Let's go with {which}."),
        "terse": ("{which}.", "{which}"),
        "chatty": ("Let me see... {which} would be the right one!", "Ooh, {which}, please."),
        "impatient": ("{which}. Go on.", "{which}, obviously."),
    },
    "recent": {
        "plain": ("The one you just told me about: {which}.", "It's {which}.", "{which}, the one from before."),
        "terse": ("{which}.",),
        "chatty": ("That'd be the one we just had, {which}!",),
        "impatient": ("{which}, as you said yourself.",),
    },
    "goodbye": {
        "plain": (
            "No, that's all. Thank you, goodbye!",
            "That was everything, thanks. Goodbye.",
            "No, nothing else. Thanks for your help, bye!",
            "That's all for today, thank you. Goodbye!",
        ),
        "terse": ("That's all. Bye.", "Done, thanks. Bye.", "No, that's all. Goodbye."),
        "chatty": (
            "No, that's everything, you've been such a help! Have a lovely day, goodbye!",
            "That's all for now. Thanks a million and goodbye!",
        ),
        "impatient": ("No. That's all, bye.", "That's it, goodbye."),
    },
    "leave": {
        "plain": ("That was all, thank you. Goodbye!", "Thanks, that's all from me. Bye!", "Thank you, I have nothing else. Goodbye."),
        "terse": ("That's all. Bye.", "Thanks, bye."),
        "chatty": ("That's everything from me. Thank you and have a lovely day, goodbye!", "Thanks a lot, that was all. Bye for now!"),
        "impatient": ("That's all, bye.", "Then we're done. Goodbye."),
    },
    "give_up": {
        "plain": ("We are getting nowhere, so I give up. Goodbye.", "This is going round in circles. I give up, goodbye."),
        "terse": ("This leads nowhere. I give up.", "I give up. Bye."),
        "chatty": ("I'm sorry, but we're getting nowhere here. I give up for today, goodbye!",),
        "impatient": ("This is a waste of time, I give up. Bye.", "I give up, this goes nowhere. Goodbye."),
    },
    "remark": {
        "plain": ("",),
        "terse": ("",),
        "chatty": ("", " It has been one of those days!", " Thanks for bearing with me.", " I hope that helps.", " You are very kind."),
        "impatient": ("", "", " Please hurry.", " Can we speed this up?"),
    },
}
_VALUE_TEMPLATES: Mapping[str, Sequence[str]] = {
    "plain": ("It's {value}.", "The {label} is {value}.", "{value}, please.", "{Label}: {value}"),
    "terse": ("{value}", "{value}.", "{Label}: {value}"),
    "chatty": ("The {label} would be {value}.", "I'd say {value}.", "Let me think... it's {value}."),
    "impatient": ("{value}.", "The {label} is {value}.", "{value}, of course."),
}
_FREE_TEXT_TEMPLATES: Mapping[str, Sequence[str]] = {
    "plain": ("{value}", 'The {label} is "{value}".', "{Label}: {value}", 'Please write: "{value}"'),
    "terse": ("{value}", "{Label}: {value}"),
    "chatty": ('Let\'s see, the {label} could be "{value}".', 'I\'d put it like this: "{value}"', "{value}"),
    "impatient": ("{value}", 'The {label} is "{value}".'),
}
_OWN_WORDING_TEMPLATES: Mapping[str, Sequence[str]] = {
    "plain": ("{Says}.", "That would be {says}.", "{Says}, please."),
    "terse": ("{Says}", "{Says}."),
    "chatty": ("Oh, {says}, I'd say.", "Let me think... {says}.", "Well, {says}!"),
    "impatient": ("{Says}.", "{Says}, clearly."),
}
_FIELD = re.compile(r"\{(\w+)\}(\.?)")
_REPEAT_LEADS = ("Once more: ", "To say it again: ", "I repeat: ", "Like I said: ", "Again, ")


class UtteranceGenerator:
    """Generates the utterances of one user. Each template of an act is used once before any repeats."""

    def __init__(self, style: str, random: Random) -> None:
        self.style = style
        self._random = random
        self._decks: dict[str, list[str]] = {}
        self._used_lines: set[str] = set()

    def say(self, act: str, **fields: str) -> str:
        """Return an utterance for a dialogue act with these fields; `{Goal}` is `{goal}` capitalized."""
        by_style = TEMPLATES[act]
        return self._fill(self._draw(act, by_style.get(self.style) or by_style["plain"]), fields)

    def value(self, slot: Slot, value: str, times: int) -> str:
        """Return the answer to a question about one slot: in the user's own wording, then with the label, then the bare value."""
        if times >= 3:
            return next((form for form in (value, f'"{value}"', f"{value}.") if form not in self._used_lines), value)
        if times == 2:
            return _sentence(_capital(phrase_fact(slot, value)))
        fields = {"label": slot.label, "value": value, "says": slot.says}
        is_free = is_free_text(slot, value)
        if slot.says and value == slot.text:
            return self._fill(self._draw("own", _OWN_WORDING_TEMPLATES[self.style]), fields)
        return self._fill(self._draw(f"value {is_free}", (_FREE_TEXT_TEMPLATES if is_free else _VALUE_TEMPLATES)[self.style]), fields)

    def values(self, slot_values: Iterable[tuple[Slot, str]]) -> str:
        """Return several values at once: as a list with labels, or as sentences."""
        if self._random.random() < (0.2 if self.style in ("plain", "chatty") else 0.6):
            return "\n".join(f"{_capital(slot.label)}: {_own_wording(slot, value)}" for slot, value in slot_values)
        return " ".join(_sentence(_capital(phrase_fact(slot, value, use_own_wording=True))) for slot, value in slot_values)

    def make_unique(self, line: str) -> str:
        """Return the line; if it was used before, a new line with the same meaning."""
        line = line.strip()
        if line in self._used_lines:
            line = next((other for lead in _REPEAT_LEADS if (other := f"{lead}{line}") not in self._used_lines), line)
        number = 2
        while line in self._used_lines:
            number += 1
            again = f"{line} (I have said that {number} times.)"
            if again not in self._used_lines:
                line = again
        self._used_lines.add(line)
        return line

    def _draw(self, act: str, templates: Sequence[str]) -> str:
        deck = self._decks.get(act)
        if not deck:
            deck = self._decks[act] = self._random.sample(list(templates), len(templates))
        return deck.pop()

    def _fill(self, template: str, fields: Mapping[str, str]) -> str:
        """Return the template with its fields filled; a period is not doubled."""

        def field(match: re.Match[str]) -> str:
            text = fields[match[1].casefold()]
            text = text.rstrip(" .") if match[2] else text
            return f"{_capital(text) if match[1][0].isupper() else text}{match[2]}"

        return _FIELD.sub(field, template)


def phrase_fact(slot: Slot, value: str, *, use_own_wording: bool = False, verb: str = "is") -> str:
    """Return `the priority is High`, with free text quoted; with `use_own_wording`, in the user's own words if there are any."""
    if use_own_wording and slot.says and value == slot.text:
        return f"for the {slot.label}, {slot.says}"
    value_text = f'"{value}"' if is_free_text(slot, value) else value
    if slot.concept and slot.concept.key == "assignee":
        return f"it should be assigned to {value_text}"
    return f"the {slot.label} {verb} {value_text}"


def phrase_facts(slot_values: Iterable[tuple[Slot, str]], *, as_wish: bool = False) -> str:
    """Return several facts in one sentence; `as_wish` is for corrections and changes."""
    verb = "should be" if as_wish else "is"
    return " and ".join(phrase_fact(slot, value, verb=verb) for slot, value in slot_values)


def is_free_text(slot: Slot, value: str) -> bool:
    """Return whether a value is free text: by its concept, or by its length."""
    return bool(slot.concept and slot.concept.is_free_text) or len(value.split()) > 4


def _own_wording(slot: Slot, value: str) -> str:
    return slot.says if slot.says and value == slot.text else value


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
