"""`callmark.toml`: what it may hold, and what is refused by name."""

from pathlib import Path

import pytest

from callmark.config import read_config, read_grading_settings
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
    )
    assert settings.ignore == ("Common-*",)


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_grading_settings() == GradingSettings()
    (tmp_path / "callmark.toml").write_text("[evaluators.call]\nthreshold = 0.5")
    assert read_grading_settings().options == {"call": {"threshold": 0.5}}


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("treshold = 1", "there is no key called 'treshold'"),
        ("threshold = 0.5", "there is no key called 'threshold'"),
        ("[evaluator]\nuse = []", "there is no key called 'evaluator'. Did you mean evaluators?"),
        ("[evaluators]\nuses = ['call']", "evaluators: there is no key called 'uses'. Did you mean use?"),
        ("[evaluators]\nuse = 'call'", "evaluators.use is text, a list was expected"),
        ("[evaluators]\nuse = [1]", "evaluators.use has 1, the name of an evaluator was expected"),
        ("evaluators = ['call']", "evaluators is ['call'], a table was expected"),
        ("[evaluators.cal]\nthreshold = 1", "there is no evaluator called 'cal'. Did you mean call?"),
        ("[evaluators.call]\ntreshold = 1", "the evaluator 'call' has no option called 'treshold'. Did you mean threshold?"),
        ("[evaluators.call]\nthreshold = 2", "evaluators.call: threshold is 2, a number from 0 to 1 was expected"),
        ("[evaluators.call]\nthreshold = nan", "a number from 0 to 1 was expected"),
        ("[evaluators.call]\nthreshold = 'high'", "threshold is 'high', a number was expected"),
        ("[evaluators.effort]\nignore = 'f'", "evaluators.effort: ignore is text, a list was expected"),
        ("[evaluators.process]\nignore = [1]", "evaluators.process: ignore has 1, text was expected"),
        ("[evaluators.process]\naveraging = 'mean'", "averaging is 'mean', micro or macro was expected"),
        ("[evaluators.schema.weights]\ntool_selection = 'all'", "the weight of tool_selection is 'all', a number was expected"),
        ("[evaluators.schema.weights]\ntool_selektion = 1", "no metric called 'tool_selektion' to weigh. Did you mean tool_selection?"),
        ("[evaluators.schema.weights]\ntool_selection = 0.5", "the weights add up to 0.5, 1 was expected"),
        ("[evaluators.schema.weights]\nresponse_quality = 1", "there is no function that measures it"),
        ("[evaluators.policy]\nrules = 'gone.yaml'", "gone.yaml cannot be read: No such file"),
        ("[evaluators.policy]\nrules = 1", "a policy has `rules:`, a list of rules"),
        ("[evaluators.policy]\n", "the evaluator policy has no rules to go by"),
        ("[match]\n'*.a' = {'$glob' = 1}", "'*.a': $glob wants a text"),
        ("match = 1", "match is 1, a table was expected"),
        ("[match\n", "is not TOML"),
    ],
)
def test_unusable_settings_are_refused_with_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "callmark.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_grading_settings(str(tmp_path / "callmark.toml"))
    assert "callmark.toml" in str(error.value)
    assert sentence in str(error.value).replace("*.a: $", "'*.a': $")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_grading_settings(str(tmp_path / "other.toml"))
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="is not UTF-8"):
        read_grading_settings(str(tmp_path / "x.toml"))


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
        ("models = 1", "models is 1, tables were expected"),
        ("[models]\nbase = 'openai:x'", "models.base is 'openai:x', a table was expected"),
        ("[models.base]\ntemperature = 0", "models.base has no model"),
        ("[models.base]\nmodel = 'x:y'\napi_key = 'sk-123'", "models.base.api_key: a key does not belong in a file"),
        ("[models.base]\nmodel = 'x:y'\ntemprature = 0", "models.base: there is no key called 'temprature'. Did you mean temperature?"),
        ("[models.base]\nmodel = 'x:y'\ntemperature = 'hot'", "models.base: temperature is text, a number was expected"),
        ("[models.base]\nmodel = 'x:y'\nconcurrency = 0", "models.base: concurrency is 0, at least 1 was expected"),
        ("[models.base]\nmodel = 'x:y'\nrpm = 0", "models.base: rpm is 0, more than 0 was expected"),
        ("[models.base]\nmodel = 'x:y'\ntimeout = -1", "models.base: timeout is -1, more than 0 was expected"),
        ("[models.base]\nmodel = 'x:y'\nprice = 3", "models.base: price is a number, an object was expected"),
        ("[models.base]\nmodel = 'x:y'\nprice = { input = -1, output = 1 }", "models.base: a price is below 0"),
        ("[model.base]\nmodel = 'x:y'", "there is no key called 'model'. Did you mean models?"),
    ],
)
def test_unusable_model_settings_are_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "callmark.toml").write_text(text)
    with pytest.raises(BadInput) as error:
        read_config(str(tmp_path / "callmark.toml"))
    assert sentence in str(error.value)
    assert "sk-123" not in str(error.value) + error.value.hint
