"""`play_match`: a match from Python."""

import gc
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from places import HELPERS

import fukayomi
from fukayomi import MatchListener, MovePlayer, Position, UsiEngine, play_match
from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.state import MatchState
from fukayomi.arena.match.summary import summarize
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import StoreError
from fukayomi.listener import Listener
from fukayomi.shogi import Move
from fukayomi.shogi.record import Termination
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import BestMove, Go, Info

RANDOM_ENGINE = [sys.executable, str(HELPERS / "random_engine.py")]
SHORT = {"max_plies": 12}
OPENINGS = ["startpos moves 2g2f 8c8d", "startpos moves 7g7f 3c3d"]


class RandomPlayer(MovePlayer):
    def __init__(self, seed: int = 0) -> None:
        self._chooser = random.Random(seed)

    def choose(self, position: Position, go: Go) -> Move:
        return self._chooser.choice(position.legal_moves)


class Fails(RandomPlayer):
    def choose(self, position: Position, go: Go) -> Move:
        raise RuntimeError("no move today")


class Log(MatchListener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def started(self, state: MatchState) -> None:
        self.lines.append(f"started with {state.missing} to play")

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        self.lines.append(f"game {game.name}")

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.lines.append(f"{stage} {done}/{total}")


def test_a_match_in_a_temporary_folder_is_a_table(capfd: pytest.CaptureFixture[str]) -> None:
    result = play_match({"a": RandomPlayer(1), "b": RandomPlayer(2)}, games=4, clock="nodes=1", rules=SHORT)
    assert capfd.readouterr() == ("", ""), "silent"
    rows = result.rows()
    assert [(row["engine"], row["games"], row["wins"] + row["losses"] + row["draws"]) for row in rows] == [
        ("a", 4, 4), ("b", 4, 4)
    ]  # fmt: skip
    assert str(result).splitlines()[0].split()[:6] == ["engine", "games", "wins", "losses", "draws", "score"]
    assert result.to_polars()["engine"].to_list() == ["a", "b"]
    assert (result.is_complete, result.unplayed, result.sprt) == (True, 0, None)
    assert [game.name for game in result.games] == ["1", "2", "3", "4"]
    assert result.games[0].moves is not None
    records = list(result.records())
    assert [record.usi_moves() for record in records] == [
        [move.usi() for move in game.moves or ()] for game in result.games
    ]
    assert records[0].black_name == "a"
    folder = result.folder
    assert (folder / "games" / "000001.kif").exists()
    del result
    gc.collect()
    assert not folder.exists()


def test_engines_of_all_kinds_meet(tmp_path: Path) -> None:
    log = Log()
    result = play_match(
        {
            "text": " ".join(RANDOM_ENGINE),
            "words": [*RANDOM_ENGINE, "moves=2"],
            "engine": UsiEngine(RANDOM_ENGINE, options={"Style": "wild"}, directory=tmp_path),
            "player": RandomPlayer(),
        },
        games=12,
        clock={"text": "nodes=1", "words": "depth=1", "engine": "byoyomi=10s", "player": "nodes=5"},
        openings=OPENINGS,
        folder=tmp_path / "match",
        rules=SHORT,
        log=True,
        event="test",
        listener=log,
    )
    assert [row["games"] for row in result.rows()] == [6, 6, 6, 6]
    assert {game.moves[:2] for game in result.games if game.moves} == {tuple(Position.from_usi(OPENINGS[0]).moves)}
    logs = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "match" / "logs").iterdir())
    for line in ("engine > setoption name Style value wild", "player > go nodes 5", "words > go depth 1"):
        assert line in logs
    assert log.lines[0] == "started with 12 to play"
    assert log.lines[1:3] == ["games 1/12", "game 1"]
    assert log.lines[-2:] == ["games 12/12", "game 12"]
    assert next(result.records()).event == "test"


def test_a_match_goes_on_and_grows(tmp_path: Path) -> None:
    def play(games: int, player: MovePlayer, **more: Any) -> fukayomi.MatchResult:
        engines = {"a": player, "b": RandomPlayer(2)}
        return play_match(engines, games=games, clock="nodes=1", rules=SHORT, folder=tmp_path, **more)

    first = play(2, RandomPlayer()).games
    log = Log()
    second = play(4, RandomPlayer(), listener=log)
    assert second.games[:2] == first
    assert log.lines[0] == "started with 2 to play"

    class Other(RandomPlayer):
        pass

    with pytest.raises(StoreError, match=r"a's identity was .*RandomPlayer.* and is .*Other"):
        play(4, Other())
    with pytest.raises(StoreError, match="seed was 0 and is 3"):
        play(4, RandomPlayer(), seed=3)


