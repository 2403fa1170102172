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
        trust: bool = False,
    ) -> None:
        """Open agent, user, judge and tools. `trust` allows what `callmark.toml` here and `.env` run, import and send."""
        from callmark.config import read_config
        from callmark.models.choice import resolve_model
        from callmark.models.keys import Keys
        from callmark.models.specs import model_actions
        from callmark.runs.manifest import SimulationSettings
        from callmark.simulation.open_simulator import agent_actions, open_simulator, user_actions
        from callmark.trust import allow, authorize, decided_by

        keys = self._keys = Keys.here()
        configured = read_config(None)
        (name, chosen), (user_name, chosen_user) = (resolve_model(model, configured.models) for model in (agent, user))
        judge_name, chosen_judge = (None, None) if judge is None else resolve_model(judge, configured.models)
        sources = [configured.found if each else "" for each in (name, user_name, judge_name)]
        actions = agent_actions(chosen, keys, source=sources[0]) + user_actions(chosen_user, keys, source=sources[1])
        actions += model_actions(chosen_judge, keys, source=sources[2]) if chosen_judge else []
        specs = (tools,) if isinstance(tools, str) else tuple(tools)
        with decided_by(allow if trust else None):
            authorize(actions)
            settings = SimulationSettings(chosen_user, chosen_judge, specs, system, max_turns, max_steps, seed)
            self._model = open_simulator(name, chosen, settings, keys).model
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
            "function_calls": self._keys.redact(calls),
            "chat_history": self._keys.redact(msgspec.json.decode(transcript)),
            "error_message": prediction.error,
            "ending": prediction.ending,
        }

    async def aclose(self) -> None:
        """Close connections and tool servers."""
        if self._is_open:
            self._is_open = False
            await self._model.__aexit__(None, None, None)
