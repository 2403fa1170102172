"""Utterance templates for conversations about an API, several per dialogue act, for the expert and the user. `{…}` are fields."""

from random import Random
from typing import Any

EXPERT: dict[str, tuple[str, ...]] = {
    "ask": (
        "Could you tell me {what}?",
        "What is {what}, please?",
        "I need {what} for that. Could you give it to me?",
        "For this I need {what}. What is it?",
        "May I have {what}, please?",
        "Could you please give me {what}?",
    ),
    "ask_two": (
        "Could you tell me {what}?",
        "I need {what} for that. Could you give me both?",
        "May I have {what}, please?",
        "For this I need {what}. What are they?",
        "Could you please give me {what}?",
    ),
    "first": (
        "I can help with that. ",
        "Happy to help. ",
        "Of course. ",
        "Sure, I can do that. ",
        "Certainly. ",
        "Thanks for reaching out. ",
    ),
    "again": ("Of course. ", "Sure. ", "Certainly. ", "Yes, I can do that as well. ", "Yes, that can be done. ", "No problem. "),
    "thanks": ("Thank you. ", "Thanks. ", "Got it. ", "Noted. ", "Perfect, thank you. ", ""),
    "ask_flag": ('What should "{label}" be?', 'And what should "{label}" be?'),
    "from": (" You can choose from {options}.", " It can be {options}.", " The options are {options}."),
    "which": (
        "I see more than one {noun}:\n{options}\nWhich {noun} do you mean?",
        "There are several to choose from:\n{options}\nWhich {noun} is it?",
        "Here is what I have found:\n{options}\nWhich {noun} should it be?",
        "I have found these:\n{options}\nCould you tell me which {noun} you have in mind?",
    ),
    "confirm": (
        "Let me sum up: I will {action}.{details}\nShall I go ahead? (yes/no)",
        "Before I {action}, please check:{details}\nDo you confirm? (yes/no)",
        "I am ready to {action}.{details}\nMay I proceed? (yes/no)",
        "This is what I am going to do: {action}.{details}\nIs that right, shall I proceed? (yes/no)",
        "To confirm, I will {action}.{details}\nPlease say yes and I will go ahead.",
    ),
    "done": ("That is done.", "All done.", "It is done.", "That went through.", "Done.", "This has been taken care of."),
    "found": ("Here is what I have found.", "This is what I see.", "Here you are.", "I have looked it up.", "Here is the answer."),
    "nothing": ("There is nothing to show there.", "I have looked, and there is nothing there.", "Nothing has been found."),
    "left": (
        "All right, I have left everything as it is.",
        "No problem, nothing has been changed.",
        "Understood, I will not do that.",
        "Of course. Nothing has been changed.",
    ),
    "refused": (
        "I am sorry, but I cannot {wish}. {reason}",
        "Unfortunately that is not possible. {reason}",
        "I am afraid that cannot be done. {reason}",
        "Sorry, I am not able to {wish}. {reason}",
    ),
    "beyond": (
        "I am sorry, but that is not something that I can do here.",
        "Unfortunately I have no way to do that. I can only help with what {title} offers.",
        "I am afraid that is beyond what I can do for you here.",
        "Sorry, I am not able to help with that one; it is outside of what {title} covers.",
    ),
    "stuck": ("I am sorry, but without that I cannot go on.", "Sorry, I cannot do this without knowing that."),
    "failed": ("I am sorry, that did not work: {error}", "Unfortunately that has failed: {error}"),
    "more": (
        "Is there anything else I can help you with?",
        "Can I help you with anything else?",
        "Is there anything else you need?",
        "Anything else that I can do for you?",
        "What else can I do for you?",
    ),
    "goodbye": (
        "You are welcome. Have a nice day!",
        "Thank you for getting in touch. Goodbye!",
        "Glad I could help. Take care!",
        "Goodbye, and have a good day!",
    ),
    "handed_over": (
        "You are being transferred to a person now. Please hold on.",
        "I am handing you over to a colleague now. One moment, please.",
    ),
}

