"""The viewer: the page over a folder of runs, on this machine only, for whoever has the address with its token.

Refused with 403, whatever is asked: another `Host` than this machine's (so that no other site's name can be made to lead here), another
`Origin`, a path that is none of ours, a name that would lead out of the folder, and, for everything that is data,
another token. Only GET and HEAD are answered, and nothing is ever written.
"""

import re
import secrets
import socket
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

from callmark.errors import BadInput
from callmark.viewer.bundle import page_file
from callmark.viewer.folder_of_runs import FolderOfRuns, NotThere, WayOut
from callmark.viewer.page_json import page_json

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
_PATH = re.compile(r"/|/favicon\.ico|/page/[\w-]+\.(?:js|css|html)|/api/(?:runs|run|rows|case|compare)", re.ASCII)
_KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
_MOST_ROWS = 50_000
_LARGEST = 1 << 53


def new_token() -> str:
    return secrets.token_urlsafe(24)


def application(runs: FolderOfRuns, *, token: str, port: int) -> "ASGIApp":
    """The viewer as an application."""
    return _Guard(_routes(runs), token, port)


def listen(port: int) -> socket.socket:
    """A socket on this machine only; port 0 takes any that is free. One that is taken raises `BadInput`."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise BadInput(f"port {port} cannot be had: {error.strerror}", "--port 0 takes any that is free.") from None
    return listener


def serve(runs: FolderOfRuns, listener: socket.socket, token: str, *, on_ready: Callable[[], None]) -> None:
    """Answer until Ctrl-C, quietly."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            on_ready()

    app: Any = application(runs, token=token, port=listener.getsockname()[1])
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1)
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # it ends by raising the signal that it caught
        pass
    finally:
        listener.close()


class _Guard:
    """Before anything is looked at: who asks, and from where. And what stands in the head of every answer."""

    def __init__(self, app: "ASGIApp", token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        from starlette.responses import PlainTextResponse

        async def with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"cache-control"]
                message = {**message, "headers": [*kept, *_HEADERS]}
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
            return "This page is for this machine only."
        origins = [value for name, value in headers if name == b"origin"]
        if origins and not _is_one_of(origins, self._origins):
            return "This page answers no other site."
        if not _PATH.fullmatch(scope["path"]):
            return "There is nothing here."
        if not scope["path"].startswith("/api/"):
            return ""  # there is no data in it
        tokens = [value for name, value in headers if name == b"x-callmark-token"]
        if len(tokens) != 1 or not secrets.compare_digest(tokens[0], self._token):
            return "The token is missing or wrong: open the address that callmark view printed."
        return ""


def _is_one_of(given: list[bytes], allowed: set[bytes]) -> bool:
    return len(given) == 1 and given[0].lower() in allowed


def _routes(runs: FolderOfRuns) -> "Starlette":
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    def answer(
        find: "Callable[[Request], dict[str, Any]]", encode: Callable[[Any], bytes] = page_json, *, first: bool = True
    ) -> "Callable[[Request], Response]":
        """`first`: whatever can wait does. What waits for the numbers of a run, which can, does not go first."""

        def answered(request: "Request") -> Response:
            with runs.precedence if first else nullcontext():
                return answered_now(request)

        def answered_now(request: "Request") -> Response:
            try:
                return Response(encode(find(request)), media_type="application/json")
            except BadInput as error:
                status = 403 if isinstance(error, WayOut) else 404 if isinstance(error, NotThere) else 400
                return Response(page_json({"error": str(error), "hint": error.hint}), status, media_type="application/json")

        return answered

    def run(request: "Request") -> dict[str, Any]:
        return runs.opened(_one(request, "name")).run_data()

    def rows(request: "Request") -> dict[str, Any]:
        most = min(_number(request, "most", 20_000), _MOST_ROWS)
        return runs.opened(_one(request, "name")).rows_data(_number(request, "from", 0), most)

    def case(request: "Request") -> dict[str, Any]:
        found = runs.opened(_one(request, "name")).case_data(_one(request, "id"), _number(request, "trial", 0))
        if found is None:
            raise NotThere("there is no such case")
        return found

    def page(request: "Request") -> Response:
        name = request.path_params.get("name", "index.html")
        text = page_file(name)
        if text is None:
            return Response(status_code=404)
        return Response(text, media_type=_KINDS[name.rpartition(".")[2]])

    app = Starlette(
        routes=[
            Route("/", page, methods=["GET"]),
            Route("/page/{name}", page, methods=["GET"]),
            Route("/api/runs", answer(lambda request: runs.list_data(), first=False), methods=["GET"]),
            Route("/api/run", answer(run, first=False), methods=["GET"]),
            Route("/api/rows", answer(rows, msgspec.json.encode), methods=["GET"]),
            Route("/api/case", answer(case), methods=["GET"]),
            Route("/api/compare", answer(lambda request: runs.comparison_data(request.query_params.getlist("name"))), methods=["GET"]),
        ]
    )
    app.router.redirect_slashes = False
    return app


def _one(request: "Request", name: str) -> str:
    given = request.query_params.get(name)
    if given is None:
        raise BadInput(f"{name} is missing")
    return given


def _number(request: "Request", name: str, otherwise: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return otherwise
    if not given.isascii() or not given.isdigit() or len(given) > 16 or int(given) > _LARGEST:
        raise BadInput(f"{name} is {given[:40]!r}, a whole number was expected")
    return int(given)
