"""Engines that misbehave lose under their own name, disturb nobody, and leave nothing behind."""

import os
import sys
import time

import pytest
from arena_players import ENGINE, QUIET, Players, game, patient
from patience import PATIENCE_S, until

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import InProcessPlayer, MovePlayer
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.shogi import Position
from fukayomi.shogi.record import Result, Termination
from fukayomi.usi.client import EngineTimeoutError, SearchAnswer, UsiClient
from fukayomi.usi.text import BestMove, Go

CRASH, STALL, PROTOCOL = Termination.CRASH, Termination.STALL, Termination.PROTOCOL


def play(bad: UsiPlayer, good: UsiPlayer, color: str, **rules: object) -> PlayedGame:
    players = (bad, good) if color == "black" else (good, bad)
    return game(*players, rules=patient(**rules))


def check_lost(played: PlayedGame, color: str, kind: Termination) -> None:
    """The engine called "bad" has lost, and nobody else is blamed."""
    record = played.record
    assert (record.termination, record.result) == (
        kind,
        Result.WHITE_WIN if color == "black" else Result.BLACK_WIN,
    )
    assert played.failure is not None
    assert (played.failure.engine, played.failure.kind) == ("bad", kind)


@pytest.mark.parametrize(
    ("mode", "color", "kind", "detail"),
    [
        ("crash-start", "black", CRASH, "exit code 3\nno model"),
        ("crash-usi", "white", CRASH, "exit code 4"),
        ("crash-isready", "black", CRASH, "exit code 5"),
        ("crash-isready", "white", CRASH, "exit code 5"),
        ("crash-go", "black", CRASH, "exit code 7\nout of memory"),
        ("crash-go", "white", CRASH, "exit code 7\nout of memory"),
        ("crash-go:2", "black", CRASH, "exit code 7\nout of memory"),
        ("crash-after", "black", CRASH, "exit code 8"),
        ("crash-after", "white", CRASH, "exit code 8"),
        ("abort", "black", CRASH, "SIGABRT"),
        ("close-stdout", "white", CRASH, "closed its output"),
        ("flood-usi", "black", PROTOCOL, "more than 100000 lines"),
        ("flood-lines", "white", PROTOCOL, "more than 100000 lines"),
        ("flood-line:2", "black", PROTOCOL, "10000000 bytes"),
        ("flood-bytes", "white", PROTOCOL, "10000000 bytes"),
        ("flood-after", "black", PROTOCOL, "more than 100000 lines"),
    ],
)
def test_who_fails_loses(player_of: Players, mode: str, color: str, kind: Termination, detail: str) -> None:
    bad, good = player_of("bad", mode), player_of("good")
    played = play(bad, good, color)
    check_lost(played, color, kind)
    assert played.failure is not None
    assert detail in played.failure.detail
    assert bad.pid is None  # it was ended
    # the opponent plays on, and so does a new process of the same engine
    assert play(player_of("next"), good, color, max_plies=2).failure is None


@pytest.mark.parametrize(
    ("mode", "color", "rules"),
    [
        ("mute-usi", "black", {"start_timeout_ms": 500}),
        ("mute-isready", "white", {"ready_timeout_ms": 2000}),
        ("mute-go", "black", {"stall_ms": 2000}),
        ("mute-go", "white", {"stall_ms": 2000}),
        ("mute-go:2", "white", {"stall_ms": 2000}),
    ],
)
def test_who_does_not_answer_loses(player_of: Players, mode: str, color: str, rules: dict[str, int]) -> None:
    good = player_of("good")
    good.prepare(patient())  # so that the short wait is the bad engine's alone
    begin = time.monotonic()
    bad = player_of("bad", mode)
    played = play(bad, good, color, **rules)
    check_lost(played, color, STALL)
    assert time.monotonic() - begin < PATIENCE_S
    assert bad.pid is None


def test_a_hanging_engine_with_a_clock_is_one_that_hangs(player_of: Players) -> None:
    played = play(player_of("bad", "mute-go", clock="byoyomi=50ms"), player_of("good"), "black", margin_ms=100)
    check_lost(played, "black", STALL)


def test_an_answer_to_stop_is_late_but_the_engine_is_well(player_of: Players) -> None:
    bad, good = player_of("bad", "waits-for-stop", clock="byoyomi=50ms"), player_of("good")
    bad.stop_grace_s = PATIENCE_S
    played = play(bad, good, "white", margin_ms=100)
    assert (played.record.termination, played.record.result) == (Termination.TIME_UP, Result.BLACK_WIN)
    assert played.failure is None
    assert bad.pid is not None


