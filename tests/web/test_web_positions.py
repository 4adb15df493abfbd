"""What the server says of positions: legal moves, names of moves, ends of games."""

from web_client import ask

from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.formats.notation import english_move, english_moves
from fukayomi.web import WebServer

SHUFFLE = ["5i5h", "5a5b", "5h5i", "5b5a"]


def describe(server: WebServer, **question: object) -> dict:
    answer = ask(server, "POST", "/api/position", question)
    assert answer.status == 200, answer.body
    return answer.json


def test_start_position(server: WebServer) -> None:
    found = describe(server)
    assert found["sfen"] == START_SFEN
    assert (found["turn"], found["ply"], found["check"], found["end"]) == ("b", 1, False, None)
    assert sorted(found["legal"]) == sorted(move.usi() for move in Position().legal_moves)
    assert found["hands"] == {"b": {}, "w": {}}
    assert len(found["board"]) == 81
    assert (found["board"][0], found["board"][10], found["board"][16]) == ("l", "b", "R")


def test_last_move_has_its_names_in_both_languages(server: WebServer) -> None:
    found = describe(server, moves=["7g7f", "3c3d", "8h2b+"])
    assert (found["japanese"], found["english"], found["last"]) == ("☗２二角成", "Bx2b+", "8h2b+")
    assert (found["turn"], found["hands"]["b"]) == ("w", {"B": 1})
    assert "P*5e" not in found["legal"]


def test_repetition_ends_the_game(server: WebServer) -> None:
    found = describe(server, moves=SHUFFLE * 2)
    assert (found["occurrences"], found["end"]) == (3, None)
    found = describe(server, moves=SHUFFLE * 3)
    assert (found["occurrences"], found["repetition"], found["end"], found["winner"]) == (4, "draw", "repetition", None)


def test_perpetual_check_loses(server: WebServer) -> None:
    checks = ["5h4h", "4a5a", "4h5h", "5a4a"]
    found = describe(server, sfen="4k4/9/9/9/9/9/9/4R4/4K4 w - 1", moves=["5a4a", *checks * 3])
    assert (found["end"], found["winner"]) == ("perpetual_check", "w")


def test_mate_ends_the_game(server: WebServer) -> None:
    found = describe(server, sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1", moves=["G*5b"])
    assert (found["end"], found["winner"], found["check"], found["legal"]) == ("mate", "b", True, [])


def test_declaration_is_offered(server: WebServer) -> None:
    found = describe(server, sfen="+B+R2K4/+R+BGGSS3/PPPPP4/9/9/9/9/9/4k4 b 2G2S4N4L9P 1")
    assert found["declaration"] is True


def test_mate_problems_may_lack_a_king(server: WebServer) -> None:
    found = describe(server, sfen="4k4/9/4P4/9/9/9/9/9/9 b G 1")
    assert "G*5b" in found["legal"]
    assert found["declaration"] is False


def test_what_is_wrong_is_said(server: WebServer) -> None:
    illegal = ask(server, "POST", "/api/position", {"moves": ["7g7e"]})
    assert (illegal.status, "7g7e" in illegal.error) == (400, True)
    for question in (
        {"sfen": "x"},
        {"sfen": "9/9/9/9/9/9/9/9/9 b 3R 1"},
        {"moves": ["7g7f"] * 2001},
        {"moves": "7g7f"},
        5,
    ):
        answer = ask(server, "POST", "/api/position", question)
        assert answer.status == 400, question
        assert answer.error
    assert ask(server, "POST", "/api/position", b"\xff{").status == 400
    assert ask(server, "GET", "/api/position").status == 405


def test_western_notation_names_origin_promotion_and_drops() -> None:
    position = Position.from_sfen("4k4/9/P1N6/9/9/3G1G3/9/9/4K4 b S 1")
    names = {
        usi: english_move(position, Move.from_usi(usi)) for usi in ("6f5e", "9c9b+", "9c9b", "S*5e", "5i5h", "7c6a+")
    }
    assert names == {
        "6f5e": "G6f-5e", "9c9b+": "P-9b+", "9c9b": "P-9b=", "S*5e": "S*5e", "5i5h": "K-5h", "7c6a+": "N-6a+",
    }  # fmt: skip
    assert english_moves(START_SFEN, ["7g7f", "3c3d", "8h2b+", "3a2b"]) == ["P-7f", "P-3d", "Bx2b+", "Sx2b"]


def test_illegal_moves_are_explained(server: WebServer) -> None:
    def reason(tried: str, **question: object) -> object:
        return ask(server, "POST", "/api/illegal", {"tried": tried, **question}).json["reason"]

    assert reason("7g7f") is None
    assert reason("7g7e") == "the pawn cannot reach 7e"
    assert reason("3c3d") == "the piece on 3c is the opponent's"
    assert reason("P*5e", sfen="4k4/9/4P4/9/9/9/9/9/4K4 b P 1") == (
        "there is a pawn of the same side on the file (nifu)"
    )
    assert ask(server, "POST", "/api/illegal", {"tried": "x"}).status == 400
