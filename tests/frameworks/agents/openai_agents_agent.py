"""The help desk as an agent of the OpenAI Agents SDK."""

import os
from typing import Any

import recording
from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
from openai import AsyncOpenAI

recording.start()
set_tracing_disabled(True)


def make(tools: list[Any]) -> Any:
    client = AsyncOpenAI(base_url=os.environ["STAND_IN_URL"], api_key="none", max_retries=0)
    return Agent("help desk", tools=tools, model=OpenAIChatCompletionsModel(os.environ["STAND_IN_MODEL"], client))
