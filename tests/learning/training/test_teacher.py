"""Distillation: a student learns what another network makes of the positions."""

from pathlib import Path

import pytest
import torch
from learning_samples import tensors
from torch import nn

from fukayomi.learning import CheckpointError, Dataset, TrainingListener, TrainingSettings, load_model, train
from fukayomi.learning.listeners import TrainingStep
from fukayomi.learning.training.preparation import Teacher
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx, save_parameters

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


class Notes(TrainingListener):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class TeacherLosses(TrainingListener):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def step(self, step: TrainingStep) -> None:
        self.losses.append(step.as_dict()["teacher_loss"])


def sharp_network(seed: int) -> PolicyValueNetwork:
    """A network whose policy has an opinion."""
    torch.manual_seed(seed)
    network = PolicyValueNetwork(NetworkConfig(blocks=1, channels=16, activation="silu", value_hidden=8)).eval()
    network.policy.conv.weight.detach().mul_(400)
    return network


def loss_of(student: nn.Module, teacher: nn.Module, data: Dataset) -> float:
    """Kullback-Leibler divergence of the student's policy from the teacher's."""
    features = tensors(data, range(len(data))).features()
    with torch.no_grad():
        wish, found = (torch.log_softmax(network(*features)[0], dim=1) for network in (teacher, student))
    return float((wish.exp() * (wish - found)).sum(dim=1).mean())


def test_a_student_becomes_like_its_teacher(tmp_path: Path, train_file: Path):
    data, teacher, listener = Dataset(train_file), sharp_network(1), TeacherLosses()
    settings = TrainingSettings(steps=60, batch=48, optimizer="adamw", lr=0.02, warmup=5, teacher_weight=1.0, amp="off")
    result = train(TINY, data, tmp_path / "run", teacher=teacher, settings=settings, device="cpu", listener=listener)
    student = load_model(result.checkpoint)
    assert listener.losses[-1] < listener.losses[0] - 1.0
    before = PolicyValueNetwork(TINY).eval()
    assert loss_of(student, teacher, data) < 0.5 * loss_of(before, teacher, data)
    assert all(parameter.grad is None for parameter in teacher.parameters())


def test_a_file_teaches_as_its_network_does(tmp_path: Path, train_file: Path):
    network = sharp_network(2)
    save_parameters(network, tmp_path / "teacher.safetensors")
    export_onnx(network, tmp_path / "teacher.onnx")
    settings = TrainingSettings(steps=3, batch=16, teacher_weight=0.3, teacher_temperature=2.0, amp="off")
    found: list[list[float]] = []
    for number, teacher in enumerate((network, tmp_path / "teacher.safetensors", str(tmp_path / "teacher.onnx"))):
        listener = TeacherLosses()
        train(
            TINY, Dataset(train_file), tmp_path / str(number), teacher=teacher, settings=settings, device="cpu",
            listener=listener,
        )  # fmt: skip
        found.append(listener.losses)
    assert found[0] == found[1]
    assert found[2] == pytest.approx(found[0], rel=1e-3)
    assert "teacher.onnx" in (tmp_path / "2" / "config.toml").read_text()


def test_a_run_does_not_lose_its_teacher(tmp_path: Path, train_file: Path):
    data, first, other = Dataset(train_file), sharp_network(1), sharp_network(2)
    save_parameters(first, tmp_path / "teacher.safetensors")

    def run(steps: int, teacher: nn.Module | Path | None, weight: float = 0.5, *, resume: bool = True) -> list[str]:
        settings = TrainingSettings(steps=steps, batch=16, teacher_weight=weight, schedule="constant", amp="off")
        listener = Notes()
        train(
            TINY, data, tmp_path / "run", teacher=teacher, settings=settings, device="cpu", threads=1, resume=resume,
            listener=listener,
        )  # fmt: skip
        return [note for note in listener.notes if note.startswith("teacher changes")]

    assert run(1, first, resume=False) == []
    with pytest.raises(CheckpointError, match=r"the run has a teacher .*: name it again \(--teacher FILE\), or go on"):
        run(2, None)
    assert run(2, tmp_path / "teacher.safetensors") == []
    (note,) = run(3, other)
    assert note.endswith("after step 2")
    (note,) = run(4, None, weight=0.0)
    assert "to None after step 3" in note
    assert run(5, None) == []


def test_the_temperature_flattens_the_policy(train_file: Path):
    batch, network = tensors(Dataset(train_file), range(8)), sharp_network(3)
    sharp, flat = (
        Teacher(network, torch.device("cpu"), weight=0.25, temperature=temperature)(batch) for temperature in (1.0, 4.0)
    )
    assert (flat.policy.max(dim=1).values < sharp.policy.max(dim=1).values).all()
    torch.testing.assert_close(flat.policy.sum(dim=1), torch.ones(8))
    assert torch.equal(flat.values, sharp.values)
    assert flat.weight == 0.25
