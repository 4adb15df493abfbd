"""studies/miniosl_match.py: the network's answers reach the search, with the moves that led to each position."""

import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

miniosl = pytest.importorskip("miniosl", reason="miniosl has wheels for Python 3.11 on Linux alone")

import miniosl_match  # noqa: E402 - it needs miniosl
from label_miniosl import evaluate  # noqa: E402
from miniosl_match import MinioslEvaluator, MinioslPlayer, features_after  # noqa: E402

from fukayomi.engine import Engine, Network  # noqa: E402
from fukayomi.shogi import Position  # noqa: E402
from fukayomi.usi.text import Go  # noqa: E402


def test_a_search_gets_what_the_network_says_of_each_position() -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e")
    direct = evaluate(features_after(position.moves)[None], [position])
    evaluator = MinioslEvaluator(batch_size=4)
    with Network(evaluator, cache_mb=0) as network, Engine(network) as engine:
        evaluator.begin(position)
        result = engine.search(position, nodes=1)
        assert result.lines[0].prior == pytest.approx(_tempered(direct.probabilities[0]).max(), rel=0.02)
        result = engine.search(position, nodes=60, multipv=100)
        visited = {line.move: line for line in result.lines if line.visits == 1}
        assert visited
        for move, line in visited.items():
            child = position.copy()
            child.push(move)
            judged = evaluate(features_after(child.moves)[None], [child])
            assert line.winrate == pytest.approx(1 - judged.winrates[0], abs=0.002)


def test_inputs_are_those_of_the_whole_game() -> None:
    game = Position()
    manager = miniosl.GameManager()
    rng = random.Random(1)
    for _ in range(60):
        expected = np.asarray(manager.export_heuristic_feature16(), np.float32)
        assert np.array_equal(features_after(game.moves), expected)
        move = rng.choice(list(game.legal_moves))
        game.push(move)
        manager.make_move(miniosl.usi_record("startpos moves " + " ".join(each.usi() for each in game.moves)).moves[-1])


def test_a_position_may_come_a_fourth_time() -> None:
    position = Position.from_usi("startpos moves" + " 5i4h 5a4b 4h5i 4b5a" * 4)
    assert features_after(position.moves).shape == (176, 9, 9)


def test_positions_are_known_all_through_a_game() -> None:
    evaluator = MinioslEvaluator(batch_size=4)
    with Network(evaluator, cache_mb=0) as network, Engine(network) as engine:
        player = MinioslPlayer(engine, evaluator)
        player.new_game()
        position = Position()
        for _ in range(6):  # the tree is kept, and lines of the opening meet
            best = player.choose(position.copy(), Go(nodes=40)).bestmove
            assert best is not None
            position.push_usi(best.move)


def _tempered(probabilities: np.ndarray) -> np.ndarray:
    powers = probabilities ** (1 / 1.74)
    return powers / powers.sum()


def test_a_game_from_elsewhere_is_refused() -> None:
    position = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    with pytest.raises(ValueError, match="start position"):
        MinioslEvaluator().begin(position)


def test_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "openings.sfen").write_text("startpos moves 7g7f 3c3d 2g2f\nstartpos moves 2g2f 8c8d 2f2e\n", "utf-8")
    words = ["miniosl_match.py", "--games", "2", "--clock", "nodes=2", "--json", "--opening-plies", "2"]
    folders = ["--openings", str(tmp_path / "openings.sfen"), "--out", str(tmp_path / "match")]
    monkeypatch.setattr(sys, "argv", [*words, *folders])
    miniosl_match.main()
    found = json.loads(capsys.readouterr().out)
    assert found["games"] == 2
    assert found["failures"] == 0
    assert 0.5 < found["share_of_network"] < 1
