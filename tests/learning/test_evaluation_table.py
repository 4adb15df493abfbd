"""Several networks on several test sets: the metrics are those of `evaluate`, and intervals are of games or blocks."""

import csv
import errno
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import Result
from command_app import app
from typer.testing import CliRunner

from fukayomi import _native
from fukayomi.data import write_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.hcpe3 import Game, join_games, read_hcpe3
from fukayomi.data.formats.psv import psv_record
from fukayomi.learning import Dataset, evaluate, evaluate_networks, export_network
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.metrics import MEASURES, percentile_estimates, resample_means
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters
from fukayomi.nn.network import evaluation_mode
from fukayomi.shogi import Move, Position

TINY = NetworkConfig(blocks=1, channels=8, value_hidden=8)


def network(seed: int) -> PolicyValueNetwork:
    torch.manual_seed(seed)
    return PolicyValueNetwork(TINY)


def games_file(path: Path, lengths: list[int], forced: str = "") -> Path:
    """hcpe3 games of these lengths, of random moves after forced ones; two candidates a move, with 3 visits and 1."""
    random = np.random.default_rng(5)
    games: list[Game] = []
    for length in lengths:
        position = Position()
        hcps, candidates = [], []
        for usi in forced.split() + [""] * (length - len(forced.split())):
            legal = position.useful_moves
            chosen = [legal[int(i)] for i in random.choice(len(legal), 2, replace=False)]
            chosen = [Move.from_usi(usi), chosen[0]] if usi else chosen
            hcps.append(_native.encode_hcp(position))
            candidates += [move.raw for move in chosen]
            position.push(chosen[0])
        games.append(
            Game(
                hcps[0], 1 + length % 2, 0, np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32),
                np.array(candidates[::2], np.uint16), random.integers(-500, 500, length).astype(np.int16),
                np.arange(0, 2 * length + 1, 2, dtype=np.uint64), np.array(candidates, np.uint16),
                np.tile(np.array([3, 1], np.uint16), length),
            )
        )  # fmt: skip
    with DataWriter(path) as writer:
        writer.append(join_games(games))
    return path


@pytest.fixture
def games(tmp_path: Path) -> Path:
    return games_file(tmp_path / "games.hcpe3", [9, 14, 5, 20, 7])


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])


def test_the_policy_is_measured_over_the_moves(tmp_path: Path) -> None:
    file = games_file(tmp_path / "games.hcpe3", [30, 21])
    data, plain = Dataset(file), network(1)
    arrays = data.arrays(range(len(data)))
    with evaluation_mode(plain), torch.no_grad():
        policy, _ = plain(*TensorBatch.of(arrays, torch.device("cpu")).features())
    wanted, losses, entropies, hits = arrays.policy(), list[float](), list[float](), list[bool]()
    positions = [_native.position_from_hcp(hcp.tobytes()) for games in read_hcpe3(file) for hcp in games.hcps]
    for row, position in enumerate(positions):
        labels = [position.policy_label(move) for move in position.useful_moves]
        log_p = torch.log_softmax(policy[row, labels].double(), dim=0).numpy()
        losses.append(-float(wanted[row, labels] @ log_p))
        entropies.append(-float(np.exp(log_p) @ log_p))
        hits.append(labels[int(log_p.argmax())] == arrays.labels[row])
    (result,) = evaluate_networks({"a": plain}, {"t": data}, resamples=0).results
    expected = {"policy_loss": np.mean(losses), "policy_entropy": np.mean(entropies), "policy_accuracy": np.mean(hits)}
    assert {name: result.measures[name].value for name in expected} == pytest.approx(expected, rel=1e-4)
    assert len(losses) == result.positions


