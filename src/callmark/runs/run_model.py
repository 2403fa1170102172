"""A model that is ready to be run, with its settings as they may be written down."""

import msgspec
from msgspec import Struct, structs

from callmark.models.keys import HIDDEN, Keys, read_url
from callmark.models.model import Model, ModelSettings
from callmark.models.provider import Spec
from callmark.models.specs import open_model
from callmark.runs.manifest import SimulationSettings


class OpenedModel(Struct, frozen=True):
    """A model, the settings it is run with, and the settings that are recorded: without anything secret.

    `redacted`: something was taken out of them. `simulation` is set where the model holds simulated conversations.
    """

    label: str
    model: Model
    settings: ModelSettings
    recorded_settings: ModelSettings
    redacted: bool = False
    simulation: SimulationSettings | None = None


def open_run_model(name: str | None, settings: ModelSettings, keys: Keys) -> OpenedModel:
    """Return the model of these settings; `name` is the name it is configured under, if it is."""
    model, spec = open_model(settings, keys)
    recorded, redacted = redact_settings(settings, spec, keys)
    return OpenedModel(name or model.label, model, settings, recorded, redacted)


def redact_settings(settings: ModelSettings, spec: Spec, keys: Keys) -> tuple[ModelSettings, bool]:
    """Return the settings as they may be written down, and whether something secret was taken out of them."""
    address = _redact_address(settings, keys)
    text = msgspec.json.encode(structs.replace(settings, model=spec.shown, base_url=address))
    return msgspec.json.decode(keys.hide_bytes(text), type=ModelSettings), spec.secret or HIDDEN in address


def _redact_address(settings: ModelSettings, keys: Keys) -> str:
    """Return `base_url` without anything secret; without a password of four letters too, which is too short to be searched for."""
    return keys.hide(read_url(settings.base_url.strip(), keys, where="base_url", example="").shown) if settings.base_url else ""
