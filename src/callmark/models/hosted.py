"""Hosted models with a public API: `openai:NAME`, `anthropic:NAME`, `gemini:NAME`."""

from callmark.models.chat_provider import ChatProvider
from callmark.models.model import Capabilities

OPENAI = ChatProvider(
    name="openai",
    example="openai:gpt-4.1-mini",
    url="https://api.openai.com/v1",
    url_variable="OPENAI_BASE_URL",
    key_variables=("OPENAI_API_KEY",),
)
ANTHROPIC = ChatProvider(
    name="anthropic",
    example="anthropic:claude-sonnet-4-5",
    url="https://api.anthropic.com/v1",
    url_variable="ANTHROPIC_BASE_URL",
    key_variables=("ANTHROPIC_API_KEY",),
    capabilities=Capabilities(16, sends_requests=True),  # its batch API has another format
)
GEMINI = ChatProvider(
    name="gemini",
    example="gemini:gemini-2.5-flash",
    url="https://generativelanguage.googleapis.com/v1beta/openai",
    url_variable="GEMINI_BASE_URL",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
