"""The help desk as an agent of Google's Agent Development Kit."""

import os
from typing import Any

import recording
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

recording.start()


def make(tools: list[Any]) -> Any:
    model = LiteLlm(f"openai/{os.environ['STAND_IN_MODEL']}", api_base=os.environ["STAND_IN_URL"], api_key="none", num_retries=0)
    return LlmAgent(name="helpdesk", model=model, tools=tools)
