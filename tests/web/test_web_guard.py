"""Who is refused, and what every answer has: each test fails without the guard that it names."""

import logging
import socket as sockets
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from patience import PATIENCE_S
from web_client import ask, open_socket, receive
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from fukayomi.web import WebServer, WebSettings
from fukayomi.web.answers import LARGEST_UPLOAD
from fukayomi.web.hub import MOST_SOCKETS
from fukayomi.web.server import LARGEST_MESSAGE

FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost@evil.example",
    "",
    "[::1",
    "a:b",
)


@pytest.mark.parametrize("path", ["/", "/api/state", "/static/index.html"])
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_foreign_host_is_refused(server: WebServer, path: str, host: str) -> None:
    assert ask(server, "GET", path, host=host).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1", "[::1]:80"])
def test_names_of_this_computer_are_accepted(server: WebServer, host: str) -> None:
    assert ask(server, "GET", "/api/state", host=host).status == 200


def test_another_name_must_be_allowed(serve) -> None:
    server = serve(allowed_hosts=("Shogi.example",))
    assert ask(server, "GET", "/api/state", host="shogi.example:8000").status == 200
    assert ask(server, "GET", "/api/state", host="other.example").status == 403


def test_numbers_are_accepted_where_all_networks_are_listened_on(serve) -> None:
    server = serve(host="0.0.0.0")
    assert server.origin == f"http://127.0.0.1:{server.port}"
    assert ask(server, "GET", "/api/state", host="192.0.2.7:80").status == 200
    assert ask(server, "GET", "/api/state", host="192.0.2.7:80", cookie=None).status == 403
    assert ask(server, "GET", "/api/state", host="192.0.2.7.evil.example").status == 403


def test_foreign_host_is_refused_for_a_socket(server: WebServer) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        open_socket(server, host="evil.example", origin="http://evil.example")


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "http://localhost", "null", None])
def test_foreign_origin_is_refused_for_a_socket(server: WebServer, origin: str | None) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        open_socket(server, origin=origin)


def test_socket_of_the_page_opens(server: WebServer) -> None:
    with open_socket(server) as socket:
        assert receive(socket, "state")["state"]["version"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_pages_are_refused(server: WebServer, site: str) -> None:
    assert ask(server, "POST", "/api/position", {}, sec_fetch_site=site).status == 403
    assert ask(server, "GET", "/api/state", sec_fetch_site=site).status == 403
    assert ask(server, "GET", "/", sec_fetch_site=site).status == 200  # a link to the page


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_requests_of_other_origins_are_refused_where_the_browser_is_old(server: WebServer, origin: str) -> None:
    assert ask(server, "POST", "/api/position", {}, origin=origin).status == 403


def test_own_requests_are_answered(server: WebServer) -> None:
    assert ask(server, "POST", "/api/position", {}, sec_fetch_site="same-origin").status == 200
    assert ask(server, "POST", "/api/position", {}, origin=server.origin).status == 200
    assert ask(server, "POST", "/api/position", {}).status == 200


def test_no_other_page_may_read_an_answer(server: WebServer) -> None:
    answer = ask(server, "GET", "/api/state")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/api/state", "/static/index.html", "/static/pieces.svg", "/nothing"])
def test_without_the_token_nothing_is_shown(server: WebServer, path: str) -> None:
    for cookie in (None, f"fukayomi_{server.port}=wrong", f"fukayomi_{server.port}=", "fukayomi_1=x"):
        answer = ask(server, "GET", path, cookie=cookie)
        assert answer.status == 403
        assert server.settings.token is not None
        assert server.settings.token.encode() not in answer.body
    with pytest.raises(InvalidStatus, match="403"):
        open_socket(server, cookie=None)


def test_the_address_gives_a_cookie_that_scripts_and_other_sites_do_not_get(server: WebServer) -> None:
    answer = ask(server, "GET", server.address.removeprefix(server.origin), cookie=None)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert cookie == server.cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {attribute.lower() for attribute in attributes}
    assert ask(server, "GET", "/?token=wrong").status == 403


def test_the_token_is_long_and_new_each_time() -> None:
    first, second = WebSettings(), WebSettings()
    assert first.token is not None
    assert len(first.token) >= 40
    assert first.token != second.token
    assert first.token not in repr(first)


def test_without_a_token_the_page_is_for_this_computer_alone(serve) -> None:
    server = serve(token=None)
    assert ask(server, "GET", "/api/state", cookie=None).status == 200
    assert ask(server, "GET", "/api/state", cookie=None, host="evil.example").status == 403
    for host in ("0.0.0.0", "::", "192.0.2.1", "shogi.example"):
        with pytest.raises(ValueError, match="without a token"):
            WebSettings(host=host, token=None)
    with pytest.raises(ValueError, match="empty"):
        WebSettings(token="")


def test_the_server_listens_on_this_computer_alone(server: WebServer) -> None:
    assert server.settings.host == "127.0.0.1"
    with sockets.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", server.port))


@pytest.mark.parametrize("path", ["/", "/api/state", "/static/pieces.svg", "/nothing", "/api/files/99"])
def test_every_answer_has_a_policy(server: WebServer, path: str) -> None:
    for answer in (ask(server, "GET", path), ask(server, "GET", path, cookie=None)):
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/..%5capp.py",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/\\\\evil\\share", "/static/", "/static/%00",
        "/api/files/0", "/api/files/-1", "/api/files/..%2f..%2fetc%2fpasswd", "/api/files/1", "/../etc/passwd",
    ],
)  # fmt: skip
def test_no_path_leads_out(server: WebServer, path: str) -> None:
    answer = ask(server, "GET", path)
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


