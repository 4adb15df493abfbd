"""Players in this process fail, hang and run out of time like engines in processes of their own."""

import threading
import time

import pytest
from arena_players import QUIET, Players, game, patient
from patience import PATIENCE_S, until

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import InProcessPlayer, MovePlayer, PlayerFailedError
from fukayomi.arena.game.referee import play_game
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Result, Termination
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import BestMove, Go, Info, UsiScore


class Quiet(MovePlayer):
    """Plays the quiet moves, then resigns; remembers what it was told."""

    def __init__(self) -> None:
        self.asked: list[Go] = []
        self.games = 0

    def new_game(self) -> None:
        self.games += 1

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        self.asked.append(go)
        ply = len(position.moves)
        if ply >= len(QUIET):
            return SearchAnswer(BestMove("resign"))
        word = QUIET[ply]
        position.push_usi(word)  # the position is the player's own
        return SearchAnswer(
            BestMove(word), infos=(Info(score=UsiScore(cp=10 * ply), pv=(word, *QUIET[ply + 1 : ply + 3])),)
        )


class Sleeper(Quiet):
    """Thinks until it is stopped, if it listens."""

    def __init__(self, *, listens: bool = True, ends: threading.Event | None = None) -> None:
        super().__init__()
        self._listens = listens
        self._stopped = ends or threading.Event()

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        self._stopped.wait()
        return super().choose(position, go)

    def stop(self) -> None:
        if self._listens:
            self._stopped.set()


class Broken(Quiet):
    """Fails at one of its calls."""

    def __init__(self, call: str, error: BaseException) -> None:
        super().__init__()
        self._call, self._error = call, error

    def new_game(self) -> None:
        if self._call == "new_game":
            raise self._error

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        if self._call == "stop":
            time.sleep(0.3)
        if self._call == "choose":
            raise self._error
        return super().choose(position, go)

    def stop(self) -> None:
        raise self._error


def player(chooser: MovePlayer, name: str = "own", clock: str = "nodes=1") -> InProcessPlayer:
    settings = EngineSettings(name=name, identity=chooser.identity)
    made = InProcessPlayer(chooser, settings, TimeControl.from_text(clock))
    made.stop_grace_s = PATIENCE_S
    return made


@pytest.mark.parametrize("color", ["black", "white"])
def test_it_plays_against_an_engine_in_a_process(player_of: Players, color: str) -> None:
    chooser = Quiet()
    own, other = player(chooser), player_of("other")
    played = game(*((own, other) if color == "black" else (other, own)), rules=patient(max_plies=6))
    assert played.record.usi_moves() == QUIET[:6]
    assert (played.record.termination, played.failure, played.warnings) == (Termination.MAX_PLIES, None, ())
    first = 0 if color == "black" else 1
    assert [move.score_cp for move in played.record.moves[first::2]] == [
        10 * ply * (1 if color == "black" else -1) for ply in range(first, 6, 2)
    ]
    assert played.record.moves[first].pv == " ".join(QUIET[first + 1 : first + 3])
    assert chooser.asked == [Go(nodes=1)] * 3
    assert chooser.games == 1


def test_it_is_told_its_clock_and_may_resign() -> None:
    black, white = Quiet(), Quiet()
    played = game(player(black, "b", "main=60s,byoyomi=5s"), player(white, "w", "30+7"))
    assert black.asked[0] == Go(btime_ms=60_000, wtime_ms=30_000, byoyomi_ms=5000)
    assert (white.asked[0].binc_ms, white.asked[0].winc_ms) == (0, 7000)
    assert (played.record.termination, played.record.result) == (Termination.RESIGN, Result.WHITE_WIN)


def test_a_plain_move_is_an_answer() -> None:
    class First(MovePlayer):
        def choose(self, position: Position, go: Go) -> Move:
            return position.legal_moves[0]

    played = game(player(First(), "b"), player(First(), "w"), rules=patient(max_plies=4))
    assert len(played.record) == 4
    assert player(First()).name == "own"
    assert "First" in First().identity


