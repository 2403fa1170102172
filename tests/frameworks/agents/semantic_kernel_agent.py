"""The help desk as an agent of Semantic Kernel."""

import os
from typing import Any

import recording
from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion

recording.start()


def make(tools: list[Any]) -> Any:
    client = AsyncOpenAI(base_url=os.environ["STAND_IN_URL"], api_key="none", max_retries=0)
    return ChatCompletionAgent(service=OpenAIChatCompletion(os.environ["STAND_IN_MODEL"], async_client=client), plugins=tools)
