"""`callmark.toml`: what it may hold, and what is refused by name."""

import os
from pathlib import Path
from threading import Thread

import pytest

from callmark.config import Config, read_config, read_grading_settings
from callmark.errors import BadInput
from callmark.grading.settings import GradingSettings
from callmark.models.model import ModelSettings, Price

FULL = """
[evaluators]
use = ["call", "process"]

[evaluators.call]
threshold = 0.8

[evaluators.schema.weights]
tool_selection = 0.5
parameter_accuracy = 0.5

[evaluators.process]
ignore = ["Common-*"]
averaging = "macro"

[evaluators.policy]
rules = "rules.yaml"

[evaluators."my_module:Mine"]
words = ["please"]

[match]
"*.description" = {"$any" = true}
"*.day" = {"$date" = 2025-05-10}

[tools]
read_only = ["get_*"]
"""
RULES = """
rules:
  - id: no-deleting
    says: Nothing is deleted.
    never: "*delete*"
"""


def test_all_grading_settings_are_read(tmp_path: Path) -> None:
    (tmp_path / "callmark.toml").write_text(FULL)
    (tmp_path / "rules.yaml").write_text(RULES)
    settings = read_grading_settings(str(tmp_path / "callmark.toml"))
    assert settings == GradingSettings(
        ("call", "process"),
        {
            "call": {"threshold": 0.8},
            "schema": {"weights": {"tool_selection": 0.5, "parameter_accuracy": 0.5}},
            "process": {"ignore": ["Common-*"], "averaging": "macro"},
            "policy": {"rules": {"rules": [{"id": "no-deleting", "says": "Nothing is deleted.", "never": "*delete*"}]}},
            "my_module:Mine": {"words": ["please"]},
        },
        {"*.description": {"$any": True}, "*.day": {"$date": "2025-05-10"}},
        ("get_*",),
    )
    assert settings.ignore == ("Common-*",)


