"""Networks of one's own: modules in torch, and evaluators of any kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fukayomi import Engine, EvaluatorError, Network, PlaneEvaluator, Position, analyse, play_match
from fukayomi.selfplay import play_networks

torch = pytest.importorskip("torch")
nn = torch.nn


class Small(nn.Module):
    """A network of a class that nobody has heard of."""

    def __init__(self, *, constants: int = 57, value_scale: float = 1.0) -> None:
        super().__init__()
        self.features2 = constants
        self.body = nn.Sequential(nn.Conv2d(62 + constants, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.policy = nn.Conv2d(8, 27, 1)
        self.value = nn.Linear(8 * 81, 1)
        self.value_scale = value_scale

    def forward(self, features1: Any, features2: Any) -> Any:
        body = self.body(torch.cat([features1, features2], dim=1))
        return self.policy(body).flatten(1), self.value_scale * self.value(body.flatten(1))


class Fixed(PlaneEvaluator):
    """Answers what it was told to."""

    def __init__(self, policy: Any, values: Any) -> None:
        self.answer = policy, values

    def evaluate(self, features1: Any, features2: Any) -> Any:
        return self.answer


def expected(module: Any, position: Position) -> tuple[np.ndarray, float]:
    """Logits of the legal moves, and the win probability."""
    planes = [torch.from_numpy(each[None].copy()) for each in position.planes()]
    with torch.no_grad():
        policy, value = module.eval()(*planes)
    return policy[0].numpy()[position.legal_labels()], float(torch.sigmoid(value))


def test_a_module_is_evaluated_in_evaluation_mode_as_it_was() -> None:
    torch.manual_seed(1)
    module = Small()
    module.body(torch.randn(64, 119, 9, 9))  # statistics other than those of the start
    module.train()
    position = Position("startpos moves 7g7f 3c3d")
    with Network(module) as network:
        assert module.training
        identity = network.identity
        found = network.evaluate([position, "startpos"])
        logits, winrate = expected(module, position)
        module.train()
        with torch.no_grad():
            module.value.bias += 3
        assert network.evaluate(position).winrates[0] == pytest.approx(winrate, abs=1e-5)
    shares = np.exp(logits - logits.max())
    assert found.winrates[0] == pytest.approx(winrate, abs=1e-5)
    assert found.probabilities[0, : len(logits)] == pytest.approx(shares / shares.sum(), abs=1e-5)
    with Network(module) as network:
        assert network.identity != identity
        assert network.name == "Small"


def test_a_module_searches_analyses_and_plays() -> None:
    torch.manual_seed(2)
    module = Small()
    with Engine(module) as engine:
        result = engine.search("startpos", nodes=40)
        assert result.progress.nodes == 40
    assert len(analyse(Position("startpos moves 7g7f 3c3d"), nodes=5, network=module).moves) == 2
    with Network(module) as one, Network("<uniform>") as two:
        match = play_networks({"one": one, "two": two}, games=2, playouts=2, max_plies=10)
    assert len(match.games) == 2


def test_a_module_with_the_colour_to_move_reads_58_planes() -> None:
    with Network(Small(constants=58)) as network:
        assert 0 < network.evaluate("startpos").winrates[0] < 1


def test_a_module_runs_as_it_is() -> None:
    with Network(Small().double(), batch_size=3) as network:
        assert network.evaluator.batch_size == 3
        assert 0 < network.evaluate("startpos").winrates[0] < 1
    for asked in ({"device": "cpu"}, {"precision": "bf16"}):
        with pytest.raises(EvaluatorError, match=r"Small: a module in torch runs as it is: move it by \.to\(\)"):
            Network(Small(), **asked)  # type: ignore[arg-type]


def test_modules_that_are_no_networks_say_what_is_wrong() -> None:
    with (
        Network(nn.Linear(9, 9)) as network,
        pytest.raises(EvaluatorError, match=r"Linear-torch: .*positional argument"),
    ):
        network.evaluate("startpos")
    small = Small()
    small.value = nn.Linear(8 * 81, 2)
    with (
        Network(small) as network,
        pytest.raises(EvaluatorError, match=r"of a value \[N, 1\]; .* \[1, 2187\] and \[1, 2\]"),
    ):
        network.evaluate("startpos")
    with Network(Small(value_scale=float("nan"))) as network, pytest.raises(EvaluatorError, match="output_value"):
        network.evaluate("startpos")
    from fukayomi.nn.sparse import SparseNetwork
    from fukayomi.nn.sparse_config import SparseConfig

    with pytest.raises(EvaluatorError, match="a sparse network plays as a file"):
        Network(SparseNetwork(SparseConfig()))


@pytest.mark.parametrize("model", [42, Small, Fixed, object()], ids=["number", "class", "evaluator class", "object"])
def test_what_is_no_network_is_refused_at_once(model: Any) -> None:
    with pytest.raises(ValueError, match=r"a network is a file, a module in torch or an evaluator"):
        Network(model)


def test_modules_of_the_package_play_too() -> None:
    from fukayomi.nn import NetworkConfig, PolicyValueNetwork

    module = PolicyValueNetwork(NetworkConfig(blocks=1, channels=8))
    logits, winrate = expected(module, Position())
    with Network([module, "<uniform>"], weights=[1, 1]) as network:
        assert network.evaluate("startpos").winrates[0] == pytest.approx((winrate + 0.5) / 2, abs=1e-5)
    assert len(logits) == 30


class Advance(PlaneEvaluator):
    """Likes moves by their label, and knows which side is ahead in pieces."""

    batch_size = 5

    def evaluate(self, features1: Any, features2: Any) -> Any:
        count = features1.sum(axis=(2, 3))
        ahead = count[:, :14].sum(axis=1) - count[:, 31:45].sum(axis=1)
        assert len(features1) <= 5
        assert features2.shape[1:] == (57, 9, 9)
        return np.tile(np.linspace(0, 5, 2187), (len(ahead), 1)), 1 / (1 + np.exp(-ahead))


def test_an_evaluator_of_one_s_own_is_searched_with() -> None:
    position = Position("4k4/9/9/9/9/9/9/7R1/4K4 b - 1")
    with Network(Advance()) as network, Engine(network) as engine:
        assert (network.name, network.identity) == ("Advance", "Advance")
        evaluation = network.evaluate([Position(), position] * 4)
        assert evaluation.winrates[:2] == pytest.approx([0.5, 1 / (1 + np.exp(-1))], abs=1e-6)
        best = max(zip(position.legal_labels(), position.legal_moves, strict=True))[1]
        assert next(iter(evaluation.policies[1])) == best
        assert engine.search(position, nodes=60).progress.nodes == 60
        with Engine("<uniform>") as other:
            match = play_match({"own": engine, "other": other}, games=2, clock="nodes=2", rules={"max_plies": 10})
    assert len(match.games) == 2


@pytest.mark.parametrize(
    ("policy", "values", "message"),
    [
        (np.zeros((1, 2187)), np.array([1.5]), "Fixed: output_value must be a win probability, from 0 to 1"),
        (np.full((1, 2187), np.nan), np.array([0.5]), "Fixed: output_policy has a number that is not finite"),
        (np.zeros((1, 30)), np.array([0.5]), r"Fixed: output_policy and output_value must be \[N, 2187\] and \[N, 1\]"),
        (None, 0.5, "Fixed: "),
    ],
    ids=["value", "policy", "shape", "none"],
)
def test_answers_that_are_no_evaluations_are_refused(policy: Any, values: Any, message: str) -> None:
    with Network(Fixed(policy, values)) as network, pytest.raises(EvaluatorError, match=message):
        network.evaluate("startpos")


def test_an_evaluator_may_answer_with_lists_and_name_itself() -> None:
    class Lists(PlaneEvaluator):
        identity = "lists-2"

        def evaluate(self, features1: Any, features2: Any) -> Any:
            return [[0.0] * 2187] * len(features1), [0.25] * len(features1)

    with Network(Lists()) as network:
        assert network.identity == "lists-2"
        assert network.evaluate("startpos").winrates[0] == 0.25


def test_any_module_is_exported(tmp_path: Path) -> None:
    from fukayomi.learning import export_network
    from fukayomi.nn import ExportError

    torch.manual_seed(3)
    module = Small().train()
    agreement = export_network(module, tmp_path / "small.onnx")
    assert agreement is not None
    assert agreement.top1 == 1
    assert module.training
    with Network(tmp_path / "small.onnx", device="cpu", precision="fp32") as file, Network(module) as network:
        assert file.evaluate("startpos").winrates == pytest.approx(network.evaluate("startpos").winrates, abs=1e-5)
    assert export_network(module, tmp_path / "half.onnx", half=True) is not None
    assert (tmp_path / "half.onnx").stat().st_size < (tmp_path / "small.onnx").stat().st_size
    with pytest.raises(ExportError, match="a Small can be written as ONNX only"):
        export_network(module, tmp_path / "small.safetensors")
    with pytest.raises(ExportError, match="torch cannot export Linear"):
        export_network(nn.Linear(9, 9), tmp_path / "linear.onnx")
    assert not (tmp_path / "linear.onnx").exists()
