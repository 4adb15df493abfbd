"""Thinking in the opponent's time: what engines are sent, whose time it is, and what may go wrong meanwhile."""

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest
from arena_players import QUIET, patient
from places import HELPERS

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.referee import PlayedGame, play_game
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.shogi.record import Result, Termination

ENGINE = (sys.executable, "-S", "-E", str(HELPERS / "ponder_engine.py"))
OWN = (sys.executable, "-m", "fukayomi", "usi")
CLOCK = "main=60s,increment=1s"

Ponderers = Callable[..., UsiPlayer]


@pytest.fixture
def ponderer() -> Generator[Ponderers]:
    players: list[UsiPlayer] = []

    def create(name: str, mode: str = "ok", guesses: str = "", clock: str = CLOCK) -> UsiPlayer:
        command = (*ENGINE, mode, ",".join(QUIET), guesses)
        player = UsiPlayer(EngineSettings(name=name, command=command), TimeControl.from_text(clock), None)
        player.stop_grace_s = 2.0
        players.append(player)
        return player

    yield create
    for player in players:
        player.close()


def play(black: UsiPlayer, white: UsiPlayer, plies: int = 6, **rules: object) -> PlayedGame:
    played = play_game(black, white, Opening(), patient(max_plies=plies, **rules), ponder=True)
    assert played is not None
    return played


def talk_of(player: UsiPlayer) -> list[str]:
    """What the player hears from now on: the lines of the conversation but the engine's introduction."""
    heard: list[str] = []

    def hear(line: str) -> None:
        if line.split()[1] not in ("id", "option", "info", "usi", "usiok", "isready", "readyok"):
            heard.append(line)

    player.log = hear
    return heard


def test_the_conversation_of_a_hit_and_a_miss(ponderer: Ponderers) -> None:
    black, white = ponderer("b", guesses="3=4a3b"), ponderer("w")
    heard = talk_of(black)
    played = play(black, white, 5)
    assert played.record.usi_moves() == QUIET[:5]
    assert (played.failure, played.warnings) == (None, ())
    times = [line.split("btime ")[1].split()[0] for line in heard if "btime" in line]
    lines = [line.partition(" btime")[0] for line in heard]
    assert lines == [
        "> setoption name USI_Ponder value true", "> usinewgame",
        "> position startpos", "> go", "< bestmove 7g7f ponder 3c3d",
        "> position startpos moves 7g7f 3c3d", "> go ponder",
        "> ponderhit", "< bestmove 2g2f ponder 4a3b",
        "> position startpos moves 7g7f 3c3d 2g2f 4a3b", "> go ponder",
        "> stop", "< bestmove 2f2e ponder 8d8e",
        "> position startpos moves 7g7f 3c3d 2g2f 8c8d", "> go", "< bestmove 2f2e ponder 8d8e",
        "> gameover draw",
    ]  # fmt: skip
    assert len(times) == 4
    assert all(60_000 <= int(time_ms) <= 65_000 for time_ms in times), "what is left before the move"


def test_a_game_without_ponder_and_an_engine_that_expects_nothing(ponderer: Ponderers) -> None:
    black, white = ponderer("b"), ponderer("w", guesses="2=-,4=-,6=-")
    heard = talk_of(white)
    assert play(black, white).record.usi_moves() == QUIET[:6]
    assert not [line for line in heard if "go ponder" in line or line in ("> stop", "> ponderhit")]
    heard = talk_of(black)
    assert play_game(black, white, Opening(), patient(max_plies=4)) is not None
    assert not [line for line in heard if "ponder " in line and line.startswith(">")]


@pytest.mark.parametrize("guess", ["1=9a9b", "1=7g7f", "1=3c3b+"])
def test_an_expected_move_that_is_not_legal_is_not_pondered(ponderer: Ponderers, guess: str) -> None:
    black, white = ponderer("b", guesses=guess), ponderer("w")
    heard = talk_of(black)
    assert play(black, white, 2).record.usi_moves() == QUIET[:2]
    assert not [line for line in heard if "go ponder" in line]


def test_a_move_that_ends_the_game_is_not_pondered(ponderer: Ponderers) -> None:
    black, white = ponderer("b"), ponderer("w")
    heard = talk_of(black)
    assert play(black, white, 2).record.termination is Termination.MAX_PLIES
    assert not [line for line in heard if "go ponder" in line]


def test_the_time_counts_from_ponderhit(ponderer: Ponderers) -> None:
    """Each move takes 300 ms; while the opponent's 300 ms run, no time of the pondering side does."""
    played = play(ponderer("b", "late:300"), ponderer("w", "late:300"), 4)
    used = [move.time_ms or 0 for move in played.record.moves]
    assert len(used) == 4
    assert all(300 <= time_ms < 590 for time_ms in sorted(used)[:3]), used  # one may be held up by the machine


def test_a_move_that_was_pondered_has_no_overhead(ponderer: Ponderers) -> None:
    """The time that an engine reports counts from `go ponder`, that of the referee from `ponderhit`."""
    played = play(ponderer("b", guesses="3=4a3b"), ponderer("w"), 5)
    assert [answer.reported_ms for answer in played.answers if answer.engine == "b"] == [1, None, 1]


