"""Providers of installed packages work like built-in ones."""

import subprocess
import sys
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.provider import REQUEST_SETTINGS
from callmark.models.specs import find_provider, list_providers, open_model, read_spec
from tests.rows import WEATHER, assistant, call, row, user, write_rows

ECHO = """
from callmark import Call, Capabilities, Case, Model, ModelSettings, Prediction, Provider

class EchoModel:
    capabilities = Capabilities(concurrency=2, supports_trials=False)

    def __init__(self, name, volume):
        self.label = f"echo-{name}-{volume}"

    def fingerprint(self, case, trial):
        return None

    async def predict(self, case, *, trial=0):
        return Prediction(case.id, trial, (Call("get_weather", {"city": case.messages[-1].text}),))

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        return None

class EchoProvider(Provider, frozen=True, kw_only=True):
    def open(self, spec, settings, keys):
        return EchoModel(spec.name, settings.params.get("volume", 1))

PROVIDER = EchoProvider(name="echo", example="echo:loud", capabilities=EchoModel.capabilities, params=("volume",))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed package whose providers are `echo` and three broken ones."""
    folder = tmp_path / "site"
    info = folder / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "theirs_echo.py").write_text(ECHO, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    points = (
        "echo = theirs_echo:PROVIDER\nmisnamed = theirs_echo:PROVIDER\nnumber = theirs_echo:__doc__\nmissing = theirs_missing:PROVIDER\n"
    )
    (info / "entry_points.txt").write_text(f"[callmark.models]\n{points}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "theirs_echo", raising=False)
    return folder


def test_installed_provider_opens_a_model_with_its_params(package: Path) -> None:
    model, spec = open_model(ModelSettings(model="Echo:loud", params={"volume": 3}), Keys())
    assert (model.label, spec.shown, spec.provider.capabilities.concurrency) == ("echo-loud-3", "echo:loud", 2)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (ModelSettings(params={"volum": 3}), "echo:loud takes no parameter 'volum': its only one is volume. Did you mean volume?"),
        (ModelSettings(temperature=0.0), "echo:loud is sent no request, so temperature means nothing to it"),
    ],
)
def test_setting_that_a_provider_does_not_take_is_refused(package: Path, settings: ModelSettings, sentence: str) -> None:
    spec = read_spec("echo:loud", Keys())
    with pytest.raises(BadInput) as caught:
        spec.provider.check_settings(spec, settings)
    assert str(caught.value) == sentence


def test_installed_providers_are_listed_after_the_built_in_ones_with_what_is_wrong(package: Path) -> None:
    rows = {row.name: row for row in list_providers(Keys())}
    assert list(rows)[:2] == ["openai", "azure"]
    assert (rows["echo"].example, rows["echo"].ready) == ("echo:loud", True)
    assert rows["misnamed"].missing.startswith("the entry point 'misnamed' of callmark.models is the provider 'echo'")
    assert rows["number"].missing.startswith("the entry point 'number' of callmark.models is NoneType")
    assert "cannot be imported: ModuleNotFoundError" in rows["missing"].missing


@pytest.mark.parametrize("name", ["misnamed", "number", "missing"])
def test_broken_provider_is_refused(package: Path, name: str) -> None:
    with pytest.raises(BadInput):
        find_provider(name)


def test_unknown_provider_suggests_an_installed_one(package: Path) -> None:
    with pytest.raises(BadInput, match="^there is no provider called ecco. Did you mean echo\\?$") as caught:
        read_spec("ecco:loud", Keys())
    assert "echo:loud" in caught.value.hint


def test_request_settings_are_fields_of_the_settings() -> None:
    assert set(REQUEST_SETTINGS) <= set(ModelSettings.__struct_fields__)


def test_installed_provider_runs_through_the_command_line(package: Path, tmp_path: Path) -> None:
    cases = [row(user(city), assistant(call("get_weather", {"city": city})), tools=[WEATHER], id=city) for city in ("Oslo", "Rom")]
    write_rows(tmp_path / "eval.jsonl", *cases)
    command = [sys.executable, "-m", "callmark", "run", "eval.jsonl", "--model", "echo:loud", "--json"]
    environment = {"PYTHONPATH": str(package), "PATH": "", "HOME": str(tmp_path)}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)

    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert '"errors":0' in done.stdout.replace(" ", "")
    refused = run("--trials", "2")
    assert refused.returncode == 2
    assert "echo-loud-1" in refused.stderr
    assert "--trials" in refused.stderr