def test_large_bodies_are_refused(server: WebServer) -> None:
    assert ask(server, "POST", "/api/records", b"x" * (LARGEST_UPLOAD + 1)).status == 413
    assert ask(server, "POST", "/api/position", b"x" * (1 << 20) + b"x").status == 413


def code_of_end(socket: ClientConnection) -> int | None:
    """The code with which the server closes a socket."""
    with suppress(ConnectionClosed):
        while True:
            socket.recv(timeout=PATIENCE_S)
    return socket.close_code


def test_large_messages_end_the_socket(server: WebServer) -> None:
    with open_socket(server) as socket:
        socket.send("x" * (LARGEST_MESSAGE + 1))
        assert code_of_end(socket) == 1009


def test_bytes_on_a_socket_end_it_and_the_server_goes_on(server: WebServer) -> None:
    with open_socket(server) as socket:
        socket.send(b"\0\1")
        assert code_of_end(socket) == 1003
    assert ask(server, "GET", "/api/state").status == 200


def test_number_of_sockets_is_limited(serve) -> None:
    server = serve()
    with ExitStack() as opened:
        for _ in range(MOST_SOCKETS):
            receive(opened.enter_context(open_socket(server)), "state")
        with pytest.raises(InvalidStatus, match="403"):
            opened.enter_context(open_socket(server))


def test_what_fails_inside_is_told_without_trace_path_or_token(
    serve, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    record = tmp_path / "game.kif"
    record.write_text("手合割：平手\n   1 ７六歩(77)\n", encoding="utf-8")
    server = serve(files=(record,))
    assert str(tmp_path) not in ask(server, "GET", "/api/files/1").body.decode()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.INFO):
        patch.setattr("fukayomi.web.files.games_in", lambda file: 1 / len(str(file.path)[:0]))
        answer = ask(server, "GET", "/api/files/1")
        record.unlink()
    assert (answer.status, answer.json) == (500, {"error": "internal error"})
    assert answer.headers["x-content-type-options"] == "nosniff"
    told = caplog.text
    assert "ZeroDivisionError at test_web_guard.py" in told
    assert str(tmp_path) not in told
    assert server.settings.token is not None
    assert server.settings.token not in told
    missing = ask(server, "GET", "/api/files/1")
    assert missing.status >= 400
    assert str(tmp_path) not in missing.body.decode()


def test_a_host_must_be_given_once(server: WebServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
    connection.putrequest("GET", "/api/state", skip_host=True)
    for host in ("localhost", "evil.example"):
        connection.putheader("Host", host)
    connection.putheader("Cookie", server.cookie)
    connection.endheaders()
    assert connection.getresponse().status in (400, 403)
    connection.close()