def test_a_plain_listener_hears_of_the_progress() -> None:
    class Bar(Listener):
        def __init__(self) -> None:
            self.done = 0

        def progress(self, stage: str, done: int, total: int | None) -> None:
            self.done = done

    bar = Bar()
    play_match({"a": RandomPlayer(), "b": RandomPlayer()}, games=2, clock="nodes=1", rules=SHORT, listener=bar)
    assert bar.done == 2


def test_a_sequential_test_stops_the_match() -> None:
    engines = {"a": RandomPlayer(), "b": [*RANDOM_ENGINE, "moves=1"]}
    result = play_match(engines, games=400, clock="nodes=1", rules=SHORT, sprt={"elo0": 0, "elo1": 50})
    assert result.sprt is not None
    assert result.sprt.decision == "H1"
    assert result.is_complete
    assert result.rows()[0]["games"] < 400


def test_a_player_that_fails_is_left_out_or_asked_again() -> None:
    engines = {"a": RandomPlayer(), "bad": Fails(), "c": RandomPlayer()}
    result = play_match(engines, games=6, clock="nodes=1", rules=SHORT)
    assert not result.is_complete
    assert result.state.left_out == {"bad"}
    number, failure = result.state.failures[0]
    assert (failure.engine, failure.kind) == ("bad", Termination.CRASH)
    assert "RuntimeError: no move today" in failure.detail
    assert result.games[number - 1].termination is Termination.CRASH or result.games
    again = play_match(engines, games=6, clock="nodes=1", rules=SHORT, restart=True)
    assert again.is_complete
    assert again.rows()[1]["failures"] == 4


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_the_match_and_keeps_its_games(tmp_path: Path) -> None:
    class Slow(RandomPlayer):
        def choose(self, position: Position, go: Go) -> Move:
            time.sleep(0.02)
            return super().choose(position, go)

    class Interrupts(MatchListener):
        def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
            if game.name == "2":
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    result = play_match(
        {"a": Slow(), "b": Slow()}, games=500, clock="nodes=1", rules=SHORT, folder=tmp_path, listener=Interrupts()
    )
    assert result.is_interrupted
    assert 2 <= len(result.games) < 100
    assert result.unplayed == 500 - len(result.games)
    assert result.state.failures == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"engines": {"a": "no-such-program", "b": RandomPlayer()}}, "program no-such-program not found"),
        ({"engines": {"a": RandomPlayer()}}, "at least 2"),
        ({"engines": {"a": RandomPlayer(), "b": 3}}, "b must be a command, a UsiEngine or a player"),
        ({"engines": {"a": RandomPlayer(), "b": ""}}, "engine.b: the command is missing"),
        ({"clock": "soon"}, "time control 'soon'"),
        ({"clock": {"a": "nodes=1"}}, "no clock for b"),
        ({"concurrency": 2}, "a, b can play 1 game at a time: set concurrency to 1"),
        ({"openings": []}, "openings is empty"),
        ({"openings": ["startpos moves 1a1b"]}, "1a1b"),
        ({"rules": {"max_ply": 3}}, "rules.max_ply: unknown setting"),
        ({"sprt": {"elo0": 3, "elo1": 2}}, "elo0 must be less"),
        ({"tournament": "cup"}, "tournament: "),
        ({"games": 0}, "games: "),
        ({"ponder": "often"}, "ponder: "),
    ],
    ids=[
        "program", "one", "kind", "empty", "clock", "clocks", "concurrency", "no-openings", "opening", "rules", "sprt",
        "tournament", "games", "ponder",
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_any_game(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {
        "engines": {"a": RandomPlayer(), "b": RandomPlayer()}, "games": 2, "clock": "nodes=1", **change
    }  # fmt: skip
    with pytest.raises(ValueError, match=said):
        play_match(arguments.pop("engines"), folder=tmp_path / "match", **arguments)
    assert not (tmp_path / "match").exists()


def test_an_option_that_does_not_fit_is_refused_and_can_be_meant(tmp_path: Path) -> None:
    command = [sys.executable, str(HELPERS / "random_engine.py")]
    engines = {"a": UsiEngine(command, options={"Styl": "wild"}), "b": RandomPlayer()}
    with pytest.raises(ValueError, match="engine a: declares no option 'Styl'; did you mean Style"):
        play_match(engines, games=2, clock="nodes=1", rules=SHORT, folder=tmp_path / "match")
    result = play_match(
        engines, games=2, clock="nodes=1", rules={"max_plies": 4, "declaration": "24"}, folder=tmp_path / "match",
        undeclared_options=True, ponder=True,
    )  # fmt: skip
    assert len(result.games) == 2, "a match without games may get other settings"
    assert [warning.split(": ")[0] for warning in result.state.warnings] == ["a", "a", "a", "b", "b"]
    assert "b: a player in this process does not ponder" in result.state.warnings
    meant = UsiEngine(command, options={"Styl": "wild"}, undeclared_options=True)
    assert play_match({"a": meant, "b": RandomPlayer()}, games=2, clock="nodes=1", rules=SHORT).is_complete


def test_our_own_search_plays_in_process() -> None:
    with fukayomi.Engine(memory_mb=16) as engine:
        result = play_match({"engine": engine, "random": RandomPlayer()}, games=2, clock="nodes=64", rules=SHORT)
    assert result.is_complete
    assert result.state.failures == []
    record = next(result.records())
    assert record.moves[0].score_cp is not None
    assert record.moves[0].pv != ""
    assert record.moves[1].score_cp is None


class Reports(RandomPlayer):
    """Says that it took no time at all."""

    def choose(self, position: Position, go: Go) -> SearchAnswer:  # type: ignore[override]
        move = super().choose(position, go).usi()
        infos = tuple(Info(depth=depth, time_ms=0, pv=(move,)) for depth in (1, 2))
        return SearchAnswer(BestMove(move), infos=infos)


class Late(RandomPlayer):
    """Answers when it is told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped = threading.Event()

    def choose(self, position: Position, go: Go) -> Move:
        self._stopped.clear()
        self._stopped.wait(60)
        return super().choose(position, go)

    def stop(self) -> None:
        self._stopped.set()


def test_times_and_overheads_are_measured_and_outlive_the_run(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"games": 4, "clock": "nodes=1", "rules": SHORT, "openings": OPENINGS}
    result = play_match({"silent": RandomPlayer(), "reports": Reports()}, folder=tmp_path / "m", **settings)
    players = {player["name"]: player for player in summarize(result)["players"]}
    for player in players.values():
        assert player["time"]["count"] == 20, "5 moves of 12 plies in each game; the opening's have no time"
        assert 0 <= player["time"]["median_ms"] <= player["time"]["greatest_ms"]
        assert player["time"]["mean_ms"] <= player["time"]["greatest_ms"]
    assert players["silent"]["overhead"] is None, "it reports no time"
    assert players["reports"]["overhead"]["count"] == 20
    assert players["reports"]["overhead"]["mean_ms"] == pytest.approx(players["reports"]["time"]["mean_ms"], abs=1)
    again = play_match({"silent": RandomPlayer(), "reports": Reports()}, folder=tmp_path / "m", **settings)
    assert summarize(again)["players"] == summarize(result)["players"]


def test_losses_on_time_are_counted_and_warned_of() -> None:
    rules = {**SHORT, "margin_ms": 0}
    result = play_match(
        {"late": Late(), "other": RandomPlayer()}, games=4, clock={"late": "movetime=1ms", "other": "nodes=1"},
        rules=rules, openings=OPENINGS,
    )  # fmt: skip
    found = summarize(result)
    late, other = found["players"]
    assert late["forfeits"] == {"time_up": 4, "illegal_move": 0, "crash": 0, "stall": 0, "protocol": 0}
    assert (late["rests_on_forfeits"], other["rests_on_forfeits"]) == (True, False)
    assert late["elo"] is None  # no game was won or drawn: there is a bound alone
    assert late["elo_high"] < 0
    assert late["without_forfeits"]["games"] == 0
    assert late["without_forfeits"]["elo"] is None
    assert late["time"]["count"] == 4, "answers that lost the game count"
    assert late["time"]["greatest_ms"] > 1
    (warning,) = found["forfeit_warnings"]
    assert warning.startswith("late: 4 of 4 losses are forfeits (4 on time)")
    assert result.rows()[0]["forfeits"] == 4
