"""`chatbot:URL`: a real server that reports its calls."""

import asyncio
import json
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings
from callmark.models.specs import open_model
from callmark.types import Call, Case, Message, Prediction
from tests.chat_server import ChatServer, Response, chat_server

MESSAGES = (Message("user", "Open a ticket"), Message("assistant", "Which department?"), Message("user", "IT"))
CALLS = (Call("create", {"department": "IT"}),)


def predict(server: ChatServer, *, trial: int = 0, user: str = "", keys: Keys | None = None) -> Prediction:
    async def run() -> Prediction:
        url = server.url.replace("http://", f"http://{user}")
        model, _ = open_model(ModelSettings(model=f"chatbot:{url}/chat", timeout=5), keys or Keys())
        async with model:
            return await model.predict(Case("c1", MESSAGES), trial=trial)

    return asyncio.run(run())


def answering(body: Any, status: int = 200) -> Any:
    return lambda number, request, attempt: Response(status, json.dumps(body).encode())


def test_chatbot_is_sent_what_the_user_sees_and_reports_its_calls() -> None:
    calls = [{"functionName": "create", "arguments": {"department": "IT"}}]
    with chat_server(answering({"reply": "Done.", "function_calls": calls})) as server:
        assert predict(server, trial=2) == Prediction("c1", 2, CALLS, "Done.")
        sent = server.requests[0].body
    assert sent.pop("conversation_id").endswith("/c1/2")
    assert sent == {
        "case_id": "c1",
        "trial": 2,
        "message": "IT",
        "messages": [{"role": message.role, "content": message.text} for message in MESSAGES],
    }


@pytest.mark.parametrize(
    "body, prediction",
    [
        ({"message": "Hello"}, Prediction("c1", 0, (), "Hello")),
        ({"text": "", "calls": [{"name": "create", "arguments": '{"department": "IT"}'}]}, Prediction("c1", 0, CALLS)),
        (
            {"role": "assistant", "content": "Hi", "tool_calls": [{"function": {"name": "create", "arguments": '{"department":"IT"}'}}]},
            Prediction("c1", 0, CALLS, "Hi"),
        ),
        (
            {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]},
            Prediction("c1", 0, (), "Hi", finish_reason="stop"),
        ),
        (
            {"reply": "Hm", "function_calls": [{"functionName": "create", "arguments": "{broken"}]},
            Prediction("c1", 0, (Call("create", malformed="arguments: invalid JSON at character 2", text="{broken"),), "Hm"),
        ),
    ],
)
def test_chatbot_response_may_have_many_shapes(body: Any, prediction: Prediction) -> None:
    with chat_server(answering(body)) as server:
        assert predict(server) == prediction


@pytest.mark.parametrize(
    "plan, sentence",
    [
        (answering({"detail": "no"}, 500), "returned HTTP 500 Internal Server Error"),
        (answering({"error": "out of order"}), "out of order"),
        (answering({"surprise": 1}), "returned an invalid response: no prediction found"),
        (answering([1, 2]), "returned an invalid response: expected a JSON object, got text that starts with '[1,2]'"),
        (lambda number, request, attempt: "HTML", "returned an invalid response: expected a JSON object, got an HTML page titled"),
    ],
)
def test_invalid_chatbot_response_raises_model_error(plan: Any, sentence: str) -> None:
    with chat_server(plan) as server, pytest.raises(ModelError) as caught:
        predict(server)
    assert sentence in str(caught.value)


def test_secrets_in_the_address_are_sent_and_never_shown() -> None:
    keys = Keys()
    with chat_server(lambda number, request, attempt: "500") as server, pytest.raises(ModelError) as caught:
        predict(server, user="bot:swordfish99@", keys=keys)
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "swordfish99" not in str(caught.value)


def test_invalid_address_is_rejected() -> None:
    sentence = "the chatbot URL does not start with http:// or https://: expected a URL like .*, got localhost$"
    with pytest.raises(BadInput, match=sentence):
        open_model(ModelSettings(model="chatbot:localhost"), Keys())
