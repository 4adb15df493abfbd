"""Mates by request: problems with one king, positions without a mate, and what is refused."""

from web_client import ask

from fukayomi.shogi import START_SFEN
from fukayomi.web import WebServer

THREE_PLIES = "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"


def test_problem_with_one_king_is_solved(server: WebServer) -> None:
    answer = ask(server, "POST", "/api/mate", {"sfen": THREE_PLIES}).json
    assert (answer["reason"], answer["moves"]) == ("mate", ["N*2d", "1b2a", "R*4a"])
    assert answer["japanese"] == ["☗２四桂", "☖２一玉", "☗４一飛"]
    assert answer["english"] == ["N*2d", "K-2a", "R*4a"]


def test_position_without_a_mate_and_one_without_a_king_to_mate(server: WebServer) -> None:
    answer = ask(server, "POST", "/api/mate", {"sfen": START_SFEN, "moves": ["7g7f"]}).json
    assert (answer["reason"], answer["moves"]) == ("no_mate", [])
    refused = ask(server, "POST", "/api/mate", {"sfen": THREE_PLIES, "moves": ["N*2d"]})
    assert (refused.status, refused.error) == (400, "there is no king to mate: the side to move attacks")
    assert ask(server, "POST", "/api/mate", {"sfen": THREE_PLIES, "moves": ["7g7f"]}).status == 400
