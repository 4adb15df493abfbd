"""The answers of the USI engine to a GUI."""

import pytest
from engine_talk import DECLARED, MATE_IN_ONE, MATED, Start, moves_of, never_answers, next_line, strings
from patience import PATIENCE_S

from fukayomi.engine import Engine, Network
from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.shogi import START_SFEN, Position
from fukayomi.usi.client import UsiClient
from fukayomi.usi.text import Go

MATE_IN_NINE = "l6nl/r4S3/p2s1p1pk/1Pp2sN1p/1p2+r3P/2G1p4/P1Pp1PPP1/2G1+n1S2/L5KNL w Bb2g3p 90"
ENDLESS = "9/9/9/9/4k4/9/9/9/9 b 2R2B4g4s4n4l18p 1"


def test_answers_with_a_legal_move_and_a_legal_ponder_move(start: Start) -> None:
    client = start()
    client.position(None, ("7g7f", "3c3d"))
    answer = client.go(Go(nodes=500), PATIENCE_S)
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    assert answer.bestmove is not None
    position.push_usi(answer.bestmove.move)
    assert answer.bestmove.ponder is not None
    position.push_usi(answer.bestmove.ponder)
    info = answer.best_info
    assert info is not None
    assert info.pv[:2] == (answer.bestmove.move, answer.bestmove.ponder)
    assert info.nodes == 500
    assert info.nps is not None
    assert info.hashfull is not None
    assert info.time_ms is not None
    assert info.seldepth is not None
    assert info.depth is not None
    assert info.seldepth >= info.depth


def test_every_pv_is_legal(start: Start) -> None:
    client = start(MultiPV="5", PV_Interval="20")
    client.position()
    for info in client.go(Go(movetime_ms=500), PATIENCE_S).infos:
        position = Position()
        for move in info.pv:
            position.push_usi(move)


def test_multipv_holds_from_the_next_go_without_isready(start: Start) -> None:
    client = start()
    client.position()
    client.go(Go(nodes=200), PATIENCE_S)
    client.set_option("MultiPV", "3")
    answer = client.go(Go(nodes=400), PATIENCE_S)
    last = answer.infos[-3:]
    assert [info.multipv for info in last] == [1, 2, 3]
    assert len({info.pv[0] for info in last}) == 3


def test_moves_that_were_not_visited_have_no_line(start: Start) -> None:
    client = start(MultiPV="8")
    client.position()
    infos = [info for info in client.go(Go(nodes=4), PATIENCE_S).infos if info.nodes == 4]
    assert 0 < len(infos) < 4  # the root's own evaluation took one of the nodes
    with Engine(Network(hash_evaluator(16))) as engine:
        rows = engine.search(Position(), nodes=4, multipv=8).rows()
    assert [row["visits"] == 0 for row in rows] == [row["winrate"] is None for row in rows]
    assert [row["visits"] == 0 for row in rows] == [row["cp"] is None for row in rows]
    assert any(row["visits"] == 0 for row in rows)


