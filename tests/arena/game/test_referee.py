"""Games by the rules, between engines that play what they are given."""

import threading
import time

import pytest
from arena_players import QUIET, Players, game, patient
from patience import PATIENCE_S

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.referee import play_game
from fukayomi.arena.game.rules import EngineSettings, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.formats import read_records, write_csa, write_kif
from fukayomi.shogi.record import Result, Termination

# Black takes the pawn in front of White's king with a gold that the silver guards.
MATE_IN_ONE = "4k4/9/4S4/9/9/9/9/9/4K4 b G 1"
DECLARES = "1+P+P+P+P+P+P+P1/K1+R+R+B+B3/9/9/9/9/9/9/4k4 b 4G4S 1"  # Black may, if the points are enough
SHUFFLE = ["5i5h", "5a5b", "5h5i", "5b5a"]
CHECKS = "4k4/9/9/9/9/9/9/5R3/4K4 b - 1"
PERPETUAL = ["4h5h", "5a4a", "5h4h", "4a5a"]


def opening(sfen: str = START_SFEN, *moves: str) -> Opening:
    return Opening(initial_sfen=sfen, moves=tuple(Move.from_usi(move) for move in moves))


def test_a_game_has_everything_in_its_record(player_of: Players) -> None:
    moves = ["7g7f@30", "3c3d@-50", "2g2f@mate5", "8c8d@mate-4", "2f2e", "resign"]
    played = game(player_of("b", moves=moves), player_of("w", moves=moves))
    record = played.record
    assert (played.failure, played.warnings) == (None, ())
    assert (record.black_name, record.white_name) == ("b", "w")
    assert record.usi_moves() == ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e"]
    assert [move.score_cp for move in record.moves] == [30, 50, 30_000, 30_000, None]  # from Black's side
    assert [move.mate for move in record.moves] == [None, None, 5, 4, None]
    assert all(move.time_ms is not None for move in record.moves)
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)
    assert record.start_time <= record.end_time


def test_the_expected_continuation_is_kept_as_far_as_it_is_legal(player_of: Players) -> None:
    played = game(player_of("b", moves=["7g7f@30"]), player_of("w", moves=["", "3c3d@5"]), rules=patient(max_plies=2))
    assert [move.pv for move in played.record.moves] == ["9a9b", ""]  # White's lance: no move of Black's


def test_the_opening_is_played_before(player_of: Players) -> None:
    played = game(player_of("b"), player_of("w"), opening(START_SFEN, "7g7f", "3c3d"), patient(max_plies=4))
    assert played.record.usi_moves() == QUIET[:4]
    assert [move.time_ms is None for move in played.record.moves] == [True, True, False, False]


def test_white_may_begin(player_of: Players) -> None:
    sfen = START_SFEN.replace(" b ", " w ")
    played = game(player_of("b", moves=["", "7g7f"]), player_of("w", moves=["3c3d", "", "resign"]), opening(sfen))
    assert played.record.usi_moves() == ["3c3d", "7g7f"]
    assert (played.record.termination, played.record.result) == (Termination.RESIGN, Result.BLACK_WIN)


def test_players_stay_for_the_next_game_and_change_colours(player_of: Players) -> None:
    one, two = player_of("one"), player_of("two")
    rules = patient(max_plies=3)
    pids = set()
    for black, white in ((one, two), (two, one)):
        played = game(black, white, rules=rules)
        assert (played.record.black_name, played.record.white_name) == (black.name, white.name)
        assert played.record.termination is Termination.MAX_PLIES
        pids |= {one.pid, two.pid}
    assert len(pids) == 2


def test_nobody_plays_against_itself(player_of: Players) -> None:
    alone = player_of("alone")
    with pytest.raises(ValueError, match="two players"):
        play_game(alone, alone, Opening(), Rules())


# ---------------------------------------------------------------------------------------------- the rules


def test_mate(player_of: Players) -> None:
    played = game(player_of("b", moves=["G*5b"]), player_of("w", moves=[]), opening(MATE_IN_ONE), patient(max_plies=1))
    assert (played.record.termination, played.record.result) == (Termination.MATE, Result.BLACK_WIN)


@pytest.mark.parametrize(("plies", "ends"), [(12, True), (11, False)], ids=["fourth", "third"])
def test_fourfold_repetition(player_of: Players, plies: int, ends: bool) -> None:
    moves = (SHUFFLE * 4)[:plies]
    played = game(player_of("b", moves=moves), player_of("w", moves=moves))
    assert len(played.record) == plies
    expected = (Termination.REPETITION, Result.DRAW) if ends else (Termination.RESIGN, Result.BLACK_WIN)
    assert (played.record.termination, played.record.result) == expected


