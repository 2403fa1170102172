"""`chatbot:URL`: a real server that reports its calls."""

import asyncio
import json
from typing import Any

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.models.opening import open_model
from callmark.types import Call, Case, Message
from tests.chat_server import Answer, ChatServer, chat_server

TALK = (Message("user", "Open a ticket"), Message("assistant", "Which department?"), Message("user", "IT"))
MADE = (Call("create", {"department": "IT"}),)


def ask(server: ChatServer, *, trial: int = 0, user: str = "", keys: Keys | None = None) -> Reply:
    async def asked() -> Reply:
        url = server.url.replace("http://", f"http://{user}")
        model, _ = open_model(ModelSettings(model=f"chatbot:{url}/chat", timeout=5), keys or Keys())
        async with model:
            return await model.ask(Question(Case("c1", TALK), trial))

    return asyncio.run(asked())


def answering(body: Any, status: int = 200) -> Any:
    return lambda number, request, attempt: Answer(status, json.dumps(body).encode())


def test_it_is_sent_what_the_user_sees_and_says_what_it_called() -> None:
    calls = [{"functionName": "create", "arguments": {"department": "IT"}}]
    with chat_server(answering({"reply": "Done.", "function_calls": calls})) as server:
        assert ask(server, trial=2) == Reply(MADE, "Done.")
        sent = server.requests[0].body
    assert sent.pop("conversation_id").endswith("/c1/2")
    assert sent == {
        "case_id": "c1",
        "trial": 2,
        "message": "IT",
        "messages": [{"role": message.role, "content": message.text} for message in TALK],
    }


@pytest.mark.parametrize(
    "body, reply",
    [
        ({"message": "Hello"}, Reply(text="Hello")),
        ({"text": "", "calls": [{"name": "create", "arguments": '{"department": "IT"}'}]}, Reply(MADE)),
        (
            {"role": "assistant", "content": "Hi", "tool_calls": [{"function": {"name": "create", "arguments": '{"department":"IT"}'}}]},
            Reply(MADE, "Hi"),
        ),
        ({"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}, Reply(text="Hi", finish="stop")),
        (
            {"reply": "Hm", "function_calls": [{"functionName": "create", "arguments": "{broken"}]},
            Reply((Call("create", malformed="arguments: not JSON at character 2", text="{broken"),), "Hm"),
        ),
    ],
)
def test_its_answer_may_have_many_shapes(body: Any, reply: Reply) -> None:
    with chat_server(answering(body)) as server:
        assert ask(server) == reply


@pytest.mark.parametrize(
    "plan, said",
    [
        (answering({"detail": "no"}, 500), "answered 500 Internal Server Error"),
        (answering({"error": "out of order"}), "out of order"),
        (answering({"surprise": 1}), "gave no answer that can be read: no answer is recognised in the row: its keys are surprise"),
        (answering([1, 2]), "gave no answer that can be read: it is no JSON object"),
        (lambda number, request, attempt: "HTML", "gave no answer that can be read: it is no JSON object"),
    ],
)
def test_what_is_no_answer_is_no_reply(plan: Any, said: str) -> None:
    with chat_server(plan) as server, pytest.raises(ModelError) as caught:
        ask(server)
    assert said in str(caught.value)


def test_what_is_secret_in_its_address_is_sent_and_never_shown() -> None:
    keys = Keys()
    with chat_server(lambda number, request, attempt: "500") as server, pytest.raises(ModelError) as caught:
        ask(server, user="bot:swordfish99@", keys=keys)
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "swordfish99" not in str(caught.value)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match=r"the address of the chatbot does not begin with http:// or https://: localhost"):
        open_model(ModelSettings(model="chatbot:localhost"), Keys())