def test_without_a_file_the_defaults_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_grading_settings() == GradingSettings()
    (tmp_path / "callmark.toml").write_text("[evaluators.call]\nthreshold = 0.5")
    assert read_grading_settings().options == {"call": {"threshold": 0.5}}


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("treshold = 1", "unknown key 'treshold'"),
        ("threshold = 0.5", "unknown key 'threshold'"),
        ("[evaluator]\nuse = []", "unknown key 'evaluator'. Did you mean evaluators?"),
        ("[evaluators]\nuses = ['call']", "[evaluators]: unknown key 'uses'. Did you mean use?"),
        ("[evaluators]\nuse = 'call'", "[evaluators] use: expected a list of names, got 'call'"),
        ("[evaluators]\nuse = [1]", "[evaluators] use: expected the name of an evaluator, got 1"),
        ("evaluators = ['call']", "evaluators: expected a table, got ['call']"),
        ("[evaluators.cal]\nthreshold = 1", "unknown evaluator 'cal'. Did you mean call?"),
        ("[evaluators.call]\ntreshold = 1", "[evaluators.call]: unknown option 'treshold'. Did you mean threshold?"),
        ("[evaluators.call]\nthreshold = 2", "[evaluators.call] threshold: expected a number from 0 to 1, got 2"),
        ("[evaluators.call]\nthreshold = nan", "[evaluators.call] threshold: expected a number from 0 to 1, got nan"),
        ("[evaluators.call]\nthreshold = 'high'", "threshold: expected a number, got 'high'"),
        ("[evaluators.effort]\nignore = 'f'", "[evaluators.effort] ignore: expected a list of strings, got 'f'"),
        ("[evaluators.process]\nignore = [1]", "[evaluators.process] ignore: expected a list of strings, got a list with 1"),
        ("[evaluators.process]\naveraging = 'mean'", "averaging: expected micro or macro, got 'mean'"),
        (
            "[evaluators.schema.weights]\ntool_selection = 'all'",
            "[evaluators.schema] weights: tool_selection: expected a number, got 'all'",
        ),
        (
            "[evaluators.schema.weights]\ntool_selektion = 1",
            "[evaluators.schema] weights: unknown metric 'tool_selektion'. Did you mean tool_selection?",
        ),
        ("[evaluators.schema.weights]\ntool_selection = 0.5", "weights: expected a sum of 1, got 0.5"),
        ("[evaluators.schema.weights]\nresponse_quality = 1", "response_quality has a weight, but no function measures it"),
        ("[evaluators.policy]\nrules = 'gone.yaml'", "gone.yaml: no such file"),
        ("[evaluators.policy]\nrules = '/dev/null'", "/dev/null: expected a regular file, got a device"),
        ("[evaluators.policy]\nrules = '.'", "expected a regular file, got a folder"),
        ("[evaluators.policy]\nrules = '/dev/zero'", "/dev/zero: expected a regular file, got a device"),
        ('[evaluators.policy]\nrules = "a\\u0000b"', "expected the path of a file, got "),
        ("[evaluators.policy]\nrules = 1", "[evaluators.policy] expected an object with the key rules, got 1"),
        ("[evaluators.policy]\n", "[evaluators.policy]: the evaluator policy needs rules"),
        ("[match]\n'*.a' = {'$glob' = 1}", "[match] *.a: $glob: expected a string, got 1"),
        ("match = 1", "match: expected a table, got 1"),
        ("[match\n", "not valid TOML"),
    ],
)
def test_unusable_settings_are_refused_with_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "callmark.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_grading_settings(str(tmp_path / "callmark.toml"))
    assert "callmark.toml" in str(error.value)
    assert sentence in str(error.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_grading_settings(str(tmp_path / "other.toml"))
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not valid UTF-8"):
        read_grading_settings(str(tmp_path / "x.toml"))


def test_files_larger_than_any_configuration_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open("callmark.toml", "wb") as file:
        file.truncate(100_000_000_000)  # takes no space on the disk
    with pytest.raises(BadInput, match="^callmark.toml: expected at most 50,000,000 bytes, got more$"):
        read_config()
    os.rename("callmark.toml", "rules.yaml")
    Path("callmark.toml").write_text("[evaluators.policy]\nrules = 'rules.yaml'\n")
    with pytest.raises(BadInput, match=r"^callmark.toml: rules.yaml: expected at most 50,000,000 bytes, got more$"):
        read_config()


def test_configuration_on_the_command_line_may_be_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    Thread(target=(tmp_path / "pipe").write_text, args=("[evaluators.call]\nthreshold = 0.5",), daemon=True).start()
    assert read_grading_settings(str(tmp_path / "pipe")).options == {"call": {"threshold": 0.5}}


@pytest.mark.parametrize("named", ["callmark.toml", "rules.yaml"])
def test_pipe_that_the_user_did_not_name_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("callmark.toml").write_text("[evaluators.policy]\nrules = 'rules.yaml'\n")
    Path(named).unlink(missing_ok=True)
    os.symlink("pipe", named)
    if named == "callmark.toml":
        assert read_config() == Config()
    else:
        with pytest.raises(BadInput, match="rules.yaml: expected a regular file, got a named pipe"):
            read_config()


MODELS = """
[evaluators.call]
threshold = 0.5

[models.base]
model = "vllm:base@http://localhost:8000"
temperature = 0
params = { seed = 7, stop = ["\\n"] }

[models.tuned]
model = "openai:gpt-4.1-mini"
price = { input = 0.4, output = 1.6 }
api_key_env = "MY_KEY"
concurrency = 4
rpm = 30
tools_in_prompt = "free"
"""


def test_models_have_names_and_settings(tmp_path: Path) -> None:
    (tmp_path / "callmark.toml").write_text(MODELS)
    found = read_config(str(tmp_path / "callmark.toml"))
    assert found.grading.options["call"]["threshold"] == 0.5
    assert found.models == {
        "base": ModelSettings("vllm:base@http://localhost:8000", temperature=0, params={"seed": 7, "stop": ["\n"]}),
        "tuned": ModelSettings(
            "openai:gpt-4.1-mini", tools_in_prompt="free", price=Price(0.4, 1.6), api_key_env="MY_KEY", concurrency=4, rpm=30
        ),
    }


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("models = 1", "models: expected a table for each model, got 1"),
        ("[models]\nbase = 'openai:x'", "[models] base: expected a table, got 'openai:x'"),
        ("[models.base]\ntemperature = 0", "[models.base]: missing key 'model'"),
        ("[models.base]\nmodel = 'x:y'\napi_key = 'sk-123'", "[models.base] api_key: API keys do not belong in this file"),
        ("[models.base]\nmodel = 'x:y'\ntemprature = 0", "[models.base]: unknown key 'temprature'. Did you mean temperature?"),
        ("[models.base]\nmodel = 'x:y'\ntemperature = 'hot'", "[models.base] temperature: expected a number, got a string"),
        ("[models.base]\nmodel = 'x:y'\nconcurrency = 0", "[models.base] concurrency: expected a number of at least 1, got 0"),
        ("[models.base]\nmodel = 'x:y'\nrpm = 0", "[models.base] rpm: expected a number above 0, got 0"),
        ("[models.base]\nmodel = 'x:y'\ntimeout = -1", "[models.base] timeout: expected a number above 0, got -1"),
        ("[models.base]\nmodel = 'x:y'\nprice = 3", "[models.base] price: expected a table, got a number"),
        (
            "[models.base]\nmodel = 'x:y'\nprice = { input = -1, output = 1 }",
            "[models.base] price: expected a number of at least 0, got -1",
        ),
        ("[model.base]\nmodel = 'x:y'", "unknown key 'model'. Did you mean models?"),
    ],
)
def test_unusable_model_settings_are_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "callmark.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_config(str(tmp_path / "callmark.toml"))
    assert sentence in str(error.value)
    assert "sk-123" not in str(error.value) + error.value.hint


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("tools = 1", "tools: expected a table, got 1"),
        ("[tools]\nreadonly = []", "[tools] unknown key 'readonly'. Did you mean read_only?"),
        ("[tools]\nread_only = 'get_*'", "[tools] read_only: expected a list of globs, got 'get_*'"),
        ("[tools]\nread_only = [1]", "[tools] read_only: expected a list of globs, got [1]"),
        ("[evaluators.trajectory]\narguments = 'equal'", "[evaluators.trajectory] arguments: expected one of exact, similar, subset"),
    ],
)
def test_unusable_tool_settings_are_refused_with_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "callmark.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_config(str(file))
    assert str(refused.value).startswith(f"{file}: {sentence}")


def test_arguments_that_need_no_source_are_read(tmp_path: Path) -> None:
    path = tmp_path / "callmark.toml"
    path.write_text('[grounding]\nignore = ["*.note"]')
    assert read_config(str(path)).grading.ungrounded == ("*.note",)


@pytest.mark.parametrize(
    "text, message",
    [
        ("grounding = 5", "grounding: expected a table, got 5"),
        ('[grounding]\nignored = ["*.note"]', "[grounding] unknown key 'ignored'"),
        ('[grounding]\nignore = "*.note"', "[grounding] ignore: expected a list of patterns, got '*.note'"),
        ('[grounding]\nignore = ["note"]', "[grounding] ignore: expected a pattern of the form TOOL.ARGUMENT, got 'note'"),
        ("[grounding]\nignore = [5]", "[grounding] ignore: expected a pattern of the form TOOL.ARGUMENT, got 5"),
    ],
)
def test_invalid_grounding_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "callmark.toml"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_config(str(path))
    assert message in str(refused.value)
