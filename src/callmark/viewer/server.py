"""The viewer's server: the page for a folder of runs, on this machine only, with a token for all data.

Rejected with 403: a `Host` other than this machine (against DNS rebinding), another `Origin`, an unknown path, a name that would lead out
of the folder, and a request for data with a wrong token. GET and HEAD read. POST writes a label or a correction beside the runs: it needs
the `Origin` of this page, JSON of a limited size, and a viewer that is not read-only. Nothing in a run is ever written.
"""

import re
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from callmark.errors import BadInput, StorageError
from callmark.models.open_files import allow_open_files
from callmark.viewer.bundle import page_file
from callmark.viewer.page_json import page_json
from callmark.viewer.run_collection import NotFound, PathTraversal, RunCollection
from callmark.viewer.triage import MAX_REQUEST, CorrectionRequest, LabelRequest, ReadOnly

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_PATH = re.compile(
    r"/|/favicon\.ico|/page/[\w-]+\.(?:js|css|html)|/api/(?:runs|run|rows|case|compare|history|labels|label|correct)", re.ASCII
)
_WRITING = ("/api/label", "/api/correct")
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
_MAX_ROWS = 50_000
_CONNECTIONS = 4096  # that may be open at the same time, if the system permits it
_MAX_INTEGER = 1 << 53
_TIME_LIMIT = 120  # seconds for a request; comparing very large runs takes a while


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


def application(runs: RunCollection, *, token: str, port: int) -> "ASGIApp":
    """Return the viewer as an ASGI application."""
    return _Guard(_routes(runs), token, port)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on this machine only; port 0 selects a free port. A port in use raises `BadInput`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise BadInput(f"cannot use port {port}: {error.strerror}", "Pass another port, or --port 0 for any free one.") from None
    return listener


