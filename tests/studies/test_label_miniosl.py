"""studies/label_miniosl.py against miniosl itself, on games of random moves."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

miniosl = pytest.importorskip("miniosl", reason="miniosl has wheels for Python 3.11 on Linux alone")

import label_miniosl  # noqa: E402 - it needs miniosl
from inline_pool import InlinePool  # noqa: E402
from label_miniosl import LABELS, Plan, label_game  # noqa: E402

from fukayomi._native import EVAL_SCALE, encode_hcp  # noqa: E402
from fukayomi.data.formats.games import game_from_record  # noqa: E402
from fukayomi.data.formats.hcpe3 import Game, join_games, read_hcpe3  # noqa: E402
from fukayomi.engine.evaluators.backends.machine import cpu_features  # noqa: E402
from fukayomi.shogi import Move, Position  # noqa: E402
from fukayomi.shogi.record import Record  # noqa: E402

ALL = Plan(share=1.0, search=0.5, seed=1)


def searched_game() -> Game:
    """A game whose first three moves have scores."""
    scored = ["+7776FU", "'** 60", "-3334FU", "'** -20", "+8822UM", "'** 90"]
    found = game_from_record(Record.from_text("\n".join(["PI", "+", *scored, "-3122GI", "+2868HI", "%TORYO"])))
    assert isinstance(found, Game)
    return found


def test_labels_are_translated_for_every_move_that_both_know() -> None:
    chooser, seen = random.Random(1), set[int]()
    for _ in range(60):
        position, manager = Position(), miniosl.GameManager()
        for _ in range(120):
            theirs = {move.to_usi(): move for move in manager.legal_moves}
            both = [move for move in position.legal_moves if move.usi() in theirs]
            if not both:
                break
            for move in both:
                label = position.policy_label(move)
                assert LABELS[label] == theirs[move.usi()].policy_move_label, (position.sfen(), move.usi())
                seen.add(label)
            played = chooser.choice(both)
            position.push(played)
            manager.make_move(theirs[played.usi()])
    assert sorted(LABELS.tolist()) == list(range(2187))
    assert len(seen) > 900


def test_a_position_gets_the_policy_and_the_mixed_win_rate() -> None:
    game = searched_game()
    labelled = label_game(game, ALL, np.random.default_rng(1))
    assert labelled is not None
    new = labelled[0]
    assert (np.diff(new.candidates) > 0).tolist() == [True, True, True, False, False]
    assert np.array_equal(new.moves, game.moves)
    assert new.result_byte == game.result_byte
    position, network = Position(), label_miniosl.open_network("fp32")
    manager = miniosl.GameManager()
    theirs = {move.to_usi(): move for move in manager.legal_moves}
    logits, values = network(np.asarray(manager.export_heuristic_feature16(), np.float32)[None])
    exponentials = {
        move.usi(): np.exp(logits[0][theirs[move.usi()].policy_move_label]) for move in position.legal_moves
    }
    total = sum(exponentials.values())
    first = slice(0, int(new.candidates[1]))
    for raw, visits in zip(new.candidate_moves[first], new.candidate_visits[first], strict=True):
        assert visits == pytest.approx(65535 * exponentials[Move.from_raw(int(raw)).usi()] / total, abs=1)
    winrates = [1 / (1 + np.exp(-evaluation / 756.0864962951762)) for evaluation in (new.evals[0], game.evals[0])]
    assert winrates[0] == pytest.approx((winrates[1] + (values[0][0] + 1) / 2) / 2, abs=0.002)


def test_positions_beside_a_game_are_labelled() -> None:
    positions = [Position.from_usi("startpos moves 7g7f 3c3d") for _ in range(12)]
    label_miniosl.lead_away(positions, 2, np.random.default_rng(1))
    assert {len(each.moves) for each in positions} == {2, 3, 4}
    assert all(each.usi().startswith("startpos moves 7g7f 3c3d") for each in positions)
    features = np.stack([label_miniosl.features_after(each.moves) for each in positions])
    expected = label_miniosl.evaluate(features, positions)
    games = label_miniosl.label_positions(positions, "fp32")
    for row, (game, position) in enumerate(zip(games, positions, strict=True)):
        assert game.start == encode_hcp(position)
        assert game.moves.tolist() == [expected.moves[row, expected.probabilities[row].argmax()]]
        assert 1 / (1 + np.exp(-game.evals[0] / EVAL_SCALE)) == pytest.approx(expected.winrates[row], abs=0.002)
        shares = game.candidate_visits / 65535
        assert shares[0] == pytest.approx(expected.probabilities[row].max(), abs=0.001)
        assert shares.min() >= label_miniosl.LEAST_SHARE


def test_a_game_becomes_positions_beside_it() -> None:
    beside = label_game(searched_game(), replace(ALL, off=3), np.random.default_rng(1))
    assert beside is not None
    assert [len(each) for each in beside] == [1, 1, 1]


def test_mates_and_ends_of_games_are_not_asked_for() -> None:
    mate, mated = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
    assert [label_miniosl.is_asked(Position(sfen)) for sfen in (Position().sfen(), mate, mated)] == [True, False, False]


def test_bf16_is_refused_where_the_cpu_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_miniosl, "cpu_features", lambda: ("AVX2",))
    with pytest.raises(ValueError, match="does not compute in bf16"):
        label_miniosl.open_network.__wrapped__("bf16")


@pytest.mark.skipif("BF16" not in cpu_features(), reason="the CPU does not compute in bf16")
def test_bf16_gives_nearly_the_same_targets() -> None:
    pytest.importorskip("openvino")
    half, full = (
        label_game(searched_game(), replace(ALL, precision=precision), np.random.default_rng(1))
        for precision in ("bf16", "fp32")
    )
    assert half is not None
    assert full is not None
    assert np.abs(half[0].evals - full[0].evals).max() <= 20
    weights = [
        dict(zip(each[0].candidate_moves.tolist(), (each[0].candidate_visits / 65535).tolist(), strict=True))
        for each in (half, full)
    ]
    assert max(abs(weights[0].get(move, 0) - weight) for move, weight in weights[1].items()) < 0.05


def test_only_drawn_moves_keep_targets() -> None:
    game = searched_game()
    none = label_game(game, Plan(0.0, 0.5, 1), np.random.default_rng(1))
    assert none is not None
    assert len(none[0].candidate_moves) == 0
    assert np.array_equal(none[0].moves, game.moves)


def test_a_game_from_elsewhere_is_left_out() -> None:
    game = searched_game()
    moved = Game(game.hcps[1].tobytes(), *(getattr(game, name) for name in list(Game.__slots__)[1:]))
    assert label_game(moved, ALL, np.random.default_rng(1)) is None


def test_the_command_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("work_folder.start_pool", InlinePool)
    (tmp_path / "games.hcpe3").write_bytes(join_games([searched_game()] * 3).write())
    words = ["label_miniosl.py", str(tmp_path / "games.hcpe3"), "-o", str(tmp_path / "out"), "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", words)
    label_miniosl.main()
    assert "1 of 1: games-000001.hcpe3, 3 games" in capfd.readouterr().out
    (games,) = read_hcpe3(tmp_path / "out" / "games-000001.hcpe3")
    assert len(games) == 3
    label_miniosl.main()
    assert capfd.readouterr().out == ""
    monkeypatch.setattr(sys, "argv", [*words, "--share", "0.5"])
    with pytest.raises(SystemExit, match=r"settings\.json: this folder has work with other settings"):
        label_miniosl.main()


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "games.hcpe3"
    damaged.write_bytes(join_games([searched_game()] * 2).write()[:-5])
    monkeypatch.setattr(sys, "argv", ["label_miniosl.py", str(damaged), "-o", str(tmp_path / "out"), "--jobs", "1"])
    with pytest.raises(SystemExit, match=r"games.hcpe3, game 1"):
        label_miniosl.main()
    assert not list((tmp_path / "out").glob("*.hcpe3"))


def test_an_empty_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games.hcpe3").touch()
    monkeypatch.setattr(sys, "argv", ["label_miniosl.py", str(tmp_path / "games.hcpe3"), "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit):
        label_miniosl.main()
    assert "games.hcpe3: the file is empty" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
