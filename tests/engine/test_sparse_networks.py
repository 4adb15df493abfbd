"""Sparse networks in the engine: loading, evaluating, searching with several threads, ensembles, worth, the doctor."""

import re
from pathlib import Path

import numpy as np
import pytest
import sparse_files

from fukayomi.engine import Engine, EvaluatorError, Network
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.measuring import doctor
from fukayomi.engine.worth.worth import piece_worth
from fukayomi.shogi import BLACK, Color, Position

MIDDLE_GAME = "ln1g1g1nl/1ks2r3/1pppp1bpp/p3spp2/9/P1P1SP1P1/1PSPP1P2/2GR1B3/LN1K1G1NL b P 45"
MATE_PROBLEM = "8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"  # without Black's king
WITHOUT_KINGS = ("4k4/9/4P4/9/9/9/9/9/9 b G 1", "4k4/9/4P4/9/9/9/9/9/9 w G 1", "9/9/9/9/9/9/9/9/9 b - 1")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with random numbers."""
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), sparse_files.SMALL).path


def turned(sfen: str) -> Position:
    """The same position for the other side."""
    board, turn, hands, ply = sfen.split()
    rows = ["".join(reversed(re.findall(r"\+?.", row))) for row in reversed(board.split("/"))]
    return position_of(f"{'/'.join(rows).swapcase()} {'w' if turn == 'b' else 'b'} {hands.swapcase()} {ply}")


def position_of(sfen: str) -> Position:
    return Position.from_sfen(sfen, allow_missing_king=True)


def test_a_file_is_loaded_and_says_what_it_is(path: Path) -> None:
    with Network(path) as network:
        assert isinstance(network.evaluator, NetworkEvaluator)
        assert (network.evaluator.plan.backend, network.evaluator.plan.precision) == ("native", "int8")
        assert network.name == "network.sparse"
        assert network.identity.endswith("-int8-native")
        assert network.sha256 is not None
        evaluation = network.evaluate([Position(), Position.from_sfen(MIDDLE_GAME)])
        assert evaluation.counts.tolist() == [30, Position.from_sfen(MIDDLE_GAME).legal_move_count]
        assert evaluation.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
        assert ((evaluation.winrates > 0) & (evaluation.winrates < 1)).all()


def test_positions_without_a_king_have_numbers(path: Path) -> None:
    with Network(path) as network:
        positions = [Position.from_sfen(sfen, allow_missing_king=True) for sfen in WITHOUT_KINGS]
        evaluation = network.evaluate(positions)
        assert np.isfinite(evaluation.winrates).all()
        assert np.isfinite(evaluation.probabilities).all()
        assert evaluation.counts[2] == 0


def test_the_file_beside_it_suggests_options(path: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.sparse"
    own.write_bytes(path.read_bytes())
    (tmp_path / "own.sparse.ini").write_text("Softmax_Temperature=133\nNo_Such_Option=1\n")
    with Network(own) as network:
        assert network.settings.softmax_temperature == 133
        (problem,) = network.problems
        assert "No_Such_Option" in problem


def test_searches_share_it_and_its_cache(path: Path) -> None:
    with Network(path, threads=2, batch_size=8) as network, Engine(network) as one, Engine(network) as other:
        first = one.search(Position(), nodes=3000)
        second = other.search(Position(), nodes=3000)
        assert first.best is not None
        assert second.progress.evaluations < first.progress.evaluations / 2, "the cache knows what the first one asked"


def test_the_same_network_on_several_devices_searches_one_tree(path: Path) -> None:
    with Network([path] * 3, threads=1, batch_size=4, cache_mb=0) as network, Engine(network) as engine:
        assert len(network.evaluators) == 3
        assert engine.search(Position(), nodes=2000).progress.nodes >= 2000


@pytest.mark.parametrize("sparse_first", [True, False])
def test_an_ensemble_with_a_residual_network_is_the_mean(path: Path, *, sparse_first: bool) -> None:
    both: list[str | Path] = [path, "<5x64>"] if sparse_first else ["<5x64>", path]
    weights = [3, 1] if sparse_first else [1, 3]
    positions = [Position(), Position.from_sfen(MIDDLE_GAME)]
    with Network(path) as sparse, Network("<5x64>", precision="fp32") as residual:
        apart = [each.evaluate(positions) for each in (sparse, residual)]
    with Network(both, weights=weights, batch_size=4, device="auto") as network, Engine(network) as engine:
        found = network.evaluate(positions)
        assert found.winrates == pytest.approx(0.75 * apart[0].winrates + 0.25 * apart[1].winrates, abs=0.02)
        mean = 0.75 * apart[0].probabilities + 0.25 * apart[1].probabilities
        assert found.probabilities == pytest.approx(mean, abs=0.02)
        assert engine.search(Position(), nodes=300).progress.nodes >= 300


def test_positions_may_be_shared_out_with_a_residual_network(path: Path) -> None:
    with Network([path, "<5x64>"]) as network, Engine(network) as engine:
        assert engine.search(Position(), nodes=500).progress.nodes >= 500


@pytest.mark.parametrize("sfen", [Position().sfen(), MIDDLE_GAME, MATE_PROBLEM])
def test_worth_is_the_same_for_both_sides(path: Path, sfen: str) -> None:
    with Network(path) as network:
        black, white = piece_worth(position_of(sfen), network), piece_worth(turned(sfen), network)
    assert black.cp == -white.cp

    def values(pieces: object, side: Color) -> dict[object, int | None]:
        return {
            (each.piece.color == side, each.piece.type, each.piece.square): each.worth_cp  # pyright: ignore
            for each in pieces  # pyright: ignore
        }

    def other(square: int | None) -> int | None:
        return None if square is None else 80 - square

    own = values(black.pieces, BLACK)
    theirs = values(white.pieces, Color(1 - BLACK))
    assert len(own) >= 8
    assert own == {(mine, kind, other(square)): cp for (mine, kind, square), cp in theirs.items()}  # pyright: ignore
    assert any(own.values())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"precision": "fp32"}, "DNN_Precision fp32 is not possible here for .*network.sparse, only native int8"),
        ({"device": "cpu"}, "network.sparse: only DNN_Provider native runs sparse networks"),
        ({"device": "openvino"}, "network.sparse: only DNN_Provider native|openvino is not installed"),
        ({"device": "torch"}, "network.sparse: only DNN_Provider native|torch is not installed"),
    ],
)
def test_what_cannot_run_it_says_so(path: Path, asked: dict[str, str], message: str) -> None:
    with pytest.raises(EvaluatorError, match=message):
        Network(path, **asked)  # pyright: ignore


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "no sparse network that can be used"),
        (lambda data: data[:70] + bytes([data[70] ^ 1]) + data[71:], "damaged, its SHA-256 is another"),
        (lambda data: data[:8] + b"\x02" + data[9:], "format version 2; version 1 is known"),
        (lambda _: b"", "ends within its header"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(path: Path, tmp_path: Path, change: object, message: str) -> None:
    damaged = tmp_path / "damaged.sparse"
    damaged.write_bytes(change(path.read_bytes()))  # pyright: ignore
    for device in ("auto", "native"):
        with pytest.raises(EvaluatorError, match=rf"damaged\.sparse: .*{message}"):
            Network(damaged, device=device)


def test_the_doctor_measures_it_and_names_what_cannot_run_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.001)
    diagnosis = doctor.diagnose(path)
    (measured,) = (row for row in diagnosis.backends if row.evaluations_per_s is not None)
    assert (measured.backend, measured.precision, measured.ratio) == ("native", "int8", None)
    problems = {row.backend: row.problem for row in diagnosis.backends if row is not measured}
    assert all(problems.values())
    assert "only DNN_Provider native runs sparse networks" in problems["cpu"]
    assert diagnosis.plan is not None
    assert doctor.missing_int8(diagnosis) is None, "its own file is in integers"
