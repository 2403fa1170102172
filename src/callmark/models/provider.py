"""The provider contract: one kind of model, named by what stands before the colon of a spec (`openai:gpt-4.1-mini`).

A provider is an object in a file of its own. It knows its name, an example, its capabilities, which settings and parameters it takes, how
to read a spec and how to open a model. The registry finds it: ours in its table, others by an entry point of the group `callmark.models`,
whose name is the provider's.
"""

from importlib.util import find_spec

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelSettings
from callmark.wording import did_you_mean

REQUEST_SETTINGS = ("temperature", "tool_choice", "tools_in_prompt", "base_url", "api_key_env")


class Provider(Struct, frozen=True, kw_only=True):
    """One kind of model; subclass it and define `open`.

    `example` is a complete spec. `settings` are those of `REQUEST_SETTINGS` that it takes, `params` the names of parameters that it takes
    (None: any). `needs_name`: its spec has something after the colon.
    """

    name: str
    example: str
    capabilities: Capabilities = Capabilities()
    settings: tuple[str, ...] = ()
    params: tuple[str, ...] | None = ()
    needs_name: bool = True

    def read(self, text: str, keys: Keys) -> "Spec":
        """Return the spec that a text stands for; raise `BadInput` where it names no model. Secrets in it are added to `keys`."""
        name = self.name_in(text)
        shown = f"{self.name}:{scrub(name)}"
        hidden = keys.hide(shown)
        return Spec(self, name, "", hidden, hidden != shown)

    def name_in(self, text: str) -> str:
        """Return what follows the colon; raise `BadInput` where nothing does and something is needed."""
        _, colon, name = text.partition(":")
        if not colon or (self.needs_name and not name.strip()):
            raise BadInput(f"{self.name} alone names no model, {self.example} was expected")
        return name.strip()

    def open(self, spec: "Spec", settings: ModelSettings, keys: Keys) -> Model:
        """Return the model, not yet entered; raise `BadInput` for what cannot work."""
        raise NotImplementedError

    def status(self, keys: Keys) -> "ProviderStatus":
        """Return whether it can be used here, and what is missing. Nothing is requested and nothing heavy imported to find out."""
        return ProviderStatus(self.name, self.example)

    def check_settings(self, spec: "Spec", settings: ModelSettings) -> None:
        """Raise `BadInput` for a setting or a parameter that means nothing to it."""
        for name in settings.params if self.params is not None else ():
            if name not in (taken := self.params or ()):
                known = f"its only one is {taken[0]}" if len(taken) == 1 else f"it takes {', '.join(taken)}"
                why = f"{known}{did_you_mean(name, taken)}" if taken else "it is sent no request"
                raise BadInput(f"{spec.shown} takes no parameter {name!r}: {why}")
        for name in REQUEST_SETTINGS:
            if name not in self.settings and getattr(settings, name) not in (None, ""):
                raise BadInput(f"{spec.shown} is sent no request, so {name} means nothing to it")


class Spec(Struct, frozen=True):
    """A model by name. `url` is the address in it, as it was given; empty where there is none.

    `shown` is what is stored and printed: `…` stands for what is secret in it, and `secret` says that there is such a thing.
    """

    provider: Provider
    name: str
    url: str
    shown: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"Spec({self.shown!r})"


class ProviderStatus(Struct, frozen=True):
    """One row of `--list-models`: what is missing, empty where it is ready; `address` is the one that overrides the usual, or empty."""

    name: str
    example: str
    missing: str = ""
    address: str = ""

    @property
    def ready(self) -> bool:
        return not self.missing


def is_installed(module: str) -> bool:
    """Return whether a module can be found; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing, or half imported
        return False
