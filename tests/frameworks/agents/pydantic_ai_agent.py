"""The help desk as an agent of Pydantic AI."""

import os
from typing import Any

import recording
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

recording.start()


def make(tools: list[Any]) -> Any:
    provider = OpenAIProvider(base_url=os.environ["STAND_IN_URL"], api_key="none")
    return Agent(OpenAIChatModel(os.environ["STAND_IN_MODEL"], provider=provider), tools=tools)
