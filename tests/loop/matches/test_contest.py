"""Matches of a run: networks in a pool, with engines one game after another; the same games on any number of cores."""

import shlex
import sys
from pathlib import Path

import pytest
from places import HELPERS

from fukayomi.arena import MatchResult
from fukayomi.listener import SILENT
from fukayomi.loop.matches import Contest, Contestant
from fukayomi.loop.settings import PlaySettings

SETTINGS = PlaySettings(nodes=2, games=4, max_plies=24, device="native")
EMBEDDED = Contestant("new", "embedded", "fp32")
ENGINE = Contestant("random", command=shlex.join([sys.executable, str(HELPERS / "random_engine.py")]))


def play(contestants: list[Contestant], folder: Path, games: int = 4) -> tuple[int, MatchResult]:
    with Contest(contestants, SETTINGS) as contest:
        return contest.at_once, contest.play(folder, games=games, seed=3, listener=SILENT)


def moves(result: MatchResult) -> list[tuple[str, str, list[str]]]:
    return sorted((game.name, game.black, [move.usi() for move in game.moves]) for game in result.games)


@pytest.mark.parametrize(
    ("others", "at_once"),
    [
        ([Contestant("old", "embedded", "fp32")], (16, 48)),
        ([Contestant("old", "embedded", "fp32"), Contestant("older", "embedded", "fp32")], (16, 48)),
        ([Contestant("old", "embedded", "fp32", nodes=1)], (1, 3)),
    ],
)
def test_games_are_the_same_on_any_number_of_cores(
    others: list[Contestant], at_once: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[int, MatchResult]] = []
    for cores in (1, 3):
        monkeypatch.setattr("fukayomi.loop.matches.usable_cpus", lambda cores=cores: cores)
        found.append(play([EMBEDDED, *others], tmp_path / str(cores)))
    assert tuple(each for each, _ in found) == at_once
    assert moves(found[0][1]) == moves(found[1][1])


def test_a_match_that_began_on_another_machine_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Contestant("old", "embedded", "fp32")
    for cores, games in ((2, 4), (1, 2), (3, 6)):
        monkeypatch.setattr("fukayomi.loop.matches.usable_cpus", lambda cores=cores: cores)
        _, result = play([EMBEDDED, old], tmp_path, games)
        assert len(result.games) == max(games, 4)


def test_engines_play_beside_networks(tmp_path: Path) -> None:
    _, result = play([EMBEDDED, ENGINE, Contestant("old", "embedded", "fp32")], tmp_path)
    assert {(game.black, game.white) for game in result.games} == {
        ("new", "random"), ("random", "new"), ("new", "old"), ("old", "new"),
    }  # fmt: skip
    assert all(len(game.moves) <= 24 for game in result.games)
