"""The terminal UI in a browser, for whoever has the address with its token.

textual-serve runs the app and carries its screen. As shipped it answers anybody and any page: it
has no token, takes any Origin, and its page loads a font from elsewhere. Here each request needs
the token, the address that was printed, and for the screen's socket a page of that address.
"""

from __future__ import annotations

import secrets
import shlex
import socket
from collections.abc import Awaitable, Callable, Sequence
from hmac import compare_digest
from pathlib import Path
from typing import Any

from aiohttp import web
from textual_serve.server import Server

LOOPBACK = "127.0.0.1"

COOKIE = "fgtrace-token"

_PAGE = Path(__file__).with_name("serve.html")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self'; connect-src 'self' ws://{host}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Guarded(Server):
    """Serves a command to whoever has the token, at the addresses that are its own."""

    def __init__(self, command: Sequence[str], host: str, port: int) -> None:
        self.socket = socket.create_server((host, port))
        port = self.socket.getsockname()[1]
        super().__init__(shlex.join(command), host=host, port=port, title="fgtrace")
        self.token = secrets.token_urlsafe(32)
        names = {host, LOOPBACK, "localhost"} if host == LOOPBACK else {host}
        self.hosts = {f"{name}:{port}" for name in names}

    @property
    def address(self) -> str:
        """The address with the token."""
        return f"http://{self.host}:{self.port}/?token={self.token}"

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guard(request, handler)

        app.middlewares.append(guard)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing: the address is printed by who serves."""

    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.query.get("token") or request.cookies.get(COOKIE) or ""
        origin = request.headers.get("Origin")
        own = request.headers.get("Host", "") in self.hosts
        if not own or not compare_digest(given.encode(), self.token.encode()):
            raise web.HTTPForbidden(text="this address needs its token\n")
        # A page of another address can open a socket, but cannot say that it is of this one.
        wants_origin = request.path == "/ws" or origin is not None
        if wants_origin and origin != f"http://{request.host}":
            raise web.HTTPForbidden(text="this page is of another address\n")
        response = await handler(request)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers[name] = value.replace("{host}", request.host)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="Strict", path="/")
        return response

    async def handle_index(self, request: web.Request) -> web.Response:
        """Give the page, which names no other address."""
        size = request.query.get("fontsize", "16")
        page = _PAGE.read_text(encoding="utf-8")
        page = page.replace("{{ host }}", request.host)
        page = page.replace("{{ font_size }}", size if size.isdecimal() else "16")
        return web.Response(text=page, content_type="text/html")

    def run(self) -> None:
        """Serve until the process is asked to end."""
        web.run_app(self._make_app(), sock=self.socket, print=_nothing, shutdown_timeout=1)


def _nothing(*_: Any) -> None:
    """Print no banner."""


def serve(command: Sequence[str], *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve a command until Ctrl-C, after announcing the address; port 0 takes a free one."""
    server = Guarded(command, host, port)
    announce(f"open {server.address}")
    if host == LOOPBACK:
        name = socket.gethostname()
        announce(f"from elsewhere: ssh -L {server.port}:{LOOPBACK}:{server.port} {name}")
    else:
        announce(f"{host} can be reached by others; who has the token can read these recordings")
    server.run()
