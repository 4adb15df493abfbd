"""How large the runs of studies/learning_tables.py are: for two CPU cores, for a GPU, and for the tests."""

from dataclasses import dataclass, replace

from fukayomi.learning import TrainingSettings
from fukayomi.learning.settings import OptimizerName
from fukayomi.nn import NetworkConfig


@dataclass(frozen=True)
class Scale:
    """Sizes of networks, data, training and matches."""

    network: NetworkConfig = NetworkConfig(  # noqa: RUF009 - frozen
        blocks=3, channels=48, activation="relu", value_hidden=64
    )
    """The network that all others are compared with."""
    settings: TrainingSettings = TrainingSettings(  # noqa: RUF009 - frozen
        steps=400, batch=256, optimizer="adamw", lr=0.005, warmup=20, weight_decay=0.02
    )
    """How it learns."""
    positions: int = 100_000
    """How many it learns from."""
    dropout: float = 0.1
    averaging: int = 4
    """Steps between two updates of averaged weights. dlshogi's 250 of a run of 25 000 steps."""
    optimizers: tuple[tuple[OptimizerName, float, float], ...] = (
        ("adamw", 0.002, 0.02), ("adamw", 0.0125, 0.02),
        ("muon", 0.005, 0.02), ("muon", 0.0125, 0.02),
        ("sgd", 0.05, 1e-4), ("sgd", 0.2, 1e-4),
    )  # fmt: skip
    """Optimisers that are compared with that of all other tables, their learning rates, and their weight decay, which
    AdamW and Muon multiply by the learning rate."""
    sizes: tuple[int, ...] = (12_500, 25_000, 50_000, 100_000, 200_000)
    """Numbers of positions."""
    blocks: tuple[int, ...] = ()
    """Numbers of blocks; none: they are not compared."""
    large_kernel_interval: int = 2
    """Every n-th block has a large kernel."""
    speed_blocks: int = 10
    """Blocks of the networks whose speed is measured; every fifth has a large kernel."""
    speed_channels: tuple[int, ...] = (256, 512)
    speed_batch: int = 16
    speed_seconds: float = 5.0
    speed_rounds: int = 4
    duplicated: int = 10_000_000
    """Positions, all if there are fewer, whose duplicates are averaged or not; few of them have few duplicates."""
    plies: tuple[int, ...] = (24, 28, 34, 60)
    """Where the ranges of plies end, on which averaged and other duplicates are tested."""
    labelled: int = 30_000
    """Positions with shares of visits."""
    label_nodes: int = 64
    """Nodes of each search for them."""
    random_games: int = 300
    """Games of each network against itself, with moves at random as in the seed's matches."""
    random_nodes: int = 16
    colour_games: int = 400
    colour_nodes: int = 16
    seeds: int = 3


CPU = Scale()
GPU = replace(
    CPU,
    network=NetworkConfig.from_name("resnet10_swish"),
    settings=TrainingSettings(steps=4000, batch=1024, optimizer="adamw", lr=0.002, warmup=200, weight_decay=0.02),
    positions=1_600_000,
    averaging=40,
    sizes=(100_000, 200_000, 400_000, 800_000, 1_600_000),
    blocks=(2, 5, 10, 20),
    large_kernel_interval=5,
    speed_blocks=20,
    speed_batch=256,
    labelled=200_000,
    random_games=1000,
    colour_games=2000,
)  # fmt: skip
TINY = replace(
    CPU,
    network=NetworkConfig(blocks=3, channels=8, activation="relu", value_hidden=8),
    settings=TrainingSettings(steps=4, batch=8, optimizer="adamw", lr=0.005, warmup=1, amp="off"),
    positions=64,
    averaging=2,
    optimizers=(("muon", 0.01, 0.02), ("sgd", 0.1, 1e-4)),
    sizes=(16, 32, 64),
    blocks=(1, 3),
    speed_blocks=5,
    speed_channels=(8,),
    speed_batch=2,
    speed_seconds=0.02,
    speed_rounds=2,
    duplicated=64,
    plies=(4, 8),
    labelled=16,
    label_nodes=4,
    random_games=2,
    random_nodes=2,
    colour_games=2,
    colour_nodes=2,
    seeds=2,
)  # fmt: skip
