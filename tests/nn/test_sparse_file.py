"""Files of sparse networks: round trip, and what is refused."""

# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from network_samples import shaken_sparse
from numpy.typing import NDArray
from sparse_positions import random_position

from fukayomi._native import (
    SPARSE_ROWS,
    SparseInferenceNetwork,
    SparseInput,
    SparseRunner,
    sparse_kept_rows,
    sparse_moves,
    sparse_rows,
)
from fukayomi.files.sparse_network import SparseFile, SparseFileError, read_sparse_file, sparse_file_bytes
from fukayomi.learning.models import export_network, sparse_positions
from fukayomi.nn.config import NetworkConfigError
from fukayomi.nn.parameters import ExportError
from fukayomi.nn.sparse import SQUARE_ROWS, SparseConfig, SparseNetwork, SparsePositions
from fukayomi.nn.sparse_file import largest_sums, load_sparse, save_sparse
from fukayomi.shogi import Position

CONFIG = SparseConfig(policy=64, value=64, shared=32, hidden=8)


@pytest.fixture(scope="module")
def games() -> SparsePositions:
    """Positions on which the errors of rounding are measured."""
    return sparse_positions([random_position(seed) for seed in range(1000, 1300)])


@pytest.fixture(scope="module")
def network() -> SparseNetwork:
    return shaken_sparse(CONFIG, 0.02)


@pytest.fixture(scope="module")
def file(network: SparseNetwork, tmp_path_factory: pytest.TempPathFactory) -> SparseFile:
    path = tmp_path_factory.mktemp("sparse") / "network.sparse"
    export_network(network, path)
    return read_sparse_file(path)


def test_what_is_written_comes_back(network: SparseNetwork, file: SparseFile) -> None:
    loaded = load_sparse(file.path)
    assert loaded.config == CONFIG
    kept = sparse_kept_rows()
    table = network.table().detach()[:, kept]
    tops = torch.from_numpy(file.arrays()["tops"].astype(np.float32)).reshape(-1, 1, 32)
    difference = (loaded.table().detach()[:, kept] - table).abs()
    assert bool((difference <= 0.5 / tops + (table.abs() - 127.5 / tops).clamp(min=0) + 1e-6).all())
    left_out = np.setdiff1d(np.arange(SQUARE_ROWS), kept)
    assert not loaded.table()[:, left_out].any()
    for name, most in (
        ("policy_accumulators.bias", 0.1),
        ("value_accumulators.bias", 0.1),
        ("label_bias", 1e-5),
        ("group_bias", 1e-5),
        ("value_layer1.weight", 1e-4),
        ("value_layer1.bias", 0),
        ("value_layer2.weight", 0),
        ("value_layer2.bias", 0),
        ("value_layer3.weight", 0),
        ("value_layer3.bias", 0),
    ):
        torch.testing.assert_close(loaded.state_dict()[name], network.state_dict()[name], rtol=0, atol=most, msg=name)
    sums = network.value_rows.detach()[0].sum(dim=1)[kept]
    torch.testing.assert_close(loaded.value_rows.detach()[0].sum(dim=1)[kept], sums, rtol=0, atol=1e-5)


def test_numbers_beyond_floats_are_refused(file: SparseFile, tmp_path: Path) -> None:
    arrays = {name: values.copy() for name, values in file.arrays().items()}
    arrays["label_scales"][:] = 3e38
    path = tmp_path / "huge.sparse"
    path.write_bytes(bytes(sparse_file_bytes(file.widths, arrays)))
    with pytest.raises(SparseFileError, match=r"huge\.sparse: no sparse network that can be used: label_table is not"):
        load_sparse(path)


