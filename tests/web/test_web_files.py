"""The files of the page: from memory, with tags; all modules are announced at once."""

import posixpath
import re
import socket

import pytest
from web_client import ask

from fukayomi.web import WebServer
from fukayomi.web.app import PIECES, SHARED, STATIC


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("main.js", "text/javascript"),
        ("style/base.css", "text/css"),
        ("icon.svg", "image/svg+xml"),
        ("vendor/uplot.LICENSE", "text/plain"),
    ],
)
def test_files_have_their_type(server: WebServer, name: str, kind: str) -> None:
    answer = ask(server, "GET", f"/static/{name}")
    assert (answer.status, answer.body) == (200, (STATIC / name).read_bytes())
    assert answer.headers["content-type"].split(";")[0] == kind


def test_pieces_are_those_of_the_package(server: WebServer) -> None:
    assert ask(server, "GET", "/static/pieces.svg").body == PIECES.read_bytes()


def test_the_styles_are_one_file(server: WebServer) -> None:
    answer = ask(server, "GET", "/static/styles.css")
    assert answer.headers["content-type"].split(";")[0] == "text/css"
    for path in (*STATIC.rglob("*.css"), *SHARED.rglob("*.css")):
        assert path.read_bytes() in answer.body, path


def test_a_file_that_the_browser_has_is_not_sent_again(server: WebServer) -> None:
    tag = ask(server, "GET", "/static/main.js").headers["etag"]
    again = ask(server, "GET", "/static/main.js", **{"If-None-Match": f'"other", W/{tag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert ask(server, "GET", "/static/main.js", **{"If-None-Match": '"other"'}).status == 200
    assert ask(server, "GET", "/static/page.js").headers["etag"] != tag


def test_all_modules_of_the_first_view_are_announced(server: WebServer) -> None:
    """A module that is not would be asked for when those before it have come, one round after the other."""
    page = ask(server, "GET", "/").body.decode()
    announced = re.findall(r'<link rel="modulepreload" href="static/([^"]+)">', page)
    modules = {
        path.relative_to(folder).as_posix(): path for folder in (STATIC, SHARED) for path in folder.rglob("*.js")
    }
    first, needed = "main.js", set[str]()
    dynamic = re.findall(r'import\("\./([^"]+)"\)', modules[first].read_text(encoding="utf-8"))
    waiting = [*dynamic, first]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            names = re.findall(r'^import [^"]*"(\.[^"]+)";$', modules[name].read_text(encoding="utf-8"), re.MULTILINE)
            waiting += [posixpath.normpath(posixpath.join(posixpath.dirname(name), other)) for other in names]
    assert sorted(announced) == sorted(needed - {first})
    assert not any("uplot" in name for name in announced)  # the tabs with charts come when they are opened


def test_small_answers_do_not_wait_for_the_network(server: WebServer) -> None:
    """Without this option the second part of an answer waits for the acknowledgement of the first one."""
    listening = server._socket  # pyright: ignore[reportPrivateUsage]
    assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