def test_a_needless_non_promotion_counts_for_the_promotion(tmp_path: Path) -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    useless, promotion = (Move.from_usi(usi) for usi in ("8h2b", "8h2b+"))
    assert useless in position.legal_moves
    assert useless not in position.useful_moves
    for name, moves in (("both", [useless, promotion]), ("one", [promotion])):
        raws, hcp = np.array([move.raw for move in moves], np.uint16), _native.encode_hcp(position)
        with DataWriter(tmp_path / f"{name}.hcpe3") as writer:
            writer.append(join_games([
                Game(
                    hcp, 1, 0, np.frombuffer(hcp, np.uint8).reshape(1, 32), raws[:1], np.zeros(1, np.int16),
                    np.array([0, len(raws)], np.uint64), raws, np.full(len(raws), 5, np.uint16),
                )
            ]))  # fmt: skip
    both, one = (
        evaluate_networks({"a": network(1)}, {"t": Dataset(tmp_path / f"{name}.hcpe3")}, resamples=0).results[0]
        for name in ("both", "one")
    )
    assert both == one


def test_the_metrics_are_those_of_evaluate_and_differences_are_paired(test_file: Path, games: Path) -> None:
    networks = {"a": network(1), "b": network(2), "a again": network(1)}
    tests = {"rows": Dataset(test_file), "games": Dataset(games)}
    table = evaluate_networks(networks, tests, val_lambda=0.7, batch=16, resamples=200)
    assert len(table.rows()) == 2 * 5
    for result in table.results:
        found = evaluate(networks[result.network], tests[result.test], val_lambda=0.7).as_dict()
        assert result.positions == found.pop("positions")
        assert {name: each.value for name, each in result.measures.items()} == pytest.approx(found, rel=1e-4)
        for each in result.measures.values():
            assert each.low is not None
            assert each.high is not None
            assert each.low <= each.value <= each.high
    by_name = {(each.test, each.network): each.measures for each in table.results}
    for difference in table.differences:
        assert difference.minus == "a"
        for name, each in difference.measures.items():
            first, other = (by_name[difference.test, which][name] for which in ("a", difference.network))
            assert each.value == pytest.approx(other.value - first.value, abs=1e-9)
        if difference.network == "a again":
            assert {(each.value, each.low, each.high) for each in difference.measures.values()} == {(0, 0, 0)}
    assert table.to_polars().shape == (10, 4 + 3 * len(MEASURES))


def test_a_network_in_training_goes_on_training(games: Path, tmp_path: Path) -> None:
    trained = network(1)
    trained.stem.norm.eval()  # frozen
    modes = {name: module.training for name, module in trained.named_modules()}
    assert modes["value.norm"]
    evaluate(trained, Dataset(games))
    evaluate_networks({"trained": trained}, {"games": Dataset(games)}, resamples=0)
    export_network(trained, tmp_path / "network.onnx")
    assert {name: module.training for name, module in trained.named_modules()} == modes
    assert evaluate(trained, Dataset(games)) == evaluate(trained.eval(), Dataset(games))


def test_whole_games_are_drawn_where_there_are_games(games: Path, test_file: Path) -> None:
    both = Dataset(test_file, games)
    assert both.games == 5
    rows, of_games = len(Dataset(test_file)), len(Dataset(games))
    starts = both.groups(20)
    lengths = np.diff(starts, append=len(both)).tolist()
    assert lengths[:3] == [20, 20, 10]
    assert lengths[3:] == [9, 14, 5, 20, 7]
    assert sum(lengths) == rows + of_games == len(both)
    (test,) = evaluate_networks({"a": network(1)}, {"both": both}, resamples=10).tests
    assert test.resampled() == "5 games and 50 blocks of 1 consecutive position"


def test_a_game_is_whole_without_its_moves_into_repetitions(tmp_path: Path) -> None:
    data = Dataset(games_file(tmp_path / "games.hcpe3", [5, 40, 6], forced="5i5h 5a5b 5h5i 5b5a 7g7f"))
    assert data.repetitions == 3
    assert np.diff(data.groups(20), append=len(data)).tolist() == [4, 39, 5]


def test_games_of_one_position_are_in_blocks_of_their_neighbours(tmp_path: Path) -> None:
    lengths = [1] * 7 + [9] + [1] * 3 + [8, 7, 1]
    data = Dataset(games_file(tmp_path / "games.hcpe3", lengths))
    assert data.games == 3
    assert np.diff(data.groups(3), append=len(data)).tolist() == [3, 3, 1, 9, 3, 8, 7, 1]
    assert np.diff(data.groups(100), append=len(data)).tolist() == [7, 9, 3, 8, 7, 1]


