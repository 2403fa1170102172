"""Users: who talks to the agent.

agenda[:STYLE]    a person with tasks, without a model; plain, terse, chatty or impatient, or as the scenario says
script            reads the lines of the scenario's `data.script`
any model         plays the user that the scenario's instructions describe
"""

from collections.abc import Callable, Collection

from callmark.errors import BadInput
from callmark.formats.scenarios import STYLES
from callmark.models.specs import HTTP, OTHERS
from callmark.simulation.session import Ask, User
from callmark.simulation.users.llm import LLMUser
from callmark.simulation.users.rule_based.user import RuleBasedUser
from callmark.simulation.users.script import ScriptUser
from callmark.wording import nearest

_AGENDA, _SCRIPT = "agenda", "script"
_HINT = f"A user is {_AGENDA}, {', '.join(f'{_AGENDA}:{style}' for style in STYLES)}, {_SCRIPT}, or a model such as openai:gpt-4.1-mini."


def open_user(spec: str, *, ask_model: Callable[[str], tuple[Ask, str]], models: Collection[str] = (), seed: int = 0) -> User:
    """The user that a spec names. What names none raises `BadInput` with the nearest.

    `ask_model` opens a model by its spec and gives how to ask it and what it is called; `models` are names that stand for one, of
    `callmark.toml`. `seed` is for `agenda`: another seed, other words.
    """
    text = spec.strip()
    word, colon, rest = text.partition(":")
    if text in models:
        return LLMUser(*ask_model(text))
    if word == _AGENDA:
        if colon and rest not in STYLES:
            raise BadInput(f"there is no agenda user called {rest!r}{nearest(rest, STYLES)}", f"They are {', '.join(STYLES)}.")
        return RuleBasedUser(rest, seed=seed)
    if word == _SCRIPT:
        if colon:
            hint = "Put its lines into data.script of the scenario, and say script."
            raise BadInput(f"{text[:80]!r} names no user: a script stands in its scenario", hint)
        return ScriptUser()
    if word.lower() in (*HTTP, *OTHERS, "https"):
        return LLMUser(*ask_model(text))
    if not text:
        raise BadInput("no user is named", _HINT)
    raise BadInput(f"there is no user called {text[:80]!r}{nearest(word, [_AGENDA, _SCRIPT, *models, *HTTP, *OTHERS])}", _HINT)
