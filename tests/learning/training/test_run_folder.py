"""The folder of a training run: its checkpoints."""

import os
from pathlib import Path

from fukayomi.learning.checkpoint import Checkpoint, load_checkpoint
from fukayomi.learning.training.run_folder import RunFolder
from fukayomi.nn import NetworkConfig


def test_a_kill_between_two_checkpoints_leaves_nothing_behind(tmp_path: Path) -> None:
    """It left the last checkpoint and the one before as two links to one file."""
    folder = RunFolder(tmp_path)
    first, second = (Checkpoint(step, NetworkConfig(blocks=1, channels=8), {}, {}, {}) for step in (1, 2))
    folder.save(first)
    os.link(folder.checkpoint, folder.previous)
    folder.save(second)
    assert (load_checkpoint(folder.previous).step, load_checkpoint(folder.checkpoint).step) == (1, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-before.pt", "checkpoint.pt"]