def test_searchmoves(start: Start) -> None:
    client = start()
    client.position()
    answer = client.go(Go(nodes=200, searchmoves=("9g9f", "1g1f")), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in ("9g9f", "1g1f")
    answer = client.go(Go(nodes=50, searchmoves=("9g9e", "5e5d") * 50_000), PATIENCE_S)  # not legal: ignored
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of()
    assert [info.string for info in answer.infos if info.string] == [
        "searchmoves: not legal in this position: 9g9e 5e5d"
    ]


def test_mate_is_found_and_said(start: Start) -> None:
    client = start()
    client.position(MATE_IN_ONE)
    answer = client.go(Go(btime_ms=6_000_000, wtime_ms=6_000_000), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "G*2b"
    assert answer.best_info is not None
    assert answer.best_info.score is not None
    assert answer.best_info.score.mate == 1
    assert answer.seconds < PATIENCE_S / 2  # the clock allows two minutes


HANDICAPS = {
    "8 pieces": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "10 pieces": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
}


@pytest.mark.parametrize("sfen", HANDICAPS.values(), ids=HANDICAPS)
def test_a_handicap_is_not_resigned(start: Start, sfen: str) -> None:
    client = start(DNN_Model="<internal>")
    position = Position.from_sfen(sfen)
    client.new_game()
    for _ in range(3):
        client.position(sfen, [move.usi() for move in position.moves])
        answer = client.go(Go(nodes=100), 60)
        assert answer.bestmove is not None
        assert answer.bestmove.move != "resign"
        position.push_usi(answer.bestmove.move)
        position.push(position.legal_moves[0])


def test_resigns_when_mated(start: Start) -> None:
    client = start()
    client.position(MATED)
    answer = client.go(Go(byoyomi_ms=1000), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "resign"
    assert [info.string for info in answer.infos] == ["no search: White has no legal move"]
    says_at_once(client, "White has no legal move")


def says_at_once(client: UsiClient, reason: str) -> None:
    """Check that a search without an end says why there is none, and resigns at `stop`, not before."""
    for go in (Go(infinite=True), Go(ponder=True)):
        client.start_go(go)
        assert next_line(client, PATIENCE_S).text == f"info string no search: {reason}"
        never_answers(client, 0.2)
        client.stop()
        answer = client.wait_answer(PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.bestmove.move == "resign"
        assert not [info for info in answer.infos if info.string]


def test_declares_a_win_under_the_rule_that_is_set(start: Start) -> None:
    client = start()
    client.position(DECLARED)
    answer = client.go(Go(byoyomi_ms=600_000), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "win"
    assert answer.seconds < PATIENCE_S / 2  # there is nothing to think about
    client.start_go(Go(ponder=True))
    client.ponderhit(Go(byoyomi_ms=600_000))
    answer = client.wait_answer(PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "win"
    assert answer.seconds < PATIENCE_S / 2
    client.set_option("EnteringKingRule", "NoEnteringKing")
    answer = client.go(Go(byoyomi_ms=500), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of(DECLARED)


def test_the_try_rule_is_won_by_a_move(start: Start) -> None:
    client = start()
    client.set_option("EnteringKingRule", "TryRule")
    client.position("9/4K4/9/9/9/9/9/9/8k b - 1")
    answer = client.go(Go(byoyomi_ms=600_000), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "5b5a"
    client.position("9/9/4K4/9/9/9/9/9/8k b - 1")  # two moves before: nothing stops the king
    answer = client.go(Go(nodes=400), PATIENCE_S)
    assert answer.best_info is not None
    assert answer.best_info.score is not None
    assert (answer.best_info.score.mate or 0) > 0


@pytest.mark.parametrize(("rule", "move"), [("CSARule27", None), ("CSARule27H", "win"), ("CSARule24H", "win")])
def test_the_pieces_of_a_handicap_count(start: Start, rule: str, move: str | None) -> None:
    client = start()
    client.set_option("EnteringKingRule", rule)
    sfen = "8K/9/9/9/9/9/8n/+nssssgggg/8k w - 1"  # 10 points, and 44 that are missing
    client.position(sfen)
    answer = client.go(Go(nodes=10), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in (moves_of(sfen) if move is None else {move})


@pytest.mark.parametrize("sfen", [MATE_IN_ONE, MATE_IN_ONE.replace("K8", "9")])  # a problem has one king, mostly
def test_go_mate_finds_a_mate_in_one(start: Start, sfen: str) -> None:
    client = start()
    client.position(sfen)
    answer = client.go(Go(mate=True, mate_ms=1000), PATIENCE_S)
    assert answer.checkmate is not None
    assert answer.checkmate.moves == ("G*2b",)


@pytest.mark.parametrize(
    ("sfen", "go", "moves", "verdict"),
    [
        ("8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1", Go(mate=True, mate_ms=5000), ("N*2d", "1b2a", "R*4a"), ""),
        ("8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1", Go(mate=True), ("N*2d", "1b2a", "R*4a"), ""),
        (START_SFEN, Go(mate=True, mate_ms=1000), (), "nomate"),
        (ENDLESS, Go(mate=True, mate_ms=20), (), "timeout"),
        (ENDLESS, Go(mate=True, nodes=100), (), "timeout"),
        ("9/9/9/9/9/9/9/9/K8 b G 1", Go(mate=True), (), "notimplemented"),
    ],
)
def test_go_mate(start: Start, sfen: str, go: Go, moves: tuple[str, ...], verdict: str) -> None:
    client = start()
    client.position(sfen)
    answer = client.go(go, PATIENCE_S)
    assert answer.checkmate is not None
    assert answer.checkmate.moves == moves
    if not moves:
        assert answer.checkmate.verdict == verdict


@pytest.mark.parametrize("threads", ["0", "2"])
def test_a_mate_found_beside_the_search_ends_it(start: Start, threads: str) -> None:
    client = start(PV_Mate_Search_Threads=threads)
    client.position(MATE_IN_NINE)
    answer = client.go(Go(byoyomi_ms=600_000), PATIENCE_S)
    assert answer.seconds < PATIENCE_S / 2
    assert answer.best_info is not None
    assert answer.best_info.score is not None
    assert answer.best_info.score.mate == len(answer.best_info.pv) == 9
    assert answer.bestmove is not None
    assert answer.bestmove.move == answer.best_info.pv[0]
    client.start_go(Go(ponder=True))
    client.ponderhit(Go(byoyomi_ms=600_000))
    answer = client.wait_answer(PATIENCE_S)
    assert answer.seconds < PATIENCE_S / 2
    assert answer.bestmove is not None
    assert answer.bestmove.move == "G*4h"


def test_depth_ends_a_search(start: Start) -> None:
    client = start()
    client.position()
    answer = client.go(Go(depth=3), PATIENCE_S)
    assert answer.best_info is not None
    assert (answer.best_info.depth or 0) >= 3


BROKEN_POSITIONS = (
    "position",
    "position sfen 9/9 b - 1",
    "position startpos moves 7g7e",
    "position startpos moves 7g7f 7g7f",
    "position startpos moves " + "7g7f " * 300_000,
)


@pytest.mark.parametrize("line", BROKEN_POSITIONS, ids=lambda line: line[:40])
def test_after_a_broken_position_no_move_is_played(start: Start, line: str) -> None:
    client = start()
    client.position(MATE_IN_ONE)
    client.send(line)
    (reason,) = strings(client)
    assert len(reason) < 400
    answer = client.go(Go(byoyomi_ms=5000), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "resign"
    assert [info.string for info in answer.infos] == ["no search: the last position was refused"]
    assert client.go(Go(mate=True), PATIENCE_S).checkmate is not None
    client.position(MATE_IN_ONE)
    answer = client.go(Go(nodes=10), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move == "G*2b"


def test_a_position_without_a_king_is_for_go_mate_alone(start: Start) -> None:
    client = start(Stochastic_Ponder="true")
    client.send("position sfen k8/9/9/9/9/9/9/9/9 b G2r2b3g4s4n4l18p 1")
    assert strings(client) == []
    mate = client.go(Go(mate=True, mate_ms=100), PATIENCE_S).checkmate
    assert mate is not None
    assert mate.verdict == "nomate"
    for go in (Go(byoyomi_ms=5000), Go(nodes=10)):
        answer = client.go(go, PATIENCE_S)
        assert answer.bestmove is not None
        assert answer.bestmove.move == "resign"
        (info,) = answer.infos
        assert info.string == "no search: Black has no king; only go mate takes such a position"
    says_at_once(client, "Black has no king; only go mate takes such a position")


def test_go_without_isready_and_position_still_answers(start: Start) -> None:
    client = start(ready=False)
    answer = client.go(Go(nodes=20), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in moves_of()


def test_an_evaluator_that_fails_ends_the_search_with_a_reason_and_a_move(start: Start) -> None:
    for batches in ("0", "5"):
        client = start("failing", batches)
        client.position()
        answer = client.go(Go(byoyomi_ms=600_000), PATIENCE_S)
        assert answer.seconds < PATIENCE_S / 2
        assert answer.bestmove is not None
        assert answer.bestmove.move in moves_of()
        assert any(info.string == "Error: the device caught fire" for info in answer.infos)
        client.start_go(Go(infinite=True))
        assert "caught fire" in next_line(client, PATIENCE_S).text
        never_answers(client, 0.2)
        client.stop()
        assert client.wait_answer(PATIENCE_S).bestmove is not None
    client.wait_ready()  # loads the evaluator anew, with five good batches
    client.position()
    answer = client.go(Go(nodes=4), PATIENCE_S)
    assert not any(info.string and "caught fire" in info.string for info in answer.infos)


def test_plays_with_the_embedded_network(start: Start) -> None:
    client = start(DNN_Model="<internal>")
    client.position()
    answer = client.go(Go(nodes=200), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.bestmove.move in (
        "7g7f",
        "2g2f",
        "7i6h",
        "7i7h",
        "5g5f",
        "6g6f",
        "3i4h",
        "2h7h",
        "9g9f",
        "1g1f",
        "4i5h",
    )
    assert answer.best_info is not None
    assert abs(answer.best_info.score.cp or 0) < 300


@pytest.mark.parametrize(
    ("sfen", "mate"),
    [
        (MATE_IN_ONE, 1),
        ("8l/6lpk/7n1/6S1P/9/9/9/9/K8 b RN 1", 3),
        ("8l/6lpk/7n1/6SNP/9/9/9/9/K8 w R 2", -2),  # the side to move is mated: an even number of plies, and negative
    ],
)
def test_the_sign_and_parity_of_mates(start: Start, sfen: str, mate: int) -> None:
    client = start()
    client.position(sfen)
    infos = client.go(Go(nodes=300), PATIENCE_S).infos
    found = [info.score.mate for info in infos if info.score is not None and info.score.mate is not None]
    assert found[-1] == mate
    assert all(each % 2 == (each > 0) for each in found)
