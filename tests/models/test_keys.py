"""Keys are read from the environment and .env, and never stored or shown."""

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callmark.errors import BadInput
from callmark.models.keys import Keys, mask_address, read_url

KEY = "sk-Zebra/17+quick=brown"


def test_environment_overrides_the_file_and_stays_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("# mine\nexport A_KEY='from the file'\nB_KEY=of-$HOME-${HOME}\nC_KEY\nD_KEY=\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_KEY", "  from the environment ")
    before = dict(os.environ)
    keys = Keys.here()
    assert [keys.get(name) for name in ("A_KEY", "B_KEY", "C_KEY", "D_KEY", "E_KEY")] == [
        "from the environment",
        "of-$HOME-${HOME}",
        "",
        "",
        "",
    ]
    assert dict(os.environ) == before
    assert keys.hide("from the file, from the environment") == "…, …"


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"A=1\n\n\nB='open\n", ".env, line 4: the quotation mark is not closed"),
        (b"A=1\nB_KEY=\xff\n", ".env is not UTF-8 text"),
    ],
)
def test_broken_env_file_is_rejected_without_quoting_it(
    content: bytes, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".env").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as caught:
        Keys.here()
    assert str(caught.value) == sentence
    assert not caplog.records


def test_env_file_without_end_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open(".env", "wb") as file:
        file.truncate(10_000_000_000)  # takes no space on the disk
    with pytest.raises(BadInput, match="^.env: expected at most 1,000,000 bytes, got more$"):
        Keys.here()
    os.remove(".env")
    os.mkfifo(".env")
    assert Keys.here().get("OPENAI_BASE_URL_OF_NOBODY") == ""


def test_unreadable_env_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / ".env").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(BadInput, match=r"^\.env cannot be read: Permission denied$"):
        Keys.here()


def test_missing_env_file_and_a_folder_of_that_name_are_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert Keys.here().get("SOME_KEY") == ""
    (tmp_path / ".env").mkdir()
    assert Keys.here().get("SOME_KEY") == ""


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
        json.dumps(KEY),
        json.dumps(KEY).replace("/", "\\/"),
        f"Authorization: Bearer {KEY}",
    ],
)
def test_key_is_hidden_in_every_encoding(written: str) -> None:
    keys = Keys({"MY_KEY": KEY})
    for hidden in (keys.hide(f"a {written} b"), keys.redact(f"a {written} b".encode()).decode()):
        assert "…" in hidden
        assert "Zebra" not in hidden
        assert "brown" not in hidden


@pytest.mark.parametrize(
    "name, value, in_text, in_bodies",
    [
        ("OPENAI_API_KEY", "abcd-1234", True, True),
        ("DB_PASSWORD", "hunter2hunter2", True, True),
        ("GITHUB_TOKEN", "abcd-1234", True, True),
        ("client_secret", "abcd-1234", True, True),
        ("AWS_CREDENTIAL_FILE", "abcd-1234", True, True),
        ("DB_PASSWORD", "postgres", True, False),  # a prediction may contain the word
        ("A_KEY", "short", False, False),
        ("A_KEY", "   12   ", False, False),
        ("KEYBOARD", "abcd-1234", False, False),
        ("MONKEY_NAME", "abcd-1234", False, False),
        ("TOKENIZERS_PARALLELISM", "abcd-1234", False, False),
    ],
)
def test_variable_name_decides_what_is_secret_and_short_values_are_kept(name: str, value: str, in_text: bool, in_bodies: bool) -> None:
    keys = Keys({name: value})
    sentence = f"it is {value}."
    assert (keys.hide(sentence) == "it is ….") is in_text
    assert (keys.redact(sentence.encode()) == "it is ….".encode()) is in_bodies
    assert in_text or keys.hide(sentence) == sentence
    assert in_bodies or keys.redact(sentence.encode()) == sentence.encode()


def test_sent_secret_is_hidden_even_if_it_is_a_word() -> None:
    keys = Keys({"DB_PASSWORD": "postgres"})
    keys.add("postgres")
    assert keys.redact(b"postgres") == "…".encode()


def test_key_that_contains_another_is_hidden_completely() -> None:
    keys = Keys({"A_KEY": "abcd-1234", "B_KEY": "xx-abcd-1234-yy"})
    assert keys.hide("xx-abcd-1234-yy abcd-1234") == "… …"


def test_repr_shows_no_value() -> None:
    keys = Keys({"A_KEY": KEY, "HOME": "somewhere"})
    url = read_url(f"https://me:{quote(KEY, safe='')}@host/v1", keys, where="it", example="http://host")
    for shown in (repr(keys), str(keys), f"{keys}", repr([keys]), repr(url), str(url)):
        assert "Zebra" not in shown
        assert "somewhere" not in shown


@given(st.text(min_size=8).filter(lambda text: text == text.strip()), st.text())
def test_hidden_text_never_contains_the_key(secret: str, around: str) -> None:
    keys = Keys()
    keys.add(secret)
    if "…" not in secret:
        assert secret not in keys.hide(around + secret + around)
        assert secret not in keys.redact([{around + secret: around + secret + around}])[0].popitem()


def test_secrets_in_an_address_are_hidden_from_then_on() -> None:
    keys = Keys()
    url = read_url("https://me:p%40ss-word-1@host:8443/v1/?token=abcd-1234&api-version=2024-10-21&x=1", keys, where="it", example="e")
    assert url.shown == "https://…@host:8443/v1?token=…&api-version=2024-10-21&x=…"
    assert url.address == "https://host:8443/v1?token=abcd-1234&api-version=2024-10-21&x=1"
    assert url.user == base64.b64encode(b"me:p@ss-word-1").decode()
    assert url.secret
    sentence = f"{url.user} me:p@ss-word-1 p@ss-word-1 p%40ss-word-1 abcd-1234"
    assert not any(part in keys.hide(sentence) for part in ("ss-word", "abcd", url.user.rstrip("=")))
    assert keys.hide("on 2024-10-21 me and x=1") == "on 2024-10-21 me and x=1"  # too short, or not a secret


@pytest.mark.parametrize(
    "text, shown",
    [
        ("http://me:secret@host:99999/v1", "http://…@host:99999/v1"),
        ("http://me:secret", "http://me:…"),
        ("http://me:se/cret@host/v1", "http://…@host/v1"),
        ("http://host/v1?key=secret#n", "http://host/v1?…#n"),
        ("http://host/v1?secret", "http://host/v1?…"),
        ("gpt-4", "gpt-4"),
    ],
)
def test_masked_address_shows_nothing_that_could_be_secret(text: str, shown: str) -> None:
    assert mask_address(text, Keys()) == shown
