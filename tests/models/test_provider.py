"""Providers from installed packages work like built-in providers."""

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
    """Install a package with the provider `echo` and three broken ones; return its folder."""
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
    ("spec", "settings", "sentence", "hint"),
    [
        (
            "echo:loud",
            ModelSettings(params={"volum": 3}),
            "echo:loud: unknown parameter 'volum'. Did you mean volume?",
            "Supported: volume.",
        ),
        ("replay:a.jsonl", ModelSettings(params={"volume": 3}), "replay:a.jsonl does not support parameters, got 'volume'", ""),
        ("echo:loud", ModelSettings(temperature=0.0), "echo:loud does not support --temperature, because it is not a chat API", ""),
    ],
)
def test_unsupported_setting_is_rejected(package: Path, spec: str, settings: ModelSettings, sentence: str, hint: str) -> None:
    found = read_spec(spec, Keys())
    with pytest.raises(BadInput) as caught:
        found.provider.check_settings(found, settings)
    assert (str(caught.value), caught.value.hint) == (sentence, hint)


def test_installed_providers_are_listed_after_built_in_ones_with_their_problems(package: Path) -> None:
    rows = {row.name: row for row in list_providers(Keys())}
    assert list(rows)[:2] == ["openai", "azure"]
    assert (rows["echo"].example, rows["echo"].ready) == ("echo:loud", True)
    expected = "entry point {0!r} of callmark.models: expected a callmark.Provider named {0!r}, got {1}"
    assert rows["misnamed"].missing == expected.format("misnamed", "the provider 'echo'")
    assert rows["number"].missing == expected.format("number", "NoneType")
    assert "cannot be imported: ModuleNotFoundError" in rows["missing"].missing


@pytest.mark.parametrize("name", ["misnamed", "number", "missing"])
def test_broken_provider_is_rejected(package: Path, name: str) -> None:
    with pytest.raises(BadInput):
        find_provider(name)


def test_unknown_provider_suggests_an_installed_one(package: Path) -> None:
    with pytest.raises(BadInput, match="^unknown provider 'ecco'. Did you mean echo\\?$") as caught:
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
    rejected = run("--trials", "2")
    assert rejected.returncode == 2
    assert "echo-loud-1" in rejected.stderr
    assert "--trials" in rejected.stderr
