"""Access control: the checks of every request and socket, and the headers of every answer.

Any page in the reader's browser can send requests to this computer, and a name can be made to lead here (DNS
rebinding); other users of a shared computer reach 127.0.0.1 too. So each request is judged before anything else sees
it, by its scope alone: the name it asks for (Host), the page it comes from (Origin, Sec-Fetch-Site), and the token,
which the first address holds and a cookie keeps.
"""

import logging
import secrets
from ipaddress import ip_address
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fukayomi.web.answers import error_answer
from fukayomi.web.settings import LOOPBACK, WebSettings

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers of every answer, unless it has its own."""
SAFE_METHODS = ("GET", "HEAD")
NEW_SERVER = "the server was started anew: open the address that it printed"
NO_TOKEN = (
    "Open the address that fukayomi web printed: it holds the token.\n"
    "fukayomi web が表示したアドレスを開いてください。トークンが含まれています。\n"
)
POLICY_VIOLATION = 1008
"""Code of a socket that is refused (RFC 6455, 7.4.1); before it is open the browser gets status 403."""

_log = logging.getLogger(__name__)


class Guard:
    """Refuses what does not come from the page itself.

    Args:
        app: The application.
        settings: Who may ask.
    """

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self._app = app
        self._token = settings.token
        self._takes_addresses = settings.listens_everywhere
        own = () if settings.listens_everywhere else (settings.host,)
        self._hosts = frozenset(name.lower() for name in (*LOOPBACK, *own, *settings.allowed_hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "websocket":
            if self._is_own_socket(scope):
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "refused"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._judge(scope) or self._app
        try:
            await answer(scope, receive, send_with_headers)
        except Exception as error:  # the last place: no trace and no path goes out, and the server lives on
            place = _place(error)
            _log.error("%s %s failed: %s at %s", scope["method"], scope["path"], type(error).__name__, place)
            _log.debug("how it failed", exc_info=error)
            if not has_begun:
                await error_answer(500, "internal error")(scope, receive, send_with_headers)

    def _judge(self, scope: Scope) -> Response | None:
        """The answer to a request that must not go on; None if it may."""
        headers = Headers(scope=scope)
        method, path = scope["method"], scope["path"]
        if not self._is_known_host(headers):
            return error_answer(403, "this server does not answer to that name: see --allow-host")
        if not _is_own_page(headers, is_opening=path == "/" and method in SAFE_METHODS):
            return error_answer(403, "the request comes from another page")
        if self._token is None:
            return None
        if path == "/" and method in SAFE_METHODS and (given := _given_token(scope)) is not None:
            if not secrets.compare_digest(given.encode(), self._token.encode()):
                return PlainTextResponse(NO_TOKEN, 403)
            answer = RedirectResponse("/", 303)
            answer.set_cookie(cookie_name(_port(scope)), self._token, httponly=True, samesite="strict")
            return answer
        if not self._has_token(scope):
            return PlainTextResponse(NO_TOKEN, 403) if path == "/" else error_answer(403, NEW_SERVER)
        return None

    def _is_own_socket(self, scope: Scope) -> bool:
        """True if a socket comes from the page itself. Browsers always send the Origin of a socket."""
        headers = Headers(scope=scope)
        return (
            self._is_known_host(headers)
            and _is_origin(headers.get("origin"), headers)
            and (self._token is None or self._has_token(scope))
        )

    def _is_known_host(self, headers: Headers) -> bool:
        named = headers.getlist("host")
        name = _name_of(named[0]) if len(named) == 1 else ""
        return name in self._hosts or (self._takes_addresses and _is_address(name))

    def _has_token(self, scope: Scope) -> bool:
        given = HTTPConnection(scope).cookies.get(cookie_name(_port(scope)), "")
        return self._token is not None and secrets.compare_digest(given.encode(), self._token.encode())


def cookie_name(port: int) -> str:
    """Name of the cookie with the token. Cookies ignore ports, so the name has it: servers side by side keep theirs."""
    return f"fukayomi_{port}"


def _port(scope: Scope) -> int:
    """The port on which a request came."""
    server = scope.get("server")
    return server[1] if server else 0


def _name_of(host: str) -> str:
    """The name of ``name:port``, ``[::1]:port`` and the like; "" if it is neither."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        return name if bracket and (not port or (port[0] == ":" and port[1:].isdecimal())) else ""
    name, colon, port = host.partition(":")
    return name if not colon or port.isdecimal() else ""


def _is_address(name: str) -> bool:
    """True if a name is an IP address, which no other page can make lead elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_origin(origin: str | None, headers: Headers) -> bool:
    """True if a page's origin is what this request asks for."""
    host = headers.get("host", "").strip().lower()
    return origin is not None and origin.lower() in (f"http://{host}", f"https://{host}")


def _is_own_page(headers: Headers, *, is_opening: bool) -> bool:
    """True if a request comes from the page itself, or from nowhere, as what a reader types or a script sends.

    Args:
        headers: Headers of the request.
        is_opening: Whether it opens the page: then any other page may link to it.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return is_opening or site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or _is_origin(origin, headers)


def _given_token(scope: Scope) -> str | None:
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return query["token"][0] if "token" in query else None


def _place(error: BaseException) -> str:
    """File and line where an error was raised, without folders."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "?"
    name = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{trace.tb_lineno}"
