"""An opened model, with its settings in a form without secrets that can be stored."""

from collections.abc import Callable

from msgspec import Struct, structs

from callmark.models.endpoint import hide_headers
from callmark.models.keys import Keys, read_url
from callmark.models.model import Model, ModelSettings
from callmark.models.provider import Spec
from callmark.models.redaction import HIDDEN
from callmark.models.specs import model_actions, open_model
from callmark.runs.manifest import SimulationSettings
from callmark.trust import Action


class OpenedModel(Struct, frozen=True):
    """A model, the settings it is run with, and the settings that are stored, without secrets.

    `redacted` means that a secret was removed. `simulation` is set if the model is a simulation. `actions(folder)` returns what the stored
    settings would run, import or send if the run in this folder is resumed.
    """

    label: str
    model: Model
    settings: ModelSettings
    recorded_settings: ModelSettings
    redacted: bool = False
    simulation: SimulationSettings | None = None
    actions: Callable[[str], list[Action]] = lambda folder: []


def open_run_model(name: str | None, settings: ModelSettings, keys: Keys) -> OpenedModel:
    """Open the model with these settings. `name` is its name in `callmark.toml`, if it has one."""
    model, spec = open_model(settings, keys)
    recorded, redacted = redact_settings(settings, spec, keys)
    return OpenedModel(
        name or model.label, model, settings, recorded, redacted, actions=lambda folder: model_actions(recorded, keys, source=folder)
    )


def redact_settings(settings: ModelSettings, spec: Spec, keys: Keys) -> tuple[ModelSettings, bool]:
    """Return the settings without secrets, and whether a secret was removed. A header whose text is written in the settings may be one."""
    address = _redact_address(settings, keys)
    endpoint = settings.endpoint and hide_headers(settings.endpoint)
    recorded = keys.redact(structs.replace(settings, model=spec.shown, base_url=address, endpoint=endpoint))
    return recorded, spec.secret or HIDDEN in address or recorded.endpoint != settings.endpoint


def _redact_address(settings: ModelSettings, keys: Keys) -> str:
    """Return `base_url` without secrets, including passwords that are too short to be searched for in other text."""
    return keys.hide(read_url(settings.base_url.strip(), keys, where="base_url", example="").shown) if settings.base_url else ""
