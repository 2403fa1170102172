"""What programs get from the environment: little, and what the user names."""

import os
from pathlib import Path

import pytest

from callmark.errors import BadInput
from callmark.models.child_environment import child_environment, pass_on
from callmark.models.keys import Keys

VALUE = "value-0123456789"


def test_program_gets_path_home_and_locale_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"PATH": "/bin", "HOME": "/home/me", "LANG": "C.UTF-8", "LC_TIME": "de_DE.UTF-8", "TZ": "UTC"}
    others = {
        "OPENAI_API_KEY": VALUE,
        "AWS_SECRET_ACCESS_KEY": VALUE,
        "PYTHONPATH": "/somewhere",
        "VIRTUAL_ENV": "/venv",
        "LD_PRELOAD": "x.so",
    }
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in {**given, **others}.items():
        monkeypatch.setenv(name, value)
    assert child_environment((), Keys.here()) == {**given, "PYTHONUNBUFFERED": "1"}


def test_named_variables_are_passed_on_to_one_program_or_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_URL", VALUE)
    monkeypatch.setenv("REGION", "north")
    keys = Keys.here()
    assert child_environment(["SERVICE_URL"], keys)["SERVICE_URL"] == VALUE
    assert "SERVICE_URL" not in child_environment((), keys)
    pass_on(["REGION"], keys)
    assert child_environment((), keys)["REGION"] == child_environment(["SERVICE_URL"], keys)["REGION"] == "north"


def test_variable_in_the_env_file_can_be_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text(f"SERVICE_TOKEN={VALUE}\n")
    assert child_environment(["SERVICE_TOKEN"], Keys.here())["SERVICE_TOKEN"] == VALUE
    assert "SERVICE_TOKEN" not in child_environment((), Keys.here())


def test_passed_on_value_is_hidden_in_messages_and_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_URL", VALUE)
    keys = Keys.here()
    assert VALUE in keys.hide(f"at {VALUE}")
    pass_on(["SERVICE_URL"], keys)
    assert keys.hide(f"at {VALUE}") == "at …"
    assert keys.redact({"url": f"at {VALUE}"}) == {"url": "at …"}


def test_ordinary_word_that_is_passed_on_stays_in_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGE", "production")
    keys = Keys.here()
    pass_on(["STAGE"], keys)
    assert keys.redact({"stage": "production"}) == {"stage": "production"}


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("NOT_SET_ANYWHERE", "env: NOT_SET_ANYWHERE is not set"),
        ("EMPTY", "env: EMPTY is not set"),
        (f"TOKEN={VALUE}", "env: expected the name of an environment variable, got 'TOKEN' and a value"),
        ("a b", "env: expected the name of an environment variable, got 'a b'"),
        ("", "env: expected the name of an environment variable, got ''"),
        ("1ST", "env: expected the name of an environment variable, got '1ST'"),
    ],
)
def test_name_that_cannot_be_passed_on_is_refused_without_its_value(monkeypatch: pytest.MonkeyPatch, name: str, sentence: str) -> None:
    monkeypatch.setenv("EMPTY", "")
    for refuse, prefix in ((pass_on, "--"), (child_environment, "")):  # the option, or the key of a model's table
        with pytest.raises(BadInput) as refused:
            refuse([name], Keys.here())
        assert str(refused.value) == f"{prefix}{sentence}"
        assert VALUE not in f"{refused.value}{refused.value.hint}"
        assert refused.value.hint