def test_the_interval_covers_the_mean_of_correlated_positions() -> None:
    """Groups of equal positions: with single positions drawn, the interval would be a tenth as wide."""
    random = np.random.default_rng(3)
    covered = 0
    for seed in range(200):
        sums = random.normal(size=(40, 1)) * 100
        means = resample_means(sums, np.full(40, 100.0), resamples=200, seed=seed)
        (estimate,) = percentile_estimates(sums.sum(axis=0) / 4000, means, 0.9)
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= 0 <= estimate.high
    assert 0.8 < covered / 200 < 0.97  # 90 %, a little less for 40 groups


def test_groups_of_different_sizes_are_weighed_by_their_positions() -> None:
    sums, counts = np.array([[1.0], [30.0]]), np.array([1.0, 10.0])
    means = resample_means(sums, counts, resamples=500, seed=1)[:, 0]
    assert set(np.round(means, 6)) == {1.0, 3.0, round(31 / 11, 6)}
    assert np.mean(np.isclose(means, 31 / 11)) == pytest.approx(0.5, abs=0.08)


def test_one_group_has_no_interval(games: Path, tmp_path: Path) -> None:
    alone = games_file(tmp_path / "one.hcpe3", [12])
    (row,) = evaluate_networks({"a": network(1)}, {"one": Dataset(alone)}).rows()
    assert row["policy_loss_low"] is None
    (row,) = evaluate_networks({"a": network(1)}, {"games": Dataset(games)}, resamples=0).rows()
    assert row["policy_loss_high"] is None