def serve(runs: RunCollection, listener: socket.socket, token: str, *, on_ready: Callable[[], None]) -> None:
    """Serve requests until Ctrl-C, without a log. `on_ready` is called when the server is listening."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_ready()

    allow_open_files(_CONNECTIONS)
    app: Any = application(runs, token=token, port=listener.getsockname()[1])
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1)
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises the caught signal again
        pass
    finally:
        listener.close()


class _Guard:
    """Checks the host, origin, path and token of every request, and adds the security headers to every response."""

    def __init__(self, app: "ASGIApp", token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.responses import PlainTextResponse

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"cache-control"]
                message = {**message, "headers": [*own, *_HEADERS]}
            await send(message)

        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if problem := self._problem(scope):
            await PlainTextResponse(f"{problem}\n", 403)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _problem(self, scope: "Scope") -> str:
        headers = scope["headers"]
        if not _is_one_of([value for name, value in headers if name == b"host"], self._hosts):
            return "The viewer serves only this machine."
        origins = [value for name, value in headers if name == b"origin"]
        if origins and not _is_one_of(origins, self._origins):
            return "The viewer does not serve other sites."
        if scope["path"] in _WRITING and not origins:
            return "Only the viewer's own page can write."
        if not _PATH.fullmatch(scope["path"]):
            return "No such page."
        if not scope["path"].startswith("/api/"):
            return ""  # no data
        tokens = [value for name, value in headers if name == b"x-callmark-token"]
        if len(tokens) != 1 or not secrets.compare_digest(tokens[0], self._token):
            return "The token is missing or wrong. Open the URL that callmark view printed."
        return ""


def _is_one_of(given: list[bytes], allowed: set[bytes]) -> bool:
    return len(given) == 1 and given[0].lower() in allowed


def _routes(runs: RunCollection) -> "Starlette":
    import anyio.to_thread
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    def json_endpoint(
        find: "Callable[[Request], Any]", encode: Callable[[Any], bytes] = page_json, *, urgent: bool = True
    ) -> "Callable[[Request], Awaitable[Response]]":
        """Return the handler of a path. An `urgent` one pauses background work; one that waits for background work must not be urgent."""

        def respond(request: "Request") -> Response:
            with runs.priority if urgent else nullcontext():
                return respond_now(request)

        def respond_now(request: "Request") -> Response:
            try:
                return Response(encode(find(request)), media_type="application/json")
            except StorageError as error:
                return Response(page_json({"error": str(error), "hint": error.hint}), 507, media_type="application/json")
            except BadInput as error:
                status = 403 if isinstance(error, PathTraversal | ReadOnly) else 404 if isinstance(error, NotFound) else 400
                return Response(page_json({"error": str(error), "hint": error.hint}), status, media_type="application/json")

        async def respond_in_time(request: "Request") -> Response:
            request.state.arrived = time.monotonic()
            with anyio.move_on_after(_TIME_LIMIT):  # a worker that hangs, such as on a network drive, is given up
                return await anyio.to_thread.run_sync(respond, request, abandon_on_cancel=True)
            problem = {"error": f"The viewer did not answer within {_TIME_LIMIT} seconds", "hint": "The folder may be on a slow disk."}
            return Response(page_json(problem), 503, media_type="application/json")

        return respond_in_time

    def run(request: "Request") -> dict[str, Any]:
        return runs.open_run(_text_parameter(request, "name")).run_data()

    def rows(request: "Request") -> dict[str, Any]:
        limit = min(_integer_parameter(request, "limit", 20_000), _MAX_ROWS)
        return runs.open_run(_text_parameter(request, "name")).rows_data(_integer_parameter(request, "start", 0), limit)

    def case(request: "Request") -> dict[str, Any]:
        opened = runs.open_run(_text_parameter(request, "name"))
        found = opened.case_data(_text_parameter(request, "id"), _integer_parameter(request, "trial", 0))
        if found is None:
            raise NotFound("No such case in this run")
        return found

    def compare(request: "Request") -> dict[str, Any]:
        return runs.comparison_data(request.query_params.getlist("name"))

    def all_runs(request: "Request") -> bytes:
        return runs.list_json(request.state.arrived)

    def history(request: "Request") -> dict[str, Any]:
        return runs.history_data()

    def labels(request: "Request") -> dict[str, Any]:
        return runs.labels_data(_text_parameter(request, "name"))

    def writing_endpoint(kind: type[Any], write: Callable[[Any], Any]) -> "Callable[[Request], Awaitable[Response]]":
        """Return the handler of a path that writes: its body is JSON of this kind."""
        respond = json_endpoint(lambda request: write(request.state.body))
        decode = msgspec.json.Decoder(kind).decode

        async def respond_to_body(request: "Request") -> Response:
            if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return _refusal("expected a JSON request", 415)
            body = b""
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_REQUEST:
                    return _refusal(f"expected at most {MAX_REQUEST:,} bytes", 413)
            try:
                request.state.body = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                return _refusal(f"the request is not valid: {error}", 400)
            return await respond(request)

        return respond_to_body

    def _refusal(problem: str, status: int) -> Response:
        return Response(page_json({"error": problem, "hint": ""}), status, media_type="application/json")

    page_text = cache(page_file)

    async def page(request: "Request") -> Response:  # not in a worker: the page loads even if all workers are busy
        name = request.path_params.get("name", "index.html")
        text = page_text(name)
        if text is None:
            return Response(status_code=404)
        return Response(text, media_type=_MEDIA_TYPES[name.rpartition(".")[2]])

    app = Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/page/{name}", page, methods=["GET"]),
            Route("/api/runs", json_endpoint(all_runs, bytes, urgent=False), methods=["GET"]),
            Route("/api/run", json_endpoint(run, urgent=False), methods=["GET"]),
            Route("/api/rows", json_endpoint(rows, msgspec.json.encode), methods=["GET"]),
            Route("/api/case", json_endpoint(case), methods=["GET"]),
            Route("/api/compare", json_endpoint(compare), methods=["GET"]),
            Route("/api/history", json_endpoint(history, urgent=False), methods=["GET"]),
            Route("/api/labels", json_endpoint(labels), methods=["GET"]),
            Route("/api/label", writing_endpoint(LabelRequest, runs.add_label), methods=["POST"]),
            Route("/api/correct", writing_endpoint(CorrectionRequest, runs.add_correction), methods=["POST"]),
        ]
    )
    app.router.redirect_slashes = False
    return app


def _text_parameter(request: "Request", name: str) -> str:
    given = request.query_params.get(name)
    if given is None:
        raise BadInput(f"the parameter {name} is missing")
    return given


def _integer_parameter(request: "Request", name: str, default: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 16 or int(given) > _MAX_INTEGER:
        raise BadInput(f"{name}: expected an integer, got {given[:40]!r}")
    return int(given)
