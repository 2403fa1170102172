"""Models served by Ollama: `ollama:NAME`."""

import re

from callmark.models.chat_provider import BATCH_PATH, ChatProvider
from callmark.models.model import Capabilities

_PORT = re.compile(r":[0-9]+$")


class OllamaProvider(ChatProvider, frozen=True, kw_only=True):
    """Ollama: no key; OLLAMA_HOST may be a host, a port or an address."""

    def read_override(self, text: str) -> str:
        """Read OLLAMA_HOST as Ollama does: a host, a port, both, or an address. 0.0.0.0 becomes 127.0.0.1."""
        if "://" not in text:
            host, slash, path = text.partition("/")
            name, colon, port = host.rpartition(":") if _PORT.search(host) else (host, ":", "11434")
            text = f"http://{name or 'localhost'}{colon}{port}{slash}{path}"
        return text.replace("://0.0.0.0", "://127.0.0.1", 1)


PROVIDER = OllamaProvider(
    name="ollama",
    example="ollama:qwen3",
    capabilities=Capabilities(4, sends_requests=True, batch_path=BATCH_PATH),
    url="http://127.0.0.1:11434/v1",
    url_variable="OLLAMA_HOST",
    needs_key=False,
)
