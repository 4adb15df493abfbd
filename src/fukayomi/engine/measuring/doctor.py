"""Backends that can run a network on this computer, their speed, and the one that is taken."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi.engine import choice
from fukayomi.engine.choice import CLEARLY, LARGEST_VALUE_ERROR, LEAST_TOP1, Trial, remember
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends import machine as hardware
from fukayomi.engine.evaluators.backends.backend import BACKENDS, PRECISIONS, Backend, Plan, get_backend, versions
from fukayomi.engine.evaluators.backends.machine import Machine, this_machine
from fukayomi.engine.evaluators.backends.native import Native
from fukayomi.engine.evaluators.backends.network_file import NetworkFile, int8_path
from fukayomi.engine.network import find_network
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.backend import Backend

SECONDS = 0.3
"""Duration of each measurement."""
FITTING = {
    ("NVIDIA", "Linux"): "torch-cuda",
    ("NVIDIA", "Windows"): "torch-cuda",
    ("AMD", "Linux"): "torch-cuda",
    ("AMD", "Windows"): "directml",
    ("Apple", "macOS"): "coreml",
    ("Intel", "Linux"): "openvino-gpu",
    ("Intel", "Windows"): "openvino-gpu",
    ("Qualcomm", "Windows"): "directml",
    ("", "Linux"): "directml",
}
"""The backend for the GPUs of a vendor under a system, the GPU that gains most first."""


@dataclass(frozen=True)
class BackendHealth:
    """A backend in one precision on this computer."""

    backend: str
    """Value of DNN_Provider."""
    title: str
    """Library and device."""
    precision: str | None
    """Value of DNN_Precision; None for a backend that cannot run here."""
    evaluations_per_s: float | None
    """Positions per second of CPU time, that is, with the CPUs to itself; on a GPU by the clock. None: untested."""
    ratio: float | None
    """As a multiple of ONNX Runtime on the CPU in fp32."""
    top1: float | None
    """Share of the positions in which the best move is that of fp32."""
    value_error: float | None
    """Mean difference of the win probability from that of fp32."""
    problem: str
    """Reason why it is untested, and what helps; "" if it was measured."""


@dataclass(frozen=True, repr=False)
class Diagnosis(Tabular):
    """Findings of `diagnose`. As a table it has one row for each backend and precision."""

    network: str
    """The network's file."""
    int8: str | None
    """The int8 file beside it; None: there is none."""
    machine: Machine
    """This computer."""
    cpu_class: str
    """Instructions that its CPU has, of AVX2, AVX-512, VNNI, BF16, AMX."""
    libraries: dict[str, str]
    """Versions of the libraries that are installed."""
    backends: tuple[BackendHealth, ...]
    """Measured backends, then untested ones."""
    plan: Plan | None
    """Plan that is taken where the user leaves everything open; None: nothing can run the network."""
    evaluations_per_s: float
    """Positions per second of its backend and precision: the figure of `backends`, which is measured before the plan's
    batch size is; 0 without a plan."""
    reason: str
    """Reason why it is taken; or why nothing can be."""
    advice: str | None
    """What makes a GPU of this computer play, or play faster, and is not done; None: there is nothing."""

    @property
    def is_usable(self) -> bool:
        """True if the network can be run here."""
        return self.plan is not None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for JSON."""
        return asdict(self)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row for each backend and precision."""
        return [vars(backend) for backend in self.backends]

    def __repr__(self) -> str:
        return f"<Diagnosis: {'nothing can run' if self.plan is None else self.plan.backend} {Path(self.network).name}>"


def diagnose(model: Path | str | None = None, *, listener: Listener = SILENT) -> Diagnosis:
    """Measure a network in every backend that can run it here. What will be taken is remembered anew.

    Args:
        model: The network's file; None: the embedded network for this computer.
        listener: Told of the measurements done so far.

    Raises:
        EvaluatorError: There is no such file.
    """
    network = NetworkFile(find_network("" if model is None else str(model), Plan()))
    backends = [get_backend(name) for name in BACKENDS]
    problems = {backend.name: backend.problem() for backend in backends}
    candidates = [
        (backend, precision)
        for precision in PRECISIONS
        for backend in backends
        if problems[backend.name] is None and precision in backend.precisions(network)
    ]
    trials = choice.measure(network, Plan(), candidates, seconds=SECONDS, listener=listener)
    plan, reason = _choice(network, trials)
    unread = [
        _untested(backend, problems[backend.name] or _unreadable(backend, network))
        for backend in backends
        if not any(backend is candidate for candidate, _ in candidates)
    ]
    machine = this_machine()
    rows = (*(_health(trial, trials) for trial in trials), *unread)
    speed = _speed(plan, trials)
    return Diagnosis(
        network=str(network.path),
        int8=None if network.int8 is None else str(network.int8.path),
        machine=machine,
        cpu_class=machine.cpu_class,
        libraries=versions(sorted({library for backend in backends for library in backend.libraries})),
        backends=rows,
        plan=plan,
        evaluations_per_s=speed,
        reason=reason,
        advice=_faster_if_named(rows, speed) or _missing_for_gpu(problems, plan),
    )