def test_sums_of_games_stay_what_they_are(network: SparseNetwork, file: SparseFile) -> None:
    """By more than if each weight were rounded to the nearest step."""
    read = sparse_positions([random_position(seed) for seed in range(200)])
    loaded = load_sparse(file.path)
    kept = torch.from_numpy(sparse_kept_rows().astype(np.int64))
    counts = np.bincount(read.rows, minlength=SPARSE_ROWS) / len(read)
    tops = torch.from_numpy(file.arrays()["tops"].astype(np.float32))

    def mean_error(table: torch.Tensor, bias: torch.Tensor) -> float:
        """Of the accumulators in steps, the root of its mean square over the columns."""
        wanted = network.table().detach().permute(1, 0, 2).flatten(1)
        frequent = torch.from_numpy(counts.astype(np.float32))[kept]
        shift = bias - torch.cat([network.policy_accumulators.bias, network.value_accumulators.bias]).detach()
        return float((((frequent @ (table - wanted)[kept]) + shift) * tops).square().mean().sqrt())

    rounded = loaded.table().detach().permute(1, 0, 2).flatten(1)
    own = torch.cat([network.policy_accumulators.bias, network.value_accumulators.bias]).detach()
    taken_up = torch.cat([loaded.policy_accumulators.bias, loaded.value_accumulators.bias]).detach()
    assert mean_error(rounded, taken_up) < 0.5 * mean_error(rounded, (own * tops).round() / tops)

    with torch.no_grad():
        numbers = network.policy_accumulators(read)
    for name, inputs in (("label_table", numbers), ("group_table", numbers[:, : CONFIG.shared])):
        wanted, found = (which.state_dict()[name].permute(1, 0, 2).flatten(1) for which in (network, loaded))
        step = wanted.abs().amax(dim=1, keepdim=True) / 127 if name == "label_table" else found.abs().max() / 127
        nearest = (wanted / step).round().clamp(-127, 127) * step
        error, of_nearest = (float((inputs @ (each - wanted).T).square().mean()) for each in (found, nearest))
        assert error < 0.8 * of_nearest, name


def test_the_largest_weights_of_groups_are_clipped_for_the_others(games: SparsePositions, tmp_path: Path) -> None:
    """Moves that occur decide how far; none takes a king with a pawn."""
    pawn_takes_king = 8
    few = shaken_sparse(CONFIG, 0.02)
    with torch.no_grad():
        few.group_table[0, pawn_takes_king, 0] = 4.0
    save_sparse(few, tmp_path / "a.sparse", games)
    assert 0.75 < load_sparse(tmp_path / "a.sparse").group_table.max().item() < 1.25


def test_networks_have_widths_that_files_have(games: SparsePositions, tmp_path: Path) -> None:
    config = SparseConfig(policy=128, value=64, shared=64, hidden=256)
    save_sparse(SparseNetwork(config), tmp_path / "a.sparse", games)
    assert load_sparse(tmp_path / "a.sparse").config == config
    for name, numbers in {
        "policy": (0, 96, 1088),
        "value": (32, 2048),
        "shared": (0, 48, 224),
        "hidden": (9, 264),
    }.items():
        for number in numbers:
            with pytest.raises(NetworkConfigError, match=name):
                SparseConfig(**{name: number})


def test_a_network_that_is_not_finite_replaces_nothing(network: SparseNetwork, tmp_path: Path) -> None:
    path = tmp_path / "network.sparse"
    path.write_bytes(b"before")
    broken = shaken_sparse(CONFIG, 0.02)
    with torch.no_grad():
        broken.policy_accumulators.bias[3] = torch.nan
    with pytest.raises(ExportError, match="bias"):
        export_network(broken, path)
    assert path.read_bytes() == b"before"


