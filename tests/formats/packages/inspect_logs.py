"""Logs of an evaluation, from inspect-ai: a .eval and a .json file. Run in an environment with inspect-ai and openai.

python inspect_logs.py SAMPLES FOLDER
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval  # type: ignore[import-not-found, unused-ignore]  # noqa: A004 - the name in the package
from inspect_ai.dataset import Sample  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.log import read_eval_log, write_eval_log  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.model import ChatMessageSystem, ChatMessageTool, ChatMessageUser, get_model  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.solver import solver  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.tool import ToolInfo, ToolParams  # type: ignore[import-not-found, unused-ignore]
from stand_in import result_of, segments, stand_in, system  # type: ignore[import-not-found, unused-ignore]

SAMPLES = {sample["id"]: sample for sample in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))}


@solver  # type: ignore[misc, untyped-decorator, unused-ignore]
def replay() -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        sample = SAMPLES[state.sample_id]
        tools = [
            ToolInfo(name=tool["name"], description=tool["description"], parameters=ToolParams(**tool["parameters"]))
            for tool in sample["tools"]
        ]
        with stand_in(sample) as address:
            model = get_model("openai/stand-in", base_url=f"{address}/v1", api_key="none", responses_api=False, memoize=False)
            state.messages = [ChatMessageSystem(content=system(sample))] if system(sample) else []
            for text in segments(sample):
                state.messages.append(ChatMessageUser(content=text))
                while True:
                    state.output = await model.generate(state.messages, tools=tools)
                    state.messages.append(state.output.message)
                    if not state.output.message.tool_calls:
                        break
                    for call in state.output.message.tool_calls:
                        result = ChatMessageTool(content=result_of(sample, call.id), tool_call_id=call.id, function=call.function)
                        state.messages.append(result)
        return state

    return solve


def main() -> None:
    folder = Path(sys.argv[2])
    dataset = [Sample(id=sample["id"], input=segments(sample)[0], target="done") for sample in SAMPLES.values()]
    task = Task(dataset=dataset, solver=replay(), name="replay")
    with tempfile.TemporaryDirectory() as logs:
        found = eval(task, model="mockllm/model", log_dir=logs, display="none", log_format="eval", log_model_api=False)[0]
        log = read_eval_log(found.location)
        write_eval_log(log, str(folder / "inspect_log.json"), format="json")
        (folder / "inspect_log.eval").write_bytes(Path(found.location.removeprefix("file://")).read_bytes())


main()
