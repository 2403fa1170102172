"""Run in an environment with transformers: serve the tiny model as a chat endpoint on loopback, until standard input closes.

    python model_server.py PROMPTS.jsonl        prints the port

`PROMPTS.jsonl` is what its tokenizer is trained on.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

sys.path.insert(0, str(Path(__file__).parent))
from tiny_model import tiny_model, tiny_tokenizer

NEW_TOKENS = 24
MAX_PROMPT = 1024  # tokens, from the end


def main() -> int:
    texts = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()[:200]
    tokenizer = tiny_tokenizer(texts)
    model = tiny_model(tokenizer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = tokenizer.apply_chat_template(
                body["messages"], tools=body.get("tools"), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )["input_ids"][:, -MAX_PROMPT:]
            output = model.generate(prompt, max_new_tokens=NEW_TOKENS, do_sample=True, pad_token_id=tokenizer.pad_token_id)
            text = tokenizer.decode(output[0][prompt.shape[1] :], skip_special_tokens=True)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": prompt.shape[1], "completion_tokens": NEW_TOKENS, "total_tokens": prompt.shape[1] + NEW_TOKENS}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny", "choices": [choice], "usage": usage}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
