"""Games and the worth of pieces asked by a program: what is refused, how many games there are, sizes, the record."""

from typing import Any

import pytest
from web_client import ask

from fukayomi.web import WebServer
from fukayomi.web.answers import LARGEST_QUESTION
from fukayomi.web.play import routes as play
from fukayomi.web.play.routes import MOST_GAMES

QUICK = {"nodes": 1}


@pytest.mark.parametrize(
    ("path", "question", "status", "error"),
    [
        ("/api/play", {}, 400, "the engine needs nodes, time_ms or a clock"),
        ("/api/play", {"nodes": 10**9}, 400, "nodes: "),
        ("/api/play", QUICK | {"sfen": "nothing"}, 400, "invalid SFEN"),
        ("/api/play", QUICK | {"moves": ["7g7e"]}, 400, "illegal move"),
        ("/api/play/nobody/move", {"usi": "7g7f", "ply": 0}, 404, "not on the server any more"),
        ("/api/play/nobody/hint", {}, 404, "not on the server any more"),
        ("/api/worth", {"sfen": "nothing"}, 400, "invalid SFEN"),
        ("/api/play", QUICK | {"sfen": "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"}, 400, "has no king"),
        ("/api/worth", {"together": ["5e"]}, 400, "no piece at '5e'"),
        ("/api/worth", {"together": ["9i", "8i", "7i", "6i", "4i", "3i", "2i"]}, 400, "together: "),
        ("/api/worth", {"view": "heat"}, 400, "view: "),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    server: WebServer, path: str, question: Any, status: int, error: str
) -> None:
    answer = ask(server, "POST", path, question)
    assert answer.status == status
    assert error in answer.error


def test_pieces_of_a_mate_problem_have_worth(server: WebServer) -> None:
    answer = ask(server, "POST", "/api/worth", {"sfen": "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"})
    assert answer.status == 200
    (worth,) = answer.json["positions"]
    assert [each["place"] for each in worth["pieces"]] == ["1a", "1d", "2b", "2c", "3b", "3d", "R*", "N*"]


@pytest.mark.parametrize("path", ["/api/play", "/api/play/x/move", "/api/play/x/hint", "/api/worth"])
def test_large_questions_are_refused(server: WebServer, path: str) -> None:
    assert ask(server, "POST", path, b" " * (LARGEST_QUESTION + 1)).status == 413


def test_a_game_is_a_record_with_its_end(server: WebServer) -> None:
    state = ask(server, "POST", "/api/play", QUICK | {"name": "<b>\u202eyou"}).json
    at = f"/api/play/{state['id']}"
    assert ask(server, "POST", f"{at}/move", {"usi": "7g7e", "ply": 0}).status == 409
    assert ask(server, "POST", f"{at}/declare", {}).status == 409
    assert len(ask(server, "POST", f"{at}/move", {"usi": "7g7f", "ply": 0}).json["moves"]) in (1, 2)
    assert ask(server, "POST", f"{at}/resign", {}).json["end"] == "resign"
    record = ask(server, "GET", f"{at}/record").json
    assert (record["end"], record["winner"]) == ("resign", "w")
    assert record["nodes"][1]["usi"] == "7g7f"
    assert "\u202e" not in record["names"][0]
    assert ask(server, "DELETE", at).status == 200
    assert ask(server, "GET", at).status == 404


def test_games_that_are_over_or_abandoned_make_room(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    ids = [ask(server, "POST", "/api/play", QUICK).json["id"] for _ in range(MOST_GAMES)]
    refused = ask(server, "POST", "/api/play", QUICK)
    assert (refused.status, refused.error) == (429, f"there are {MOST_GAMES} games; end one of them")
    ask(server, "POST", f"/api/play/{ids[3]}/resign", {})
    assert ask(server, "POST", "/api/play", QUICK).status == 200
    assert ask(server, "GET", f"/api/play/{ids[3]}").status == 404
    assert ask(server, "GET", f"/api/play/{ids[0]}").status == 200
    monkeypatch.setattr(play, "ABANDONED_S", 0)
    assert ask(server, "POST", "/api/play", QUICK).status == 200
    assert ask(server, "GET", f"/api/play/{ids[0]}").status == 404


def test_worth_of_two_positions(server: WebServer) -> None:
    question = {"moves": ["7g7f", "3c3d"], "beside": {"moves": ["7g7f"]}, "view": "change", "flip": True}
    found = ask(server, "POST", "/api/worth", question).json
    assert [each["ply"] for each in found["positions"]] == [1, 2]
    assert len(found["differences"]) == 37
    assert found["svg"].startswith("<svg ")