def test_a_program_that_is_not_there(player_of: Players) -> None:
    settings = EngineSettings(name="bad", command=("/nowhere/engine",))
    played = play(UsiPlayer(settings, TimeControl(depth=1)), player_of("good"), "white")
    check_lost(played, "white", CRASH)
    assert played.failure is not None
    assert "cannot start /nowhere/engine" in played.failure.detail


def test_the_first_to_fail_is_blamed_when_both_do(player_of: Players) -> None:
    played = game(player_of("bad", "crash-go"), player_of("other", "crash-after"))
    check_lost(played, "black", CRASH)


def test_players_of_the_same_name_are_not_confused(player_of: Players) -> None:
    played = game(player_of("bad"), player_of("bad", "crash-go"))
    check_lost(played, "white", CRASH)


def test_a_death_after_the_game_does_not_change_it(player_of: Players) -> None:
    bad, good = player_of("bad", "crash-gameover"), player_of("good")
    played = play(bad, good, "black", max_plies=2)
    assert (played.record.termination, played.record.result) == (Termination.MAX_PLIES, Result.DRAW)
    if played.failure is None:  # it was not dead yet
        played = play(bad, good, "white", max_plies=2)
        check_lost(played, "white", CRASH)
    assert play(bad, good, "white", max_plies=2).record.termination is Termination.MAX_PLIES  # started again


def test_a_death_is_reported_beside_a_game_that_the_opponent_lost(player_of: Players) -> None:
    bad = player_of("bad", "crash-after", moves=["7g7f", "resign"])

    class ResignsWhenItIsDead(MovePlayer):
        def choose(self, position: Position, go: Go) -> SearchAnswer:
            until(lambda: bad._client is not None and not bad._client.is_alive)  # pyright: ignore[reportPrivateUsage]
            return SearchAnswer(BestMove("resign"))

    clock = TimeControl.from_text("nodes=1")
    good = InProcessPlayer(ResignsWhenItIsDead(), EngineSettings(name="good", identity="resigns"), clock)
    played = game(bad, good)
    assert (played.record.termination, played.record.result) == (Termination.RESIGN, Result.BLACK_WIN)
    assert played.failure is not None
    assert (played.failure.engine, played.failure.kind) == ("bad", CRASH)
    assert bad.pid is None


# ---------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(("mode", "color"), [("twice", "black"), ("twice", "white"), ("twice-later:50", "white")])
def test_a_second_answer_is_never_the_next_ones(player_of: Players, mode: str, color: str) -> None:
    bad, good = player_of("bad", mode), player_of("good", "slow:1000")
    played = play(bad, good, color, max_plies=5)
    assert played.record.usi_moves() == QUIET[:5]
    assert played.failure is None
    assert [warning for warning in played.warnings if "bad: answered more than once" in warning]
    assert not [warning for warning in played.warnings if "good" in warning]


def test_a_second_answer_does_not_reach_the_next_game(player_of: Players) -> None:
    bad, good = player_of("bad", "twice"), player_of("good")
    for color in ("white", "black"):
        played = play(bad, good, color, max_plies=2)
        assert played.record.usi_moves() == QUIET[:2]


@pytest.mark.parametrize("mode", ["rubbish", "chatter-after", "errors"])
def test_noise_does_no_harm(player_of: Players, mode: str) -> None:
    played = play(player_of("noisy", mode), player_of("good"), "white", max_plies=6)
    assert played.record.usi_moves() == QUIET[:6]
    assert (played.failure, played.warnings) == (None, ())


def test_last_words_without_a_line_end_count(player_of: Players) -> None:
    played = play(player_of("bad", "no-newline"), player_of("good"), "black")
    assert played.record.usi_moves() == QUIET[:2]
    check_lost(played, "black", CRASH)


def test_an_engine_that_does_not_listen(player_of: Players) -> None:
    """What it says before it is asked does not count; so it plays blindly, and breaks a rule soon."""
    deaf = player_of("deaf", "deaf")
    deaf.quit_grace_s = 0.1
    played = play(deaf, player_of("good", "slow:1000"), "black")
    assert played.record.usi_moves()[:2] == QUIET[:2]
    assert (played.record.termination, played.record.result) == (Termination.ILLEGAL_MOVE, Result.WHITE_WIN)
    assert "deaf: answered more than once" in played.warnings[0]


