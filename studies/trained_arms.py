"""What the tools that compare ways of making data share: train a network from some data, and let networks play.

Each step is kept in its folder: a step that was stopped goes on, and one that is done does nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from match_parts import Log
from work_folder import StoppedError

from fukayomi.arena import MatchResult
from fukayomi.engine import Network
from fukayomi.selfplay import play_networks

if TYPE_CHECKING:
    from fukayomi.learning import Dataset, TrainingSettings
    from fukayomi.learning.models import AnyNetwork
    from fukayomi.nn.sparse_config import AnyConfig

BATCH = 8
"""Positions per batch in matches."""
MOST_PLIES = 320
"""Longer games are draws."""


@dataclass(frozen=True)
class Machine:
    """Where networks are trained, and what runs those that play."""

    device: str = "cpu"
    """Of training."""
    player: str = "native"
    """A value of DNN_Provider."""
    precision: str = "auto"
    """Of networks that play."""

    @property
    def network(self) -> dict[str, Any]:
        """Arguments of `Network`, but for the batch size."""
        threads = 1 if self.player in ("native", "cpu", "auto") else 0
        return {"device": self.player, "precision": self.precision, "threads": threads}


def train_arm(
    shape: "AnyConfig | str",
    data: "Dataset",
    run: Path,
    settings: "TrainingSettings",
    device: str,
    threads: int = 1,
    initial: "AnyNetwork | None" = None,
) -> Path:
    """Train a network, go on, or take the one that is finished.

    Args:
        shape: The network, or its name.
        data: What it learns from.
        run: Folder of the run.
        settings: How it learns.
        device: Where.
        threads: Threads, if that is a CPU.
        initial: The network that learns on; None: a new one.

    Returns:
        Its checkpoint.

    Raises:
        StoppedError: The user stopped it.
    """
    from fukayomi.learning import train
    from fukayomi.learning.checkpoint import load_checkpoint
    from fukayomi.nn import NetworkConfig

    checkpoint = run / "checkpoint.pt"
    resume = checkpoint.exists()
    if resume and load_checkpoint(checkpoint).step == settings.total_steps(data.epoch_size):
        return checkpoint
    config = NetworkConfig.from_name(shape) if isinstance(shape, str) else shape
    result = train(
        config, data, run, settings=settings, device=device,
        threads=threads if device in ("cpu", "auto") else None, initial=None if resume else initial, resume=resume,
    )  # fmt: skip
    if not result.finished:
        raise StoppedError
    return result.checkpoint


def export_arm(checkpoint: Path, out: Path) -> Path:
    """A trained network as ONNX, exported if it is not there."""
    from fukayomi.learning import load_model
    from fukayomi.nn import PolicyValueNetwork, export_onnx

    if not out.exists():
        model = load_model(checkpoint)
        assert isinstance(model, PolicyValueNetwork)
        export_onnx(model.eval(), out)
    return out


def play_arms(
    networks: Mapping[str, Path],
    folder: Path,
    *,
    games: int,
    nodes: int,
    openings: Sequence[str] | None,
    seed: int,
    machine: Machine,
    name: str = "",
) -> MatchResult:
    """Play a match of two networks by the engine's search, or go on.

    Args:
        networks: Their names and ONNX files.
        folder: Folder of the match.
        games: Number of games.
        nodes: Nodes per move, at most.
        openings: USI lines; None: the start position.
        seed: Order of the openings.
        machine: What runs the networks.
        name: Name of the match on stderr; without, nothing is printed.

    Raises:
        StoppedError: The user stopped it.
    """
    first, second = networks.values()
    with (
        Network(first, batch_size=BATCH, **machine.network) as one,
        Network(second, batch_size=BATCH, **machine.network) as other,
    ):
        result = play_networks(
            dict(zip(networks, (one, other), strict=True)),
            games=games,
            playouts=nodes,
            openings=None if openings is None else list(openings),
            folder=folder,
            seed=seed,
            max_plies=MOST_PLIES,
            **({"listener": Log(name)} if name else {}),
        )
    if not result.is_complete:
        raise StoppedError
    return result
