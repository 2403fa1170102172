"""Select models by spec, by a name from `callmark.toml`, or by settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.wording import did_you_mean

NamedModel = tuple[str | None, ModelSettings]  # its name in `callmark.toml`, or None
ModelChoice = str | ModelSettings | Sequence[str | ModelSettings]


def choose_models(
    models: ModelChoice, configured: Mapping[str, ModelSettings], settings: Mapping[str, Any] | None = None, *, noun: str = "model"
) -> list[NamedModel]:
    """Return each model with its configured name. `settings` override those of every model; `params` are merged.

    A word that is neither a spec nor a configured name raises `BadInput` with the closest name; it says `noun`.
    """
    listed = [models] if isinstance(models, str | ModelSettings) else models
    return [(name, override(model, settings)) for name, model in (_choose(model, configured, noun) for model in listed)]


def override(model: ModelSettings, settings: Mapping[str, Any] | None) -> ModelSettings:
    """Override some settings of a model; `params` are merged."""
    changes = dict(settings or {})
    if "params" in changes:
        changes["params"] = {**model.params, **changes["params"]}
    try:
        return structs.replace(model, **changes)
    except TypeError:
        known = ModelSettings.__struct_fields__
        unknown = next(name for name in changes if name not in known)
        raise BadInput(f"unknown model setting {unknown!r}{did_you_mean(unknown, known)}", f"Supported: {', '.join(known)}.") from None


def check_prices(models: Sequence[ModelSettings], keys: Keys) -> None:
    """Raise `BadInput` for a model without a price: its cost cannot be limited."""
    if unpriced := [model.model for model in models if model.price is None]:
        raise BadInput(
            f"--max-cost: {keys.hide(unpriced[0])} has no price",
            "Name the model in callmark.toml, set its price per million tokens, and pass that name instead:\n"
            '[models.NAME]\nmodel = "PROVIDER:NAME"\nprice = { input = 0.15, output = 0.6 }',
        )


def resolve_model(model: str | ModelSettings, configured: Mapping[str, ModelSettings]) -> NamedModel:
    """Return a model's name in `callmark.toml` (None if it has none) and its settings."""
    if isinstance(model, ModelSettings):
        return None, model
    return (model, configured[model]) if model in configured else (None, ModelSettings(model=model))


def _choose(model: str | ModelSettings, configured: Mapping[str, ModelSettings], noun: str) -> NamedModel:
    if isinstance(model, str) and configured and model not in configured and ":" not in model:
        raise BadInput(
            f"unknown {noun} {model!r}{did_you_mean(model, configured)}",
            f"Names in callmark.toml: {', '.join(configured)}. Other {noun}s need a prefix, such as openai:NAME.",
        )
    return resolve_model(model, configured)