@pytest.mark.parametrize("checker_is_black", [True, False], ids=["black", "white"])
def test_perpetual_check_loses(player_of: Players, checker_is_black: bool) -> None:
    sfen, moves = CHECKS, PERPETUAL * 5
    if not checker_is_black:
        sfen = "4k4/3r5/9/9/9/9/9/9/4K4 w - 1"
        moves = ["6b5b", "5i6i", "5b6b", "6i5i"] * 5
    black, white = player_of("b", moves=moves), player_of("w", moves=moves)
    played = game(black, white, opening(sfen))
    result = Result.WHITE_WIN if checker_is_black else Result.BLACK_WIN
    assert (played.record.termination, played.record.result) == (Termination.PERPETUAL_CHECK, result)
    assert len(played.record) < 20
    for suffix, write in (("csa", write_csa), ("kif", write_kif)):
        (again,) = read_records(write(played.record).encode(), name=f"game.{suffix}")
        assert again.result is result


@pytest.mark.parametrize("plies", [5, 6])
def test_the_number_of_plies_counts_the_opening(player_of: Players, plies: int) -> None:
    played = game(player_of("b"), player_of("w"), opening(START_SFEN, *QUIET[:2]), patient(max_plies=plies))
    assert (len(played.record), played.record.termination, played.record.result) == (
        plies,
        Termination.MAX_PLIES,
        Result.DRAW,
    )


@pytest.mark.parametrize(
    ("sfen", "declaration", "is_true"),
    [
        (DECLARES, "27", True),
        (DECLARES, "24", True),
        (DECLARES, "none", False),
        (DECLARES.replace("+R+R+B+B3", "7"), "27", False),
        (START_SFEN, "27", False),
    ],
    ids=["27", "24", "none", "points", "home"],
)
def test_declarations(player_of: Players, sfen: str, declaration: str, is_true: bool) -> None:
    played = game(player_of("b", moves=["win"]), player_of("w"), opening(sfen), patient(declaration=declaration))
    record = played.record
    if is_true:
        assert (record.termination, record.result) == (Termination.DECLARATION, Result.BLACK_WIN)
    else:
        assert (record.termination, record.result) == (Termination.ILLEGAL_MOVE, Result.WHITE_WIN)
        assert record.illegal_move == "win"


@pytest.mark.parametrize(
    ("opening_moves", "sfen", "termination", "result"),
    [
        (["G*5b"], MATE_IN_ONE, Termination.MATE, Result.BLACK_WIN),
        (SHUFFLE * 3 + ["7g7f"], START_SFEN, Termination.REPETITION, Result.DRAW),
        (PERPETUAL * 3 + ["4h5h"], CHECKS, Termination.PERPETUAL_CHECK, Result.WHITE_WIN),
        (QUIET, START_SFEN, Termination.MAX_PLIES, Result.DRAW),
    ],
    ids=["mate", "repetition", "perpetual", "plies"],
)
def test_an_opening_may_end_the_game(
    player_of: Players, opening_moves: list[str], sfen: str, termination: Termination, result: Result
) -> None:
    black, white = player_of("b"), player_of("w")
    played = game(black, white, opening(sfen, *opening_moves), patient(max_plies=8 if opening_moves == QUIET else 320))
    assert (played.record.termination, played.record.result) == (termination, result)
    assert (black.pid, white.pid) == (None, None)  # nobody was asked


IN_CAMP = "K8/GGGGSSSS+N/N8/9/9/9/9/9/8k b {hand} 1"
IN_CAMP_WHITE = "K8/9/9/9/9/9/8n/+nssssgggg/8k w {hand} 1"


