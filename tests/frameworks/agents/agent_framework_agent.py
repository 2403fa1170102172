"""The help desk as an agent of the Microsoft Agent Framework."""

import os
from typing import Any

import recording
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

recording.start()


def make(tools: list[Any]) -> Any:
    client = OpenAIChatCompletionClient(model=os.environ["STAND_IN_MODEL"], base_url=os.environ["STAND_IN_URL"], api_key="none")
    return Agent(client, tools=tools)