@pytest.mark.parametrize("error", [ValueError("no such thing"), SystemExit(3)], ids=["error", "exit"])
@pytest.mark.parametrize("call", ["new_game", "choose", "stop"])
def test_an_exception_is_a_crash_under_its_name(call: str, error: BaseException) -> None:
    if call == "stop" and isinstance(error, SystemExit):
        error = RuntimeError("cannot stop")
    bad = player(Broken(call, error), "bad", "byoyomi=50ms")
    played = game(bad, player(Quiet(), "good"), rules=patient(margin_ms=0))
    assert (played.record.termination, played.record.result) == (Termination.CRASH, Result.WHITE_WIN)
    assert played.failure is not None
    assert (played.failure.engine, played.failure.kind) == ("bad", Termination.CRASH)
    assert played.failure.detail.startswith(f"{type(error).__name__}: {error}\n")
    assert "raise self._error" in played.failure.detail


def test_an_answer_of_another_kind_is_a_crash() -> None:
    class Odd(Quiet):
        def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
            return "7g7f"  # pyright: ignore[reportReturnType]

    played = game(player(Odd(), "bad"), player(Quiet(), "good"))
    assert played.failure is not None
    assert "choose() returned str, not a Move" in played.failure.detail


def test_an_illegal_move_loses() -> None:
    class Illegal(Quiet):
        def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
            return Move.from_usi("5i5a")

    record = game(player(Quiet(), "good"), player(Illegal(), "bad")).record
    assert (record.termination, record.illegal_move) == (Termination.ILLEGAL_MOVE, "5i5a")


def test_a_late_answer_loses_on_time_and_the_player_goes_on() -> None:
    slow = player(Sleeper(), "slow", "byoyomi=50ms")
    played = game(slow, player(Quiet(), "good"), rules=patient(margin_ms=0))
    assert (played.record.termination, played.failure) == (Termination.TIME_UP, None)
    assert game(slow, player(Quiet(), "good"), rules=patient(max_plies=2)).record.termination is Termination.MAX_PLIES


def test_a_player_that_does_not_stop_hangs_and_its_next_game_waits_for_it() -> None:
    ends = threading.Event()
    hangs = player(Sleeper(listens=False, ends=ends), "hangs", "byoyomi=50ms")
    hangs.stop_grace_s = 0.3
    played = game(hangs, player(Quiet(), "good"), rules=patient(margin_ms=0))
    assert (played.record.termination, played.record.result) == (Termination.STALL, Result.WHITE_WIN)
    with pytest.raises(PlayerFailedError, match="still busy with the last game"):
        hangs.prepare(patient(ready_timeout_ms=100))
    ends.set()
    hangs.prepare(patient())


def test_a_stop_ends_the_search() -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    begin = time.monotonic()
    assert play_game(player(Sleeper(), "b"), player(Quiet(), "w"), Opening(), patient(), stop) is None
    assert time.monotonic() - begin < PATIENCE_S / 2


def test_a_stop_that_comes_too_early_is_repeated() -> None:
    class Late(Quiet):
        """Hears a stop only when it has begun, which takes a while."""

        has_begun = False
        stops = 0

        def __init__(self) -> None:
            super().__init__()
            self.is_stopped = threading.Event()

        def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
            until(lambda: self.stops)
            self.has_begun = True
            self.is_stopped.wait()
            return super().choose(position, go)

        def stop(self) -> None:
            self.stops += 1
            if self.has_begun:
                self.is_stopped.set()

    played = game(player(Late(), "late", "byoyomi=50ms"), player(Quiet(), "good"), rules=patient(margin_ms=0))
    assert (played.record.termination, played.failure) == (Termination.TIME_UP, None)


def test_the_log_reads_like_that_of_an_engine() -> None:
    lines: list[str] = []
    own = player(Quiet())
    own.log = lines.append
    game(own, player(Quiet(), "w"), rules=patient(max_plies=3))
    assert [line for line in lines if "info" not in line] == [
        "> usinewgame",
        "> position startpos", "> go nodes 1", "< bestmove 7g7f",
        "> position startpos moves 7g7f 3c3d", "> go nodes 1", "< bestmove 2g2f",
        "> gameover draw",
    ]  # fmt: skip