def _unreadable(backend: Backend, network: NetworkFile) -> str:
    """Reason why a backend that is there cannot run a network."""
    if backend.name == Native.name and network.is_onnx:
        return f"only residual networks: {network.residual}"
    return choice.unreadable(network, backend.name)


def _speed(plan: Plan | None, trials: Sequence[Trial]) -> float:
    """Measured speed of a plan's backend and precision. Two figures for one thing would only raise questions."""
    found = (None, None) if plan is None else (plan.backend, plan.precision)
    return next((trial.evaluations_per_s for trial in trials if (trial.backend.name, trial.precision) == found), 0.0)


def _faster_if_named(rows: Sequence[BackendHealth], speed: float) -> str | None:
    """The fastest backend on a GPU that is never chosen unasked, if it is clearly faster than what is taken."""

    def is_better(row: BackendHealth) -> bool:
        backend = get_backend(row.backend)
        agrees = (row.top1 is None or row.top1 >= LEAST_TOP1) and (row.value_error or 0.0) <= LARGEST_VALUE_ERROR
        return backend.on_gpu and not backend.is_automatic and agrees and (row.evaluations_per_s or 0) > CLEARLY * speed

    best = max(filter(is_better, rows), key=lambda row: row.evaluations_per_s or 0, default=None)
    if best is None:
        return None
    times = f"{(best.evaluations_per_s or 0) / speed:.1f} times as fast; " if speed else ""
    return f"{best.title} in {best.precision} is {times}it is taken where DNN_Provider is {best.backend}"


def _missing_for_gpu(problems: Mapping[str, str | None], plan: Plan | None) -> str | None:
    """What keeps the backend that fits a GPU of this computer from running, unless a GPU plays already."""
    if plan is not None and get_backend(plan.backend).on_gpu:
        return None
    system = hardware.system()
    found = {gpu.vendor: gpu.name for gpu in reversed(hardware.gpus())}
    for (vendor, under), name in FITTING.items():
        if vendor in found and under == system:
            problem = problems[name]
            return None if problem is None else f"{found[vendor]}: DNN_Provider {name} can play on it, but {problem}"
    return None


def _choice(network: NetworkFile, trials: Sequence[Trial]) -> tuple[Plan | None, str]:
    """The plan and the reason, of what is chosen unasked."""
    try:
        automatic = [(backend.name, precision) for backend, precision in choice.find_candidates(network, Plan())]
        tried = [trial for trial in trials if (trial.backend.name, trial.precision) in automatic]
        taken, model = choice.choose(network, Plan(), tried)
        model.close()
    except EvaluatorError as error:
        return None, str(error)
    remember(network, Plan(), taken)
    return taken.plan, taken.reason


def _health(trial: Trial, trials: Sequence[Trial]) -> BackendHealth:
    if trial.problem:
        return _untested(trial.backend, trial.problem, trial.precision)
    base = next((each for each in trials if (each.backend.name, each.precision) == ("cpu", "fp32")), None)
    ratio = trial.evaluations_per_s / base.evaluations_per_s if base is not None and not base.problem else None
    found = trial.agreement
    return BackendHealth(
        trial.backend.name,
        trial.backend.title,
        trial.precision,
        trial.evaluations_per_s,
        ratio,
        None if found is None else found.top1,
        None if found is None else found.value_error,
        "",
    )


def _untested(backend: "Backend", problem: str, precision: str | None = None) -> BackendHealth:
    return BackendHealth(backend.name, backend.title, precision, None, None, None, None, problem)


def missing_int8(diagnosis: Diagnosis) -> str | None:
    """Way to get the int8 file of a network that runs, if there is none; it would be the fastest on most CPUs."""
    path = Path(diagnosis.network)
    made = int8_path(path)
    if not diagnosis.is_usable or diagnosis.int8 is not None or path == made or not NetworkFile(path).is_onnx:
        return None
    reason = "was made from another file" if made.is_file() else "is missing"
    return f"{made.name} {reason}: fukayomi export --int8 makes it"
