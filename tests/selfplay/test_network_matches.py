"""Matches of networks in a pool: the games are games, and depend on nothing but networks, playouts and openings."""

import signal
from pathlib import Path

import numpy as np
import pytest
from selfplay_runner import HashNetwork

from fukayomi.arena import MatchListener, MatchResult
from fukayomi.arena.game.referee import ending_of
from fukayomi.arena.results.match_db import StoreError
from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.selfplay import play_networks
from fukayomi.shogi import Position, Repetition
from fukayomi.shogi.record import Result, Termination

OPENINGS = ["startpos moves 7g7f 3c3d", "startpos moves 2g2f 8c8d 2f2e", "startpos moves 5g5f"]
HANDICAP = "sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1 moves 3c3d"


def match(folder: Path | None = None, **options: object) -> MatchResult:
    with Network("<hash>") as one, Network(HashNetwork()) as two:
        arguments = {"games": 6, "playouts": 8, "max_plies": 60, "openings": OPENINGS, "seed": 1} | options
        return play_networks({"one": one, "two": two}, folder=folder, **arguments)  # pyright: ignore[reportArgumentType]


def games_of(result: MatchResult) -> list[tuple[str, str, str, object]]:
    return sorted((game.name, game.black, " ".join(m.usi() for m in game.moves), game.result) for game in result.games)


def test_games_do_not_depend_on_how_many_are_played_at_once() -> None:
    found = [games_of(match(parallel=parallel, max_plies=30)) for parallel in (1, 2, 64)]
    assert found[0] == found[1] == found[2]
    assert len({moves for _, _, moves, _ in found[0]}) == 6


def test_the_rules_end_each_game_as_the_referee_would(tmp_path: Path) -> None:
    result = match(tmp_path, games=12, openings=[*OPENINGS, HANDICAP], max_plies=120)
    records = list(result.records())
    assert len(records) == 12
    for record in records:
        position = Position.from_sfen(record.initial_sfen)
        for ply, played in enumerate(record.moves):
            assert ending_of(position, ply, 120) is None
            position.push(played.move)
        if record.termination is Termination.REPETITION:  # the pool's rule: at once, not at the fourth occurrence
            assert position.first_recurrence() is Repetition.DRAW
            assert record.result is Result.DRAW
        elif record.termination is not Termination.DECLARATION:
            assert ending_of(position, len(record.moves), 120) == (record.termination, record.result)
    assert {"one", "two"} == {record.black_name for record in records}


def test_records_have_the_values_of_the_positions_from_black_s_side() -> None:
    """Black is a rook and a bishop ahead; White begins."""
    with Network(device="native", precision="fp32", threads=1, batch_size=8) as network:
        result = play_networks({"one": network, "two": network}, games=2, playouts=8, max_plies=6, openings=[HANDICAP])
    for record in result.records():
        scores = [played.score_cp for played in record.moves]
        assert scores[0] is None, "the move of the opening"
        assert len(scores) == 6
        assert all(score is not None and score > 500 for score in scores[1:3]), "of Black to move, and of White to move"


def test_a_match_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    class Interrupting(MatchListener):
        def game_ended(self, *_: object) -> None:
            signal.raise_signal(signal.SIGINT)

    stopped = match(tmp_path, games=20, parallel=2, listener=Interrupting())
    assert stopped.is_interrupted
    assert 1 <= len(stopped.games) < 20
    assert games_of(match(tmp_path, games=20)) == games_of(match(games=20))


def test_a_match_of_other_networks_is_not_gone_on_with(tmp_path: Path) -> None:
    match(tmp_path)
    with (
        Network("<uniform>") as one,
        Network(HashNetwork()) as two,
        pytest.raises(StoreError, match="one's identity"),
    ):
        play_networks(
            {"one": one, "two": two}, games=6, playouts=8, max_plies=60, openings=OPENINGS, seed=1, folder=tmp_path
        )


def test_a_test_ends_the_match_as_soon_as_it_decides() -> None:
    with Network("<hash>") as one, Network("<uniform>") as two:
        result = play_networks(
            {"one": one, "two": two}, games=2000, playouts=2, max_plies=200, parallel=8,
            sprt={"elo0": -200, "elo1": 200, "alpha": 0.2, "beta": 0.2},
        )  # fmt: skip
    assert len(result.games) < 2000


def test_a_network_that_fails_ends_the_match() -> None:
    class Broken(HashNetwork):
        def run(self, slot: Slot, n: int) -> None:
            raise RuntimeError("the device is gone")

    with Network("<hash>") as one, Network(Broken()) as two, pytest.raises(RuntimeError, match="device is gone"):
        play_networks({"one": one, "two": two}, games=2, playouts=4)


def test_too_long_games_are_refused() -> None:
    with (
        Network("<hash>") as one,
        pytest.raises(ValueError, match=r"max_plies: .* equal to 512, not 513"),
    ):
        play_networks({"one": one, "two": one}, games=2, playouts=4, max_plies=513)


def test_the_stronger_side_wins(tmp_path: Path) -> None:
    """A network that knows what pieces are worth beats one that knows nothing."""
    with Network(device="native", precision="fp32", threads=1, batch_size=8) as one, Network("<uniform>") as two:
        result = play_networks({"one": one, "two": two}, games=8, playouts=16, seed=1)
    points = sum(
        np.select([game.result == Result.DRAW, (game.result == Result.BLACK_WIN) == (game.black == "one")], [0.5, 1.0])
        for game in result.games
    )
    assert points >= 7