USER: dict[str, tuple[str, ...]] = {
    "hello": ("Hi! ", "Hello, ", "Hi there, ", "Good morning. ", "Hey, ", "Good afternoon. ", "Hello there. ", "Good evening. ", "", ""),
    "wish": (
        "I'd like to {wish}.",
        "I want to {wish}.",
        "could you help me {wish}?",
        "I need to {wish}.",
        "I was hoping to {wish}.",
        "is it possible to {wish}?",
        "I am trying to {wish}.",
        "can you help me to {wish}?",
        "I was wondering if I could {wish}.",
        "what do I have to do to {wish}?",
        "I would love to {wish}, if that works.",
        "there is something I have to sort out: I need to {wish}.",
        "am I in the right place to {wish}?",
        "I have decided to {wish}.",
        "I'm looking to {wish} today.",
        "how can I {wish}?",
        "it's about time that I {wish}.",
        "please help me {wish}.",
    ),
    "next": (
        "Yes, there is one more thing: I'd like to {wish}.",
        "Actually, yes. I also want to {wish}.",
        "One more thing, could you help me {wish}?",
        "Yes, I also need to {wish}.",
        "While we are at it, I want to {wish} as well.",
        "Great. Then I would like to {wish} next.",
        "That was quick! Could I also {wish}?",
        "There is. I was hoping to {wish} too.",
        "Yes please, I have to {wish} before I forget.",
        "Now that you ask, I should {wish} as well.",
    ),
    "chatty": (
        " I hope you can sort this out for me.",
        " I have been meaning to do this for a week now.",
        " My sister told me that you are quick with these things.",
        " I tried it on the website first, but I got lost there.",
        " It should not take long, I think.",
        " I am on my lunch break, so I have a few minutes.",
        " Sorry if this is a silly request.",
        " My phone died halfway through when I tried it yesterday.",
        " The last person I spoke to was lovely, by the way.",
        " I keep forgetting about it and then it bothers me at night.",
        " We are about to leave for the weekend, so the sooner the better.",
        " My kids are asleep for once, so now is a good time.",
        " I never know which button does that.",
        " A neighbor said that this is the place to ask.",
    ),
    "before": ("", "", "", "Sure. ", "Of course. ", "OK, one second. ", "Let me look. ", "Right. ", "I have that here. "),
    "tell": (
        "{Determiner} {label} {be} {text}.",
        "It's {text}.",
        "{text}",
        "Here it is: {text}.",
        "That's {text}.",
        "You can put down {text}.",
        "{text}, if I remember right.",
        "That would be {text}.",
        "It should be {text}.",
        "I have {text} here.",
        "Please take {text}.",
        "I think you want {text}.",
    ),
    "tell_terse": ("{text}", "{text}.", "{label}: {text}"),
    "tell_flag": ("{Text}.", "{Text}, please.", "I would say {text}.", "I think {text}."),
    "also_flag": (" {Text}.", " And {text}.", " In case you need it, {text}."),
    "both": (
        "{Determiner} {label} {be} {text}, and {determiner2} {label2} {be2} {text2}.",
        "It's {text}, and {determiner2} {label2} {be2} {text2}.",
        "{text}, and {determiner2} {label2} {be2} {text2}.",
        "{text} for {determiner} {label}, {text2} for {determiner2} {label2}.",
        "Take {text} as {determiner} {label} and {text2} as {determiner2} {label2}.",
        "{Determiner} {label2} {be2} {text2}; for {determiner} {label} it's {text}.",
    ),
    "also": (
        " {Determiner} {label} {be} {text}.",
        " And {determiner} {label} {be} {text}.",
        " {Determiner} {label}: {text}.",
        " For {determiner} {label}, it's {text}.",
        " In case you need it, {determiner} {label} {be} {text}.",
    ),
    "choose": (
        "I mean {text}.",
        "It's {text}.",
        "{Text}, please.",
        "That would be {text}.",
        "{Text}.",
        "I'm talking about {text}.",
        "I was thinking of {text}.",
        "{Text} is what I had in mind.",
        "Let's take {text}.",
        "This is about {text}.",
        "I'd go for {text}.",
        "Definitely {text}.",
    ),
    "yes": (
        "Yes, please.",
        "Yes, go ahead.",
        "Yes, that's right.",
        "Yes, please do that.",
        "Yes, that is correct.",
        "Yes, I confirm.",
        "Yes, do it.",
        "Yes, perfect.",
        "Yes, that is exactly what I want.",
        "Yes, all of that is right, go ahead.",
        "Yes, you can do that now.",
        "Yes, that all looks right to me.",
        "Yes, everything is correct.",
        "Yes, thank you, please proceed.",
    ),
    "no": (
        "No, I have changed my mind. Please leave it as it is.",
        "No, stop. I would rather keep it the way it is.",
        "No, please don't. I need to think about it first.",
        "No, let's leave it. I am not so sure any more.",
        "No, on second thought I will leave things as they are.",
        "No, wait. I want to talk to my family about it first.",
    ),
    "accept": (
        "Oh, I see. ",
        "That's a pity. ",
        "Okay, I understand. ",
        "Hm, too bad. ",
        "All right. ",
        "I was afraid of that. ",
        "Well, it was worth a try. ",
    ),
    "bye": (
        "No, that's all. Thank you!",
        "That was everything, thanks. Bye!",
        "No, thanks. Have a nice day!",
        "No, that is it. Thanks for your help!",
        "Nothing else, thank you. Goodbye!",
        "That's all for today, thanks a lot.",
        "No, I am all set. Thank you and goodbye.",
        "That is all I needed. Bye for now!",
        "No, you have been very helpful. Bye!",
        "I think that was it. Thanks, and take care.",
        "No more questions from me. Goodbye!",
        "We are done here, thank you so much.",
    ),
    "lost": ("I am not sure what you mean.", "Sorry, I don't know that.", "I don't follow, sorry.", "I have told you all that I know."),
    "leave": ("Never mind then, goodbye.", "I'll try another time. Bye."),
}  # fmt: skip


class UtteranceTemplates:
    """Chooses templates at random; each template of an act is used once before any repeats."""

    def __init__(self, templates: dict[str, tuple[str, ...]], random: Random) -> None:
        self._templates = templates
        self._random = random
        self._used: dict[str, list[str]] = {}

    def say(self, act: str, **fields: Any) -> str:
        """Return an utterance for a dialogue act, with its fields filled."""
        used = self._used.setdefault(act, [])
        unused = [template for template in self._templates[act] if template not in used]
        if not unused:
            used.clear()
        template = self._random.choice(unused or self._templates[act])
        used.append(template)
        return template.format(**fields) if fields else template

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < probability