def floats(network: SparseNetwork, positions: Sequence[Position]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The logits of all moves, and win probabilities, in floats."""
    rows = [sparse_rows(position) for position in positions]
    moves = [sparse_moves(position, position.legal_moves) for position in positions]
    read = SparsePositions(
        np.concatenate(rows),
        np.cumsum([0] + [len(each) for each in rows]),
        np.concatenate([labels for labels, _ in moves]),
        np.concatenate([groups for _, groups in moves]),
        np.cumsum([0] + [len(labels) for labels, _ in moves]),
    )
    with torch.no_grad():
        logits, values = network(read)
    return logits.numpy(), torch.sigmoid(values).numpy()


def test_at_the_embedded_width_integers_are_close_to_floats_in_20_megabytes(
    games: SparsePositions, tmp_path: Path
) -> None:
    network = shaken_sparse(SparseConfig(), 0.02)
    save_sparse(network, tmp_path / "network.sparse", games)
    assert (tmp_path / "network.sparse").stat().st_size == 19_217_344
    positions = [random_position(seed) for seed in range(40)]
    read = SparseInput(len(positions))
    for n, position in enumerate(positions):
        read.write(n, position, position.legal_moves)
    rows = np.empty((len(positions), 593), np.float32)
    values = np.empty(len(positions), np.float32)
    file = read_sparse_file(tmp_path / "network.sparse")
    assert SparseRunner(SparseInferenceNetwork(file.data), 1).run(read, len(positions), rows, values)
    logits = np.concatenate([row[: len(position.legal_moves)] for row, position in zip(rows, positions, strict=True)])
    for which in (network, load_sparse(file.path)):
        expected_logits, expected_values = floats(which, positions)
        difference = logits - expected_logits
        assert np.sqrt(np.square(difference).mean()) < 0.05 * expected_logits.std()
        assert np.sqrt(np.square(values - expected_values).mean()) < 0.01
        assert np.abs(values - expected_values).max() < 0.03
    assert values.std() > 0.01


def test_no_position_of_random_games_reaches_the_largest_sums() -> None:
    random, numbers = np.random.default_rng(3), np.random.default_rng(4)
    rows = numbers.integers(-127, 128, (SPARSE_ROWS, 5)).astype(np.int16)
    most, least = largest_sums(rows), -largest_sums(-rows)
    sums: list[NDArray[np.int64]] = []
    for _ in range(20):
        position = Position()
        for _ in range(150):
            moves = position.legal_moves
            if not moves:
                break
            position.push(moves[int(random.integers(len(moves)))])
            sums.append(rows[sparse_rows(position)].sum(axis=0))
    found = np.array(sums)
    assert (found.max(axis=0) <= most).all()
    assert (found.min(axis=0) >= least).all()
    assert (most < 127 * 440).all()
    # A position may have a row for each square, and all that a row of hands, a zone or a threat can add.
    assert largest_sums(np.ones((SPARSE_ROWS, 1), np.int16)).tolist() == [81 + 57 + 100 + 50 + 128]
    one = np.zeros((SPARSE_ROWS, 1), np.int16)
    one[SQUARE_ROWS + 57 + 6 * 28 + 3] = 5  # an own silver attacks an own gold: of golds there are four
    assert largest_sums(one).tolist() == [4 * 5]


def test_accumulators_that_16_bits_cannot_hold_get_fewer_steps_or_are_refused(
    file: SparseFile, games: SparsePositions, tmp_path: Path
) -> None:
    network, path = shaken_sparse(CONFIG, 0.02), tmp_path / "network.sparse"
    biases = [network.policy_accumulators.bias, network.value_accumulators.bias]
    places = [7, CONFIG.policy + 9]
    before = file.arrays()["tops"].astype(int)
    with torch.no_grad():
        biases[0][7] = biases[1][9] = 60.0
    save_sparse(network, path, games)
    found = read_sparse_file(path).arrays()
    for place in places:
        assert 64 <= found["tops"][place] < before[place]
        assert found["bias"][place] == pytest.approx(60 * int(found["tops"][place]), rel=0.01)
    others = np.delete(np.arange(len(before)), places)
    assert (found["tops"][others] > 0.8 * before[others]).all()  # other games choose them anew
    written = path.read_bytes()
    for place, bias in zip(places, biases, strict=True):
        with torch.no_grad():
            bias[place % CONFIG.policy] = 0.0
        for far in (-600.0, 1e30):
            with torch.no_grad():
                bias[place % CONFIG.policy] = far
            reason = rf"accumulator {place} could reach [\d,]+ steps, and 16 bits hold 32,767"
            with pytest.raises(ExportError, match=reason):
                save_sparse(network, path, games)
        with torch.no_grad():
            bias[place % CONFIG.policy] = 0.0
    assert path.read_bytes() == written
