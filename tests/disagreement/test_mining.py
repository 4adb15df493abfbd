"""Finding disagreements by search: files, resumption, verdicts, start positions, damage."""

import json
import subprocess
import sys
from pathlib import Path

import arena_players
import disagree_run
import numpy as np
import pytest

from fukayomi import Network
from fukayomi._native import encode_hcp
from fukayomi.arena.game.openings import read_openings
from fukayomi.arena.results.match_db import read_games
from fukayomi.disagreement import (
    Disagreement,
    DisagreementError,
    DisagreementSettings,
    Verdict,
    View,
    find_disagreements,
    read_disagreements,
    solve,
)
from fukayomi.disagreement.judging import judge
from fukayomi.disagreement.model import gap_of
from fukayomi.disagreement.starts import starts
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi.formats import write_csa

GAMES = 5
LOST = "sfen 3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
"""White moves with a handicap of eight pieces."""


class Noting(Listener):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    for seed in range(GAMES):
        (folder / f"{seed}.csa").write_text(write_csa(disagree_run.random_game(seed)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def whole(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    find_disagreements([games], folder, DisagreementSettings(**disagree_run.small()))
    return folder


def test_a_run_from_games_to_start_positions(whole: Path, games: Path) -> None:
    found = read_disagreements(whole)
    assert len(found) >= GAMES
    by_game: dict[str, int] = {}
    for each in found:
        by_game[each.game] = by_game.get(each.game, 0) + 1
        position = each.position()
        assert (len(position.moves), position.legal_moves != []) == (each.ply, True)
        assert each.a is not None
        assert each.b is not None
        assert abs(each.gap) >= 0.1 or each.a.move != each.b.move
        for view in (each.a, each.b, each.confirmed_a, each.confirmed_b):
            assert view is None or (0 < view.win_rate < 1 and view.move and position.is_legal(view.move))
        if each.verdict not in (Verdict.SHALLOW, Verdict.UNJUDGED):
            assert each.games in (1, 2, 3, 4)
            assert each.score is not None
            assert each.low is not None
            assert each.high is not None
            assert each.low <= each.score <= each.high
    assert max(by_game.values()) <= 2
    assert len({each.line for each in found}) == len(found)
    assert {each.verdict for each in found} & {*Verdict} - {Verdict.SHALLOW, Verdict.UNJUDGED}
    assert games.name in found[0].game


def test_start_positions_are_split_by_game(whole: Path) -> None:
    found = read_disagreements(whole)
    taken = {each.line for each in found if each.verdict in (Verdict.A_BLIND, Verdict.B_BLIND)}
    parts = {name: (whole / f"{name}.sfen").read_text() for name in ("starts", "held-out")}
    assert sum(line in text for line in taken for text in parts.values()) >= len(taken)
    for name, text in parts.items():
        weights = [float(line.split()[2].rstrip(",")) for line in text.splitlines() if line[0] == "#"]
        copies = sum(max(1, round(8 * weight)) for weight in weights)
        assert (whole / f"{name}.hcp").stat().st_size == 32 * copies
        if text:
            packed = np.fromfile(whole / f"{name}.hcp", "V32")
            assert {encode_hcp(each.position()) for each in read_openings(whole / f"{name}.sfen")} == {
                each.tobytes() for each in np.unique(packed)
            }
    games_of = [{each.game for each in found if each.line in {*text.splitlines()}} for text in parts.values()]
    assert not games_of[0] & games_of[1]


def test_the_same_again_does_nothing(whole: Path, games: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*.hcpe3")}
    digests = disagree_run.result(whole)
    again = find_disagreements([games], whole, DisagreementSettings(**disagree_run.small()))
    assert again.searched == 2 * GAMES
    assert disagree_run.result(whole) == digests
    assert before == {path: path.stat().st_mtime_ns for path in whole.rglob("*.hcpe3")}
    assert len(find_disagreements([], whole, DisagreementSettings(**disagree_run.small()))) == len(again)


def test_those_with_the_largest_gaps_are_played_on_from(whole: Path, games: Path, tmp_path: Path) -> None:
    played = {each.line: each for each in read_disagreements(whole) if each.verdict is not Verdict.SHALLOW}
    assert len(played) > 2
    few = find_disagreements([games], tmp_path / "few", DisagreementSettings(**disagree_run.small(most=2)))
    kept = {each.line for each in few.found if each.verdict is not Verdict.SHALLOW}
    gaps = sorted((abs(gap_of(each.views)) for each in played.values()), reverse=True)
    assert sorted((abs(gap_of(played[line].views)) for line in kept), reverse=True) == gaps[:2]
    assert len(few) == len(read_disagreements(whole)) - len(played) + 2


@pytest.mark.soak
def test_kills_change_nothing(whole: Path, games: Path, tmp_path: Path) -> None:
    """Twenty kills one after the other, each some reports of progress later than the run resumes."""
    settings = json.dumps(disagree_run.small())
    command = [sys.executable, disagree_run.__file__, str(tmp_path / "killed"), str(games), settings]
    codes = [subprocess.run([*command, str(5 + 3 * number)], check=False).returncode for number in range(20)]
    assert -9 in codes
    assert subprocess.run([*command, "0"], check=False).returncode == 0
    assert disagree_run.result(tmp_path / "killed") == disagree_run.result(whole)


def disagreement(line: str, a: float, b: float, moves: tuple[str, str] = ("6a7b", "6a7b")) -> Disagreement:
    """A disagreement with these win rates and moves."""
    views = [
        View(player=name, score_cp=0, win_rate=rate, move=move)
        for name, rate, move in zip("ab", (a, b), moves, strict=True)
    ]
    return Disagreement(
        game="game", game_key="key", opening="", line=line, ply=0, played=None, black_points=None, a=views[0],
        b=views[1],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "moves", "pairs", "verdict"),
    [
        (0.9, 0.4, ("6a7b", "6a7b"), 8, Verdict.A_BLIND),
        (0.2, 0.05, ("6a7b", "6a7b"), 4, Verdict.UNRESOLVED),  # eight games are too few
        (0.5, 0.5, ("6a7b", "4a3b"), 4, Verdict.UNRESOLVED),  # White loses after both
    ],
)
def test_games_decide(a: float, b: float, moves: tuple[str, str], pairs: int, verdict: Verdict, tmp_path: Path) -> None:
    """White loses whoever plays: the player who says so is right, of White's position as of Black's after it."""
    command = (sys.executable, "-m", "fukayomi", "usi")
    options = {"DNN_Model": "<sparse>", "Random_Ply": 8, "Random_Cutoff": 100, "Random_Temperature_Drop": 0}
    players = {
        name: {"command": command, "options": options, "clock": f"nodes={nodes}"}
        for name, nodes in (("a", 30), ("b", 40))
    }
    settings = DisagreementSettings(**disagree_run.small(pairs=pairs, **players))
    assert settings.a is not None
    assert settings.b is not None
    found = [disagreement(LOST, a, b, moves)]
    if a != b:
        found.append(disagreement(f"{LOST} moves 6a7b", 1 - a, 1 - b, ("2g2f", "2g2f")))
    judged = judge(found, (settings.a, settings.b), settings, tmp_path / "judging", concurrency=1, listener=SILENT)
    assert [each.verdict for each in judged] == [verdict] * len(found)
    assert [each.score for each in judged] == pytest.approx([0.0, 1.0][: len(found)], abs=0.2)
    assert [each.is_about_moves for each in judged] == [a == b] * len(found)
    played = list(read_games(tmp_path / "judging"))
    assert len(played) == 4 * pairs
    assert sum(each.games for each in judged) == len({game.moves for game in played})


def test_games_of_engines_that_fail_do_not_count(tmp_path: Path) -> None:
    hostile = (*arena_players.ENGINE, "crash-go", "7g7f")
    settings = DisagreementSettings(**disagree_run.small(pairs=2, a={"command": hostile, "clock": "movetime=10ms"}))
    assert settings.a is not None
    assert settings.b is not None
    heard = Noting()
    found = disagreement(LOST, 0.9, 0.4)
    judged = judge([found], (settings.a, settings.b), settings, tmp_path / "m", concurrency=1, listener=heard)
    assert judged == [found]
    assert "4 of 4 games are forfeits and do not count" in heard.notes[-1]


def test_siblings_are_moves_that_the_policy_likes_as_much() -> None:
    found = disagreement("startpos moves 7g7f 3c3d", 0.5, 0.9, ("2g2f", "8h2b+")).model_copy(
        update={"verdict": Verdict.A_BLIND, "played": "5g5f"}
    )
    with Network("<hash>") as policy:
        given = starts([found], policy)
        (moves,) = policy.evaluate([found.position()]).policies
    lines = {start.line: (start.weight, start.origin) for start in given}
    assert lines["startpos moves 7g7f 3c3d"] == (1.0, "disagreement")
    assert lines["startpos moves 7g7f"] == (0.5, "1 before")
    assert lines["startpos"] == (0.25, "2 before")
    liked = [move.usi() for move in list(moves) if move.usi() != "5g5f" and moves[move] >= moves[next(
        each for each in moves if each.usi() == "5g5f")]][:8]  # fmt: skip
    siblings = [start.line.split()[-1] for start in given if start.origin == "sibling"]
    assert sorted(siblings) == sorted(liked)


def test_what_is_not_judged_is_a_start(games: Path, tmp_path: Path) -> None:
    settings = DisagreementSettings(min_ply=0, gap=0.5, held_out=0)
    found = find_disagreements([games], tmp_path / "run", settings)
    assert found.chosen.with_scores == GAMES
    assert {each.verdict for each in found.found} == {Verdict.UNJUDGED}
    assert found.starts > len(found) > GAMES
    assert found.held_out == 0
    assert [row["verdict"] for row in found.rows()] == ["unjudged"]


def test_a_match_says_what_both_of_its_engines_thought(whole: Path, tmp_path: Path) -> None:
    played = list(read_games(whole / "judging"))
    settings = DisagreementSettings(min_ply=0, gap=0.3, held_out=0)
    found = find_disagreements([whole / "judging"], tmp_path / "run", settings)
    assert found.chosen.games == len(played)
    assert found.chosen.with_scores > 0
    assert {view.player for each in found.found for view in (each.a, each.b) if view} == {"a", "b"}


def test_lists_of_positions_give_their_last(tmp_path: Path) -> None:
    (tmp_path / "list.sfen").write_text("startpos moves 7g7f 3c3d 2g2f\nstartpos moves 2g2f\n")
    settings = DisagreementSettings(**disagree_run.small(confirm=0, pairs=0, gap=0.001))
    found = find_disagreements([tmp_path / "list.sfen"], tmp_path / "run", settings)
    assert found.searched == 2
    assert {each.ply for each in found.found} <= {1, 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": 0.2}, "gap is 0.1 in"),
        ({"a": {"network": "<hash>", "clock": "nodes=5"}}, "a.clock"),
        ({"rule": "scores"}, "rule is"),
    ],
)
def test_other_settings_are_refused(whole: Path, games: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(DisagreementError, match=message):
        find_disagreements([games], whole, DisagreementSettings(**disagree_run.small(**change)))


def test_other_games_are_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(DisagreementError, match="choose another folder"):
        find_disagreements([tmp_path], whole, DisagreementSettings(**disagree_run.small()))


@pytest.mark.parametrize("name", ["positions.jsonl", "disagreements.jsonl"])
def test_damaged_files_are_named(whole: Path, games: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    for path in (whole / name, whole / "disagree.toml"):
        (folder / path.name).write_bytes(path.read_bytes()[:-20] if path.name == name else path.read_bytes())
    settings = DisagreementSettings(**disagree_run.small())
    read = {
        "disagreements.jsonl": lambda: read_disagreements(folder),
        "positions.jsonl": lambda: find_disagreements([games], folder, settings),
    }
    with pytest.raises(DisagreementError, match=rf"{name}, line \d+: "):
        read[name]()


def test_a_folder_of_something_else_is_refused(games: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DisagreementError, match="is not empty"):
        find_disagreements([games], tmp_path, DisagreementSettings(**disagree_run.small()))
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"a": None}, "give a and b, or neither"),
        ({"a": None, "b": None, "rule": "search"}, "needs the players"),
        ({"min_ply": 200}, "min_ply must be at most"),
        ({"max_ply": 320, "max_plies": 320}, "max_ply must be less than"),
        ({"a": {"clock": "nodes=1"}}, "one of command and network"),
        ({"a": {"network": "<hash>", "clock": "nodes=1"}}, "takes 2 nodes or more"),
        ({"a": {"network": "<hash>", "clock": "main=5m"}}, "nodes=N, movetime=TIME or byoyomi=TIME"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DisagreementError, match=message):
        DisagreementSettings(**disagree_run.small(**settings))


def test_solving_counts_nodes_and_errors() -> None:
    """A position in which White is lost: the player who said so is right, by its value and, it says, by its move."""
    found = disagreement(LOST, 0.9, 0.1, ("6a7b", "4a3b")).model_copy(
        update={"verdict": Verdict.A_BLIND, "score": 0.0, "games": 8}
    )
    open_one = disagreement("startpos", 0.9, 0.1).model_copy(update={"verdict": Verdict.UNRESOLVED})
    with Network("<sparse>", cache_mb=0) as network:
        solved = solve([found, open_one], network, nodes=[2, 8, 64])
    assert len(solved) == 1
    rows = solved.rows()
    assert [(row["nodes"], row["sides"], row["sides_of"]) for row in rows] == [(2, 1, 1), (8, 1, 1), (64, 1, 1)]
    assert [row["error"] for row in rows] == pytest.approx([rates[0] for rates in solved.win_rates])
    assert all(rates[0] < 0.5 for rates in solved.win_rates)
    (least,) = solved.nodes_to_move
    moves = [each[0] for each in solved.moves]
    assert least == next((n for n, at in zip((2, 8, 64), range(3), strict=True) if set(moves[at:]) == {"4a3b"}), None)


def test_nothing_to_solve() -> None:
    with Network("<hash>") as network, pytest.raises(ValueError, match="nothing to search"):
        solve([disagreement("startpos", 0.9, 0.1)], network)
    judged = disagreement("startpos", 0.9, 0.1).model_copy(update={"verdict": Verdict.A_BLIND})
    with Network("<hash>") as network, pytest.raises(ValueError, match="2 nodes or more, not 1"):
        solve([judged], network, nodes=[1, 2])