@pytest.mark.parametrize(
    "settings", [{"confidence": 1.0}, {"confidence": 0.0}, {"resamples": -1}, {"val_lambda": 2.0}, {"batch": 0}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], games: Path) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        evaluate_networks({"a": network(1)}, {"games": Dataset(games)}, **settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a network and a test set"):
        evaluate_networks({}, {"games": Dataset(games)})
    for name, number in {"val_lambda": -0.1, "batch": 0, "sample": 0}.items():
        with pytest.raises(ValueError, match=name):
            evaluate(network(1), Dataset(games), **{name: number})  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two networks with the same file name."""
    paths = [tmp_path / name / "network.safetensors" for name in ("old", "new")]
    for seed, path in enumerate(paths):
        path.parent.mkdir()
        save_parameters(network(seed), path)
    return paths


def test_the_command_prints_and_saves_the_table(files: list[Path], games: Path, test_file: Path, tmp_path: Path):
    saved = tmp_path / "table.csv"
    options = ("--test", test_file, "--test", games, "--resamples", 100)
    shown = run("eval-model", *files, *options, "-o", saved)
    assert shown.exit_code == 0, shown.output
    assert re.search(r"policy +result +search +sum of +policy +value +policy\nnetwork +loss", shown.stdout)
    for text in ("5 games", "blocks of 1 consecutive", "±", "95 % interval"):
        assert text in shown.stdout
    document = json.loads(run("eval-model", *files, *options, "--json").stdout)
    assert [(each["test"], each["network"]) for each in document["results"]] == [
        (test.name, str(file)) for test in (test_file, games) for file in files
    ]
    assert [each["minus"] for each in document["differences"]] == [str(files[0])] * 2
    with saved.open() as text:
        rows = list(csv.DictReader(text))
    both = document["results"] + document["differences"]
    assert [float(row["policy_loss_low"]) for row in rows] == [each["policy_loss_low"] for each in both]


def test_numbers_are_whole_on_a_narrow_terminal(files: list[Path], games: Path) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["eval-model", *map(str, files), str(games)])
    numbers = re.findall(r"[-+]?\d\.\d{4}(?!\d)|±\d\.\d{4}(?!\d)", shown.stdout)
    assert len(numbers) == 3 * 7 * 2
    assert "…" not in shown.stdout


def test_names_are_without_the_suffix_that_all_have(files: list[Path], games: Path, tmp_path: Path) -> None:
    names = [tmp_path / f"network-000{number}{files[0].suffix}" for number in range(2)]
    for name, file in zip(names, files, strict=False):
        name.write_bytes(file.read_bytes())
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["eval-model", *map(str, names), str(games)])
    rows = [line.split("  ")[0] for line in shown.stdout.splitlines() if "network-" in line]
    assert [row.rstrip() for row in rows] == ["network-0000", "network-0001", "− network-0000"]


def test_without_test_the_files_after_the_networks_are_one_set(files: list[Path], games: Path, test_file: Path):
    document = json.loads(run("eval-model", *files, test_file, games, "--json", "--resamples", 0).stdout)
    assert [test["positions"] for test in document["tests"]] == [len(Dataset(test_file, games))]
    assert len(document["results"]) == 2


def test_misuse_is_one_clear_message(files: list[Path], games: Path, tmp_path: Path):
    for arguments, message in (
        ((files[0],), "there is no test set"),
        ((files[0], files[0], "--test", games), "is given twice"),
        ((files[0], games, "-o", games), "is also an input"),
        ((files[0], games, "-o", tmp_path / "none" / "t.csv"), "cannot be written"),
        ((files[0], "--test", tmp_path / "none.hcpe"), "none.hcpe: no such file"),
    ):
        result = run("eval-model", *arguments)
        assert result.exit_code != 0
        assert message in " ".join(result.stderr.split())


def test_a_table_is_printed_although_its_file_cannot_be_written(
    files: list[Path], games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fail(path: Path, content: bytes) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("fukayomi.files.atomic.replace_file", fail)
    result = run("eval-model", files[0], games, "-o", tmp_path / "t.csv")
    assert result.exit_code == 1
    assert re.search(r"^network +\d\.\d{4}", result.stdout, re.MULTILINE)
    assert "t.csv: Read-only file system" in " ".join(result.stderr.split())


def test_a_network_that_is_not_finite_is_named(files: list[Path], games: Path) -> None:
    bad = network(3)
    bad.state_dict()["value.fc2.bias"].fill_(float("nan"))
    with pytest.raises(ValueError, match="bad: the network's policy or value is not finite"):
        evaluate_networks({"good": files[0], "bad": bad}, {"games": Dataset(games)})


def test_onnx_files_have_the_metrics_of_their_networks(test_file: Path, tmp_path: Path) -> None:
    trained = network(7)
    export_network(trained, tmp_path / "network.onnx")
    moves = ("7g7f", None)
    psv = tmp_path / "valueless.psv"
    write_data(psv, [psv_record(Position().sfen(), move, score_cp=60, ply=1, result=1) for move in moves])
    tests = {"games": Dataset(games_file(tmp_path / "games.hcpe3", [5, 3, 8])), "rows": test_file, "psv": psv}
    table = evaluate_networks({"torch": trained, "onnx": tmp_path / "network.onnx"}, tests, val_lambda=0.7, resamples=0)
    for row in table.differences:
        for estimate in row.measures.values():
            assert estimate.value == pytest.approx(0, abs=1e-5)


def test_files_are_named_by_their_names(test_file: Path, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("old.onnx", "new.onnx")]
    for seed, path in enumerate(paths):
        export_network(network(seed), path)
    table = evaluate_networks(paths, str(test_file), resamples=0)
    assert [(row["network"], row["minus"]) for row in table.rows()] == [
        ("old.onnx", None), ("new.onnx", None), ("new.onnx", "old.onnx"),
    ]  # fmt: skip
    assert [test.name for test in table.tests] == [test_file.name]
    (tmp_path / "other").mkdir()
    same = paths[0].rename(tmp_path / "other" / "new.onnx")
    table = evaluate_networks([str(same), paths[1]], [test_file], resamples=0)
    assert [result.network for result in table.results] == [str(same), str(paths[1])]
    assert evaluate(same, test_file).positions == len(Dataset(test_file))


def test_onnx_files_are_evaluated_without_torch(test_file: Path, tmp_path: Path) -> None:
    export_network(network(3), tmp_path / "network.onnx")
    command = ["eval-model", str(tmp_path / "network.onnx"), str(test_file), "--json"]
    code = (
        f"import sys; sys.modules['torch'] = None; sys.argv[1:] = {command!r}; import fukayomi.__main__ as m; m.main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["results"][0]["positions"] == len(Dataset(test_file))