@pytest.mark.parametrize(
    ("sfen", "declaration", "termination", "result"),
    [
        (IN_CAMP.format(hand="2R2BP"), "24", Termination.DECLARATION, Result.BLACK_WIN),
        (IN_CAMP.format(hand="2R2B"), "24", Termination.IMPASSE, Result.DRAW),
        (IN_CAMP.format(hand="14P"), "24", Termination.IMPASSE, Result.DRAW),
        (IN_CAMP.format(hand="13P"), "24", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        (IN_CAMP.format(hand="14P"), "27", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        (IN_CAMP.format(hand="14P"), "27H", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        (IN_CAMP_WHITE.format(hand="4p"), "27", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        (IN_CAMP_WHITE.format(hand="4p"), "27H", Termination.DECLARATION, Result.WHITE_WIN),  # 40 are missing
        (IN_CAMP_WHITE.format(hand="RB4L14P4p"), "24H", Termination.IMPASSE, Result.DRAW),
        ("9/4K4/9/9/9/9/9/9/8k b - 1", "try", Termination.DECLARATION, Result.BLACK_WIN),
        ("9/9/4K4/9/9/9/9/9/8k b - 1", "try", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
    ],
)
def test_declarations_by_all_rules(
    player_of: Players, sfen: str, declaration: str, termination: Termination, result: Result
) -> None:
    black, white = player_of("b", moves=["win"]), player_of("w", moves=["win"])
    played = game(black, white, opening(sfen), patient(declaration=declaration))
    assert (played.record.termination, played.record.result) == (termination, result)


@pytest.mark.parametrize(("declaration", "wins"), [("try", True), ("27", False)])
def test_the_move_of_a_try_ends_the_game(player_of: Players, declaration: str, wins: bool) -> None:
    start = opening("9/4K4/9/9/9/9/9/9/8k b - 1")
    moves = ["5b5a", "1i2i", "resign"]
    played = game(player_of("b", moves=moves), player_of("w", moves=moves), start, patient(declaration=declaration))
    record = played.record
    if wins:
        assert (record.termination, record.result) == (Termination.DECLARATION, Result.BLACK_WIN)
        assert (record.usi_moves(), record.comment) == ([], "try (トライ): 5b5a")
    else:
        assert (record.termination, record.usi_moves()) == (Termination.RESIGN, ["5b5a", "1i2i"])


@pytest.mark.parametrize("color", ["black", "white"])
@pytest.mark.parametrize("text", ["7g7e", "7f7e", "P*5e", "win"])
def test_illegal_moves_lose(player_of: Players, text: str, color: str) -> None:
    moves = [text, ""] if color == "black" else ["2g2f", text]
    played = game(player_of("b", moves=moves), player_of("w", moves=moves))
    record = played.record
    assert record.termination is Termination.ILLEGAL_MOVE
    assert record.result is (Result.WHITE_WIN if color == "black" else Result.BLACK_WIN)
    assert record.illegal_move == text
    assert played.failure is None
    (again,) = read_records(write_csa(record).encode(), name="game.csa")
    assert (again.termination, again.result) == (record.termination, record.result)


@pytest.mark.parametrize("color", ["black", "white"])
@pytest.mark.parametrize("text", ["0000", "(none)", "７六歩", "", "resigns", "7g7f7e"])
def test_an_answer_that_is_no_move_breaks_the_protocol(player_of: Players, text: str, color: str) -> None:
    moves = [text, ""] if color == "black" else ["2g2f", text]
    black, white = player_of("b", moves=moves), player_of("w", moves=moves)
    played = game(black, white)
    assert played.record.termination is Termination.PROTOCOL
    assert played.record.result is (Result.WHITE_WIN if color == "black" else Result.BLACK_WIN)
    said = f"answered {text!r}, which is not a move" if text else "sent bestmove without a move"
    assert played.failure == Failure("b" if color == "black" else "w", Termination.PROTOCOL, said)
    assert (black if color == "black" else white).pid is None, "it is started again for the next game"


# ---------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("clock", "margin_ms", "in_time"),
    [
        ("byoyomi=100ms", 60_000, True),
        ("byoyomi=100ms", 50, False),
        ("main=100ms", 50, False),
        ("main=50,inc=50", 50, False),
        ("main=10ms,byoyomi=60s", 0, True),
        ("movetime=100", 50, False),
        ("movetime=100", 60_000, True),
        ("nodes=5", 0, True),
    ],
)
@pytest.mark.parametrize("color", ["black", "white"])
def test_time_forfeits(player_of: Players, clock: str, margin_ms: int, in_time: bool, color: str) -> None:
    """The engine answers after 300 ms."""
    slow, quick = player_of("slow", "slow:300", clock=clock), player_of("quick")
    slow.stop_grace_s = PATIENCE_S
    players = (slow, quick) if color == "black" else (quick, slow)
    played = game(*players, rules=patient(margin_ms=margin_ms, max_plies=2))
    record = played.record
    assert played.failure is None  # it answered, if late, and can play on
    assert slow.pid is not None
    if in_time:
        assert record.termination is Termination.MAX_PLIES
    else:
        assert record.termination is Termination.TIME_UP
        assert record.result is (Result.WHITE_WIN if color == "black" else Result.BLACK_WIN)
        assert len(record) == (0 if color == "black" else 1)


def test_each_side_has_its_own_clock(player_of: Players) -> None:
    heard: list[str] = []
    black = player_of("b", "slow:30", clock="main=60s,byoyomi=5s")
    white = player_of("w", "slow:30", clock="30+7")
    black.log = white.log = heard.append
    game(black, white, rules=patient(max_plies=4))
    told = [line.split() for line in heard if line.startswith("> go")]
    assert told[0] == [">", "go", "btime", "60000", "wtime", "30000", "byoyomi", "5000"]
    assert told[1][-4:] == ["binc", "0", "winc", "7000"]
    assert 0 < int(told[2][3]) < 60_000  # Black has used some
    assert 30_000 < int(told[2][5]) <= 37_000  # White has got its increment
    assert told[3][-2:] == ["winc", "7000"]


def test_nodes_go_round_with_the_openings(player_of: Players) -> None:
    heard: list[str] = []
    black, white = player_of("b", clock="nodes=10/20/30"), player_of("w", clock="depth=3")
    black.log = white.log = heard.append
    for number, turn in ((0, 0), (1, 0), (1, 1), (2, 1)):
        game(black, white, Opening(number=number, round=turn), patient(max_plies=2))
    told = [line.removeprefix("> go ") for line in heard if line.startswith("> go")]
    assert told == ["nodes 10", "depth 3", "nodes 20", "depth 3", "nodes 30", "depth 3", "nodes 10", "depth 3"]


# ---------------------------------------------------------------------------------------------- adjudication


def scored(*scores: str) -> list[str]:
    return [f"{move}@{score}" if score else move for move, score in zip(QUIET, scores, strict=False)]


def test_a_lost_game_is_resigned_at_the_losers_turn(player_of: Players) -> None:
    moves = scored("900", "-899", "900", "-900", "1000", "-1000", "1000")
    rules = patient(resign={"score_cp": 900, "moves": 2})
    played = game(player_of("b", moves=moves), player_of("w", moves=moves), rules=rules)
    # White's second bad score comes at ply 6; White is to move after ply 7
    assert len(played.record) == 7
    assert (played.record.termination, played.record.result) == (Termination.ADJUDICATION, Result.BLACK_WIN)


def test_a_level_game_is_drawn(player_of: Players) -> None:
    moves = scored("500", "0", "10", "-10", "0", "5")
    rules = patient(draw={"score_cp": 10, "moves": 2, "ply": 0})
    played = game(player_of("b", moves=moves), player_of("w", moves=moves), rules=rules)
    assert len(played.record) == 5
    assert (played.record.termination, played.record.result) == (Termination.ADJUDICATION, Result.DRAW)


# ---------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize(
    ("mode", "last", "survives"),
    [
        ("waits-for-stop:2", "> go nodes 1", True),
        ("mute-go:2", "> go nodes 1", False),
        ("mute-isready", "> isready", False),
    ],
)
def test_a_game_may_be_stopped(player_of: Players, mode: str, last: str, survives: bool) -> None:
    black, white = player_of("b", mode), player_of("w")
    if survives:
        black.stop_grace_s = PATIENCE_S
    stop = threading.Event()
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        if heard.count(last) == (2 if "go" in last else 1):  # what it does not answer
            threading.Timer(0.1, stop.set).start()

    black.log = hear
    begin = time.monotonic()
    assert play_game(black, white, Opening(), patient(), stop) is None
    assert time.monotonic() - begin < PATIENCE_S
    assert (black.pid is not None) is survives
    if mode != "mute-isready":
        assert game(white, player_of("c"), rules=patient(max_plies=2)).failure is None


# ---------------------------------------------------------------------------------------------- real engines


def test_a_game_between_real_engines(fairy_stockfish: str) -> None:
    settings = {"command": (fairy_stockfish,), "options": {"UCI_Variant": "shogi", "Threads": "1"}}
    clock = TimeControl.from_text("byoyomi=20ms")
    players = [UsiPlayer(EngineSettings.model_validate({"name": name, **settings}), clock) for name in ("one", "two")]
    with players[0] as black, players[1] as white:
        played = game(black, white, opening(START_SFEN, *QUIET), patient(max_plies=60))
    record = played.record
    assert (played.failure, played.warnings) == (None, ())
    assert len(record) == 60 or record.termination in (Termination.MATE, Termination.RESIGN, Termination.REPETITION)
    assert all(move.score_cp is not None for move in record.moves[len(QUIET) :])
    assert any(move.pv for move in record.moves)
    position = Position()
    for move in record.moves:
        position.push(move.move)
    for suffix, write in (("csa", write_csa), ("kif", write_kif)):
        (again,) = read_records(write(record).encode(), name=f"game.{suffix}")
        assert again.usi_moves() == record.usi_moves()
        assert (again.termination, again.result) == (record.termination, record.result)
