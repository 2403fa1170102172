"""An evaluation target for the LOB evaluation: a simulated user talks to the chatbot, following a row's scenario.

    simulator = ChatSimulator("openai:gpt-4.1-mini", tools="mcp:python server.py", system=prompt)
    EvaluationService().evaluate("scenarios.json", "output", simulator, [FunctionCallReliabilityEvaluator()])

It returns the chatbot's tool calls. Anything that is not the chatbot's fault (a tool server that crashed, a model that cannot be reached, a
scenario that the user cannot follow) becomes the row's `error_message`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from callmark.calls.messages import message_text
from callmark.calls.strict import dump
from callmark.formats.format import ReadContext
from callmark.formats.scenarios import read
from callmark.models.model import ModelError, ModelSettings
from callmark.types import Place


class ChatSimulator:
    """Simulates a conversation for each row. The first call opens the model; `aclose` closes it."""

    def __init__(
        self,
        agent: str | ModelSettings,
        *,
        user: str | ModelSettings = "rule-based",
        tools: str | Sequence[str] = (),
        system: str = "",
        judge: str | ModelSettings | None = None,
        max_turns: int = 30,
        max_steps: int = 20,
        seed: int = 0,
    ) -> None:
        from callmark.config import read_config
        from callmark.models.choice import resolve_model
        from callmark.models.keys import Keys
        from callmark.runs.manifest import SimulationSettings
        from callmark.simulation.open_simulator import open_simulator

        named = read_config(None).models
        settings = SimulationSettings(
            resolve_model(user, named)[1],
            None if judge is None else resolve_model(judge, named)[1],
            (tools,) if isinstance(tools, str) else tuple(tools),
            system,
            max_turns,
            max_steps,
            seed,
        )
        self._keys = Keys.here()
        self._model = open_simulator(*resolve_model(agent, named), settings, self._keys).model
        self._opening = asyncio.Lock()
        self._is_open = False

    async def __call__(self, **row: Any) -> dict[str, Any]:
        """Return `function_calls`, `chat_history`, `error_message` and `ending` (why the conversation ended)."""
        case = structs.replace(
            read(msgspec.json.encode(row), Place("the row", 1), ReadContext()), place=None
        )  # a row without a file is identified by its id
        async with self._opening:
            if not self._is_open:
                await self._model.__aenter__()
                self._is_open = True
        try:
            prediction = await self._model.predict(case)
        except ModelError as error:
            return {"function_calls": [], "chat_history": [], "error_message": str(error), "ending": ""}
        calls = [{"functionName": call.name, "arguments": call.text if call.malformed else call.arguments} for call in prediction.calls]
        transcript = b"[" + b",".join([message_text(message) for message in prediction.transcript]) + b"]"
        return {
            "function_calls": msgspec.json.decode(self._keys.hide_bytes(dump(calls).encode())),
            "chat_history": msgspec.json.decode(self._keys.hide_bytes(transcript)),
            "error_message": "",
            "ending": prediction.ending,
        }

    async def aclose(self) -> None:
        """Close connections and tool servers."""
        if self._is_open:
            self._is_open = False
            await self._model.__aexit__(None, None, None)
