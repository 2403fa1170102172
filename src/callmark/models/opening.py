"""A spec and its settings to a model that can be asked. What could not work raises `BadInput` before anything is asked."""

from typing import Any

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import Model, ModelSettings
from callmark.models.prompts import check_params
from callmark.models.specs import Spec, read_spec
from callmark.wording import nearest

_WITHOUT_REQUEST = ("replay", "python", "cmd", "scripted", "chatbot")  # models that are sent no request, and so take no parameters of one
_OF_REQUESTS = ("temperature", "tool_choice", "tools_in_prompt", "base_url", "api_key_env")


def open_model(settings: ModelSettings, keys: Keys) -> tuple[Model, Spec]:
    """The model, not yet entered, and its spec."""
    spec = read_spec(settings.model, keys)
    check_params(settings.params)
    if spec.provider in _WITHOUT_REQUEST:
        _refuse_request_settings(settings, spec)
    try:
        return _opened(spec, settings, keys), spec
    except BadInput as error:  # what a module raised while it was imported may have a key in it
        raise BadInput(keys.hide(str(error)), keys.hide(error.hint)) from None


def _opened(spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
    match spec.provider:
        case "replay":
            from callmark.models.replay import ReplayModel

            return ReplayModel(spec.name, parse=settings.parse)
        case "python":
            from callmark.models.function import FunctionModel

            return FunctionModel(spec.name, timeout=settings.timeout)
        case "cmd":
            from callmark.models.process import ProcessModel

            return ProcessModel(spec.name, timeout=settings.timeout)
        case "scripted":
            from callmark.models.scripted import ScriptedModel

            return ScriptedModel(spec.name, seed=_seed(settings.params.get("seed", 0)))
        case "chatbot":
            from callmark.models.chatbot import ChatbotModel

            return ChatbotModel(spec, settings, keys)
        case "local":
            from callmark.models.local import LocalModel

            return LocalModel(settings, keys)
        case _:
            from callmark.models.chat import ChatModel

            return ChatModel(spec, settings, keys)


def sends_requests(spec: Spec) -> bool:
    """Whether the model is sent a chat request, and so a prompt."""
    return spec.provider not in _WITHOUT_REQUEST


def _refuse_request_settings(settings: ModelSettings, spec: Spec) -> None:
    taken = ("seed",) if spec.provider == "scripted" else ()
    for name in settings.params:
        if name not in taken:
            said = f"its only one is seed{nearest(name, taken)}" if taken else "it is sent no request"
            raise BadInput(f"{spec.shown} takes no parameter {name!r}: {said}")
    for name in _OF_REQUESTS:
        if getattr(settings, name) not in (None, ""):
            raise BadInput(f"{spec.shown} is sent no request, so {name} means nothing to it")


def _seed(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise BadInput(f"seed is {given!r}, a whole number was expected")
