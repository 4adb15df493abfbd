"""What is chosen among backends and precisions, and that it is remembered."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sparse_files
from toy_network import write_network

from fukayomi.engine import EvaluatorError, Network, choice
from fukayomi.engine.choice import Choice, Trial, divided, find_candidates, load, measure, pick, recall, remember
from fukayomi.engine.evaluation import Agreement
from fukayomi.engine.evaluators.backends.backend import Model, Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.engine.network import embedded_network, load_evaluators
from fukayomi.engine.settings import UsiSettings

CPU, OPENVINO = get_backend("cpu"), get_backend("openvino")
GOOD, BAD = Agreement(71, 0.95, 0.01, 0.006, 0.02), Agreement(71, 0.4, 2.0, 0.2, 0.9)


@pytest.fixture
def network(tmp_path: Path) -> NetworkFile:
    return NetworkFile(write_network(tmp_path / "toy.onnx"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fukayomi" / "choices"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """What is wanted whenever something is measured, which takes no time here."""
    wanted_then: list[Plan] = []
    choose = choice.choose

    def counting(network: NetworkFile, wanted: Plan, trials: list[Trial]) -> tuple[Choice, Model]:
        wanted_then.append(wanted)
        return choose(network, wanted, trials)

    monkeypatch.setattr(choice, "choose", counting)
    return wanted_then


def test_the_fastest_is_taken_and_the_first_where_they_are_equal() -> None:
    for speeds, expected in (
        ((100, 105), ("cpu", "fp32")),
        ((100, 115), ("openvino", "fp32")),
        ((100, 115, 120), ("openvino", "fp32")),
        ((100, 90, 115), ("cpu", "int8")),
    ):
        kinds = ((CPU, "fp32", None), (OPENVINO, "fp32", GOOD), (CPU, "int8", GOOD))
        trials = [Trial(*kind[:2], speed, kind[2]) for kind, speed in zip(kinds, speeds, strict=False)]
        best, reason = pick(trials)
        assert (best.backend.name, best.precision) == expected
        assert ("times as fast as cpu fp32" in reason) == (expected != ("cpu", "fp32"))


def test_a_precision_that_disagrees_is_refused_however_fast() -> None:
    best, reason = pick([Trial(CPU, "fp32", 100), Trial(CPU, "int8", 900, BAD)])
    assert best.precision == "fp32"
    assert "cpu int8 is refused" in reason
    assert "40%" in reason


def test_what_fails_is_passed_over_unless_everything_does() -> None:
    failed = Trial(CPU, "fp32", problem="caught fire")
    assert pick([failed, Trial(OPENVINO, "fp32", 10)])[0].backend is OPENVINO
    with pytest.raises(EvaluatorError, match="caught fire"):
        pick([failed])


def test_what_is_open_is_measured_and_remembered(network: NetworkFile, cache: Path, measured: list[Plan]) -> None:
    first = load(network, Plan("cpu"))
    assert first.plan.precision == "fp32"
    assert first.batch_size in CPU.batches
    assert f"toy.onnx on {CPU.title} in fp32" in first.describe()
    again = load(NetworkFile(network.path), Plan("cpu"))
    assert again.plan == first.plan
    assert len(measured) == 1
    load(network, Plan("cpu", threads=1))  # another question
    assert len(measured) == 2
    load(NetworkFile(write_network(network.path, scale=2)), Plan("cpu"))  # another network of the same name
    assert len(measured) == 3
    assert len(list(cache.iterdir())) == 3


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("cpus", [1, 3, 8])
def test_the_cpus_are_shared_out_among_the_batches(
    network: NetworkFile, cache: Path, monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    monkeypatch.setattr(choice, "usable_cpus", lambda: cpus)
    plan = load(network, Plan("cpu")).plan
    assert plan.slots in (1, 2, 4, 8, 16)
    assert plan.threads == cpus // plan.slots
    assert cache.exists()


@pytest.mark.usefixtures("measured", "cache")
@pytest.mark.parametrize(
    ("cpus", "alone", "of_three"),
    [(1, (1, 1), (1, 1)), (2, (1, 2), (1, 1)), (9, (1, 9), (1, 3)), (64, (1, 16), (1, 16))],
)
def test_a_sparse_network_has_a_batch_in_flight_for_each_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: int, alone: tuple[int, int], of_three: tuple[int, int]
) -> None:
    monkeypatch.setattr(choice, "usable_cpus", lambda: cpus)
    sparse = NetworkFile(sparse_files.write(tmp_path, sparse_files.SMALL).path)
    plan = load(sparse, Plan()).plan
    assert (plan.threads, plan.slots) == alone
    shared = load(sparse, divided(sparse, Plan(), 3)).plan
    assert (shared.threads, shared.slots) == of_three
    asked = load(sparse, Plan(threads=1)).plan
    assert (asked.threads, asked.slots) == (1, 1), "as the user says"


def test_a_disturbance_does_not_decide_on_the_batch_size(
    network: NetworkFile, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speeds, calls = {4: 90.0, 8: 100.0, 16: 101.0, 32: 101.0}, Counter[int]()

    def speed(model: object, plan: Plan, **_: object) -> float:
        calls[plan.batch_size] += 1
        disturbed = {(4, 2): 1.5, (8, 1): 0.5, (8, 3): 0.5, (16, 5): 1.2}
        return speeds[plan.batch_size] * disturbed.get((plan.batch_size, calls[plan.batch_size]), 1.0)

    monkeypatch.setattr(choice, "_speed", speed)
    assert load(network, Plan("cpu", "fp32", 1, 1)).plan.batch_size == 8
    assert cache.exists()


def test_a_disturbance_does_not_decide_on_the_precision(network: NetworkFile, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()

    def speed(model: object, plan: Plan, *_: object, **__: object) -> float:
        calls[plan.backend] += 1
        slowed = calls[plan.backend] != 2  # all measurements but one
        return {"cpu": 100.0, "openvino": 130.0}[plan.backend] * (0.6 if slowed else 1.0)

    monkeypatch.setattr(choice, "_speed", speed)
    trials = measure(network, Plan(), [(CPU, "fp32"), (OPENVINO, "fp32")])
    assert [trial.evaluations_per_s for trial in trials] == [100.0, 130.0]
    assert calls == {"cpu": choice.TRIAL_ROUNDS, "openvino": choice.TRIAL_ROUNDS}


def test_what_is_named_in_full_is_not_measured(network: NetworkFile, cache: Path, measured: list[Plan]) -> None:
    evaluator = load(network, Plan("cpu", "fp32", 1, 3, 7))
    assert evaluator.plan == Plan("cpu", "fp32", 1, 3, 7)
    assert measured == []
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("cpus", "threads"), [(1, 1), (2, 1), (8, 2)])
def test_a_network_on_several_devices_of_the_cpu_is_measured_once(
    network: NetworkFile, measured: list[Plan], monkeypatch: pytest.MonkeyPatch, cpus: int, threads: int
) -> None:
    monkeypatch.setattr(choice, "usable_cpus", lambda: cpus)
    settings = UsiSettings(model=str(network.path), provider="cpu", further_slots=(1, 1, 1, 0, 0, 0, 0))
    plans = [getattr(evaluator, "plan", None) for evaluator in load_evaluators(settings)]
    assert [(plan.threads, plan.slots) for plan in plans if plan is not None] == [(threads, 1)] * 4
    assert len(measured) == 1


DAMAGE: dict[str, Any] = {
    "empty": b"",
    "zeros": b"\0" * 100,
    "a list": b"[]",
    "nothing": b"null",
    "nested": b"[" * 60_000,
    "huge": b" " * 100_000,
    "no such backend": {"plan": {"backend": "no such"}},
    "no such precision": {"plan": {"precision": "fp1"}},
    "too many threads": {"plan": {"threads": 10**9}},
    "no slot": {"plan": {"slots": 0}},
    "text": {"plan": {"batch_size": "8"}},
    "no plan": {"plan": None},
    "no speed": {"evaluations_per_s": "many"},
    "of another network": {"key": {"network": "another"}},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_counts_as_none(network: NetworkFile, cache: Path, damage: str) -> None:
    wanted = Plan("cpu", threads=1)
    choice = Choice(Plan("cpu", "fp32", 1, 1, 8), 100.0, "why not")
    remember(network, wanted, choice)
    assert recall(network, wanted) == choice
    (file,) = cache.iterdir()
    content = DAMAGE[damage]
    if isinstance(content, dict):
        document = json.loads(file.read_bytes())
        changed = {
            name: document[name] | value if name == "plan" and value else value for name, value in content.items()
        }
        content = json.dumps(document | changed).encode()
    file.write_bytes(content)
    assert recall(network, wanted) is None
    remember(network, wanted, choice)
    assert recall(network, wanted) == choice


def test_a_remembered_plan_that_fails_is_measured_anew(network: NetworkFile, cache: Path, measured: list[Plan]) -> None:
    wanted = Plan("cpu", threads=1)
    remember(network, wanted, Choice(Plan("cuda", "fp32", 1, 2, 128)))
    assert load(network, wanted).plan.backend == "cpu"
    assert len(measured) == 1


@pytest.mark.usefixtures("measured")
def test_a_cache_that_cannot_be_written_is_no_error(
    network: NetworkFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load(network, Plan("cpu", threads=1)).batch_size > 0


@pytest.mark.usefixtures("measured")
def test_many_may_remember_at_once(network: NetworkFile, cache: Path) -> None:
    threads = [
        threading.Thread(target=load, args=(NetworkFile(network.path), Plan("cpu", threads=1))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(cache.iterdir())) == 1


def test_the_int8_file_beside_a_network_is_a_candidate(network: NetworkFile, tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match="fukayomi export --int8"):
        find_candidates(network, Plan("cpu", "int8"))
    write_network(int8_path(network.path), scale=3)
    with Network(network.path, device="cpu", precision="int8", threads=1, batch_size=4) as lower:
        assert "-int8-cpu" in lower.identity
        assert lower.identity.startswith(NetworkFile(tmp_path / "toy.int8.onnx").digest)
    with Network(network.path, device="cpu", precision="fp32", threads=1, batch_size=4) as exact:
        assert exact.identity.startswith(network.digest)


def test_an_int8_file_of_another_network_is_not_taken(network: NetworkFile) -> None:
    onnx = pytest.importorskip("onnx")
    made = write_network(int8_path(network.path), scale=3)
    for source, is_taken in ((network.sha256, True), ("0" * 64, False)):
        model = onnx.load(made)
        onnx.helper.set_model_props(model, {"fukayomi.precision": "int8", "fukayomi.fp32_sha256": source})
        onnx.save(model, made)
        found = NetworkFile(network.path)
        assert (found.int8 is not None) == is_taken
        assert ("int8" in CPU.precisions(found)) == is_taken
    with pytest.raises(EvaluatorError, match=r"toy\.int8\.onnx was made from another file"):
        load(NetworkFile(network.path), Plan("cpu", "int8"))


def test_the_embedded_network_has_its_int8_file() -> None:
    found = NetworkFile(embedded_network())
    assert found.int8 is not None
    assert found.int8.source == found.sha256


def test_a_precision_that_no_backend_has_is_an_error(network: NetworkFile) -> None:
    with pytest.raises(EvaluatorError, match=r"DNN_Precision bf16 is not possible here .* only cpu fp32"):
        find_candidates(network, Plan("cpu", "bf16"))
