"""The help desk as an agent of LangChain and LangGraph."""

import os
from typing import Any

import recording
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

recording.start()


def make(tools: list[Any]) -> Any:
    model = ChatOpenAI(model=os.environ["STAND_IN_MODEL"], base_url=os.environ["STAND_IN_URL"], api_key="none", max_retries=0)
    return create_agent(model, tools)