def test_a_full_pipe_does_not_hold_anybody_up(player_of: Players, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.usi.process.DEAF_AFTER_S", 0.3)
    client = UsiClient((*ENGINE, "deaf", "", player_of.mark))
    with pytest.raises(EngineTimeoutError, match="does not read"):
        client.send("x" * 1_000_000)
    client.close(0)


# ---------------------------------------------------------------------------------------------- options


def test_options_are_sent_and_checked(player_of: Players) -> None:
    options = {"USI_Hash": "16", "Depth": "12", "Clear": "", "Secret": "1"}
    heard: list[str] = []
    odd = player_of("odd", options=options, undeclared_options=True)
    odd.log = heard.append
    odd.prepare(patient())
    assert heard[0] == "> usi"
    assert [line for line in heard if "setoption" in line] == [
        "> setoption name USI_Hash value 16",
        "> setoption name Depth value 12",
        "> setoption name Clear",
        "> setoption name Secret value 1",
    ]
    sent = [line.split()[1] for line in heard if line.startswith("> ")]
    assert sent == ["usi", *["setoption"] * 4, "isready", "usinewgame"]
    assert odd.take_warnings() == (
        "odd: Depth takes 1 to 9, not 12; it was sent all the same",
        "odd: declares no option 'Secret'; it has Depth, Clear; it was sent all the same",
    )
    assert odd.take_warnings() == ()


def test_the_conversation_of_a_game(player_of: Players) -> None:
    heard: list[str] = []
    black = player_of("b")
    black.log = heard.append
    game(black, player_of("w"), Opening(moves=()), patient(max_plies=3))
    assert [line for line in heard if line.split()[1] not in ("id", "option")] == [
        "> usi", "< usiok", "> isready", "< readyok", "> usinewgame",
        "> position startpos", "> go nodes 1", "< bestmove 7g7f",
        "> position startpos moves 7g7f 3c3d", "> go nodes 1", "< bestmove 2g2f",
        "> gameover draw",
    ]  # fmt: skip


def test_a_listener_that_fails_is_not_the_engines_fault(player_of: Players) -> None:
    def full(line: str) -> None:
        if line.startswith("<"):
            raise OSError("no space left")

    player = player_of("b")
    player.log = full
    with pytest.raises(OSError, match="no space left"):
        player.prepare(patient())


# ---------------------------------------------------------------------------------------------- their end


@pytest.mark.parametrize("mode", ["ignore-quit", "child"])
def test_nothing_is_left_of_an_engine_that_ignores_quit(player_of: Players, mode: str) -> None:
    player = player_of("bad", mode)
    player.quit_grace_s = 0.2
    player.prepare(patient())
    begin = time.monotonic()
    player.close()
    assert time.monotonic() - begin < PATIENCE_S
    assert player_of.left_behind() == []
    player.close()  # twice is fine


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize(
    "script",
    ['exec 3<&0; "$@" <&3 & wait', 'exec 3<&0; "$@" <&3 & exit 0', 'trap "" TERM; "$@"; sleep 1000'],
    ids=["waits", "leaves", "sleeps"],
)
def test_nothing_is_left_of_a_script_that_starts_the_engine(player_of: Players, script: str) -> None:
    command = ("sh", "-c", script, "sh", *ENGINE, "ok", ",".join(QUIET), player_of.mark)
    player, good = UsiPlayer(EngineSettings(name="script", command=command), TimeControl(depth=1)), player_of("good")
    player.quit_grace_s = 0.2
    played = game(player, good, rules=patient(max_plies=4))
    assert (played.failure, played.record.usi_moves()) == (None, QUIET[:4])
    good.close()
    player.close()
    assert player_of.left_behind() == []


def test_a_closed_player_can_be_prepared_again(player_of: Players) -> None:
    player = player_of("b")
    pids: set[int | None] = set()
    for _ in range(2):
        player.prepare(patient())
        pids.add(player.pid)
        player.close()
        assert player.pid is None
    assert len(pids) == 2


def test_the_folder_of_an_engine(player_of: Players, tmp_path: object) -> None:
    code = "import os, sys; sys.stderr.write(os.getcwd())"
    settings = EngineSettings.model_validate(
        {"name": "bad", "command": (sys.executable, "-c", code), "directory": tmp_path}
    )
    played = play(UsiPlayer(settings, TimeControl(depth=1)), player_of("good"), "black")
    assert played.failure is not None
    assert str(tmp_path) in played.failure.detail
