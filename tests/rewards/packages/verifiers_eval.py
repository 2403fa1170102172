"""Run in an environment with verifiers: score the corpus as tasks do, and evaluate models with `vf-eval`.

    python verifiers_eval.py CORPUS.jsonl CASES.jsonl MODEL_URL OUT.json

Writes a JSON object: the reward of each completion of the corpus by `Task.score`, the rewards of `vf-eval` with a server that answers with
the expected calls or nothing, by turns, those with the model at MODEL_URL, and what `vf-validate` says of the cases.
"""

import asyncio
import json
import os
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

MODULE = "callmark_cases"
TASKS = 12
os.environ |= {"PRIME_API_KEY": "", "OPENAI_API_KEY": "none"}


def main() -> int:
    corpus_file, cases, model_url, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{MODULE}.py").write_text(
            "from callmark.rewards.verifiers import CallHarness, CallTaskset\n\n__all__ = ['CallHarness', 'CallTaskset']\n",
            encoding="utf-8",
        )
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder
        rows = [json.loads(line) for line in Path(cases).read_text(encoding="utf-8").splitlines()][:TASKS]
        found = {
            "rewards": asyncio.run(_score_corpus(corpus_file)),
            "replayed": _evaluate(cases, _replay_server(rows), folder, "replayed"),
            "model": _evaluate(cases, model_url, folder, "model"),
            "valid": asyncio.run(_validate(cases)),
        }
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    return 0


async def _score_corpus(corpus_file: str) -> list[float]:
    """Return the reward of each completion, scored by a task with the completion as the sampled message of its trace."""
    import verifiers.v1 as vf

    from callmark.rewards.verifiers import CallTask, CallTaskData

    rewards = []
    for line in Path(corpus_file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        task = CallTask(CallTaskData(prompt="x", expected_output=row["expected_output"], tools=row["tools"]))
        completion = row["completion"]
        message: Any = {"role": "assistant", "content": completion} if isinstance(completion, str) else completion[0]
        calls: list[Any] = [{"id": call["id"], **call["function"]} for call in message.get("tool_calls", [])]
        sampled = vf.AssistantMessage(content=message["content"], tool_calls=calls or None)
        trace = vf.Trace(
            task=vf.TraceTask(type="CallTask", data=task.data),
            agent=vf.AgentInfo(config=vf.AgentConfig()),
            nodes=[vf.MessageNode(message=sampled, sampled=True)],
        )
        await task.score(trace)
        rewards.append(trace.reward)
    return rewards


async def _validate(cases: str) -> dict[str, bool | None]:
    from callmark.rewards.verifiers import CallTaskset, CallTasksetConfig

    runtime: Any = None  # the ground truth is checked without one
    return {task.data.id: await task.validate(runtime) for task in CallTaskset(CallTasksetConfig(cases=cases))}


def _evaluate(cases: str, url: str, folder: str, name: str) -> dict[str, Any]:
    """Run `vf-eval`, and return the reward of each task by its id."""
    from verifiers.v1.cli.eval.main import main as evaluate

    arguments = [MODULE, "--env.taskset.cases", cases, "--client.base-url", url, "--client.api-key-var", "OPENAI_API_KEY"]
    arguments += [
        "--env.agent.runtime.type",
        "subprocess",
        "--model",
        "tiny",
        "-n",
        str(TASKS),
        "--no-push",
        "--no-rich",
        "--output-dir",
        folder,
        "--run.name",
        name,
        "-c",
        "2",
    ]
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        evaluate(arguments)
    finally:
        sys.stdout = stdout
    found: dict[str, Any] = {}
    for file in Path(folder, name).rglob("traces.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            for trace in _traces(json.loads(line)):
                reward = trace["rewards"].get("call")
                found[trace["task"]["data"]["id"]] = {"reward": reward and reward["score"], "ok": trace["ok"], "errors": trace["errors"]}
    return found


def _traces(row: dict[str, Any]) -> list[dict[str, Any]]:
    return list(row["traces"]) if "traces" in row else [row]


def _replay_server(rows: list[dict[str, Any]]) -> str:
    """Start a server that answers the prompts of these cases: the expected calls for every second one, and no call for the others."""
    answers = {_key(row["messages"]): row["expected_output"]["tool_calls"] if index % 2 == 0 else [] for index, row in enumerate(rows)}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            calls = answers[_key(body["messages"])]
            calls = [{**call, "id": f"call_{number}", "type": "function"} for number, call in enumerate(calls)]
            message: Any = {"role": "assistant", "content": None if calls else "No.", **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice], "usage": usage}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


def _key(messages: list[dict[str, Any]]) -> str:
    return json.dumps([(message["role"], message.get("content") or "") for message in messages])


if __name__ == "__main__":
    sys.exit(main())
