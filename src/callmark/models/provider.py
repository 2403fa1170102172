"""The provider contract: a source of models, named by the prefix of a spec (`openai` in `openai:gpt-4.1-mini`).

A provider has a name, an example, capabilities, and the settings and parameters it supports. It reads specs and opens models. The registry
finds built-in providers in its table, and others by an entry point in the group `callmark.models` with the provider's name.
"""

from collections.abc import Collection, Iterable
from importlib.util import find_spec

from msgspec import Struct

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelSettings
from callmark.trust import Action
from callmark.wording import did_you_mean

REQUEST_SETTINGS = ("temperature", "tool_choice", "tools_in_prompt", "base_url", "api_key_env")


class Provider(Struct, frozen=True, kw_only=True):
    """A source of models. Subclass it and define `open`; register an instance under the entry point group `callmark.models`.

    Attributes:
        name: Prefix of its specs: `openai` in `openai:gpt-4.1-mini`.
        example: A complete spec, for messages.
        capabilities: What its models support.
        settings: The supported settings among `temperature`, `tool_choice`, `tools_in_prompt`, `base_url`, `api_key_env` and `env`.
        params: Names of the supported parameters; None for any.
        needs_name: Whether a spec must have something after the colon.
        acts: Whether its models run code or send anything, so that a file that names one needs the user's consent.
    """

    name: str
    example: str
    capabilities: Capabilities = Capabilities()
    settings: tuple[str, ...] = ()
    params: tuple[str, ...] | None = ()
    needs_name: bool = True
    acts: bool = True

    def read(self, text: str, keys: Keys) -> "Spec":
        """Parse a spec; raise `BadInput` if it is incomplete. Its secrets are added to `keys`."""
        name = self.name_in(text)
        shown = f"{self.name}:{scrub(name)}"
        hidden = keys.hide(shown)
        return Spec(self, name, "", hidden, hidden != shown)

    def name_in(self, text: str) -> str:
        """Return the part after the colon; raise `BadInput` if it is missing and needed."""
        _, colon, name = text.partition(":")
        if not colon or (self.needs_name and not name.strip()):
            raise BadInput(f"expected a model such as {self.example}, got {f'{self.name}{colon}'!r}")
        return name.strip()

    def open(self, spec: "Spec", settings: ModelSettings, keys: Keys) -> Model:
        """Return the model, not yet entered; raise `BadInput` if it cannot be opened."""
        raise NotImplementedError

    def actions(self, spec: "Spec", settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        """Return what acts if a file names this model: the programs that it runs, the modules that it imports, the keys that it sends.

        callmark asks the user before it opens such a model. `given` are the names of the settings that the user gave. By default the spec
        is run, because nothing is known about it.
        """
        text = f"{self.name}:{spec.name}"
        return (Action("run", keys.show_command(text), exact=text),) if self.acts else ()

    def status(self, keys: Keys) -> "ProviderStatus":
        """Return whether the provider is ready, or what is missing. Sends no request and imports nothing heavy."""
        return ProviderStatus(self.name, self.example)

    def check_settings(self, spec: "Spec", settings: ModelSettings) -> None:
        """Raise `BadInput` for a setting or a parameter that the provider does not support."""
        for name in settings.params if self.params is not None else ():
            if not self.params:
                raise BadInput(f"{spec.shown} does not support parameters, got {name!r}")
            if name not in self.params:
                raise BadInput(
                    f"{spec.shown}: unknown parameter {name!r}{did_you_mean(name, self.params)}", f"Supported: {', '.join(self.params)}."
                )
        for name in REQUEST_SETTINGS:
            if name not in self.settings and getattr(settings, name) not in (None, ""):
                option = (
                    "constrained" if settings.tools_in_prompt == "constrained" and name == "tools_in_prompt" else name.replace("_", "-")
                )
                raise BadInput(f"{spec.shown} does not support --{option}, because it is not a chat API")
        if settings.env and "env" not in self.settings:
            raise BadInput(f"{spec.shown} does not support --env, because it starts no program")


class Spec(Struct, frozen=True):
    """A parsed model spec.

    Attributes:
        provider: The provider that it names.
        name: The part after the colon.
        url: The address in it, unchanged; empty if there is none.
        shown: What is stored and printed, with `…` in place of secrets.
        secret: Whether it contains secrets.
    """

    provider: Provider
    name: str
    url: str
    shown: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"Spec({self.shown!r})"


class ProviderStatus(Struct, frozen=True):
    """One row of `--list-models`. `missing` is empty if the provider is ready; `address` overrides the default, or is empty."""

    name: str
    example: str
    missing: str = ""
    address: str = ""

    @property
    def ready(self) -> bool:
        return not self.missing


def is_installed(module: str) -> bool:
    """Return whether a module is installed, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its parent package is missing or only partly imported
        return False
