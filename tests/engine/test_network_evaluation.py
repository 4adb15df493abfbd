"""Networks: loading them, and evaluating positions in batches."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from odd_evaluators import Failing

from fukayomi import Engine, Evaluation, EvaluatorError, Network, Position, _native
from fukayomi.engine.evaluation import evaluate_packed
from fukayomi.engine.evaluators.protocol import Slot, StubEvaluator, hash_evaluator

MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"


def positions(count: int) -> list[Position]:
    """The first positions of a line in which the first legal move is played each time."""
    found = [Position()]
    while len(found) < count:
        found.append(found[-1].copy())
        found[-1].push(found[-1].legal_moves[0])
    return found


def check_shapes(evaluation: Evaluation, given: list[Position]) -> None:
    width = max(len(position.legal_moves) for position in given)
    assert len(evaluation) == len(given)
    assert (evaluation.winrates.shape, evaluation.winrates.dtype) == ((len(given),), np.float32)
    assert (evaluation.probabilities.shape, evaluation.probabilities.dtype) == ((len(given), width), np.float32)
    assert evaluation.moves.shape == evaluation.labels.shape == (len(given), width)
    assert evaluation.counts.tolist() == [len(position.legal_moves) for position in given]
    np.testing.assert_allclose(evaluation.probabilities.sum(axis=1), 1, rtol=1e-5)


def test_the_embedded_network_judges_positions() -> None:
    given = positions(20)
    with Network(device="cpu", precision="fp32") as network:
        evaluation = network.evaluate(given)
        single = network.evaluate(given[7])
        assert re.fullmatch(rf"embedded network( 5x64)? \({network.identity}\)", str(network))
    check_shapes(evaluation, given)
    assert 0.4 < evaluation.winrates[0] < 0.7
    assert {move.usi() for move in list(evaluation.policies[0])[:2]} == {"2g2f", "7g7f"}
    np.testing.assert_allclose(single.winrates[0], evaluation.winrates[7], atol=1e-5)


def test_batches_do_not_change_the_answers() -> None:
    given = positions(11)
    with Network("<hash>", batch_size=4) as network:
        together = network.evaluate(iter(given))
        apart = [network.evaluate(position) for position in given]
    check_shapes(together, given)
    for n, (position, one) in enumerate(zip(given, apart, strict=True)):
        assert one.winrates[0] == together.winrates[n]
        assert one.policies[0] == together.policies[n]
        assert set(together.policies[n]) == set(position.legal_moves)
        assert list(together.policies[n].values()) == sorted(together.policies[n].values(), reverse=True)


def test_packed_positions_are_evaluated_as_positions_are() -> None:
    given = [*positions(21), Position.from_sfen(MATED)]
    hcps = np.frombuffer(b"".join(map(_native.encode_hcp, given)), np.uint8).reshape(-1, 32)
    for evaluator in (hash_evaluator(8), TwoSlots()):
        parts = list(evaluate_packed(evaluator, (hcps[first : first + 8] for first in range(0, len(hcps), 8))))
        assert [len(part) for part in parts] == [8, 8, 6]
        for first, part in zip((0, 8, 16), parts, strict=True):
            expected = Network(hash_evaluator(8)).evaluate(given[first : first + 8])
            for name in ("winrates", "counts", "moves", "labels", "probabilities"):
                np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))
    with pytest.raises(EvaluatorError, match="caught fire"):
        list(evaluate_packed(Failing(1), iter([hcps[:8], hcps[:8], hcps[:8]])))
    with pytest.raises(ValueError, match="record 3"):
        list(
            evaluate_packed(
                hash_evaluator(8), iter([np.where(np.arange(8)[:, None] == 3, 255, hcps[:8]).astype(np.uint8)])
            )
        )


class TwoSlots(StubEvaluator):
    """A hash evaluator that takes two batches at once, and is slower with the first."""

    slots = 2

    def __init__(self) -> None:
        vars(self).update(vars(hash_evaluator(8)))
        self.runs = 0

    def run(self, slot: Slot, n: int) -> None:
        self.runs += 1
        time.sleep(0.05 if self.runs == 1 else 0)
        super().run(slot, n)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT between processes")
def test_ctrl_c_ends_an_evaluation_of_many_positions() -> None:
    class Pressing(StubEvaluator):
        """A hash evaluator in whose batch 1000 Ctrl-C is pressed."""

        def __init__(self) -> None:
            vars(self).update(vars(hash_evaluator(1)))
            self.runs = 0

        def run(self, slot: Slot, n: int) -> None:
            self.runs += 1
            if self.runs == 1000:
                os.kill(os.getpid(), signal.SIGINT)
            super().run(slot, n)

    evaluator, seen = Pressing(), list[int]()

    def interrupt(*_: object) -> None:
        seen.append(evaluator.runs)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with Network(evaluator) as network, pytest.raises(KeyboardInterrupt):
            network.evaluate([Position()] * 20_000)
    finally:
        signal.signal(signal.SIGINT, before)
    assert evaluator.runs - seen[0] < 1000


def test_a_mated_position_has_no_policy() -> None:
    with Network("<uniform>") as network:
        evaluation = network.evaluate([Position(), Position.from_sfen(MATED)])
    assert evaluation.counts.tolist() == [30, 0]
    assert list(evaluation.policies[0].values()) == pytest.approx([1 / 30] * 30)
    assert evaluation.policies[1] == {}
    assert evaluation.rows()[1] == {"position": 1, "winrate": 0.5, "cp": 0, "move": None, "probability": None}


def test_no_positions_give_empty_arrays() -> None:
    with Network("<hash>") as network:
        evaluation = network.evaluate([])
    assert len(evaluation) == 0
    assert evaluation.probabilities.shape == (0, 0)
    assert evaluation.policies == []
    assert str(evaluation) == "(no rows)"


def test_an_evaluation_is_a_table() -> None:
    with Network("<hash>") as network:
        frame = network.evaluate(positions(3)).to_polars()
    assert frame.columns == ["position", "winrate", "cp", "move", "probability"]
    assert frame["position"].to_list() == [0, 1, 2]


def test_any_object_with_an_evaluators_methods_is_a_network() -> None:
    with Network(hash_evaluator(4)) as ours, Network("<hash>") as theirs:
        assert ours.name == "CoreStubEvaluator"
        assert ours.evaluate(Position()).winrates == theirs.evaluate(Position()).winrates
    with Network(Failing()) as failing, pytest.raises(EvaluatorError, match="caught fire"):
        failing.evaluate(Position())


def test_onnx_files_are_networks(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    with Network(write_network(tmp_path / "toy.onnx"), device="cpu", threads=1, batch_size=3) as network:
        check_shapes(network.evaluate(positions(7)), positions(7))
        assert network.name == "toy.onnx"


def test_a_file_beside_the_network_suggests_settings(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    path = write_network(tmp_path / "network.onnx")
    path.with_name("network.onnx.ini").write_text("C_init=200\nThreads=2\nNo_Such_Option=1\n")
    with Network(path, threads=1) as network:
        assert network.settings.c_init == 200
        assert network.settings.threads == 1  # given by the caller
        (problem,) = network.problems
        assert "No_Such_Option" in problem
        with Engine(network) as engine:
            assert engine.settings.c_init == 200


def test_suggestions_that_cannot_be_read_are_problems(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from toy_network import write_network

    suggestions = write_network(tmp_path / "network.onnx").with_name("network.onnx.ini")
    for content, problem in ((b"\xff\x00\n=5\n", "is not NAME=VALUE"), (b"#" * 100_000, "more than 65536 bytes")):
        suggestions.write_bytes(content)
        with Network(tmp_path / "network.onnx", threads=1) as network:
            assert problem in network.problems[-1]


def test_what_is_no_network_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match=r"no\.onnx"):
        Network(tmp_path / "no.onnx")
    checkpoint = tmp_path / "checkpoint.pt"
    checkpoint.write_bytes(b"")
    with pytest.raises(EvaluatorError, match=r"fukayomi export .*checkpoint\.pt .*checkpoint\.onnx"):
        Network(checkpoint)
    with pytest.raises(ValueError, match="gpu"):
        Network(device="gpu")
    with pytest.raises(ValueError, match="-1"):
        Network(threads=-1)


@pytest.mark.parametrize("use", ["", "; fukayomi.engine.Network('<hash>').evaluate(fukayomi.Position())"])
def test_no_network_library_is_loaded_before_it_is_needed(use: str) -> None:
    code = "import sys, fukayomi.engine; fukayomi.Engine; fukayomi.Network; fukayomi.analyse"
    code += f"{use}; print(*sorted({{'onnxruntime', 'torch', 'matplotlib'}} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert run.stdout.split() == []
