"""Open simulated users by spec: a registered kind (`rule-based:terse`, `script`), else a model as the LLM user."""

from collections.abc import Callable, Collection

from callmark import registry
from callmark.errors import BadInput
from callmark.models.specs import is_provider
from callmark.simulation.session import Predict, User
from callmark.simulation.users.llm import LLMUser
from callmark.simulation.users.provider import UserProvider
from callmark.wording import did_you_mean

__all__ = ["DEFAULT_USER", "UserProvider", "open_user"]

DEFAULT_USER = "rule-based"


def open_user(spec: str, *, open_model: Callable[[str], tuple[Predict, str]], models: Collection[str] = (), seed: int = 0) -> User:
    """Return the user for a spec; an unknown one raises `BadInput` with the closest name.

    `open_model` opens a model by its spec and returns its prediction function and its label. `models` are the names of models in
    `callmark.toml`; they take precedence over kinds of users. `seed` determines what rule-based users say.
    """
    text = spec.strip()
    name, colon, options = text.partition(":")
    if text in models:
        return LLMUser(*open_model(text))
    if registry.is_known("users", name):
        provider: UserProvider = registry.find("users", name)
        return provider.open(options if colon else None, seed)
    if is_provider(name.lower()):
        return LLMUser(*open_model(text))
    if not text:
        raise BadInput("no user given", _hint())
    known = [*registry.names("users"), *models, *registry.names("models")]
    raise BadInput(f"unknown user {text[:80]!r}{did_you_mean(name, known)}", _hint())


def _hint() -> str:
    built_in: list[UserProvider] = list(registry.built_in("users"))
    known = [example for provider in built_in for example in provider.examples]
    known += [name for name in registry.names("users") if name not in {provider.name for provider in built_in}]
    return f"Users: {', '.join(known)}, or a model such as openai:gpt-4.1-mini."