def test_the_time_to_stop_is_the_engines_own(ponderer: Ponderers) -> None:
    played = play(ponderer("b", "slow-stop", guesses="1=8c8d"), ponderer("w"), 3)
    times = [move.time_ms or 0 for move in played.record.moves]
    assert times[2] >= 400
    late = play_game(
        ponderer("b", "slow-stop", "1=8c8d", "byoyomi=100ms"), ponderer("w"), Opening(),
        patient(max_plies=4, margin_ms=200), ponder=True,
    )  # fmt: skip
    assert late is not None
    assert (late.record.termination, late.record.result) == (Termination.TIME_UP, Result.WHITE_WIN)
    assert late.failure is None


@pytest.mark.parametrize(
    ("mode", "guesses", "kind", "said"),
    [
        ("dies", "", Termination.CRASH, "no board in the head"),
        ("dies", "1=8c8d", Termination.CRASH, "no board in the head"),
        ("flood", "", Termination.PROTOCOL, "more than 100000 lines"),
        ("deaf-stop", "1=8c8d", Termination.STALL, "did not send bestmove"),
        ("deaf-hit", "", Termination.STALL, "did not send bestmove"),
    ],
)
def test_who_fails_while_pondering_loses(
    ponderer: Ponderers, mode: str, guesses: str, kind: Termination, said: str
) -> None:
    clock = "byoyomi=1s" if mode == "deaf-hit" else CLOCK
    bad, good = ponderer("bad", mode, guesses, clock), ponderer("good", "late:100")
    bad.stop_grace_s = 0.2
    rules = {"margin_ms": 0} if mode == "deaf-hit" else {}
    played = play(bad, good, **rules)
    assert (played.record.termination, played.record.result) == (kind, Result.WHITE_WIN)
    assert played.failure is not None
    assert (played.failure.engine, played.failure.kind) == ("bad", kind)
    assert said in played.failure.detail
    assert bad.pid is None
    assert good.pid is not None
    again = play(ponderer("next"), good)
    assert (again.record.usi_moves(), again.failure) == (QUIET[:6], None)


@pytest.mark.parametrize("mode", ["early", "twice", "no-move"])
@pytest.mark.parametrize("guesses", ["", "1=8c8d,3=4a3b"])
def test_odd_answers_while_pondering_are_not_the_next_ones(ponderer: Ponderers, mode: str, guesses: str) -> None:
    odd, good = ponderer("odd", mode, guesses), ponderer("good")
    for _ in range(2):
        played = play(odd, good)
        assert played.record.usi_moves() == QUIET[:6]
        assert played.failure is None
    if mode != "no-move":
        assert [warning for warning in played.warnings if "odd: answered while it was pondering" in warning]


def test_the_end_of_the_game_ends_pondering(ponderer: Ponderers) -> None:
    """Black resigns while White ponders; both play on."""
    black, white = ponderer("b"), ponderer("w", guesses="8=2e2d")
    for _ in range(2):
        heard = talk_of(white)
        played = play(black, white, 20)
        assert (played.record.termination, played.record.result) == (Termination.RESIGN, Result.WHITE_WIN)
        assert (played.failure, played.warnings) == (None, ())
        assert heard[-3:] == ["> stop", "< bestmove resign", "> gameover win"]


def test_who_does_not_stop_at_the_end_has_won_and_is_started_again(ponderer: Ponderers) -> None:
    black, deaf = ponderer("b"), ponderer("deaf", "deaf-stop", guesses="8=2e2d")
    deaf.stop_grace_s = 0.2
    played = play(black, deaf, 20)
    assert (played.record.termination, played.record.result) == (Termination.RESIGN, Result.WHITE_WIN)
    assert played.failure is not None
    assert (played.failure.engine, played.failure.kind) == ("deaf", Termination.STALL)
    assert deaf.pid is None
    assert play(black, deaf, 4).record.usi_moves() == QUIET[:4]


def test_a_game_that_is_stopped_leaves_both_able_to_play(ponderer: Ponderers) -> None:
    stop = threading.Event()
    black, white = ponderer("b"), ponderer("w", "late:60000")
    black.log = lambda line: stop.set() if line.startswith("> go ponder") else None
    assert play_game(black, white, Opening(), patient(), stop, ponder=True) is None
    black.log = None
    heard = talk_of(black)
    assert play(black, ponderer("other"), 4).record.usi_moves() == QUIET[:4]
    assert "< bestmove 2g2f ponder 8c8d" in heard[:2], "it stopped pondering"


def test_our_own_engine_ponders() -> None:
    """It expects moves, and its time counts from ponderhit."""
    options = {"Threads": "1", "UCT_Threads": "1", "DNN_Batch_Size": "1", "DNN_Provider": "native"}
    clock = TimeControl.from_text("main=5s,increment=200ms")
    talk: list[str] = []
    with ExitStack() as stack:
        settings = [EngineSettings(name=name, command=OWN, options=options) for name in ("one", "two")]
        players = [stack.enter_context(UsiPlayer(each, clock)) for each in settings]
        for player in players:
            player.log = lambda line: talk.append(line)
        played = play(*players, 12)
    assert (played.failure, played.warnings, len(played.record)) == (None, (), 12)
    assert any(line.startswith("> go ponder") for line in talk)
    assert any(line == "> ponderhit" for line in talk)
    assert "> setoption name USI_Ponder value true" in talk
    assert "> setoption name Draw_Ply value 12" in talk
